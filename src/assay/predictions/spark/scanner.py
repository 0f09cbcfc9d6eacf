"""Predictions in Spark: counted and filtered in place, on any number of machines."""

from dataclasses import replace

import numpy as np

from assay.core.types import Floats
from assay.predictions.class_values import MOST_WORDS, Occurring, class_text, numbered_words
from assay.predictions.column import key_parts, refuse_missing_columns
from assay.predictions.faults import NO_CLASS
from assay.predictions.layout import Layout
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark.source import SparkRows, column_name, open_rows, reading_with_spark
from assay.predictions.spark.table import SparkTable, refuse_untried
from assay.predictions.sql.counting import CountingScanner
from assay.predictions.sql.items import Items
from assay.predictions.sql.judge import class_columns, list_sql
from assay.predictions.sql.opinions import plain_sql
from assay.predictions.sql.query import Query
from assay.predictions.sql.rows import Written
from assay.predictions.sql.several import SeveralScanner
from assay.predictions.tables import key_sql

# Class names in Spark.


_WORD = "assay_word"


class SparkColumns:
    """Columns of predictions that Spark can read."""

    def __init__(self, scan: Scan) -> None:
        self._rows = open_rows(scan)

    def names(self) -> list[str]:
        """Names of all columns."""
        return list(self._rows.frame.columns)

    def entries(self, column: str) -> object:
        """Length of the first list in a column; None if it is not a list."""
        refuse_missing_columns([column], self.names(), self._rows.source)
        some = self._rows.frame.selectExpr(f"size({column_name(column)}) AS entries").limit(1)
        return self._rows.fetch(some)["entries"].to_pylist()[0]

    def distinct(self, column: str, limit: int, *, complete: bool) -> Occurring:
        """Distinct values of a column, at most two more than a limit."""
        rows = self._rows
        refuse_missing_columns([column], self.names(), rows.source)
        name, where = column_name(column), f"column {column!r} of {rows.source}"
        frame = rows.frame.selectExpr(f"{name} AS value").distinct().limit(limit + 2)
        values = rows.fetch(frame)["value"].to_pylist()
        if complete and not all(map(class_text, values)):
            blank = f"{name} IS NULL OR trim(CAST({name} AS STRING)) IN ('', 'NaN')"
            count, size = SparkTable(rows).count([blank, "TRUE"])
            raise NO_CLASS.error(count, size, "", column=where)
        return Occurring(values, where)


def rows_with_classes(rows: SparkRows, roles: Roles, place: int) -> SparkRows:
    """Rows with one or two more columns, of `sql.judge`, for the classifier at a place.

    The distinct predicted classes are read once; every executor gets a small table of their
    numbers.
    """
    frame, keep = rows.frame, [column_name(name) for name in rows.types]
    number, list_of_classes = class_columns(place)
    if roles.of_class:
        names = {name: column_name(name) for name in rows.types}
        listed = list_sql(Written(rows.source, names, rows.types, "spark", rows.is_text), roles)
        frame = frame.selectExpr(*keep, f"{listed} AS {list_of_classes}")
        keep.append(list_of_classes)
    if roles.predicted is not None and roles.classes is not None:
        every = frame.selectExpr(f"{column_name(roles.predicted)} AS {_WORD}")
        some = every.where(f"{_WORD} IS NOT NULL").distinct().limit(MOST_WORDS + 1)
        table = numbered_words(rows.fetch(some)[_WORD], roles.classes, roles.predicted, rows.source)
        words = frame.sparkSession.createDataFrame(table.rename_columns([_WORD, number]))
        named = frame.selectExpr(*keep, f"{column_name(roles.predicted)} AS {_WORD}")
        joined = named.join(words.hint("broadcast"), _WORD, "left")
        frame = joined.selectExpr(*keep, number)
    return replace(rows, frame=frame)


class SparkScanner(CountingScanner):
    """A `Scanner` of one classifier in Spark, which can be joined with another there."""

    table: SparkTable

    def summed_probabilities(self) -> Floats | None:
        """Sum the probabilities of each class by predicted class, shape (K, K)."""
        if not self._roles.of_class:
            return None
        rows = self.table.rows.frame.selectExpr(
            f"{self._row.says} AS says", f"posexplode({self.judge.list}) AS (number, p)"
        ).selectExpr("says", "number", "greatest(p, 0e0) AS p")
        table = self.table.fetch(Query(rows).group(["says", "number"], "sum(p) AS p"))
        sums = np.zeros((self._roles.n_classes, self._roles.n_classes))
        sums[table["says"].to_numpy(), table["number"].to_numpy()] = table["p"].to_numpy()
        return sums

    def judged_items(self) -> Items:
        """Id, score, label and weight of every item, and its values of the aux columns."""
        expressions = self._columns()
        for place, name in enumerate(self._roles.aux):
            expressions[f"aux_{place}"] = plain_sql(
                self._names[name], self.table.types[name], "spark"
            )
        return self._placed(self.table.items(expressions, self._there))


def open_spark(scan: Scan, layout: Layout) -> CountingScanner:
    """Open predictions of one or several classifiers that Spark can read.

    Does not change the session's settings, nor create views in it.
    """
    rows = open_rows(scan)
    with reading_with_spark(rows.source):
        rows = _with_key(rows, layout.id)
        refuse_untried(rows.frame.sparkSession)
        scanner: CountingScanner
        columns = rows.frame.columns
        for place, role in enumerate(layout.judges.values()):
            if role.classes is not None:
                refuse_missing_columns(role.columns, columns, rows.source)
                rows = rows_with_classes(rows, role, place)
        if layout.is_coded:
            scanner = SeveralScanner(SparkTable(rows), layout)
        else:
            scanner = SparkScanner(SparkTable(rows), layout.first, layout.show)
        _ = rows.frame.select(*map(column_name, layout.columns)).columns  # is each there once?
        return scanner


def _with_key(rows: SparkRows, id: str | None) -> SparkRows:
    """Rows with a column for the key, if it is composite."""
    parts = key_parts(id, list(rows.types))
    if not parts:
        return rows
    refuse_missing_columns(parts, list(rows.types), rows.source)
    names = {part: column_name(part) for part in parts}
    key = key_sql(parts, names, rows.types, dialect="spark", source=rows.source)
    return replace(rows, frame=rows.frame.selectExpr("*", f"{key} AS {column_name(str(id))}"))
