"""The schema of a storage: made in a new database, and checked in one that is there.

Schema 5 is the oldest that is opened. A later one brings a step that leads to it, in one
transaction with its record.
"""

from secrets import token_hex

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from assay.errors import StorageError
from assay.storage import schema

_NEWEST = sa.select(sa.func.max(schema.version.c.version))


def is_current(connection: sa.Connection, namespace: str | None) -> bool:
    """Tell whether the tables are there, as this version knows them."""
    if not sa.inspect(connection).has_table(schema.version.name, schema=namespace):
        return False
    return _found(connection) == schema.SCHEMA_VERSION


def prepare(connection: sa.Connection, namespace: str | None, uid: str | None = None) -> None:
    """Make the tables in a new database; refuse one of somebody else or of another schema."""
    tables = sa.inspect(connection).get_table_names(schema=namespace)
    if not tables:
        _create_all(connection)
        connection.execute(schema.storage.insert(), {"uid": uid or token_hex(16)})
        connection.execute(schema.version.insert(), {"version": schema.SCHEMA_VERSION})
        return
    if schema.version.name not in tables:
        raise StorageError(
            f"the database holds something else: {', '.join(sorted(tables)[:5])}",
            hint="give a file of its own, such as sqlite:///labels.db",
        )
    refuse_newer(connection)
    if (found := _found(connection)) < schema.SCHEMA_VERSION:
        raise StorageError(
            f"the storage has schema version {found}; the oldest that this Assay opens is "
            f"{schema.SCHEMA_VERSION}",
            details="nothing was changed",
            hint="create the campaign again, and import the labels that it exported",
        )


def _create_all(connection: sa.Connection) -> None:
    """Make tables and indexes, always in the same order: files with the same rows are the same."""
    for table in schema.metadata.sorted_tables:
        connection.execute(CreateTable(table))
        for index in sorted(table.indexes, key=lambda each: str(each.name)):
            connection.execute(CreateIndex(index))


def refuse_newer(connection: sa.Connection) -> None:
    """Raise where a newer Assay has upgraded the database, perhaps since it was opened."""
    found = _found(connection)
    if found > schema.SCHEMA_VERSION:
        raise StorageError(
            f"the storage has schema version {found}, this Assay knows {schema.SCHEMA_VERSION}",
            details="a newer Assay has upgraded it; nothing was written",
            hint="end this program, and use the version of Assay that wrote it, or a newer one",
        )


def _found(connection: sa.Connection) -> int:
    found = connection.scalar(_NEWEST) or 0
    if not isinstance(found, int):
        raise StorageError(
            f"the storage has schema version {found!r}, which is no number",
            hint="the file is damaged: restore a backup (`assay restore`)",
        )
    return found
