"""Databases by their URL or path, before anything is connected to."""

from assay.predictions.databases.clickhouse import ClickHouse, is_clickhouse
from assay.predictions.databases.database import Database
from assay.predictions.databases.postgres import Postgres, is_postgres
from assay.predictions.databases.sqlite import Sqlite, is_sqlite


def find_database(path: str) -> Database | None:
    """Return the database that a URL or a path is of: PostgreSQL, ClickHouse or SQLite.

    Nothing is connected to; of a file the first bytes are read.

    >>> database = find_database("clickhouse://ann:secret@host:8123/db")
    >>> database.name, database.address
    ('ClickHouse', 'clickhouse://host:8123/db')
    >>> find_database("preds.parquet")
    """
    if is_postgres(path):
        return Postgres(path)
    if is_clickhouse(path):
        return ClickHouse(path)
    return Sqlite(path) if is_sqlite(path) else None


def has_tables(path: str) -> bool:
    """Tell whether a path is that of a database, one of whose tables is meant.

    >>> has_tables("postgresql://host/db"), has_tables("preds.duckdb"), has_tables("preds.csv")
    (True, True, False)
    """
    return is_database(path) or find_database(path) is not None


def is_database(path: str) -> bool:
    """Tell whether a path is that of a DuckDB file, by its name; one of SQLite is none.

    >>> is_database("preds.duckdb"), is_database("preds.parquet")
    (True, False)
    """
    return path.lower().endswith((".duckdb", ".ddb", ".db")) and not is_sqlite(path)
