"""Values that occur in the columns of a relation of DuckDB: classes by name, and slices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError
from assay.predictions.class_values import MOST_WORDS, Occurring, class_text, numbered_words
from assay.predictions.column import examples, refuse_missing_columns
from assay.predictions.duckdb.readable import identifier, reading
from assay.predictions.duckdb.relations import Relation
from assay.predictions.roles import Roles
from assay.predictions.sql.classes import LIST, NUMBER, list_sql
from assay.predictions.values import by_frequency, slice_bits, slice_columns, slice_text

_FIRST = 100_000  # rows that are looked at before all others
_BLANK = "value IS NULL OR trim(value::VARCHAR) IN ('', 'nan')"
BITS = "assay_bits"
"""The column with the bits of the slices that hold a row."""

_TABLE = "assay_slice"
_WORDS, _NUMBERS, _CLASSES = "assay_words", "assay_numbers", "assay_classes"


def distinct_in_duckdb(relation: Relation, column: str, limit: int, *, complete: bool) -> Occurring:
    """Return the values of a column, up to two more than a limit."""
    where = f"column {column!r} of {relation.label}"
    rows = relation.connection.sql(f"FROM {relation.sql}").project(f"{identifier(column)} AS value")

    def fetched(found: duckdb.DuckDBPyRelation) -> list[Any]:
        with reading(relation.label):
            return found.fetchall()

    def first_rows(condition: str) -> str:
        numbered = rows.project("row_number() OVER () - 1 AS row, value").filter(condition)
        return examples(np.array([row for row, _ in fetched(numbered.order("row").limit(3))]))

    def rows_with(value: object) -> str:
        wanted = duckdb.ConstantExpression(value)
        return first_rows(f"value = {wanted}")

    some = fetched(rows.limit(_FIRST).distinct().limit(limit + 2))
    if len(some) > limit + (1 if complete else 0):
        return Occurring([value for (value,) in some], where)
    values = [value for (value,) in fetched(rows.distinct().limit(limit + 2))]
    if complete and not all(map(class_text, values)):
        ((count, size),) = fetched(rows.aggregate(f"count_if({_BLANK}), count(*)"))
        raise PredictionsError(
            f"{count:,} of {size:,} predicted classes in {where} are missing",
            details=first_rows(_BLANK),
            hint="mend or drop these rows",
        )
    return Occurring(values, where, rows_with)


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


def rows_with_classes(relation: Relation, roles: Roles) -> str:
    """Return what stands after FROM for rows with one or two more columns, of `sql.classes`.

    The words that are in the column of predicted classes are looked at once, and their numbers
    kept in a small table of the connection: to join it takes less time than any expression would.
    """
    more, joined = [], ""
    if roles.predicted is not None and roles.classes is not None:
        _number_words(relation, roles.predicted, roles.classes)
        more.append(f"{_CLASSES}.number AS {NUMBER}")
        column = identifier(roles.predicted)
        joined = f"LEFT JOIN {_CLASSES} ON assay_rows.{column} = {_CLASSES}.word"
    if roles.of_class:
        listed = list_sql(
            roles,
            {name: f"assay_rows.{identifier(name)}" for name in relation.types},
            relation.types,
            dialect="duckdb",
            is_text=relation.is_text,
            source=relation.label,
        )
        more.append(f"{listed} AS {LIST}")
    rows = f"(FROM {relation.sql}) AS assay_rows {joined}"
    return f"(FROM {rows} SELECT assay_rows.*, {', '.join(more)})"


def _number_words(relation: Relation, column: str, classes: Vocabulary) -> None:
    connection = relation.connection
    words = connection.sql(f"FROM {relation.sql}").project(f"{identifier(column)} AS word")
    with reading(relation.label):
        some = words.filter("word IS NOT NULL").distinct().limit(MOST_WORDS + 1)
        some.project("row_number() OVER () AS place, word").create(_WORDS)
        found = connection.table(_WORDS).fetchall()
    kept, numbers = numbered_words([word for _, word in found], classes, column, relation.label)
    places = pa.array([found[each][0] for each in kept], pa.int64())
    table = pa.table({"place": places, "number": pa.array(numbers, pa.int32())})
    connection.from_arrow(table).create(_NUMBERS)
    joined = connection.table(_WORDS).join(connection.table(_NUMBERS), "place")
    joined.project("word, number").create(_CLASSES)
