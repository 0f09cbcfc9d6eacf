"""The database's clock, moved: what SQL is told of the time is off, as on a machine set wrong."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from assay.storage import Store, open_store

_UNIX_EPOCH = 2440587.5


class Clock:
    """A clock that can be moved, and how far off it is."""

    def __init__(self, url: str) -> None:
        self._url, self.off = url, 0.0
        self._store: Store | None = None

    def move(self, seconds: float) -> None:
        """Move it, forward or back."""
        before = self._now()
        self.off += seconds
        if self._url.startswith("postgresql"):
            _ask_postgresql(self._url, f"UPDATE warp.moved SET by = '{self.off} seconds'")
        assert abs(self._now() - before - seconds) < 60, "the store asks another clock"

    def julian_day(self, *_when: str) -> float:
        """Return the time as SQLite tells it."""
        return (time.time() + self.off) / 86_400 + _UNIX_EPOCH

    def _now(self) -> float:
        self._store = self._store or open_store(self._url)
        with self._store.read() as session:
            return session.now


def _ask_postgresql(url: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@contextmanager
def movable_clock(url: str) -> Iterator[Clock]:
    """Give a storage that nobody has opened yet a clock that can be moved."""
    clock = Clock(url)

    def on_connect(connection: Any, _record: object) -> None:
        connection.create_function("julianday", -1, clock.julian_day)

    if url.startswith("postgresql"):
        database = sa.make_url(url).database
        _ask_postgresql(
            url,
            "CREATE SCHEMA warp",
            "CREATE TABLE warp.moved AS SELECT interval '0' AS by",
            """CREATE FUNCTION warp.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
            'SELECT pg_catalog.clock_timestamp() + by FROM warp.moved'""",
            f'ALTER DATABASE "{database}" SET search_path = warp, pg_catalog, public',
        )
        yield clock
        return
    sa.event.listen(sa.Engine, "connect", on_connect)
    try:
        yield clock
    finally:
        sa.event.remove(sa.Engine, "connect", on_connect)
