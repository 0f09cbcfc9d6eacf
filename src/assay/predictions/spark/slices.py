"""Slices of the items in Spark, as bits of a row."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from assay.predictions.column import refuse_missing_columns
from assay.predictions.spark.source import SparkRows, column_name
from assay.predictions.values import by_frequency, slice_bits, slice_columns, slice_text

BITS = "assay_bits"
"""The column with the bits of the slices that hold a row."""

_VALUE, _FOUND = "assay_value", "assay_found"


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
