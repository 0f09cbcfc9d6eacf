"""Databases: connections to tables, and requirements for counting in place."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Any, ClassVar

import pyarrow as pa

from assay.core.deck import Id
from assay.errors import AssayError, PredictionsError, did_you_mean
from assay.predictions.column import with_parts
from assay.predictions.faults import (
    bad_condition,
    condition,
    first_lines,
    refuse_missing_columns,
    refuse_repeated_columns,
)
from assay.predictions.query import Spell, double_sql, selection

DatabaseTable = tuple[str, str, bool]
"""A table's schema and name, and whether the name alone is unambiguous."""

Row = tuple[Any, ...]


@dataclass(frozen=True)
class DatabaseColumn:
    """A column of a table."""

    name: str  # as it is in the table
    # DuckDB's name for the type of its values here: BOOLEAN, BIGINT, UBIGINT, DOUBLE, DECIMAL(p,s)
    # or VARCHAR.
    type: str
    sql: str  # the database's expression for them; of all others the text that the database writes
    # The column itself, if it can be compared with ids of that type: an index helps then.
    stored: str = ""


class Database(ABC):
    """A database with a table in it; reading rights suffice.

    It is connected only while a question is answered.
    """

    name: ClassVar[str]
    """Display name of the database."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock, self._depth, self._connection = RLock(), 0, None

    @property
    @abstractmethod
    def address(self) -> str:
        """Address for users, without user names and passwords."""

    def name_of(self, table: str | None) -> str:
        """Name of a table, for users; of the database, without one."""
        return self.address if table is None else f"table {table} of {self.address}"

    @property
    def connection(self) -> Any:
        """The driver's connection; raise if it is not connected."""
        if self._connection is None:
            raise PredictionsError(f"{self.address} is not connected")
        return self._connection

    @abstractmethod
    def connect(self) -> Any:
        """Read-only connection of the driver."""

    def open(self) -> None:
        """Connect to it."""
        self._connection = self.connect()

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @abstractmethod
    def fetch(self, sql: str) -> list[Row]:
        """Rows of a query's answer."""

    @abstractmethod
    def pieces(self, sql: str) -> Iterator[list[Row]]:
        """Rows of a query, piece by piece, however many there are."""

    def copied(self, sql: str, schema: "pa.Schema") -> "Iterator[pa.Table]":
        """Columns of a query, piece by piece."""
        for piece in self.pieces(sql):
            columns: Any = zip(*piece, strict=True)
            each = [pa.array(own, kind) for own, kind in zip(columns, schema.types, strict=True)]
            yield pa.Table.from_arrays(each, schema=schema)

    @abstractmethod
    def tables(self) -> list[DatabaseTable]:
        """Readable tables and views."""

    @abstractmethod
    def table(self, schema: str, name: str) -> str:
        """Name of a table as written after FROM."""

    @abstractmethod
    def columns(self, schema: str, name: str) -> list[DatabaseColumn]:
        """Columns of a table."""

    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """Exceptions of its driver."""

    @contextmanager
    def connected(self, label: str = "") -> Iterator[None]:
        """Stay connected, and raise database errors as errors of the source."""
        with self._lock, self.telling(label):
            if not self._depth:
                self.open()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    self.close()

    @contextmanager
    def telling(self, label: str = "") -> Iterator[None]:
        """Raise database errors as errors of the source, as `connected` does."""
        try:
            yield
        except (AssayError, ImportError):
            raise
        except self.errors() as error:
            raise PredictionsError(
                f"{label or self.address} cannot be read", details=self.message(error)
            ) from error

    def message(self, error: Exception) -> str:
        """Message of an error, for users."""
        return first_lines(error, 3)


class Counter(Database):
    """A database that counts a table in place: a `Spelling` of queries."""

    dialect: ClassVar[str]
    """Name of its SQL dialect in sqlglot."""
    fence: ClassVar[str] = ""
    """Ends a query that must not be merged with the one around it."""
    longest: ClassVar[int] = 8_000_000
    """Most bytes of ids in one query."""
    smallint: ClassVar[str] = "SMALLINT"
    """Type to which a condition is cast, to become 0 or 1."""
    functions: ClassVar[Mapping[str, Spell]] = {}
    """Functions that differ between databases, by their names in `query`."""

    @abstractmethod
    def version(self) -> str:
        """Name and version of the database."""

    def refuse_old(self) -> None:
        """Raise if its version lacks a required function."""
        return

    @abstractmethod
    def literal(self, id: Id) -> str:
        """Literal of an id."""

    def possible(self, id: Id, kind: str) -> bool:
        """Whether a column of ids of that type could contain this one."""
        if isinstance(id, int):
            return 0 <= id < 2**64 if kind == "UBIGINT" else -(2**63) <= id < 2**63
        try:
            id.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return False
        return True

    def double(self, digits: str) -> str:
        """Literal of a float64 that is read back exactly."""
        return digits

    @abstractmethod
    def lookup(self, index: str, which: int, values: Sequence[float]) -> str:
        """Element of a short list, counted from 0."""

    def constant(self, value: float | str) -> str:
        """Literal of an integer, a float or a text."""
        return self.double(double_sql(value)) if isinstance(value, float) else self.literal(value)

    def written_out(self, columns: Mapping[str, Sequence[float | str]]) -> str:
        """Query for literal rows, given as columns by name."""
        rows = [
            ", ".join(
                f"{self.constant(value)} AS {name}"
                for name, value in zip(columns, row, strict=True)
            )
            for row in zip(*columns.values(), strict=True)
        ]
        return " UNION ALL ".join(f"SELECT {row}" for row in rows)


_TOLD = 20  # tables that an error lists


def find_table(wanted: str | None, tables: Iterable[DatabaseTable], label: str) -> tuple[str, str]:
    """Find the schema and name of a table.

    The name may be qualified with its schema and a dot, without quotes.

    >>> tables = [("main", "preds", True), ("old", "preds", False)]
    >>> find_table("old.preds", tables, "a.duckdb")
    ('old', 'preds')
    >>> find_table("pred", tables, "a.duckdb")
    Traceback (most recent call last):
    assay.errors.PredictionsError: table 'pred' not found in a.duckdb
    tables: preds, old.preds
    hint: did you mean 'preds'?
    """
    called: dict[str, tuple[str, str]] = {}
    for schema, name, is_enough in tables:
        called[name if is_enough else f"{schema}.{name}"] = (schema, name)
    qualified = {f"{schema}.{name}": (schema, name) for schema, name in called.values()}
    some = [*list(called)[:_TOLD], *(["..."] if len(called) > _TOLD else [])]
    listing = f"tables: {', '.join(some) or 'none'}"
    if wanted is None:
        raise PredictionsError(
            f"no table of {label} is named",
            details=listing,
            hint=f"name one: table={next(iter(called))!r}" if called else "",
        )
    match = called.get(wanted) or qualified.get(wanted)
    if match is None:
        raise PredictionsError(
            f"table {wanted!r} not found in {label}",
            details=listing,
            hint=did_you_mean(wanted, [*called, *qualified]),
        )
    return match


# Rows of a database table, read or counted.


@dataclass(frozen=True, eq=False)
class DatabaseRows:
    """Rows of a table."""

    database: Database  # which has them
    source: str  # description, for users
    table: str  # as it stands after FROM
    columns: tuple[DatabaseColumn, ...]  # those of the table
    where: str | None  # the condition that the rows fulfil, in the database's own SQL

    @cached_property
    def types(self) -> dict[str, str]:
        """DuckDB's type of each column."""
        return {column.name: column.type for column in self.columns}

    @cached_property
    def names(self) -> dict[str, str]:
        """Name of each column in a query."""
        return {column.name: f"c{place}" for place, column in enumerate(self.columns)}

    def select(self, columns: Sequence[str], inside: str = "") -> str:
        """Query for the rows, in the database's own SQL."""
        wanted = set(columns)
        selected = [
            f"{column.sql} AS {self.names[column.name]}"
            for column in self.columns
            if column.name in wanted
        ]
        conditions = [condition(self.where).removeprefix("WHERE ")] if self.where else []
        conditions += [inside] if inside else []
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        return selection(selected or ["1 AS one"], self.table, where)


def find_rows(
    database: Database, *, table: str | None, where: str | None, wanted: Sequence[str]
) -> DatabaseRows:
    """Find a table, and test the condition on its rows."""
    label = database.name_of(table)
    with database.connected(label):
        schema, name = find_table(table, database.tables(), database.address)
        columns = database.columns(schema, name)
        names = [column.name for column in columns]
        needed = with_parts(wanted, names)
        refuse_repeated_columns(needed, names, label)
        refuse_missing_columns(needed, names, label)
        rows = DatabaseRows(database, label, database.table(schema, name), tuple(columns), where)
        if where:
            try:
                tried = f"({rows.select(needed)}) AS tried"
                database.fetch(selection(["1"], tried, "LIMIT 0"))
            except database.errors() as error:
                raise bad_condition(where, error, names) from error
        return rows
