"""Database: what a table's own database must be able to do to count it where it lies."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any, ClassVar

from assay.core.deck import Id
from assay.errors import AssayError, PredictionsError, did_you_mean
from assay.predictions.sql.rows import double_sql

DatabaseTable = tuple[str, str, bool]
"""A table's schema and name, and whether the name alone is enough."""

Row = tuple[Any, ...]
Written = Callable[..., str]
"""From the SQL of a function's arguments to what the database has for it."""


@dataclass(frozen=True)
class DatabaseColumn:
    """A column of a table."""

    name: str  # as it is in the table
    # What its values are here, by the name that DuckDB has for it: BOOLEAN, BIGINT, UBIGINT,
    # DOUBLE, DECIMAL(p,s) or VARCHAR.
    type: str
    sql: str  # the database's expression for them; of all others the text that the database writes
    # The column itself, where it can be compared with ids of that type: an index is of use then.
    stored: str = ""


def selection(columns: Sequence[str], rows: str, *more: str) -> str:
    """Return a query.

    `columns`: expressions.

    >>> selection(["id", "p"], "preds", "LIMIT 3")
    'SELECT id, p FROM preds LIMIT 3'
    """
    return " ".join(["SELECT", ", ".join(columns), "FROM", rows, *filter(None, more)])


class Database(ABC):
    """A database with a table in it, of which reading rights are enough.

    It is connected to while a question is answered, and at no other time.

    `url`: where it is, as `assay.predictions.scan.Scan` has it.
    """

    name: ClassVar[str]
    """What people call it."""
    dialect: ClassVar[str]
    """What sqlglot calls its SQL."""
    fence: ClassVar[str] = ""
    """What ends a query that must not be merged with the one around it."""
    longest: ClassVar[int] = 8_000_000
    """The most bytes of ids that are looked for with one query."""
    smallint: ClassVar[str] = "SMALLINT"
    """The type that a condition is cast to, to become 0 or 1."""
    functions: ClassVar[Mapping[str, Written]] = {}
    """What differs from one database to the next, by the names that `assay.predictions.databases.
    translate` has for it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock, self._depth, self._connection = RLock(), 0, None

    @property
    @abstractmethod
    def address(self) -> str:
        """Where it is, for people: without names and passwords."""

    @property
    def connection(self) -> Any:
        """The driver's connection; there is one while it is connected."""
        if self._connection is None:
            raise PredictionsError(f"{self.address} is not connected")
        return self._connection

    @abstractmethod
    def connect(self) -> Any:
        """Return a connection of the driver's, for reading only."""

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
        """Return the rows that one query has for an answer."""

    @abstractmethod
    def pieces(self, sql: str) -> Iterator[list[Row]]:
        """Return the rows of one query piece by piece, however many there are."""

    @abstractmethod
    def version(self) -> str:
        """Return what it says it is."""

    @abstractmethod
    def tables(self) -> list[DatabaseTable]:
        """Return the tables and views that can be read."""

    @abstractmethod
    def table(self, schema: str, name: str) -> str:
        """Return a table as it stands after FROM."""

    @abstractmethod
    def columns(self, schema: str, name: str) -> list[DatabaseColumn]:
        """Return the columns of a table."""

    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """Return what its driver raises."""

    @abstractmethod
    def literal(self, id: Id) -> str:
        """Return an id as it stands in a query."""

    def possible(self, id: Id, kind: str) -> bool:
        """Tell whether a column of ids of that type could hold this one."""
        if isinstance(id, int):
            return 0 <= id < 2**64 if kind == "UBIGINT" else -(2**63) <= id < 2**63
        try:
            id.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return False
        return True

    def double(self, digits: str) -> str:
        """Return a number of float64 as a literal that is read as that very number."""
        return digits

    @abstractmethod
    def lookup(self, index: str, values: Sequence[float]) -> str:
        """Return an element of a list, which is short enough to stand in a query, from 0 on."""

    def constant(self, value: float | str) -> str:
        """Return a whole number, a number or a text as it stands in a query."""
        return self.double(double_sql(value)) if isinstance(value, float) else self.literal(value)

    def written_out(self, columns: Mapping[str, Sequence[float | str]]) -> str:
        """Return a query for rows that are written out, of columns by name."""
        rows = [
            ", ".join(
                f"{self.constant(value)} AS {name}"
                for name, value in zip(columns, row, strict=True)
            )
            for row in zip(*columns.values(), strict=True)
        ]
        return " UNION ALL ".join(f"SELECT {row}" for row in rows)

    def refuse_old(self) -> None:
        """Raise where its version lacks a function that is needed."""
        return

    @contextmanager
    def connected(self, label: str = "") -> Iterator[None]:
        """Stay connected, and let errors of the database be told as errors of what is read."""
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
        """Let errors of the database be told as errors of what is read, as in `connected`."""
        try:
            yield
        except (AssayError, ImportError):
            raise
        except self.errors() as error:
            raise PredictionsError(
                f"{label or self.address} cannot be read", details=self.told(error)
            ) from error

    def told(self, error: Exception) -> str:
        """Return what an error says, for people."""
        from assay.predictions.duckdb.readable import first_lines

        return first_lines(error, 3)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what belongs to this process."""
        return {"url": self.url}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Begin without a connection."""
        Database.__init__(self, state["url"])


_TOLD = 20  # tables that an error lists


def find_table(wanted: str | None, tables: Iterable[DatabaseTable], label: str) -> tuple[str, str]:
    """Return the schema and the name of the table that is meant.

    The name stands behind its schema and a dot if need be, without quotes.

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
    told = f"tables: {', '.join(some) or 'none'}"
    if wanted is None:
        raise PredictionsError(
            f"no table of {label} is named",
            details=told,
            hint=f"say which: table={next(iter(called))!r}" if called else "",
        )
    found = called.get(wanted) or qualified.get(wanted)
    if found is None:
        raise PredictionsError(
            f"table {wanted!r} not found in {label}",
            details=told,
            hint=did_you_mean(wanted, [*called, *qualified]),
        )
    return found
