"""Which database a text names, if any."""

from assay.predictions.databases.database import Database
from assay.predictions.databases.postgres import Postgres, is_postgres


def find_database(path: str) -> Database | None:
    """Return the database that a URL or a path is of: PostgreSQL, ClickHouse or SQLite.

    Nothing is connected to; of a file the first bytes are read.

    Examples
    --------
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
