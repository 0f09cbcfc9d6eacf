"""Slices of the items that DuckDB reads where they lie, as bits of a row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.predictions.column import refuse_missing_columns
from assay.predictions.duckdb.readable import identifier, reading
from assay.predictions.duckdb.relations import Relation
from assay.predictions.values import by_frequency, slice_bits, slice_columns, slice_text

BITS = "assay_bits"
"""The column with the bits of the slices that hold a row."""

_TABLE = "assay_slice"


@dataclass(frozen=True)
class DuckSlices:
    """The names of slices, and what stands after FROM for rows with their bits."""

    names: tuple[str, ...]
    sql: str


def find_slices(relation: Relation, written: Sequence[str]) -> DuckSlices:
    """Find the values that slices are of, and what bits rows have by them.

    The values of a column, with the number of rows of each, are brought into memory, and written
    as in memory. Tables have the bits of each: rows are joined with them.
    """
    columns = slice_columns(written)
    refuse_missing_columns(columns, list(relation.types), relation.label)
    rows = relation.connection.sql(f"FROM {relation.sql}")
    tables, values = {}, {}
    for name in columns:
        column = rows.project(f"{identifier(name)} AS value")
        with reading(relation.label):
            found = column.aggregate("value, count(*) AS count", "value").to_arrow_table()
        texts = [slice_text(value) for value in found["value"].to_pylist()]
        values[name], place = by_frequency(texts, np.asarray(found["count"]))
        tables[name] = found, place
    names, of_value = slice_bits(written, values.__getitem__, relation.label)
    joins, bits = [], []
    for number, (name, (found, place)) in enumerate(tables.items()):
        of_text = np.array([of_value[name].get(value, 0) for value in values[name]])
        told = pa.table({"value": found["value"], "bits": of_text[place]})
        table = f"{_TABLE}_{number}"
        relation.connection.execute(f"DROP TABLE IF EXISTS {table}")
        relation.connection.from_arrow(told).filter("bits > 0").create(table)
        same = f"{table}.value IS NOT DISTINCT FROM assay_rows.{identifier(name)}"
        joins.append(f"LEFT JOIN {table} ON {same}")
        bits.append(f"coalesce({table}.bits, 0)")
    joined = f"(FROM {relation.sql}) AS assay_rows {' '.join(joins)}"
    return DuckSlices(names, f"(FROM {joined} SELECT assay_rows.*, {' | '.join(bits)} AS {BITS})")
