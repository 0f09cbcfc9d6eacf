"""SQL of a row of predictions that an engine reads, from the roles of its columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

import numpy as np
import pyarrow as pa

from assay.errors import PredictionsError
from assay.predictions.class_values import no_lists
from assay.predictions.faults import no_label, no_numbers, refuse_missing_columns
from assay.predictions.query import Dialect, double_sql, quoted
from assay.predictions.roles import NO_WORDS, UNEVEN, YES_WORDS, Roles
from assay.predictions.sql.rows import (
    LARGEST,
    NUMBERS,
    Family,
    RowSql,
    Written,
    family_of,
    is_value_sql,
    positive_score_sql,
    score_sql,
    text_sql,
)
from assay.predictions.values import by_frequency, slice_bits, slice_columns, slice_text


class Inspected(Protocol):
    """Rows that can be queried for invalid values; conditions are SQL on their columns."""

    @property
    def source(self) -> str:
        """Source of the rows, for users."""

    @property
    def types(self) -> Mapping[str, str]:
        """The engine's type of each column."""

    @property
    def written(self) -> Written:
        """The columns in SQL."""

    def count(self, conditions: Sequence[str]) -> Sequence[int]:
        """Count the rows that fulfil each condition."""

    def first(self, columns: Sequence[str], condition: str) -> list[Sequence[object]]:
        """Columns of up to three rows that fulfil a condition: the first if ordered by them."""

    def distinct(self, column: str, condition: str, limit: int) -> list[object]:
        """Smallest values of the column among the rows that fulfil a condition."""

    def counted_values(self, expressions: Mapping[str, str]) -> "pa.Table":
        """Distinct values of expressions, with the number of rows of each."""


def find_slices(rows: Inspected, written: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Names of the slices, and the SQL of the bits of those that contain a row."""
    conditions: dict[str, list[tuple[str, str]]] = {}
    values: dict[str, list[str]] = {}
    dialect = rows.written.dialect
    refuse_missing_columns(slice_columns(written), list(rows.types), rows.source)
    for name in slice_columns(written):
        column = rows.written.names[name]
        expressions = {"value": column}
        if family_of(rows.types[name]) == "other":  # compared as the text that the engine writes
            expressions["text"] = text_sql(column, dialect)
        counts = rows.counted_values(expressions)
        texts = [slice_text(value) for value in counts["value"].to_pylist()]
        values[name], _ = by_frequency(texts, np.asarray(counts["number"].to_numpy()))
        each = zip(texts, counts[list(expressions)[-1]].to_pylist(), strict=True)
        own = list(expressions.values())[-1]
        conditions[name] = [(text, is_value_sql(own, x, dialect)) for text, x in each]
    names, bits = slice_bits(written, values.__getitem__, rows.source)
    cases = []
    for name, each_value in conditions.items():
        inside = [(is_it, bits[name][text]) for text, is_it in each_value if text in bits[name]]
        cases.append(" ".join(f"WHEN {is_it} THEN {own_bits}" for is_it, own_bits in inside))
    return names, " + ".join(f"CASE {case} ELSE 0 END" for case in cases)


# SQL of a row's id, score, prediction and weight, from the columns with these roles.


def row_sql(rows: Written, roles: Roles, place: int = 0) -> RowSql:
    """Expressions for some columns; `place`: that of the classifier among several.

    >>> roles = Roles(score="p", predicted="spam", id="url", threshold=None, positive="yes")
    >>> types = {"p": "FLOAT", "spam": "VARCHAR", "url": "VARCHAR"}
    >>> row_sql(Written("a table", {name: name for name in types}, types), roles).says
    "CAST(spam = 'yes' AS SMALLINT)"
    """
    if roles.id is None:
        raise PredictionsError(
            f"{rows.source} is read in place, so its rows need ids",
            details="row numbers of several files are not stable",
            hint="name the column of ids, or read it all into memory: engine 'memory'",
        )
    id, dialect = rows.names[roles.id], rows.dialect
    score = "0e0" if roles.score is None else column_sql(rows, roles.score, "score")
    if roles.classes is not None:
        return class_row_sql(roles, id, score, dialect, place)
    says, is_sure = "", True
    if roles.predicted is not None:
        name, family = rows.names[roles.predicted], family_of(rows.types[roles.predicted])
        says, is_sure = _Label(name, family, dialect, rows.is_text).says(roles.positive)
        score = positive_score_sql(score, roles, says)
    elif roles.limit is not None:  # Roles ensures that one of the two is given
        score = positive_score_sql(score, roles, "")
        says = f"CAST({score} >= {double_sql(roles.limit)} AS SMALLINT)"
    return RowSql(id, score, says, is_sure=is_sure, weight=weight_sql(rows, roles.weight))


def weight_sql(rows: Written, weight: str | None) -> str:
    """Expression of a row's weight; empty without weights."""
    return "" if weight is None else f"CAST({column_sql(rows, weight, 'weight')} AS DOUBLE)"


def column_sql(rows: Written, name: str, what: str) -> str:
    """Expression of a column of numbers; raise if it has none."""
    family = family_of(rows.types[name])
    written = score_sql(rows.names[name], family, rows.dialect, is_text=rows.is_text)
    if not written:
        raise no_numbers(what, f"column {name!r} of {rows.source}", rows.types[name])
    return written


@dataclass(frozen=True)
class _Label:
    """Column of predicted labels."""

    name: str
    family: Family
    dialect: Dialect
    is_text: bool

    def says(self, positive: object) -> tuple[str, bool]:
        """Write the number of the label, as in `RowSql`, and whether it is always clear."""
        if positive is not None:
            scalar = positive.item() if isinstance(positive, np.generic) else positive
            return f"CAST({self._is(scalar)} AS SMALLINT)", True
        if self.family == "boolean":
            return f"CAST({self.name} AS SMALLINT)", True
        if self.family == "text":
            written = f"lower(trim({text_sql(self.name, self.dialect)}))"
            yes, no = (", ".join(f"'{word}'" for word in words) for words in (YES_WORDS, NO_WORDS))
            return _case(written, yes, no), False
        if self.family in NUMBERS:
            return _case(self.name, "1", "0"), False
        return f"CASE WHEN {self.name} IS NOT NULL THEN 2 END", False

    def _is(self, positive: object) -> str:
        """Condition that the label is the one that means yes; NULL without a label.

        Text also matches a value that Python writes the same: the command line has only text.
        """
        if not isinstance(positive, str | bool | int | float | date):
            raise no_label(positive)
        never = f"{self.name} IS NULL AND NULL"  # false, and NULL without a label
        if self.is_text and isinstance(positive, bool):
            return f"lower(trim({self.name})) = '{str(positive).lower()}'"
        if self.family == "text":
            same_kind = self.is_text or isinstance(positive, str)
            return f"{self.name} = {quoted(str(positive), self.dialect)}" if same_kind else never
        if self.family == "boolean":
            meant = [value for value in (True, False) if positive in (value, str(value))]
            return f"{self.name} = {str(meant[0]).upper()}" if meant else never
        if self.family in NUMBERS and not (self.family == "decimal" and isinstance(positive, str)):
            number = _number_like(positive, self.family)
            return f"{self.name} = {number}" if number else never
        if isinstance(positive, str | date):
            written = text_sql(self.name, self.dialect)
            return f"{written} = {quoted(str(positive), self.dialect)}"
        return never


def _case(value: str, yes: str, no: str) -> str:
    return (
        f"CASE WHEN {value} IN ({yes}) THEN 1 WHEN {value} IN ({no}) THEN 0 "
        f"WHEN {value} IS NOT NULL THEN 2 END"
    )


def _number_like(positive: object, family: Family) -> str:
    """Literal of the number; empty if it is not one of that family."""
    if isinstance(positive, str):
        try:
            number: int | float = float(positive) if family == "float" else int(positive)
        except ValueError:
            return ""
        return _number_like(number, family) if str(number) == positive else ""
    if isinstance(positive, bool | int):
        return str(int(positive))
    return double_sql(positive) if isinstance(positive, float) and np.isfinite(positive) else ""


# SQL of a row's predicted class, for DuckDB and Spark.
#
# An engine adds two columns to those of the predictions: the class number of the row, from a small
# joined table, and the list of the probabilities of all classes. Invalid values appear as in
# `assay.predictions.sql.rows`: the number is NULL without a class, and the score is NULL if a
# probability is invalid.


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
    entries = (column_sql(rows, column, "probability") for column in roles.of_class)
    return words.list.format(", ".join(entries))


def class_row_sql(roles: Roles, id: str, score: str, dialect: Dialect, place: int) -> RowSql:
    """Expressions for rows that have the `class_columns` of a place, as needed."""
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
