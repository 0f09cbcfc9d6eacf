"""SQL of a row's predicted class, for DuckDB and Spark.

An engine adds two columns to those of the predictions: the class number of the row, from a small
joined table, and the list of the probabilities of all classes. Invalid values appear as in
`assay.predictions.sql.rows`: the number is NULL without a class, and the score is NULL if a
probability is invalid.
"""

from dataclasses import dataclass

from assay.errors import PredictionsError
from assay.predictions.class_values import no_lists
from assay.predictions.roles import UNEVEN, Roles
from assay.predictions.sql.query import Dialect, double_sql
from assay.predictions.sql.rows import (
    LARGEST,
    RowSql,
    Written,
    family_of,
    positive_score_sql,
    score_sql,
)


def class_columns(place: int) -> tuple[str, str]:
    """Columns of the classifier at a place: its class number, and all its probabilities.

    The number is -1 if the row's class is not one of the classes; the probabilities are a list of
    DOUBLE.
    """
    return f"assay_class_number_{place}", f"assay_probabilities_{place}"


@dataclass(frozen=True)
class _Words:
    """A dialect's functions of lists."""

    list: str
    type: str
    size: str
    largest: str
    first: str
    usable: str
    least: str
    total: str  # in the order of the classes, as in memory
    ordered: str  # the largest first
    start: int  # the place of the first


_ENDS = f"{double_sql(-LARGEST)} AND {double_sql(LARGEST)}"

_WORDS: dict[Dialect, _Words] = {
    "duckdb": _Words(
        list="[{}]",
        type="DOUBLE[]",
        size="len({})",
        largest="list_max({})",
        first="list_position({0}, list_max({0})) - 1",
        # NaN is larger than any number; missing values are not counted.
        usable=f"list_count({{0}}) = {{1}} AND list_min({{0}}) BETWEEN {_ENDS} "
        f"AND list_max({{0}}) BETWEEN {_ENDS}",
        least="list_min({})",
        total="list_sum({}::DOUBLE[])",
        ordered="list_reverse_sort({}::DOUBLE[])",
        start=1,
    ),
    "spark": _Words(
        list="array({})",
        type="ARRAY<DOUBLE>",
        size="size({})",
        largest="array_max({})",
        first="array_position({0}, array_max({0})) - 1",
        usable=f"forall({{0}}, x -> x IS NOT NULL AND x BETWEEN {_ENDS})",
        least="array_min({})",
        total="aggregate({}, 0e0, (a, x) -> a + x)",
        ordered="sort_array({}, false)",
        start=0,
    ),
}


def list_sql(rows: Written, roles: Roles) -> str:
    """List of the probabilities of all classes, from their columns.

    >>> from assay.core.vocabulary import Vocabulary
    >>> known = Vocabulary(("a", "b"))
    >>> roles = Roles(*[None] * 5, probabilities="p_*", classes=known, of_class=("p_a", "p_b"))
    >>> types = {"p_a": "DOUBLE", "p_b": "INTEGER"}
    >>> list_sql(Written("a table", {"p_a": "p_a", "p_b": "p_b"}, types), roles)
    '[p_a, CAST(p_b AS DOUBLE)]'
    """
    words = _WORDS[rows.dialect]
    if len(roles.of_class) == 1:
        (column,) = roles.of_class
        kind = rows.types[column].lower()
        if not (kind.endswith("]") or kind.startswith("array") or kind == "json"):
            raise no_lists(f"column {column!r} of {rows.source}", rows.types[column])
        cast = "TRY_CAST" if kind == "json" else "CAST"  # there may be anything
        return f"{cast}({rows.names[column]} AS {words.type})"
    entries = []
    for column in roles.of_class:
        entry = score_sql(
            rows.names[column], family_of(rows.types[column]), rows.dialect, is_text=rows.is_text
        )
        if not entry:
            raise PredictionsError(
                f"the probabilities in column {column!r} of {rows.source} are of type "
                f"{rows.types[column]}",
                details="a probability is a number",
                hint="is this the right column? Text that holds numbers must be converted first",
            )
        entries.append(entry)
    return words.list.format(", ".join(entries))


def class_row_sql(roles: Roles, id: str, score: str, dialect: Dialect, place: int) -> RowSql:
    """Expressions for rows that have the `class_columns` of a place, as needed.

    `dialect`: the dialect of the SQL.
    """
    says, listed = class_columns(place)
    if roles.probabilities is not None:
        words = _WORDS[dialect]
        usable = f"{words.size.format(listed)} = {roles.n_classes} AND " + words.usable.format(
            listed, roles.n_classes
        )
        if roles.predicted is None:
            best = _share_sql(words.largest.format(listed), roles, words, listed)
            score = f"CASE WHEN {usable} THEN {best} END"
            says = f"CASE WHEN {usable} THEN CAST({words.first.format(listed)} AS INT) END"
        else:
            # If the class is unknown, another error is reported.
            best = _share_sql(f"{listed}[{says} + {words.start}]", roles, words, listed)
            of_class = f"WHEN {says} >= 0 THEN {best}"
            score = f"CASE WHEN NOT ({usable}) THEN NULL {of_class} ELSE 0e0 END"
    return RowSql(id, positive_score_sql(score, roles, says), says, classes=roles.n_classes)


def _share_sql(own: str, roles: Roles, words: _Words, listed: str) -> str:
    """Score as in `class_values`; `own`: the probability of the predicted class."""
    if not roles.shared:
        return own
    whole, total, top = double_sql(roles.whole), words.total.format(listed), own
    if roles.shared > 1:
        places = range(words.start, words.start + roles.shared)
        top = " + ".join(f"{words.ordered.format(listed)}[{place}]" for place in places)
    uneven = f"abs({total} - {whole}) > {double_sql(UNEVEN * roles.whole)}"
    share = f"CASE WHEN {uneven} THEN ({top}) / {total} * {whole} ELSE {top} END"
    no_shares = f"{words.least.format(listed)} < 0 OR {total} <= 0"
    return f"CASE WHEN {no_shares} THEN {own} ELSE least({share}, {whole}) END"
