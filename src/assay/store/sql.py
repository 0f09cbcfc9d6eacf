"""The store over SQLAlchemy Core: SQLite in a file, or in memory.

An acknowledged label is on disk: WAL with synchronous=FULL, and `write` commits before it returns.
Writers take the database's lock when they begin (BEGIN IMMEDIATE), so what they have read is still
true when they write.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from assay.errors import StorageError
from assay.store.session import Session

__all__ = ["Store", "open_store"]

BUSY_SECONDS = 30.0  # how long a writer waits for another one

_IN_MEMORY = "sqlite://"


class Store:
    """A database that holds campaigns."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = _engine(url)
        weakref.finalize(self, self._engine.dispose)  # nobody need remember to close it
        with self.write() as session:
            session.prepare()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a transaction that reads."""
        with self._transaction(writes=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a transaction that may write; it is on disk when the block has ended."""
        with self._transaction(writes=True) as session:
            yield session

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[Session]:
        try:
            with self._engine.connect() as plain:
                connection = plain.execution_options(assay_writes=writes)
                with connection.begin():
                    yield Session(connection)
        except SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise StorageError(
                f"the storage {self.url} did not do its work: {cause}",
                hint="labels that were told before are safe; mend the storage and try again",
            ) from error


def open_store(url: str | None) -> Store:
    """Open the store at a ``sqlite:///file.db`` URL; None: in memory, gone with the process."""
    return Store(_IN_MEMORY if url is None else url)


def _engine(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, AttributeError, TypeError, ValueError):
        parsed = None
    if parsed is None or parsed.get_backend_name() != "sqlite":
        raise StorageError(
            f"{url!r} is not a storage that Assay can use",
            details="a storage is a URL such as sqlite:///labels.db (a file in this folder)",
        )
    in_memory = parsed.database in (None, "", ":memory:")
    options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS}}
    if in_memory:
        options = {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
    engine = sa.create_engine(parsed, **options)
    sa.event.listen(engine, "connect", _on_connect)
    sa.event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin in _on_begin, not where sqlite3 guesses
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _on_begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("assay_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
