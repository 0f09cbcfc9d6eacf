"""SQL of a row's predicted class, for DuckDB and Spark.

An engine puts two columns beside those of the predictions: the number of the class that the row
names, from a small table that is joined, and the list of the probabilities of all classes. What is
wrong with either shows as in `assay.predictions.sql.rows`: there is no number where no class is
named, and no score where a probability is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.errors import PredictionsError
from assay.predictions.roles import Roles
from assay.predictions.sql.rows import (
    LARGEST,
    Dialect,
    RowSql,
    double_sql,
    family_of,
    positive_score_sql,
    score_sql,
)

NUMBER = "assay_class_number"
"""The column with the number of the class that a row names: -1 where it is none of the classes."""

LIST = "assay_probabilities"
"""The column with the probabilities of all classes, a list of DOUBLE."""


@dataclass(frozen=True)
class _Words:
    """How a dialect says what is asked of a list."""

    list: str
    type: str
    size: str
    largest: str
    first: str
    usable: str


_ENDS = f"{double_sql(-LARGEST)} AND {double_sql(LARGEST)}"

_WORDS: dict[Dialect, _Words] = {
    "duckdb": _Words(
        list="[{}]",
        type="DOUBLE[]",
        size="len({})",
        largest="list_max({})",
        first="list_position({0}, list_max({0})) - 1",
        # NaN is larger than any number; what is missing is not counted.
        usable=f"list_count({{0}}) = {{1}} AND list_min({{0}}) BETWEEN {_ENDS} "
        f"AND list_max({{0}}) BETWEEN {_ENDS}",
    ),
    "spark": _Words(
        list="array({})",
        type="ARRAY<DOUBLE>",
        size="size({})",
        largest="array_max({})",
        first="array_position({0}, array_max({0})) - 1",
        usable=f"forall({{0}}, x -> x IS NOT NULL AND x BETWEEN {_ENDS})",
    ),
}


def list_sql(
    roles: Roles,
    names: Mapping[str, str],
    types: Mapping[str, str],
    *,
    dialect: Dialect,
    is_text: bool,
    source: str,
) -> str:
    """Return the list of the probabilities of all classes, from their columns.

    >>> from assay.core.vocabulary import Vocabulary
    >>> known = Vocabulary(("a", "b"))
    >>> roles = Roles(*[None] * 5, probabilities="p_*", classes=known, of_class=("p_a", "p_b"))
    >>> names, types = {"p_a": "p_a", "p_b": "p_b"}, {"p_a": "DOUBLE", "p_b": "INTEGER"}
    >>> list_sql(roles, names, types, dialect="duckdb", is_text=False, source="a table")
    '[p_a, CAST(p_b AS DOUBLE)]'
    """
    words = _WORDS[dialect]
    if len(roles.of_class) == 1:
        (column,) = roles.of_class
        kind = types[column].lower()
        if not (kind.endswith("]") or kind.startswith("array") or kind == "json"):
            raise PredictionsError(
                f"the probabilities in column {column!r} of {source} are of type {types[column]}",
                details="a column of lists has one number for each class",
                hint="where each class has a column of its own, put a star for its name: 'p_*'",
            )
        cast = "TRY_CAST" if kind == "json" else "CAST"  # there may be anything
        return f"{cast}({names[column]} AS {words.type})"
    entries = []
    for column in roles.of_class:
        entry = score_sql(names[column], family_of(types[column]), dialect, is_text=is_text)
        if not entry:
            raise PredictionsError(
                f"the probabilities in column {column!r} of {source} are of type {types[column]}",
                details="a probability is a number",
                hint="is another column meant? Text that holds numbers must be converted first",
            )
        entries.append(entry)
    return words.list.format(", ".join(entries))


def class_row_sql(roles: Roles, id: str, score: str, dialect: Dialect) -> RowSql:
    """Return the expressions for rows that have the columns `NUMBER` and `LIST`, as need be.

    `dialect`: whose SQL it is.
    """
    says = NUMBER
    if roles.probabilities is not None:
        words = _WORDS[dialect]
        usable = f"{words.size.format(LIST)} = {roles.n_classes} AND " + words.usable.format(
            LIST, roles.n_classes
        )
        if roles.predicted is None:
            score = f"CASE WHEN {usable} THEN {words.largest.format(LIST)} END"
            says = f"CASE WHEN {usable} THEN CAST({words.first.format(LIST)} AS INT) END"
        else:
            # Where the class is not known there is something else to tell.
            of_class = f"WHEN {NUMBER} >= 0 THEN {LIST}[{NUMBER}{' + 1' * (dialect == 'duckdb')}]"
            score = f"CASE WHEN NOT ({usable}) THEN NULL {of_class} ELSE 0e0 END"
    return RowSql(id, positive_score_sql(score, roles, says), says, classes=roles.n_classes)
