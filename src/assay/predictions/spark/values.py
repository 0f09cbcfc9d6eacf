"""Values that occur in the columns of rows in Spark: classes by name, and slices."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError
from assay.predictions.class_values import MOST_WORDS, Occurring, class_text, numbered_words
from assay.predictions.column import refuse_missing_columns
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark.source import SparkRows, column_name, open_rows
from assay.predictions.sql.classes import LIST, NUMBER, list_sql
from assay.predictions.values import by_frequency, slice_bits, slice_columns, slice_text

BITS = "assay_bits"
"""The column with the bits of the slices that hold a row."""

_VALUE, _FOUND = "assay_value", "assay_found"
_WORD = "assay_word"


def distinct_in_spark(scan: Scan, column: str, limit: int, *, complete: bool) -> Occurring:
    """Return the values of a column, up to two more than a limit."""
    rows = open_rows(scan)
    refuse_missing_columns([column], rows.frame.columns, rows.source)
    name, where = column_name(column), f"column {column!r} of {rows.source}"
    found = rows.frame.selectExpr(f"{name} AS value").distinct().limit(limit + 2)
    values = rows.fetch(found)["value"].to_pylist()
    if complete and not all(map(class_text, values)):
        blank = f"{name} IS NULL OR trim(CAST({name} AS STRING)) IN ('', 'NaN')"
        count, size = rows.count([blank, "TRUE"])
        raise PredictionsError(
            f"{count:,} of {size:,} predicted classes in {where} are missing",
            hint="mend or drop these rows",
        )
    return Occurring(values, where)


def rows_with_slices(rows: SparkRows, written: Sequence[str]) -> tuple[SparkRows, tuple[str, ...]]:
    """Return rows with the bits of the slices that hold each, and the names of the slices.

    The values of a column, with the number of rows of each, are brought here: a job for each
    column. Every executor gets a small table of those that are slices.

    `written`: the slices, as they were asked for.
    """
    if not written:
        return rows, ()
    columns = slice_columns(written)
    refuse_missing_columns(columns, list(rows.types), rows.source)
    tables, values = {}, {}
    for name in columns:
        counted = rows.frame.selectExpr(f"{column_name(name)} AS {_VALUE}").groupBy(_VALUE).count()
        found = rows.fetch(counted)
        texts = [slice_text(value) for value in found[_VALUE].to_pylist()]
        values[name], place = by_frequency(texts, found["count"].to_numpy())
        tables[name] = found, place
    names, of_value = slice_bits(written, values.__getitem__, rows.source)
    frame, keep, bits = rows.frame, [column_name(name) for name in rows.types], "0L"
    for name, (found, place) in tables.items():
        of_text = np.array([of_value[name].get(value, 0) for value in values[name]])[place]
        missing = np.asarray(found[_VALUE].is_null())
        inside = (of_text > 0) & ~missing
        told = {_VALUE: found[_VALUE].filter(pa.array(inside)), _FOUND: of_text[inside]}
        frame = frame.selectExpr(*keep, f"{bits} AS {BITS}", f"{column_name(name)} AS {_VALUE}")
        frame = frame.join(
            frame.sparkSession.createDataFrame(pa.table(told)).hint("broadcast"), _VALUE, "left"
        )
        of_missing = int(of_text[missing].sum())  # NULL is equal to nothing, not even to itself
        here = f"CASE WHEN {_VALUE} IS NULL THEN {of_missing}L ELSE coalesce({_FOUND}, 0L) END"
        bits = f"{BITS} | {here}"
    return replace(rows, frame=frame.selectExpr(*keep, f"{bits} AS {BITS}")), names


def rows_with_classes(rows: SparkRows, roles: Roles) -> SparkRows:
    """Return rows with one or two more columns, of `sql.classes`.

    The words that are in the column of predicted classes are looked at once; every executor gets a
    small table of their numbers.
    """
    frame, keep = rows.frame, [column_name(name) for name in rows.types]
    if roles.of_class:
        listed = list_sql(
            roles,
            {name: column_name(name) for name in rows.types},
            rows.types,
            dialect="spark",
            is_text=rows.is_text,
            source=rows.source,
        )
        frame = frame.selectExpr(*keep, f"{listed} AS {LIST}")
        keep.append(LIST)
    if roles.predicted is not None and roles.classes is not None:
        words = frame.sparkSession.createDataFrame(
            _numbered_words(rows, roles.predicted, roles.classes)
        )
        named = frame.selectExpr(*keep, f"{column_name(roles.predicted)} AS {_WORD}")
        joined = named.join(words.hint("broadcast"), _WORD, "left")
        frame = joined.selectExpr(*keep, NUMBER)
    return replace(rows, frame=frame)


def _numbered_words(rows: SparkRows, column: str, classes: Vocabulary) -> "pa.Table":
    """Return the words of the column with the number of each: -1 where it is no class."""
    every = rows.frame.selectExpr(f"{column_name(column)} AS {_WORD}")
    found = rows.fetch(every.where(f"{_WORD} IS NOT NULL").distinct().limit(MOST_WORDS + 1))
    kept, numbers = numbered_words(found[_WORD].to_pylist(), classes, column, rows.source)
    words = found[_WORD].take(pa.array(kept, pa.int64()))
    return pa.table({_WORD: words, NUMBER: pa.array(numbers, pa.int32())})
