"""The store over SQLAlchemy Core: SQLite in a file or in memory, or PostgreSQL.

An acknowledged label is on disk: `write` commits before it returns.
"""

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateSchema

from assay.errors import StorageError
from assay.storage.backends import BUSY_SECONDS, IN_MEMORY, backend_of
from assay.storage.migrations import is_current, prepare
from assay.storage.session import Session


class Store:
    """A database that holds campaigns."""

    def __init__(self, url: str) -> None:
        self._backend = backend_of(url)
        weakref.finalize(self, self._backend.engine.dispose)  # nobody need remember to close it
        namespace = self._backend.namespace
        # Whoever only looks need not wait for somebody who writes.
        with self._transaction(writes=False) as connection:
            ready = is_current(connection, namespace)
        if not ready:
            with self._transaction(writes=True) as connection:
                if namespace is not None:
                    connection.execute(CreateSchema(namespace, if_not_exists=True))
                prepare(connection, namespace)

    @property
    def name(self) -> str:
        """Its URL, without a password."""
        return self._backend.name

    @cached_property
    def uid(self) -> str:
        """A random text that no other storage has."""
        with self.read() as session:
            return session.storage_uid()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a transaction that reads."""
        with self._transaction(writes=False) as connection:
            yield Session(connection)

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a transaction that may write; it is on disk when the block has ended."""
        with self._transaction(writes=True) as connection:
            yield Session(connection)

    def close(self) -> None:
        """Let go of the database."""
        self._backend.engine.dispose()

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[sa.Connection]:
        try:
            with self._backend.engine.connect() as connection, connection.begin():
                self._backend.begin(connection, writes)
                yield connection
        except SQLAlchemyError as error:
            what, remedy = _told(str(getattr(error, "orig", None) or error).strip())
            raise StorageError(
                f"the storage {self.name} did not do its work: {what}",
                hint=f"labels that were told before are safe; {remedy} and try again",
            ) from error


def open_store(url: str | None) -> Store:
    """Open the store at a URL (``sqlite:///file.db``); None: in memory, gone with the process."""
    return Store(IN_MEMORY if url is None else url)


def _told(cause: str) -> tuple[str, str]:
    """Return in words what is the matter, by what a database says, and what helps."""
    if "database is locked" in cause or "lock timeout" in cause:
        what = f"another program has held its lock for {BUSY_SECONDS:.0f} seconds"
        return f"{what} ({cause})", "end that program, or wait for it,"
    if "disk is full" in cause or "No space left" in cause:
        return f"its disk is full ({cause})", "make room"
    return cause, "mend the storage"


def open_storage(url: str | None) -> Store:
    """Open the storage at a URL, or else the environment's, or else one in memory."""
    return open_store(os.environ.get("ASSAY_STORAGE") if url is None else url)
