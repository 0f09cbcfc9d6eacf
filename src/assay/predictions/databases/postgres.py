"""PostgreSQL: connections to its tables, and its SQL dialect."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import pyarrow as pa

from assay.core.deck import Id
from assay.errors import MissingDependencyError, PredictionsError, install
from assay.predictions.databases.database import Counter, DatabaseColumn, DatabaseTable, Row
from assay.predictions.query import Spell, identifier, quoted, selection

if TYPE_CHECKING:
    from psycopg import Column

# PostgreSQL's type numbers that are read as they are. Other types are read as the text that it
# writes, which is exact.
_TYPES = {
    16: "BOOLEAN",
    20: "BIGINT",
    21: "SMALLINT",
    23: "INTEGER",
    26: "UINTEGER",
    700: "FLOAT",
    701: "DOUBLE",
}
_TEXTS = (25, 1043)
_NUMERIC = 1700

_TABLES = """
SELECT nspname, relname, pg_table_is_visible(pg_class.oid)
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
  AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY nspname, relname
"""
# Every value is in quotes, so that a line is never empty and \N without them is NULL.
_COPY = r"COPY ({}) TO STDOUT (FORMAT csv, NULL '\N', FORCE_QUOTE *)"
_PART = 32 * 2**20  # bytes that are copied at once
_OLDEST = 14  # the first with bit_xor
_AT_ONCE = 50_000


def address_of(url: str) -> str:
    """URL without user names and password.

    >>> address_of("postgresql://someone:secret@host:5432/db?sslmode=require")
    'postgresql://host/db'
    """
    parts = urlsplit(url)
    return f"postgresql://{parts.hostname or ''}{parts.path}"


class Postgres(Counter):
    """A PostgreSQL database, in a read-only transaction."""

    name = "PostgreSQL"
    dialect = "postgres"
    # A query with this end is not merged with the one around it; there is no other cost.
    fence = "OFFSET 0"
    smallint = "INTEGER"  # a condition can be cast to that only
    functions: ClassVar[Mapping[str, Spell]] = {
        "and_bits": lambda a, b: f"(({a}) & ({b}))",
        "or_bits": lambda a, b: f"(({a}) | ({b}))",
        "xor_bits": lambda a, b: f"(({a}) # ({b}))",
        "left_by": lambda a, n: f"(({a}) << {n})",
        "right_by": lambda a, n: f"(({a}) >> {n})",
        "xor_all": lambda a: f"bit_xor({a})",
        "text_word": lambda a: (
            f"('x' || left(encode(sha256(convert_to({a}, 'UTF8')), 'hex'), 16))::bit(64)::bigint"
        ),
    }

    @property
    def address(self) -> str:
        """Address, for users."""
        return address_of(self.url)

    def connect(self) -> Any:
        """Connect, and start a read-only transaction that sees one state of the table."""
        psycopg = _driver()
        plain = re.sub(r"^\w+(\+\w+)?://", "postgresql://", self.url)
        server = psycopg.connect(plain, client_encoding="utf8")
        server.read_only = True
        server.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        server.execute("SET extra_float_digits = 3")  # versions before 12 rounded
        server.execute("SET standard_conforming_strings = on; SET datestyle = ISO")
        # Keep rows in their physical order.
        server.execute("SET synchronize_seqscans = off")
        # Compiling the many steps of a query takes seconds and saves less.
        server.execute("SET jit = off")
        return server

    def fetch(self, sql: str) -> list[Row]:
        """Rows of a query's answer."""
        # A prepared statement is a single one: a condition cannot end it and start another, which
        # could leave the read-only transaction.
        return list(self.connection.execute(sql.encode(), prepare=True))

    def pieces(self, sql: str) -> Iterator[list[Row]]:
        """Rows of a query, piece by piece."""
        rows: list[Row] = []
        with self.connection.cursor() as cursor:
            for row in cursor.stream(sql.encode()):
                rows.append(row)
                if len(rows) == _AT_ONCE:
                    yield rows
                    rows = []
        if rows:
            yield rows

    def copied(self, sql: str, schema: "pa.Schema") -> "Iterator[pa.Table]":
        """Columns of a query, piece by piece, as COPY writes them: in a third of the time."""
        from pyarrow import csv

        convert = csv.ConvertOptions(
            column_types=schema,
            null_values=["\\N"],
            true_values=["t"],
            false_values=["f"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        parse = csv.ParseOptions(newlines_in_values=True)
        with self.connection.cursor() as cursor, cursor.copy(_COPY.format(sql).encode()) as lines:
            for part in _parts(lines):
                read = csv.ReadOptions(column_names=schema.names, block_size=len(part))
                yield csv.read_csv(BytesIO(part), read, parse, convert)

    def version(self) -> str:
        """Name and version of the server."""
        return f"{self.name} {self.connection.info.server_version // 10_000}"

    def refuse_old(self) -> None:
        """Raise if its version has no exclusive or of a group."""
        if self.connection.info.server_version < _OLDEST * 10_000:
            raise PredictionsError(
                f"{self.address} is of {self.version()}",
                details=f"tables are counted in place from {self.name} {_OLDEST} on",
                hint="copy the table: engine 'duckdb'",
            )

    def tables(self) -> list[DatabaseTable]:
        """Readable tables and views."""
        return list(self.connection.execute(_TABLES))

    def table(self, schema: str, name: str) -> str:
        """Name of a table as written after FROM."""
        return f"{identifier(schema)}.{identifier(name)}"

    def columns(self, schema: str, name: str) -> list[DatabaseColumn]:
        """Columns of a table."""
        query = selection(["*"], self.table(schema, name), "LIMIT 0")
        cursor = self.connection.execute(query.encode())
        return [
            DatabaseColumn(column.name, type_of(column), _sql(column), _stored(column))
            for column in cursor.description or []
        ]

    def errors(self) -> tuple[type[Exception], ...]:
        """Exceptions of the driver."""
        return (_driver().Error,)

    def literal(self, id: Id) -> str:
        """Literal of an id."""
        return quoted(id, "duckdb") if isinstance(id, str) else str(id)

    def possible(self, id: Id, kind: str) -> bool:
        """Whether a column of ids could contain this one."""
        return super().possible(id, kind) and "\0" not in str(id)

    def double(self, digits: str) -> str:
        """Float literal; without a cast it would be a numeric."""
        return f"'{digits}'::float8"

    def lookup(self, index: str, which: int, values: Sequence[float]) -> str:
        """Element of a list."""
        del which
        listed = ",".join(map(repr, values))
        return f"('{{{listed}}}'::float8[])[({index}) + 1]"


def _parts(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Whole rows of a copy, put together; libpq gives one at a time."""
    rows, size = list[bytes](), 0
    for row in lines:
        rows.append(row)
        size += len(row)
        if size >= _PART:
            yield b"".join(rows)
            rows, size = [], 0
    if rows:
        yield b"".join(rows)


def _driver() -> ModuleType:
    try:
        import psycopg
    except ImportError:
        raise MissingDependencyError("PostgreSQL needs psycopg", hint=install("postgres")) from None
    return psycopg


def type_of(column: "Column") -> str:
    """DuckDB's name for the type of a column."""
    if column.type_code != _NUMERIC:
        return _TYPES.get(column.type_code, "VARCHAR")
    digits, places = column.precision, column.scale
    if digits is None or places is None or not 0 <= places <= digits <= 38:
        return "DOUBLE"  # any number of digits; scores become the nearest float anyway
    return f"DECIMAL({digits},{places})"


def _stored(column: "Column") -> str:
    compares = type_of(column) in ("SMALLINT", "INTEGER", "BIGINT") or column.type_code in _TEXTS
    return identifier(column.name) if compares else ""


def _sql(column: "Column") -> str:
    """Write the SQL of a column's values: numbers as bigint or float8, others as text."""
    name, kind = identifier(column.name), type_of(column)
    if kind in ("FLOAT", "DOUBLE"):
        return f"{name}::float8"
    if kind in ("SMALLINT", "INTEGER", "UINTEGER"):
        return f"{name}::bigint"
    if kind == "VARCHAR" and column.type_code not in _TEXTS:
        return f"CASE WHEN {name} IS NOT NULL THEN concat({name}) END"
    return name
