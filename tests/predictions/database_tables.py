"""Tables of real databases with what a Parquet file, or files, hold."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import duckdb
import pyarrow as pa
import pytest

from assay.predictions.databases.clickhouse import identifier
from assay.predictions.scan import Scan
from tests.predictions.toy import URL

DATABASES = ("postgres", "clickhouse", "toy")
"""Databases that count a table where it lies."""


def in_database(request: pytest.FixtureRequest, kind: str, source: object, **more: Any) -> Scan:
    """Put what files hold into a table of a database, and say that this is to count it."""
    table = source if isinstance(source, pa.Table) else _read(str(source))
    name = f"t{uuid4().hex}"
    url = _WRITERS[kind](request, table, name)
    return Scan(url, table=name, engine="database", **more)


def _read(path: str) -> "pa.Table":
    if Path(path).is_dir():
        path = f"{path}/**/*.parquet"
    with duckdb.connect() as connection:
        table: pa.Table = connection.sql(f"FROM '{path}'").to_arrow_table()
    return table


def _columns(table: "pa.Table", quoted: Callable[[str], str], kind: Callable[[Any], str]) -> str:
    return ", ".join(f"{quoted(field.name)} {kind(field.type)}" for field in table.schema)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _postgres(request: pytest.FixtureRequest, table: "pa.Table", name: str) -> str:
    import psycopg

    dsn: str = request.getfixturevalue("postgres_dsn")
    columns = _columns(table, _quoted, _postgres_type)
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"CREATE TABLE {name} ({columns})".encode())
        with server.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN".encode()) as rows:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                rows.write_row(row)
    facts = dict(fact.split("=") for fact in dsn.split())
    return f"postgresql:///{facts['dbname']}?host={quote(facts['host'])}&user={facts['user']}"


def _postgres_type(kind: "pa.DataType") -> str:
    names: dict[object, str] = {
        pa.int8(): "smallint",
        pa.int16(): "smallint",
        pa.int32(): "integer",
        pa.float32(): "real",
        pa.float64(): "double precision",
        pa.bool_(): "boolean",
        pa.date32(): "date",
    }
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if pa.types.is_list(kind):
        return "text[]"
    return names.get(kind, "bigint" if pa.types.is_integer(kind) else "text")


def _sqlite(request: pytest.FixtureRequest, table: "pa.Table", name: str) -> str:
    folder: Path = request.getfixturevalue("tmp_path_factory").mktemp("sqlite")
    path = folder / "preds.sqlite"
    columns = _columns(table, _quoted, _sqlite_type)
    with sqlite3.connect(path) as file:
        file.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * table.num_columns)
        values = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
        file.executemany(f"INSERT INTO {name} VALUES ({marks})", zip(*values, strict=True))
    file.close()
    return str(path)


def _sqlite_type(kind: "pa.DataType") -> str:
    if pa.types.is_boolean(kind):
        return "BOOLEAN"
    if pa.types.is_integer(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else "TEXT"


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | None) else str(value)


def _clickhouse(request: pytest.FixtureRequest, table: "pa.Table", name: str) -> str:
    url: str = request.getfixturevalue("clickhouse_url")
    import clickhouse_connect

    client = clickhouse_connect.get_client(dsn=url)
    columns = _columns(table, identifier, _clickhouse_type)
    client.command(f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree ORDER BY tuple()")
    client.insert_arrow(name, table)
    client.close()
    return url


def _clickhouse_type(kind: "pa.DataType") -> str:
    if pa.types.is_list(kind):
        return "Array(Nullable(String))"
    if pa.types.is_decimal(kind):
        return f"Nullable(Decimal({kind.precision}, {kind.scale}))"
    names: dict[object, str] = {
        pa.float32(): "Float32",
        pa.float64(): "Float64",
        pa.bool_(): "Bool",
        pa.date32(): "Date32",
    }
    plain = str(kind).replace("uint", "UInt") if "uint" in str(kind) else str(kind).title()
    return f"Nullable({names.get(kind, plain if pa.types.is_integer(kind) else 'String')})"


def _toy(request: pytest.FixtureRequest, table: "pa.Table", name: str) -> str:
    path = request.getfixturevalue("tmp_path_factory").mktemp("toy") / "preds.duck"
    with duckdb.connect(str(path)) as file:
        file.register("given", table)
        file.execute(f"CREATE TABLE {name} AS FROM given")
    return f"{URL}{path}"


_WRITERS: dict[str, Callable[[pytest.FixtureRequest, Any, str], str]] = {
    "postgres": _postgres,
    "clickhouse": _clickhouse,
    "sqlite": _sqlite,
    "toy": _toy,
}
