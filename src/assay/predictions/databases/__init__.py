"""Tables of PostgreSQL and ClickHouse, counted in the database, and of SQLite, which are copied."""

from collections.abc import Callable

from assay.predictions.databases.clickhouse import ClickHouse
from assay.predictions.databases.database import Database
from assay.predictions.databases.postgres import Postgres
from assay.predictions.databases.sqlite import Sqlite
from assay.predictions.scan import is_clickhouse, is_postgres, is_sqlite

KNOWN: list[tuple[Callable[[str], bool], type[Database]]] = [
    (is_postgres, Postgres),
    (is_clickhouse, ClickHouse),
    (is_sqlite, Sqlite),
]
"""For each kind of database, the test of its URL or path, and its class."""


def find_database(path: str) -> Database | None:
    """Database of a URL or path: PostgreSQL, ClickHouse or SQLite.

    Does not connect; of a file, it reads the first bytes.

    >>> database = find_database("clickhouse://ann:secret@host:8123/db")
    >>> database.name, database.address
    ('ClickHouse', 'clickhouse://host:8123/db')
    >>> find_database("preds.parquet")
    """
    return next((kind(path) for is_one, kind in KNOWN if is_one(path)), None)
