"""Rows of a table in a database: what is asked of them, and their ids."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from assay.core.deck import Id
from assay.errors import PredictionsError
from assay.predictions.column import refuse_missing_columns
from assay.predictions.contract import IdKind
from assay.predictions.databases.database import (
    Database,
    DatabaseColumn,
    Row,
    find_table,
    selection,
)
from assay.predictions.databases.translate import Query, translated
from assay.predictions.duckdb.readable import bad_condition, condition, refuse_repeated_columns
from assay.predictions.ids import Ids
from assay.predictions.keys import key_parts, key_sql, with_parts
from assay.predictions.sql.rows import family_of


@dataclass(frozen=True, eq=False)
class DatabaseRows:
    """Rows of a table, which can be asked for what is wrong with them."""

    database: Database  # which has them
    source: str  # what they are, for people
    table: str  # as it stands after FROM
    columns: tuple[DatabaseColumn, ...]  # those of the table
    where: str | None  # the condition that the rows fulfil, in the database's own SQL

    @cached_property
    def types(self) -> dict[str, str]:
        """Of each column its type, as DuckDB names it."""
        return {column.name: column.type for column in self.columns}

    @cached_property
    def names(self) -> dict[str, str]:
        """Of each column its name in a query."""
        return {column.name: f"c{place}" for place, column in enumerate(self.columns)}

    def select(self, columns: Sequence[str], inside: str = "") -> str:
        """Return rows in the database's own SQL.

        `columns`: those that are needed; they get the names of `names`.
        """
        wanted = set(columns)
        told = [
            f"{column.sql} AS {self.names[column.name]}"
            for column in self.columns
            if column.name in wanted
        ]
        conditions = [condition(self.where).removeprefix("WHERE ")] if self.where else []
        conditions += [inside] if inside else []
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        return selection(told or ["1 AS one"], self.table, where)

    def fetch(self, query: Query) -> list[Row]:
        """Return the rows that a query has for an answer."""
        with self.database.connected(self.source):
            return self.database.fetch(query.sql(self.database))

    def pieces(self, query: Query) -> Iterator[list[Row]]:
        """Return the rows that a query has for an answer piece by piece.

        By a connection of its own: whoever takes the pieces may ask for something else meanwhile,
        and may be of another thread each time.
        """
        own = type(self.database)(self.database.url)
        with own.telling(self.source):
            own.open()
            try:
                yield from own.pieces(query.sql(own))
            finally:
                own.close()

    def count(self, conditions: Sequence[str]) -> list[int]:
        """Return for each condition the number of rows that fulfil it."""
        counts = [f"sum(CASE WHEN {condition} THEN 1 ELSE 0 END)" for condition in conditions]
        (found,) = self.fetch(self._all.select(*counts))
        return [int(each or 0) for each in found]

    def first(self, columns: Sequence[str], condition: str) -> list[Sequence[object]]:
        """Return columns of up to three rows that fulfil it: the first if ordered by them."""
        if not columns:
            return []
        names = [self.names[name] for name in columns]
        some = self._all.select(*names, where=condition, tail=f"ORDER BY {names[0]} LIMIT 3")
        return list(self.fetch(some))

    def distinct(self, column: str, condition: str, limit: int) -> list[object]:
        """Return the smallest values of the column among the rows that fulfil it."""
        name = self.names[column]
        there = f"({condition}) AND {name} IS NOT NULL"
        tail = f"GROUP BY {name} ORDER BY {name} LIMIT {limit}"
        return [value for (value,) in self.fetch(self._all.select(name, where=there, tail=tail))]

    @property
    def _all(self) -> Query:
        return Query(self.select(list(self.types)))


def find_rows(
    database: Database, *, table: str | None, where: str | None, wanted: Sequence[str]
) -> DatabaseRows:
    """Find a table, and try the condition on its rows.

    `wanted`: the columns that are needed.
    """
    label = database.address if table is None else f"table {table} of {database.address}"
    with database.connected(label):
        schema, name = find_table(table, database.tables(), database.address)
        columns = database.columns(schema, name)
        names = [column.name for column in columns]
        needed = with_parts(wanted, names)
        refuse_repeated_columns(needed, names, label)
        refuse_missing_columns(needed, names, label)
        columns += [
            _key(database, each, columns, label) for each in wanted if key_parts(each, names)
        ]
        rows = DatabaseRows(database, label, database.table(schema, name), tuple(columns), where)
        if where:
            try:
                tried = f"({rows.select(wanted)}) AS tried"
                database.fetch(selection(["1"], tried, "LIMIT 0"))
            except database.errors() as error:
                raise bad_condition(where, error, names) from error
        return rows


def _key(
    database: Database, name: str, columns: Sequence[DatabaseColumn], label: str
) -> DatabaseColumn:
    """Return the column of a key that is made of others.

    `columns`: those of the table.
    """
    held = {column.name: column for column in columns}
    parts = key_parts(name)
    places = {part: f"assay_part_{place}" for place, part in enumerate(parts)}
    types = {part: held[part].type for part in parts}
    key = key_sql(parts, places, types, dialect="duckdb", source=label)
    sql = translated(f"SELECT {key}", database).removeprefix("SELECT ")
    own = re.sub(r"\bassay_part_(\d+)\b", lambda found: held[parts[int(found[1])]].sql, sql)
    return DatabaseColumn(name, "VARCHAR", own)


class DatabaseIds:
    """The ids of some rows.

    `rows`: the rows; `column`: the column of the ids.
    """

    def __init__(self, rows: DatabaseRows, column: str) -> None:
        self._rows, self._column = rows, column
        self._type = rows.types[column]
        family = family_of(self._type)
        if family not in ("integer", "text"):
            raise PredictionsError(
                f"the ids in column {column!r} of {rows.source} are of type {self._type}",
                details="an id is a whole number of 64 bits or a string",
                hint="make them integers if they are whole numbers, or else strings",
            )
        self.kind: IdKind = "integer" if family == "integer" else "string"
        self.sql = rows.names[column]

    def of(self, ids: Sequence[Any]) -> Ids:
        """Take what the database answered for ids."""
        if self.kind == "integer":
            if self._type == "UBIGINT":
                return Ids(np.array(ids, dtype=np.uint64))
            return Ids(np.array(ids, dtype=np.int64))
        return Ids(pa.array(ids, pa.large_string()))

    def inside(self, ids: Sequence[Id]) -> Iterator[str]:
        """Return conditions in the database's own SQL: an id is among these, some at a time."""
        database = self._rows.database
        column = next(each for each in self._rows.columns if each.name == self._column)

        def among(listed: Sequence[str]) -> str:
            inside = f"{column.stored or column.sql} IN ({', '.join(listed)})"
            return f"{inside} AND {column.sql} IS NOT NULL" if column.stored else inside

        held: list[str] = []
        size = 0
        for id in dict.fromkeys(ids):
            if not database.possible(id, self._type):
                continue
            text = database.literal(id)
            if size + len(text) > database.longest:
                yield among(held)
                held, size = [], 0
            held.append(text)
            size += len(text) + 2
        if held:
            yield among(held)

    def refuse_repeated(self) -> None:
        """Look at every id, and raise where one repeats."""
        rows = Query(self._rows.select([self._column])).select(
            f"{self.sql} AS id",
            "count(*) AS times",
            where=f"{self.sql} IS NOT NULL",
            tail=f"GROUP BY {self.sql} HAVING count(*) > 1",
        )
        ((count,),) = self._rows.fetch(rows.select("count(*) AS number"))
        if not count:
            return
        some = self._rows.fetch(rows.select("id", "times", tail="ORDER BY id LIMIT 3"))
        first = ", ".join(f"{id!r} in {times} rows" for id, times in some)
        raise PredictionsError(
            f"column {self._column!r} of {self._rows.source} has ids that occur more than once: "
            f"{count:,}",
            details=f"first: {first}",
            hint="an item is one row with an id of its own; drop the repetitions",
        )
