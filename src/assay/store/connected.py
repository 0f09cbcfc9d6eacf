"""What every part of a session shares: the connection, and the database's clock."""

from datetime import UTC, datetime
from functools import cached_property

import sqlalchemy as sa

__all__ = ["Connected"]

_UNIX_EPOCH = 2440587.5  # as a Julian day
_SECONDS_A_DAY = 86_400.0


class Connected:
    """A part of a session."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    @cached_property
    def now(self) -> float:
        """The database's time when it was first asked for in this transaction.

        Seconds since 1970. Reviewers' and servers' own clocks are never asked: they differ.
        """
        clock: sa.ColumnElement[float] = (sa.func.julianday("now") - _UNIX_EPOCH) * _SECONDS_A_DAY
        if self._connection.dialect.name == "postgresql":
            clock = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Double)
        return float(self._connection.scalar(sa.select(clock)) or 0.0)

    @property
    def _timestamp(self) -> str:
        return datetime.fromtimestamp(self.now, UTC).isoformat(timespec="milliseconds")
