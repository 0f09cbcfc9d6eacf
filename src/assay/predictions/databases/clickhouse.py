"""ClickHouse: connections to its tables, and its SQL dialect."""

import logging
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np

from assay.core.deck import Id
from assay.errors import MissingDependencyError, install
from assay.predictions.databases.database import Counter, DatabaseColumn, DatabaseTable, Row
from assay.predictions.query import Spell, selection

_VARIABLE = "CLICKHOUSE_PASSWORD"
_SECONDS = 24 * 3600  # limit for a query
# Parse text as the nearest number; allow queries over 256 kB; and compute columns for all rows at
# once, which is ten times as fast as checking where a CASE needs them.
_SETTINGS = {
    "precise_float_parsing": 1,
    "max_query_size": 2**26,
    "short_circuit_function_evaluation": "disable",
}

_INTEGERS = {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32"}
_TEXT = "String"
_TYPES = {
    "Bool": "BOOLEAN",
    "UInt64": "UBIGINT",
    **dict.fromkeys(_INTEGERS, "BIGINT"),
    "Float32": "DOUBLE",
    "Float64": "DOUBLE",
    _TEXT: "VARCHAR",
}


def identifier(name: str) -> str:
    """Quoted name of a column or a table."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


class ClickHouse(Counter):
    """A ClickHouse database; it only receives queries.

    ``clickhouse://user@host:8123/database`` uses HTTP, ``clickhouses://`` HTTPS. Without a password
    in the URL, ``CLICKHOUSE_PASSWORD`` in the environment is used. ``chdb:///folder`` is a chDB
    database (ClickHouse as a library) in that folder.
    """

    name = "ClickHouse"
    dialect = "clickhouse"
    longest = 100_000
    functions: ClassVar[Mapping[str, Spell]] = {
        "and_bits": lambda a, b: f"bitAnd({a}, {b})",
        "or_bits": lambda a, b: f"bitOr({a}, {b})",
        "xor_bits": lambda a, b: f"bitXor({a}, {b})",
        "left_by": lambda a, n: f"bitShiftLeft({a}, {n})",
        "right_by": lambda a, n: f"bitShiftRight({a}, {n})",
        "xor_all": lambda a: f"groupBitXor({a})",
        "text_word": lambda a: f"reinterpretAsInt64(reverse(substring(SHA256({a}), 1, 8)))",
    }

    @property
    def address(self) -> str:
        """Address, for users."""
        parts = urlsplit(self.url)
        port = "" if parts.port is None else f":{parts.port}"
        return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"

    def connect(self) -> Any:
        """Connect to the server, or open the folder."""
        driver = _driver()
        parts = urlsplit(self.url)
        given: dict[str, Any] = {"dsn": self.url}
        if parts.scheme != "chdb":
            given["password"] = "" if parts.password else os.environ.get(_VARIABLE, "")
            given |= {"secure": parts.scheme == "clickhouses", "send_receive_timeout": _SECONDS}
        try:
            return driver.get_client(**given, settings=_SETTINGS)
        except driver.driver.exceptions.ProgrammingError:
            return driver.get_client(**given)  # read-only users may not change settings

    def fetch(self, sql: str) -> list[Row]:
        """Rows of a query's answer."""
        return list(self.connection.query(sql).result_rows)

    def pieces(self, sql: str) -> Iterator[list[Row]]:
        """Rows of a query, piece by piece."""
        with self.connection.query_row_block_stream(sql) as blocks:
            yield from blocks

    def version(self) -> str:
        """Name and version of the server."""
        return f"{self.name} {self.connection.server_version}"

    def tables(self) -> list[DatabaseTable]:
        """Readable tables and views."""
        rows = self.fetch(
            "SELECT database, name, database = currentDatabase() FROM system.tables "
            "WHERE NOT is_temporary AND lower(database) NOT IN ('system', 'information_schema') "
            "ORDER BY database, name"
        )
        return [(str(schema), str(name), bool(enough)) for schema, name, enough in rows]

    def table(self, schema: str, name: str) -> str:
        """Name of a table as written after FROM."""
        return f"{identifier(schema)}.{identifier(name)}"

    def columns(self, schema: str, name: str) -> list[DatabaseColumn]:
        """Columns of a table."""
        rows = self.fetch(f"DESCRIBE TABLE {self.table(schema, name)}")
        return [_column(str(column), str(kind)) for column, kind, *_ in rows]

    def errors(self) -> tuple[type[Exception], ...]:
        """Exceptions of the driver."""
        _driver()
        from clickhouse_connect.driver.exceptions import ClickHouseError

        return (ClickHouseError, OSError)

    def literal(self, id: Id) -> str:
        """Literal of an id."""
        if isinstance(id, int):
            return str(id)
        escaped = id.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0")
        return f"'{escaped}'"

    def lookup(self, index: str, which: int, values: Sequence[float]) -> str:
        """Element of a list, from its bytes: a list literal is longer and slower to parse."""
        del which
        listed = b64encode(np.array(values, dtype="<f8").tobytes()).decode()
        return f"reinterpretAsFloat64(substring(base64Decode('{listed}'), 8 * ({index}) + 1, 8))"

    def written_out(self, columns: Mapping[str, Sequence[float | str]]) -> str:
        """Literal rows; a UNION of them would take a second."""
        kinds = {int: "Int64", float: "Float64", str: "String"}
        types = ", ".join(f"{name} {kinds[type(column[0])]}" for name, column in columns.items())
        rows = zip(*columns.values(), strict=True)
        listed = [f"({', '.join(map(self.constant, row))})" for row in rows]
        return selection(["*"], f"values('{types}', {', '.join(listed)})")


def _driver() -> ModuleType:
    try:
        import clickhouse_connect
    except ImportError:
        raise MissingDependencyError(
            "ClickHouse needs clickhouse-connect", hint=install("clickhouse")
        ) from None
    # Errors report what it logs; without a handler Python would print that, too.
    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
    return clickhouse_connect


def _column(name: str, kind: str) -> DatabaseColumn:
    """Describe a column; values of other than simple types are read as text."""
    plain = kind
    while match := re.fullmatch(r"(?:Nullable|LowCardinality)\((.*)\)", plain):
        plain = match[1]
    quoted = identifier(name)
    if plain.startswith("Decimal("):
        return DatabaseColumn(name, plain.upper().replace(" ", ""), quoted)
    kind_of, stored = _TYPES.get(plain, "VARCHAR"), quoted if plain in _TYPES else ""
    if kind_of == "DOUBLE":
        return DatabaseColumn(name, kind_of, f"toFloat64({quoted})")
    if kind_of == "BIGINT":
        return DatabaseColumn(name, kind_of, f"toInt64({quoted})", stored)
    return DatabaseColumn(name, kind_of, stored or f"toString({quoted})", stored)
