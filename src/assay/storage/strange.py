"""Untrusted storages: rows of a SQLite file from somebody else, read by column.

A database runs code in its schema: triggers, views, expressions of indexes and constraints. So a
file is accepted only if its schema equals ours, word for word. It is copied into memory, and every
value must have its column's type.
"""

import sqlite3
from collections.abc import Iterator
from functools import cache
from typing import Any

import sqlalchemy as sa

from assay.errors import InputError
from assay.storage import schema

_SCHEMA = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
# Schema functions are not called, and nothing is written. SQLite checks what it reads.
_CAREFUL = ("PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON", "PRAGMA query_only=ON")
_KINDS = {sa.Boolean: bool, sa.Integer: int, sa.Double: float, sa.String: str}


def stored_rows(content: bytes, name: str) -> dict[str, list[dict[str, Any]]]:
    """Rows of every table of a storage, by the tables' names.

    Raises InputError if it is not a storage of this version, or not written by Assay; `name` is the
    file's name in errors.
    """
    connection = sqlite3.connect(":memory:")
    try:
        for each in _CAREFUL:
            connection.execute(each)
        connection.deserialize(content)
        _refuse_other_schema(connection, name)
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise InputError(f"{name} is damaged: {verdict[:200]}")
        tables = schema.metadata.sorted_tables
        rows = {table.name: list(_rows(connection, table, name)) for table in tables}
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        raise InputError(f"{name} cannot be read: {str(error)[:200]}") from None
    finally:
        connection.close()
    if rows[schema.version.name] != [{"version": schema.SCHEMA_VERSION}]:
        raise InputError(f"{name} does not have schema version {schema.SCHEMA_VERSION}")
    return rows


def _refuse_other_schema(connection: sqlite3.Connection, name: str) -> None:
    stored = _as_words(connection.execute(_SCHEMA))
    for kind, each in sorted(stored.keys() ^ _own_schema().keys()):
        verb = "has no" if (kind, each) in _own_schema() else "holds the"
        raise InputError(f"{name} {verb} {kind} {each[:80]!r}, unlike a storage of Assay")
    for key, words in stored.items():
        if words != _own_schema()[key]:
            raise InputError(
                f"the {key[0]} {key[1]!r} of {name} differs from that of a storage of Assay"
            )


@cache
def _own_schema() -> dict[tuple[str, str], list[str]]:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        schema.metadata.create_all(connection)
        return _as_words(connection.exec_driver_sql(_SCHEMA))


def _as_words(rows: Any) -> dict[tuple[str, str], list[str]]:
    """CREATE statements, split into words: SQLAlchemy chooses the white space."""
    return {(str(kind), str(name)): str(sql).split() for kind, name, sql in rows}


def _rows(connection: sqlite3.Connection, table: sa.Table, name: str) -> Iterator[dict[str, Any]]:
    columns = list(table.c)
    query = sa.select(*columns).order_by(*table.primary_key.columns)
    rows = connection.execute(str(query.compile()))
    for place, values in enumerate(rows, start=1):
        yield {
            column.key: _value(column, value, f"{name}, {table.name}, row {place}")
            for column, value in zip(columns, values, strict=True)
        }


def _value(column: sa.Column[Any], value: object, where: str) -> object:
    """Convert a stored value to the type of its column."""
    if value is None and column.nullable:
        return None
    kind = next(kind for each, kind in _KINDS.items() if isinstance(column.type, each))
    if kind is bool and type(value) is int and value in (0, 1):
        return bool(value)
    if type(value) is not kind:
        raise InputError(
            f"{where}: {column.key} is {str(value)[:40]!r}, not of type {kind.__name__}"
        )
    return value
