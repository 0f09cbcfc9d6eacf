"""The store on SQLAlchemy Core: SQLite in a file or in memory, or PostgreSQL.

An acknowledged label is on disk: `write` commits before it returns.
"""

import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import RLock
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateSchema

from assay.errors import AssayError, MissingDependencyError, StorageError, install
from assay.storage.campaigns import Campaigns, Decks, Rows
from assay.storage.claims import Claims, Tokens
from assay.storage.labels import Labels
from assay.storage.schema import is_current, lacks_index, prepare, refuse_newer
from assay.storage.staged import Staged
from assay.storage.tags import Tags

# One transaction on the store: its few queries, by subject.


class Session(Campaigns, Decks, Labels, Staged, Claims, Tokens, Tags, Rows):
    """One transaction: all its reads and writes happen at one moment."""


# Databases for a store, and the settings that make acknowledged labels durable.
#
# SQLite: a write-ahead log that is flushed at every commit (synchronous=FULL), and writers that
# take the database's lock at the start (BEGIN IMMEDIATE). PostgreSQL: commits that wait for the
# disk, and one advisory lock that writers take at the start. With either, data that a writer has
# read is still valid when it writes.

BUSY_SECONDS = 30.0  # how long a writer waits for another one
IN_MEMORY = "sqlite://"
_BESIDE = ("-wal", "-shm")  # SQLite's write-ahead log of a file, and the index of that

_MOMENT = 0.05  # seconds
_WRITTEN_BY = slice(92, 100)  # in the header of a file: which SQLite wrote it

_NAMESPACE = "assay"  # a team's PostgreSQL may hold other tables called "campaign" or "item"
_LOCK = 0x617373_6179  # "assay": key of the writers' lock
_SETTINGS = sa.select(
    sa.func.set_config("synchronous_commit", "on", True),
    sa.func.set_config("lock_timeout", sa.bindparam("busy"), True),
)
# One statement for all: the timeout applies to the lock taken after it.
_SETTINGS_AND_LOCK = _SETTINGS.add_columns(
    # A machine that vanishes while it writes must not block all others. Readers block nobody, and
    # may compute for minutes.
    sa.func.set_config("idle_in_transaction_session_timeout", "60s", True),
    sa.func.pg_advisory_xact_lock(_LOCK),
)
# The isolation level never depends on the server's default.
#
# Writers use READ COMMITTED. The statement that takes the lock takes a snapshot before it waits:
# under REPEATABLE READ or SERIALIZABLE that snapshot would be the transaction's, and the writer
# would miss commits made while it waited. Here every later statement takes a new snapshot, and
# nobody else writes until the lock is free again. A reader sees one moment, as in SQLite.
_WRITING = {"isolation_level": "READ COMMITTED", "postgresql_readonly": False}
_READING = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
# Seconds, and milliseconds, until a server that has vanished is given up, unless the URL says.
_PATIENCE = {
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
}
_DISCREET: dict[str, Any] = {"hide_parameters": True}  # no error quotes what an item says


@dataclass(frozen=True)
class Backend:
    """A database, ready for queries.

    `name` is its URL without a password; `namespace` is the schema of the tables, if not the
    database's default; `begin` starts a transaction on a connection, which has the options
    `reading` or `writing`; `only_read` is the reason why it cannot be written to, if any.
    """

    name: str
    engine: sa.Engine
    namespace: str | None
    begin: Callable[[sa.Connection, bool], None]
    reading: Mapping[str, Any] = field(default_factory=dict)
    writing: Mapping[str, Any] = field(default_factory=dict)
    only_read: str = ""


def backend_of(url: str) -> Backend:
    """Database at a URL, without a connection."""
    try:
        parsed = sa.make_url(url)
        kind = parsed.get_backend_name()
    except (ArgumentError, AttributeError, TypeError, ValueError):
        raise _unusable(url) from None
    if kind == "sqlite":
        return _sqlite(parsed)
    if kind in ("postgresql", "postgres"):
        return _postgresql(parsed)
    raise _unusable(parsed.render_as_string(hide_password=True))


def _unusable(url: object) -> StorageError:
    return StorageError(
        f"{url!r} is not a storage that Assay can use",
        details="a storage is a URL such as sqlite:///labels.db (a file in this folder) or "
        "postgresql://user@host/database",
    )


def _sqlite(url: sa.URL) -> Backend:
    options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS}}
    if url.database in (None, "", ":memory:"):
        options = {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
    elif only_read := _cannot_be_written(Path(url.database or "")):
        engine = sa.create_engine(_read_only(url), **_DISCREET, **options)
        sa.event.listen(engine, "connect", _on_connect_to_read)
        return Backend(str(url), engine, None, _begin_sqlite, only_read=only_read)
    engine = sa.create_engine(url, **_DISCREET, **options)
    sa.event.listen(engine, "connect", _on_sqlite_connect)
    return Backend(str(url), engine, None, _begin_sqlite)


def _cannot_be_written(file: Path) -> str:
    """Reason why an existing file cannot be written to; it can still be read.

    SQLite writes two files beside it. If these exist already and are writable, the folder need not
    be writable.
    """
    if not file.is_file():
        return ""
    if not os.access(file, os.W_OK):
        return f"the file {file} cannot be written to"
    companions = [file.with_name(file.name + suffix) for suffix in _BESIDE]
    if os.access(file.parent, os.W_OK) or all(os.access(each, os.W_OK) for each in companions):
        return ""
    return f"the folder {file.parent.resolve()} cannot be written to"


def _read_only(url: sa.URL) -> sa.URL:
    """URL that opens a file read-only.

    If other processes have it open, SQLite reads the write-ahead log through the two files beside
    the storage. If none has, and the log is missing or empty, the file alone is complete, and can
    be read without writing. A log that cannot be read is never ignored: the last commits would be
    missing silently.
    """
    file = Path(url.database or "").absolute()
    log, index = (file.with_name(file.name + suffix) for suffix in _BESIDE)
    query = {"mode": "ro", "uri": "true"}
    if not index.exists():
        if not log.exists() or not log.stat().st_size:
            query["immutable"] = "1"
        elif not os.access(file.parent, os.W_OK):
            raise StorageError(
                f"the last labels of {file} are in {log.name}, which SQLite reads only in "
                "a folder that it can write to",
                hint=f"copy {file.name} and {log.name} to a folder that you can write to, "
                "and open it there",
            )
    return url.set(database=f"file:{quote(str(file))}", query=query)


def _on_connect_to_read(connection: Any, _record: object) -> None:
    connection.isolation_level = None


def _on_sqlite_connect(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions start in _begin_sqlite, not implicitly
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _write_ahead(connection: Any) -> None:
    """Allow reading a file while it is being written.

    If two processes open a new file at the same time, one of them fails immediately: SQLite does
    not wait for this lock as it does for others.
    """
    give_up = monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > give_up:
                raise
            sleep(_MOMENT)
        else:
            return


def _begin_sqlite(connection: sa.Connection, writes: bool) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgresql(url: sa.URL) -> Backend:
    try:
        import psycopg
    except ImportError:
        raise MissingDependencyError(
            "storage in PostgreSQL needs psycopg, which is not installed", hint=install("postgres")
        ) from None
    del psycopg
    engine = sa.create_engine(
        url.set(drivername="postgresql+psycopg", query={**_PATIENCE, **url.query}),
        pool_pre_ping=True,  # a server that was restarted meanwhile is met with a new connection
        **_DISCREET,
        execution_options={"schema_translate_map": {None: _NAMESPACE}},
    )
    name = url.render_as_string(hide_password=True)
    return Backend(name, engine, _NAMESPACE, _begin_postgresql, _READING, _WRITING)


def _begin_postgresql(connection: sa.Connection, writes: bool) -> None:
    busy = {"busy": f"{BUSY_SECONDS:.0f}s"}
    connection.execute(_SETTINGS_AND_LOCK if writes else _SETTINGS, busy)


class Store:
    """A database with campaigns.

    `uid`: unique id of a new storage; default: random.
    """

    def __init__(self, url: str, uid: str | None = None) -> None:
        self._backend = backend_of(url)
        # An in-memory database has one connection for all threads.
        one_for_all = isinstance(self._backend.engine.pool, StaticPool)
        self._alone: AbstractContextManager[Any] = RLock() if one_for_all else nullcontext()
        weakref.finalize(self, self._backend.engine.dispose)  # closing it is optional
        namespace = self._backend.namespace
        # A reader need not wait for a writer.
        with self._transaction(writes=False) as connection:
            current = is_current(connection, namespace)
            slow = current and lacks_index(connection, namespace)
        if not current and self._backend.only_read:
            raise self._refusal("another version of Assay wrote it")
        if not current or (slow and not self._backend.only_read):
            with self._transaction(writes=True) as connection:
                if namespace is not None:
                    connection.execute(CreateSchema(namespace, if_not_exists=True))
                prepare(connection, namespace, uid)

    @property
    def name(self) -> str:
        """URL without the password."""
        return self._backend.name

    @property
    def is_writable(self) -> bool:
        """Whether this process may write."""
        return not self._backend.only_read

    @cached_property
    def uid(self) -> str:
        """Unique id of the storage."""
        with self.read() as session:
            return session.storage_uid()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a read transaction."""
        with self._transaction(writes=False) as connection:
            yield Session(connection)

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a write transaction; it is on disk when the block has ended.

        Raises if the database has been upgraded since it was opened: this version could write
        invalid data.
        """
        if self._backend.only_read:
            raise self._refusal("this would change it")
        with self._transaction(writes=True) as connection:
            refuse_newer(connection)
            yield Session(connection)

    def close(self) -> None:
        """Close the database."""
        self._backend.engine.dispose()

    def copy_to(self, file: Path) -> None:
        """Copy all committed data into a new SQLite file; others may write meanwhile.

        Raises StorageError: if it is not SQLite; the error explains how to copy PostgreSQL.
        """
        if self._backend.engine.dialect.name != "sqlite":
            raise StorageError(
                f"{self.name} is backed up by PostgreSQL itself",
                details=f"pg_dump --format=custom --schema={_NAMESPACE} --file=labels.dump URL",
                hint="pg_restore --dbname=URL labels.dump puts it into another, empty database; "
                "`assay verify NAME --storage URL --against THAT_URL` compares the two",
            )
        try:
            with self._transaction(writes=False) as connection:
                target = sqlite3.connect(file)
                try:
                    # All pages in one step: a snapshot that does not block writers.
                    source: Any = connection.connection.driver_connection
                    source.backup(target)
                finally:
                    target.close()
            in_one_file(file)
        except sqlite3.Error as error:
            raise _storage_error(self.name, error) from error

    def content(self) -> bytes:
        """Bytes of the database as a SQLite file; equal rows give equal bytes."""
        with self._transaction(writes=False) as connection:
            source: Any = connection.connection.driver_connection
            content = bytearray(source.serialize())
        content[_WRITTEN_BY] = bytes(8)
        return bytes(content)

    def _refusal(self, why: str) -> StorageError:
        return StorageError(
            f"the storage {self.name} can only be read: {why}",
            details=self._backend.only_read,
            hint="copy it to a folder that you can write to, or ask for write access",
        )

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[sa.Connection]:
        engine = self._backend.engine
        try:
            with self._alone, engine.connect() as connection:
                options = self._backend.writing if writes else self._backend.reading
                with connection.execution_options(**options).begin():
                    self._backend.begin(connection, writes)
                    yield connection
        except (SQLAlchemyError, engine.dialect.loaded_dbapi.Error, UnicodeDecodeError) as error:
            # SQLite may quote bytes of a damaged file that are not text; Python then raises this.
            raise _storage_error(self.name, error) from error


def in_one_file(file: Path) -> None:
    """Turn a database that nobody has open into one file: a log beside it could be forgotten."""
    connection = sqlite3.connect(file)
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
    finally:
        connection.close()


def open_store(url: str | None, uid: str | None = None) -> Store:
    """Open the store at a URL (``sqlite:///file.db``); None: in memory, gone with the process."""
    return Store(IN_MEMORY if url is None else url, uid)


@contextmanager
def reading_stored(what: str) -> Iterator[None]:
    """Raise `StorageError` if stored data is not as Assay writes it."""
    try:
        yield
    except AssayError:
        raise
    except _NOT_AS_WRITTEN as error:
        raise StorageError(
            f"{what} cannot be read: {type(error).__name__}: {str(error)[:200]}",
            hint=f"the storage was damaged or changed from outside; {_RESTORE}",
        ) from error


# Errors caused by values that no Assay has written, other than our own errors.
_NOT_AS_WRITTEN = (
    *(ValueError, TypeError, LookupError, ArithmeticError, AttributeError),
    *(RecursionError, MemoryError),
)
_RESTORE = (
    "see `assay verify`, and restore a backup (`assay restore`); without one, SQLite's `.recover` "
    "saves what can still be read of a copy of the file"
)
_DAMAGED = ("malformed", "not a database", "corrupt", "no such table", "no such column", "decode")


_FULL = ("disk is full", "No space left")
_FULL_AT_THE_OPENING = "SQLITE_IOERR_SHMSIZE"  # reported as an input/output error


def _storage_error(name: str, error: Exception) -> StorageError:
    """Error for a database's message, with a hint."""
    cause = str(getattr(error, "orig", None) or error).strip()
    problem, safe = (f"the storage {name} failed", "labels that were saved before are safe")
    if "database is locked" in cause or "lock timeout" in cause:
        what = f"another program has held its lock for {BUSY_SECONDS:.0f} seconds ({cause})"
        return StorageError(
            f"{problem}: {what}", hint=f"{safe}; end that program, or wait for it, and try again"
        )
    code = getattr(getattr(error, "orig", None), "sqlite_errorname", "")
    if any(sign in cause for sign in _FULL) or code == _FULL_AT_THE_OPENING:
        return StorageError(
            f"{problem}: its disk is full ({cause})", hint=f"{safe}; make room and try again"
        )
    if any(sign in cause for sign in _DAMAGED):
        return StorageError(
            f"{problem}: it is damaged, or not a storage of Assay ({cause})", hint=_RESTORE
        )
    return StorageError(f"{problem}: {cause}", hint=f"{safe}; repair the storage and try again")


def open_storage(url: str | None) -> Store:
    """Open the storage at a URL, or else the environment's, or else one in memory."""
    return open_store(os.environ.get("ASSAY_STORAGE") if url is None else url)
