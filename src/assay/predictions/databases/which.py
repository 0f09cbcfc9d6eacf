"""The database that a text names, if any."""

from assay.predictions.databases.database import Database
from assay.predictions.databases.postgres import Postgres, is_postgres
from assay.predictions.duckdb.databases import is_database


def find_database(path: str) -> Database | None:
    """Return the database that a URL or a path is of: PostgreSQL, ClickHouse or SQLite.

    Nothing is connected to; of a file the first bytes are read.

    >>> database = find_database("clickhouse://ann:secret@host:8123/db")
    >>> database.name, database.address
    ('ClickHouse', 'clickhouse://host:8123/db')
    >>> find_database("preds.parquet")
    """
    from assay.predictions.databases.clickhouse import ClickHouse, is_clickhouse
    from assay.predictions.databases.sqlite import Sqlite, is_sqlite

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
