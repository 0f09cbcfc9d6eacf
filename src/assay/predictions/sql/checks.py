"""Checks of rows that an engine reads in place, with the same errors as in memory.

An engine detects problems as it counts: a row without a bin, a cell on the wrong side of the
threshold. Only then are the rows read again, to describe the problem.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from assay.core.profile import ScoreCells
from assay.errors import PredictionsError, did_you_mean
from assay.predictions.class_values import unknown_class
from assay.predictions.column import Outside, not_numbers
from assay.predictions.faults import (
    BAD_WEIGHT,
    CONTRADICTION,
    NEGATIVE_WEIGHT,
    NO_CLASS,
    NO_ID,
    NO_LABEL,
    NO_NUMBER,
    NO_PROBABILITIES,
    NO_SCORE,
    Fault,
    no_positive,
    unclear_labels,
)
from assay.predictions.roles import Roles, which_means_yes
from assay.predictions.sql.query import double_sql
from assay.predictions.sql.rows import LARGEST, RowSql, Written

_LISTED = 5  # values of a column that an error names


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


def usable_sql(row: RowSql) -> str:
    """Condition that a row is valid: never NULL, in DuckDB or in Spark.

    >>> usable_sql(RowSql("id", "p", "q"))
    'coalesce(id IS NOT NULL AND p BETWEEN -1.79...e+308 AND 1.79...e+308 AND q IN (0, 1), FALSE)'
    """
    return f"coalesce({row.id} IS NOT NULL AND {_finite(row.score)} AND {row.is_clear}, FALSE)"


def refuse_bad_rows(
    rows: Inspected, row: RowSql, roles: Roles, *, written: Mapping[str, str]
) -> None:
    """Raise `PredictionsError` for invalid rows: how many there are, and examples.

    `written`: text columns from which numbers are parsed, each with its name as SQL.
    """
    score, weight = (written.get(name or "") for name in (roles.score, roles.weight))
    conditions = {
        "no id": f"{row.id} IS NULL",
        "no number": f"{row.score} IS NULL AND {score} IS NOT NULL" if score else "FALSE",
        "bad score": f"NOT coalesce({_finite(row.score)}, FALSE)",
        "no label": f"{row.says} IS NULL",
        "unclear label": f"{row.says} = {row.unclear}",
    }
    if row.weight:
        no_number = f"{row.weight} IS NULL AND {weight} IS NOT NULL" if weight else "FALSE"
        conditions["no weight"] = no_number
        conditions["bad weight"] = f"NOT coalesce({_finite(row.weight)}, FALSE)"
        conditions["negative weight"] = f"{row.weight} < 0e0"
    size, *counts = rows.count(["TRUE", *conditions.values()])
    faults = {name: count for name, count in zip(conditions, counts, strict=True) if count}
    judged = [name for name in (roles.id, roles.score) if name is not None]
    weighed = [str(roles.id), str(roles.weight)]

    def refuse(
        name: str, fault: Fault, column: str | None, shown: Sequence[str], what: str = ""
    ) -> None:
        if name in faults:
            some, hint = _examples(rows, shown, conditions[name]), ""
            if what:
                hint = not_numbers(rows.first([str(column)], conditions[name])[0][0], what)
            names = {"column": _column(column, rows), "source": rows.source, "what": what}
            raise fault.error(faults[name], size, some, hint, classes=roles.n_classes, **names)

    others = [name for name in roles.columns if name != roles.id]
    refuse("no id", NO_ID, roles.id, others)
    refuse("no number", NO_NUMBER, roles.score, judged, "score")
    no_score = NO_PROBABILITIES if roles.of_class else NO_SCORE
    refuse("bad score", no_score, roles.score, [*judged, *roles.of_class[:_LISTED]])
    refuse("no label", NO_LABEL if roles.classes is None else NO_CLASS, roles.predicted, judged)
    if "unclear label" in faults:
        raise _unclear_labels(rows, row, roles, (faults["unclear label"], size))
    refuse("no weight", NO_NUMBER, roles.weight, weighed, "weight")
    refuse("bad weight", BAD_WEIGHT, roles.weight, weighed)
    refuse("negative weight", NEGATIVE_WEIGHT, roles.weight, weighed)


def _unclear_labels(
    rows: Inspected, row: RowSql, roles: Roles, counts: tuple[int, int]
) -> PredictionsError:
    """Error: labels have no known meaning, or are none of the classes."""
    condition, predicted = f"{row.says} = {row.unclear}", str(roles.predicted)
    label = _column(predicted, rows)
    if roles.classes is not None:
        shown = [name for name in (roles.id, roles.score, predicted) if name is not None]
        first = rows.first([predicted], condition)[0][0]
        some = _examples(rows, shown, condition)
        return unknown_class(counts, label, some, first, roles.classes)
    got, values = _values(rows, predicted, condition)
    sure = _values(rows, predicted, f"{row.says} = 1")[1]
    return unclear_labels(label, got, which_means_yes(sure, values))


def refuse_bad_cells(cells: ScoreCells, rows: Inspected, row: RowSql, roles: Roles) -> None:
    """Raise `PredictionsError` if no label is the positive one, or labels contradict scores."""
    weighted = roles.weight is not None
    if (
        roles.positive is not None
        and not cells.positives
        and not (weighted and rows.count([f"{row.says} = 1"])[0])
    ):
        got, values = _values(rows, str(roles.predicted), "TRUE")
        near = did_you_mean(str(roles.positive), [text for text in values if isinstance(text, str)])
        raise no_positive(roles.positive, _column(roles.predicted, rows), got, near)
    threshold = roles.limit
    if threshold is None or roles.predicted is None or roles.model is not None:
        return  # with a model, the cells are not of the score
    # A score equal to the threshold is valid for either label.
    bad_cells = (cells.yes & (cells.low < threshold)) | (~cells.yes & (cells.high > threshold))
    if not bad_cells.any() and not weighted:
        return
    at = double_sql(threshold)
    contradicts = (
        f"({row.says} = 1 AND {row.score} < {at}) OR ({row.says} = 0 AND {row.score} > {at})"
    )
    bad, size = rows.count([contradicts, "TRUE"])
    if not bad:
        return
    some, column = _examples(rows, roles.columns, contradicts), _column(roles.predicted, rows)
    raise CONTRADICTION.error(bad, size, some, column=column, threshold=roles.threshold)


def rows_of(rows: Inspected, row: RowSql, roles: Roles) -> Outside:
    """Make a function that finds the rows whose score is outside of a range."""

    def outside(low: float, high: float) -> tuple[int, str]:
        there = f"NOT ({row.score} BETWEEN {double_sql(low)} AND {double_sql(high)})"
        judged = [name for name in (roles.id, roles.score) if name is not None]
        return rows.count([there])[0], _examples(rows, judged, there)

    return outside


def _finite(number: str) -> str:
    # Both engines treat NaN as larger than any number.
    return f"{number} BETWEEN {double_sql(-LARGEST)} AND {double_sql(LARGEST)}"


def _column(name: str | None, rows: Inspected) -> str:
    return f"column {name!r} of {rows.source}"


def _examples(rows: Inspected, columns: Sequence[str], condition: str) -> str:
    texts = []
    for values in rows.first(columns, condition):
        facts = (
            f"{name} {'missing' if value is None else repr(value)}"
            for name, value in zip(columns, values, strict=True)
        )
        texts.append(f"({', '.join(facts)})")
    return f"such as {', '.join(texts)}" if columns else ""


def _values(rows: Inspected, column: str, condition: str) -> tuple[str, list[object]]:
    values = rows.distinct(column, condition, _LISTED + 1)
    texts = ", ".join(repr(value) for value in values[:_LISTED])
    more = " and more" if len(values) > _LISTED else ""
    return f"got {texts}{more}, of type {rows.types[column]}", values


# Conditions on the rows of the population, and wanted columns.


# Errors about all rows.
