"""ClickHouse: how a table in it is reached, and what its SQL has of its own."""

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
from assay.predictions.databases.database import (
    Database,
    DatabaseColumn,
    DatabaseTable,
    Row,
    Written,
    selection,
)

_VARIABLE = "CLICKHOUSE_PASSWORD"
_SECONDS = 24 * 3600  # that a query may take
# Text becomes the nearest number; a query may be longer than 256 kB; and columns are computed for
# all rows at once, in a tenth of the time that it takes to look where a CASE needs them.
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


def is_clickhouse(text: str) -> bool:
    """Tell whether a text is the URL of a ClickHouse database, or of one within this process.

    >>> is_clickhouse("clickhouse://host:8123/db"), is_clickhouse("preds.parquet")
    (True, False)
    """
    return re.match(r"(clickhouses?|chdb)://", text) is not None


def identifier(name: str) -> str:
    """Return the name of a column or a table.

    >>> identifier("p.spam")
    '`p.spam`'
    """
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


class ClickHouse(Database):
    """A database of ClickHouse, which is sent queries only.

    ``clickhouse://user@host:8123/database`` is reached by HTTP, ``clickhouses://`` by HTTPS. A
    password that is not in the URL is that of the environment's ``CLICKHOUSE_PASSWORD``.
    ``chdb:///folder`` is a database of chDB, ClickHouse as a library, in that folder.
    """

    name = "ClickHouse"
    dialect = "clickhouse"
    longest = 100_000
    functions: ClassVar[Mapping[str, Written]] = {
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
        """Where it is, for people."""
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
            return driver.get_client(**given)  # who may only read may not set anything

    def fetch(self, sql: str) -> list[Row]:
        """Return the rows that one query has for an answer."""
        return list(self.connection.query(sql).result_rows)

    def pieces(self, sql: str) -> Iterator[list[Row]]:
        """Return the rows of one query piece by piece."""
        with self.connection.query_row_block_stream(sql) as blocks:
            yield from blocks

    def version(self) -> str:
        """Return what it says it is."""
        return f"{self.name} {self.connection.server_version}"

    def tables(self) -> list[DatabaseTable]:
        """Return the tables and views that can be read."""
        found = self.fetch(
            "SELECT database, name, database = currentDatabase() FROM system.tables "
            "WHERE NOT is_temporary AND lower(database) NOT IN ('system', 'information_schema') "
            "ORDER BY database, name"
        )
        return [(str(schema), str(name), bool(enough)) for schema, name, enough in found]

    def table(self, schema: str, name: str) -> str:
        """Return a table as it stands after FROM."""
        return f"{identifier(schema)}.{identifier(name)}"

    def columns(self, schema: str, name: str) -> list[DatabaseColumn]:
        """Return the columns of a table."""
        found = self.fetch(f"DESCRIBE TABLE {self.table(schema, name)}")
        return [_column(str(column), str(kind)) for column, kind, *_ in found]

    def errors(self) -> tuple[type[Exception], ...]:
        """Return what the driver raises."""
        _driver()
        from clickhouse_connect.driver.exceptions import ClickHouseError

        return (ClickHouseError, OSError)

    def literal(self, id: Id) -> str:
        """Return an id as it stands in a query."""
        if isinstance(id, int):
            return str(id)
        escaped = id.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0")
        return f"'{escaped}'"

    def lookup(self, index: str, values: Sequence[float]) -> str:
        """Return an element of a list: of their bytes, as a list is longer and slower to parse."""
        listed = b64encode(np.array(values, dtype="<f8").tobytes()).decode()
        return f"reinterpretAsFloat64(substring(base64Decode('{listed}'), 8 * ({index}) + 1, 8))"

    def written_out(self, columns: Mapping[str, Sequence[float | str]]) -> str:
        """Return rows that are written out: those of a union would take a second."""
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
    # What it logs is told by an error; without a handler Python would print it, too.
    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
    return clickhouse_connect


def _column(name: str, kind: str) -> DatabaseColumn:
    """Return a column; what is of no simple type is the text that ClickHouse writes."""
    plain = kind
    while match := re.fullmatch(r"(?:Nullable|LowCardinality)\((.*)\)", plain):
        plain = match[1]
    quoted = identifier(name)
    if plain.startswith("Decimal("):
        return DatabaseColumn(name, plain.upper().replace(" ", ""), quoted)
    found, stored = _TYPES.get(plain, "VARCHAR"), quoted if plain in _TYPES else ""
    if found == "DOUBLE":
        return DatabaseColumn(name, found, f"toFloat64({quoted})")
    if found == "BIGINT":
        return DatabaseColumn(name, found, f"toInt64({quoted})", stored)
    return DatabaseColumn(name, found, stored or f"toString({quoted})", stored)
