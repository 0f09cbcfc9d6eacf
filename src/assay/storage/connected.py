"""What every part of a session shares: the connection, and the database's clock."""

from datetime import UTC, datetime
from functools import cached_property

import sqlalchemy as sa

_UNIX_EPOCH = 2440587.5  # as a Julian day
_SECONDS_A_DAY = 86_400.0

# Statements are made once, here and in every part of a session: to make one takes SQLAlchemy ten
# times as long as to send it.
_CLOCKS = {
    "sqlite": sa.select((sa.func.julianday("now") - _UNIX_EPOCH) * _SECONDS_A_DAY),
    "postgresql": sa.select(sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Double)),
}


class Connected:
    """A part of a session."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    @cached_property
    def now(self) -> float:
        """The database's time when it was first asked for in this transaction.

        Seconds since 1970. Reviewers' and servers' own clocks are never asked: they differ.
        """
        return float(self._connection.scalar(_CLOCKS[self._connection.dialect.name]) or 0.0)

    @property
    def _timestamp(self) -> str:
        return datetime.fromtimestamp(self.now, UTC).isoformat(timespec="milliseconds")
