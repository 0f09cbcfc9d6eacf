"""Rows that DuckDB reads, looked at again to tell what is wrong with them."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from assay.predictions.duckdb.readable import identifier
from assay.predictions.duckdb.relations import Relation


class DuckInspected:
    """`Inspected` rows of a relation.

    `relation`: the rows; `id`: the id as SQL; it orders the examples; `sql`: stands after FROM: the
    relation's rows, with more columns.
    """

    def __init__(self, relation: Relation, id: str, sql: str) -> None:
        self._relation, self._id, self._sql = relation, id, sql

    @property
    def source(self) -> str:
        """Where the rows come from, for people."""
        return self._relation.label

    @property
    def types(self) -> Mapping[str, str]:
        """Of each column its type."""
        return self._relation.types

    def count(self, conditions: Sequence[str]) -> Sequence[int]:
        """Return for each condition the number of rows that fulfil it."""
        counts = ", ".join(f"count(*) FILTER ({condition})" for condition in conditions)
        counted: Sequence[int] = self._fetch(self._rows.aggregate(counts))[0]
        return counted

    def first(self, columns: Sequence[str], condition: str) -> list[Sequence[object]]:
        """Return columns of up to three rows that fulfil it: those with the smallest ids."""
        found = self._rows.filter(condition).order(self._id).limit(3)
        return self._fetch(found.project(", ".join(map(identifier, columns))))

    def distinct(self, column: str, condition: str, limit: int) -> list[object]:
        """Return the smallest values of the column among the rows that fulfil it."""
        values = self._rows.filter(condition).project(f"{identifier(column)} AS value").distinct()
        return [value for (value,) in self._fetch(values.order("value").limit(limit))]

    @property
    def _rows(self) -> duckdb.DuckDBPyRelation:
        return self._relation.connection.sql(f"FROM {self._sql}")

    def _fetch(self, rows: duckdb.DuckDBPyRelation) -> list[Any]:
        """Fetch rows without a look at the files' statistics.

        Those of Parquet files leave NaN out, and DuckDB would conclude that there is none:
        https://github.com/duckdb/duckdb/issues/25521.
        """
        connection = self._relation.connection
        connection.execute("SET disabled_optimizers = 'statistics_propagation,filter_pushdown'")
        try:
            found: list[Any] = rows.fetchall()
        finally:
            connection.execute("RESET disabled_optimizers")
        return found
