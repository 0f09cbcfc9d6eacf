"""Kinds of sources, told by a path, a URL or the text of a query, before any of them is opened."""

import re
from pathlib import Path
from typing import Literal

Format = Literal["Delta", "Iceberg"]

SQLITE = "sqlite:///"
"""Prefix of the URL of a file."""
_HEADER = b"SQLite format 3\0"


def is_query(text: str) -> bool:
    """Whether a text is a query, and not a path.

    >>> is_query("SELECT * FROM 'preds.parquet'"), is_query("selected.parquet")
    (True, False)
    """
    if not re.match(r"[\s(]*(select|with|from|values)\b\s*\S", text, re.IGNORECASE):
        return False
    try:
        return not Path(text).exists()
    except (OSError, ValueError):
        return True  # too long for a path


def is_remote(path: str) -> bool:
    """Whether a path is a URL.

    >>> is_remote("s3://bucket/preds.parquet"), is_remote("preds.parquet")
    (True, False)
    """
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", path) is not None


def format_of(path: str) -> Format | None:
    """Format of a table, given its folder or a file of Iceberg's metadata; None for other paths."""
    if is_remote(path) or not path:
        return None
    place = Path(path)
    if path.endswith(".metadata.json"):
        return "Iceberg"
    if (place / "_delta_log").is_dir():
        return "Delta"
    return "Iceberg" if any((place / "metadata").glob("*.metadata.json")) else None


def is_postgres(text: str) -> bool:
    """Whether a text is the URL of a PostgreSQL database.

    >>> is_postgres("postgresql://host/db"), is_postgres("preds.parquet")
    (True, False)
    """
    return re.match(r"postgres(ql)?(\+\w+)?://", text) is not None


def is_clickhouse(text: str) -> bool:
    """Whether a text is the URL of a ClickHouse database, on a server or in this process.

    >>> is_clickhouse("clickhouse://host:8123/db"), is_clickhouse("preds.parquet")
    (True, False)
    """
    return re.match(r"(clickhouses?|chdb)://", text) is not None


def is_sqlite(path: str) -> bool:
    """Whether a path is a SQLite file, by its first bytes, or the URL of one.

    >>> is_sqlite("sqlite:///preds.db"), is_sqlite("preds.parquet")
    (True, False)
    """
    if path.startswith(SQLITE):
        return True
    try:
        if not Path(path).is_file():  # opening a pipe would block
            return False
        with Path(path).open("rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except (OSError, ValueError):
        return False


def file_of(url: str) -> str:
    """Path of the file.

    >>> file_of("sqlite:///preds.db"), file_of("preds.db")
    ('preds.db', 'preds.db')
    """
    return url.removeprefix(SQLITE)


def has_tables(path: str) -> bool:
    """Whether a path is a database, so that a table must be named.

    >>> has_tables("postgresql://host/db"), has_tables("preds.duckdb"), has_tables("preds.csv")
    (True, True, False)
    """
    return any(each(path) for each in (is_database, is_postgres, is_clickhouse, is_sqlite))


def is_database(path: str) -> bool:
    """Whether a path is a DuckDB file, by its name; SQLite files are excluded.

    >>> is_database("preds.duckdb"), is_database("preds.parquet")
    (True, False)
    """
    return path.lower().endswith((".duckdb", ".ddb", ".db")) and not is_sqlite(path)
