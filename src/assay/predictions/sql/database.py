"""Tables of databases that count in place."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa

from assay.core.deck import Id, IdKind
from assay.core.types import Floats
from assay.errors import PredictionsError
from assay.predictions.column import key_parts
from assay.predictions.databases import find_database
from assay.predictions.databases.database import (
    Counter,
    DatabaseColumn,
    DatabaseRows,
    Row,
    find_rows,
)
from assay.predictions.engine import Scanner
from assay.predictions.faults import no_ids, nothing_in
from assay.predictions.layout import Layout
from assay.predictions.query import Query, spelled, statement
from assay.predictions.scan import Scan
from assay.predictions.sql.counting import CountingScanner
from assay.predictions.sql.items import Items
from assay.predictions.sql.rows import family_of, key_sql
from assay.predictions.sql.several import SeveralScanner
from assay.predictions.sql.table import GIVEN, IdColumn, Table, refuse_other_arithmetic

_NAME = re.compile(r"\bc\d+\b")


class DatabaseTable(Table):
    """Rows of a database table."""

    dialect = "duckdb"

    def __init__(self, rows: DatabaseRows, database: Counter, keys: Sequence[str]) -> None:
        made = [_key(database, name, rows) for name in keys]
        self._rows = DatabaseRows(
            database, rows.source, rows.table, (*rows.columns, *made), rows.where
        )
        self._database, self.source, self.where = database, rows.source, rows.where

    @property
    def types(self) -> Mapping[str, str]:
        """DuckDB's type of each column."""
        return self._rows.types

    @property
    def names(self) -> Mapping[str, str]:
        """Name of each column in an expression."""
        return self._rows.names

    def items(self, expressions: Mapping[str, str], where: str = "") -> Items:
        """Expressions of the rows that fulfil a condition."""
        return self._items(expressions, where, "")

    def _items(self, expressions: Mapping[str, str], where: str, inside: str) -> Items:
        named = set(_NAME.findall(" ".join([*expressions.values(), where])))
        columns = [name for name, short in self.names.items() if short in named]
        selected = (f"{expression} AS {name}" for name, expression in expressions.items())
        query = Query(self._rows.select(columns, inside))
        return Items(query.select(*selected, where=where), list(expressions))

    def among(
        self, ids: Sequence[Id], column: IdColumn, expressions: Mapping[str, str], where: str = ""
    ) -> Iterator[Items]:
        """Like `items`, for rows with some ids; as many at a time as fit into a query."""
        for inside in self._inside(ids, column.name):
            yield self._items(expressions, where, inside)

    def _inside(self, ids: Sequence[Id], column: str) -> Iterator[str]:
        """Conditions in the database's own SQL: the id is among these, some at a time."""
        database, columns = self._database, self._rows.columns
        key = next(each for each in columns if each.name == column)

        def among(listed: Sequence[str]) -> str:
            inside = f"{key.stored or key.sql} IN ({', '.join(listed)})"
            return f"{inside} AND {key.sql} IS NOT NULL" if key.stored else inside

        texts: list[str] = []
        size = 0
        for id in dict.fromkeys(ids):
            if not database.possible(id, key.type):
                continue
            text = database.literal(id)
            if size + len(text) > database.longest:
                yield among(texts)
                texts, size = [], 0
            texts.append(text)
            size += len(text) + 2
        if texts:
            yield among(texts)

    def fetch(self, query: Query) -> "pa.Table":
        """Answer of a query."""
        with self.connected():
            return answer(query, self._database.fetch(self.sql(query)))

    def sql(self, query: Query) -> str:
        """Write the SQL of a query in the database's own dialect."""
        return statement(query, self._database, self._database.fence)

    def pieces(self, query: Query) -> Iterator["pa.Table"]:
        """Answer of a query in pieces; it may have as many rows as the table.

        Uses its own connection: the caller may run other queries between two pieces, and may take
        each piece in another thread.
        """
        own = type(self._database)(self._database.url)
        with own.telling(self.source):
            own.open()
            try:
                for rows in own.pieces(self.sql(query)):
                    yield answer(query, rows)
            finally:
                own.close()

    def addends(self, weights: Query) -> Iterator[Floats]:
        """All weights."""
        return (piece["weight"].to_numpy() for piece in self.pieces(weights))

    def id_sql(self, column: str) -> tuple[IdKind, str]:
        """Kind of the ids, and the expression of one; raise if they cannot be ids."""
        family = family_of(self.types[column])
        if family not in ("integer", "text"):
            raise no_ids(f"column {column!r} of {self.source}", self.types[column])
        return "integer" if family == "integer" else "string", self.names[column]

    def nothing(self) -> PredictionsError:
        """Error for a table without rows."""
        return nothing_in(self.source, self.where)

    def connected(self) -> AbstractContextManager[None]:
        """Stay connected for several queries."""
        return self._database.connected(self.source)


def answer(query: Query, rows: Sequence[Row]) -> "pa.Table":
    """Answer of a query as a table, from its rows."""
    names = query.names
    columns: Any = zip(*rows, strict=True) if rows else [()] * len(names)
    return pa.table([_array(column) for column in columns], names=names)


def _array(values: Any) -> Any:
    try:
        return pa.array(values)
    except OverflowError:
        return pa.array(values, pa.uint64())


def _key(database: Counter, name: str, rows: DatabaseRows) -> DatabaseColumn:
    """Column of a composite key."""
    columns = {column.name: column for column in rows.columns}
    parts = key_parts(name)
    places = {part: f"assay_part_{place}" for place, part in enumerate(parts)}
    key = key_sql(parts, places, rows.types, dialect="duckdb", source=rows.source)
    ((sql,), _) = spelled([key], "", database)
    own = re.sub(r"\bassay_part_(\d+)\b", lambda match: columns[parts[int(match[1])]].sql, sql)
    return DatabaseColumn(name, "VARCHAR", own)


def open_table(scan: Scan, layout: Layout) -> Scanner:
    """Open a table with predictions of one or several classifiers, counted by its database."""
    database = find_database(scan.path or "")
    if not isinstance(database, Counter):
        raise PredictionsError(
            f"engine 'database' is given for {scan.path or type(scan.source).__name__}",
            details="it is for a table of PostgreSQL, ClickHouse or SQLite",
            hint="leave out the engine",
        )
    wanted = list(dict.fromkeys([*layout.columns, *layout.show]))
    with database.connected():
        rows = find_rows(database, table=scan.table, where=scan.where, wanted=wanted)
        refuse_untried(database)
        keys = [name for name in wanted if key_parts(name, list(rows.types))]
        table = DatabaseTable(rows, database, keys)
        if layout.is_coded:
            return SeveralScanner(table, layout)
        return CountingScanner(table, layout.first, layout.show)


_tried: set[tuple[str, str]] = set()


def refuse_untried(database: Counter) -> None:
    """Raise if this database would draw other items than every other engine.

    Each version at an address is tested once in a process, with a query that reads no table.
    """
    with database.connected():
        database.refuse_old()
        which = database.address, database.version()
        if which in _tried:
            return
        refuse_other_arithmetic(
            database.written_out(GIVEN),
            lambda query: answer(query, database.fetch(statement(query, database, database.fence))),
            name=database.address,
            version=which[1],
            remedy="copy the table: engine 'duckdb'",
        )
        _tried.add(which)
