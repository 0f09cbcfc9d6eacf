"""Checks of rows that an engine reads in place, with the same errors as in memory.

An engine detects problems as it counts: a row without a bin, a cell on the wrong side of the
threshold. Only then are the rows read again, to describe the problem.
"""

from collections.abc import Sequence

from assay.core.profile import ScoreCells
from assay.errors import PredictionsError, did_you_mean
from assay.predictions.class_values import unknown_class
from assay.predictions.doubts import Doubt, doubts_of
from assay.predictions.faults import (
    BAD_WEIGHT,
    CONTRADICTION,
    MANY,
    NEGATIVE_WEIGHT,
    NO_CLASS,
    NO_ID,
    NO_LABEL,
    NO_NUMBER,
    NO_PROBABILITIES,
    NO_SCORE,
    Fault,
    no_positive,
    not_numbers,
    refuse_missing_columns,
    unclear_labels,
)
from assay.predictions.query import double_sql
from assay.predictions.roles import Roles, which_means_yes
from assay.predictions.sql.judge import Inspected, class_columns, row_sql
from assay.predictions.sql.rows import LARGEST, RowSql

_LISTED = 5  # values of a column that an error names


def usable_sql(row: RowSql) -> str:
    """Condition that a row is valid: never NULL, in DuckDB or in Spark.

    >>> usable_sql(RowSql("id", "p", "q"))
    'coalesce(id IS NOT NULL AND p BETWEEN -1.79...e+308 AND 1.79...e+308 AND q IN (0, 1), FALSE)'
    """
    return f"coalesce({row.id} IS NOT NULL AND {_finite(row.score)} AND {row.is_clear}, FALSE)"


class SqlJudge:
    """A classifier of rows that an engine reads: SQL of a row, and checks of its values."""

    def __init__(self, rows: Inspected, roles: Roles, place: int) -> None:
        refuse_missing_columns(roles.columns, list(rows.types), rows.source)
        self.rows, self.roles = rows, roles
        self.row = row_sql(rows.written, roles, place)
        _, self.list = class_columns(place)  # the probabilities of all classes, if there are some

    def checked(self, cells: ScoreCells) -> tuple[Doubt, ...]:
        """Doubts about the counts; raise if they show that something is wrong."""
        self._refuse_bad_cells(cells)
        return doubts_of(cells, self.roles, self.rows.source, self._outside)

    def tell_what_is_wrong(self) -> None:
        """Read the rows again, to describe a problem that a count has only detected.

        The error says how many rows are invalid, and gives examples.
        """
        roles, conditions = self.roles, self._conditions()
        size, *counts = self.rows.count(["TRUE", *conditions.values()])
        faults = {name: count for name, count in zip(conditions, counts, strict=True) if count}
        weighed = [str(roles.id), str(roles.weight)]

        def refuse(
            name: str, fault: Fault, column: str | None, shown: Sequence[str], what: str = ""
        ) -> None:
            if name in faults:
                some, hint = self._examples(shown, conditions[name]), ""
                if what:
                    value = self.rows.first([str(column)], conditions[name])[0][0]
                    hint = not_numbers(value, what)
                named: dict[str, object] = {"column": self._column(column), "many": MANY.get(what)}
                named |= {"source": self.rows.source, "classes": roles.n_classes}
                raise fault.error(faults[name], size, some, hint, **named)

        others = [name for name in roles.columns if name != roles.id]
        refuse("no id", NO_ID, roles.id, others)
        refuse("no number", NO_NUMBER, roles.score, self._judged, "score")
        no_score = NO_PROBABILITIES if roles.of_class else NO_SCORE
        shown = [*self._judged, *roles.of_class[:_LISTED]]
        refuse("bad score", no_score, roles.score, shown)
        no_label = NO_LABEL if roles.classes is None else NO_CLASS
        refuse("no label", no_label, roles.predicted, self._judged)
        if "unclear label" in faults:
            raise self._unclear_labels((faults["unclear label"], size))
        refuse("no weight", NO_NUMBER, roles.weight, weighed, "weight")
        refuse("bad weight", BAD_WEIGHT, roles.weight, weighed)
        refuse("negative weight", NEGATIVE_WEIGHT, roles.weight, weighed)

    def _conditions(self) -> dict[str, str]:
        """Condition that a row is invalid, for each reason."""
        row, roles = self.row, self.roles
        written = self.rows.written
        score, weight = (  # from which numbers are parsed
            written.names[name] if name is not None and written.is_text else ""
            for name in (roles.score, roles.weight)
        )
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
        return conditions

    def _unclear_labels(self, counts: tuple[int, int]) -> PredictionsError:
        """Error: labels have no known meaning, or are none of the classes."""
        condition, predicted = f"{self.row.says} = {self.row.unclear}", str(self.roles.predicted)
        label = self._column(predicted)
        if self.roles.classes is not None:
            first = self.rows.first([predicted], condition)[0][0]
            some = self._examples([*self._judged, predicted], condition)
            return unknown_class(counts, label, some, first, self.roles.classes)
        got, values = self._values(condition)
        sure = self._values(f"{self.row.says} = 1")[1]
        return unclear_labels(label, got, which_means_yes(sure, values))

    def _refuse_bad_cells(self, cells: ScoreCells) -> None:
        """Raise if no label is the positive one, or labels contradict scores."""
        row, roles = self.row, self.roles
        weighted = roles.weight is not None
        if (
            roles.positive is not None
            and not cells.positives
            and not (weighted and self.rows.count([f"{row.says} = 1"])[0])
        ):
            got, values = self._values("TRUE")
            near = did_you_mean(
                str(roles.positive), [text for text in values if isinstance(text, str)]
            )
            raise no_positive(roles.positive, self._column(roles.predicted), got, near)
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
        bad, size = self.rows.count([contradicts, "TRUE"])
        if bad:
            some, column = self._examples(roles.columns, contradicts), self._column(roles.predicted)
            raise CONTRADICTION.error(bad, size, some, column=column, threshold=roles.threshold)

    def _outside(self, low: float, high: float) -> tuple[int, str]:
        """Count the rows whose score is outside of a range, and describe the first."""
        there = f"NOT ({self.row.score} BETWEEN {double_sql(low)} AND {double_sql(high)})"
        return self.rows.count([there])[0], self._examples(self._judged, there)

    @property
    def _judged(self) -> list[str]:
        """Columns of the id and the score."""
        return [name for name in (self.roles.id, self.roles.score) if name is not None]

    def _column(self, name: str | None) -> str:
        return f"column {name!r} of {self.rows.source}"

    def _examples(self, columns: Sequence[str], condition: str) -> str:
        texts = []
        for values in self.rows.first(columns, condition):
            facts = (
                f"{name} {'missing' if value is None else repr(value)}"
                for name, value in zip(columns, values, strict=True)
            )
            texts.append(f"({', '.join(facts)})")
        return f"such as {', '.join(texts)}" if columns else ""

    def _values(self, condition: str) -> tuple[str, list[object]]:
        """Predicted labels among the rows that fulfil a condition, in words and as they are."""
        column = str(self.roles.predicted)
        values = self.rows.distinct(column, condition, _LISTED + 1)
        texts = ", ".join(repr(value) for value in values[:_LISTED])
        more = " and more" if len(values) > _LISTED else ""
        return f"got {texts}{more}, of type {self.rows.types[column]}", values


def _finite(number: str) -> str:
    # Both engines treat NaN as larger than any number.
    return f"{number} BETWEEN {double_sql(-LARGEST)} AND {double_sql(LARGEST)}"
