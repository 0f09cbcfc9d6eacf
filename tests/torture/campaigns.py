"""Campaigns to torture, and their storage as SQL alone sees it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

import assay
from assay import Campaign


def predictions(items: int) -> dict[str, list[Any]]:
    """Return scores that are spread evenly, and a text to show."""
    return {
        "id": [f"m{number:05d}" for number in range(items)],
        "p": [round((number * 0.6180339887 + 0.1) % 1, 6) for number in range(items)],
        "subject": [f"subject of item {number}" for number in range(items)],
    }


def make_campaign(storage: str | None, *, items: int, **changed: Any) -> Campaign:
    """Make the campaign `spam`; `changed` goes to the library."""
    given: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "show": ["subject"]}
    given |= {"budget": items // 2, "name": "spam", "storage": storage, **changed}
    return assay.create_campaign(predictions(items), **given)


def truth(item: str) -> str:
    """Return what people say of an item."""
    return ("no", "yes", "yes", "cannot judge", "yes", "no", "broken")[int(item[1:]) * 7919 % 7]


@dataclass(frozen=True)
class Row:
    """A line of the log, as it is in the table."""

    id: int
    key: str | None
    item: str
    answer: str
    reviewer: str
    late: bool


class Book:
    """The log and the claims of the only campaign in a storage, read without Assay."""

    def __init__(self, storage: str) -> None:
        url = sa.make_url(storage)
        self._prefix = "" if url.get_backend_name() == "sqlite" else "assay."
        if self._prefix:
            url = url.set(drivername="postgresql+psycopg")
        self._clock = (
            "extract(epoch FROM clock_timestamp())"
            if self._prefix
            else "(julianday('now') - 2440587.5) * 86400.0"
        )
        self._engine = sa.create_engine(url, poolclass=NullPool)

    @contextmanager
    def moment(self) -> Iterator[sa.Connection]:
        """Give a connection on which all is read as of one moment."""
        with self._engine.connect() as connection, connection.begin():
            if self._prefix:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            else:
                connection.exec_driver_sql("BEGIN")
            yield connection

    def log(self, connection: sa.Connection, after: int = 0) -> list[Row]:
        """Return the log, or the end of it."""
        found = connection.exec_driver_sql(
            "SELECT id, submit_key, item_id, answer, reviewer, late "
            f"FROM {self._prefix}label_event WHERE id > {after} ORDER BY id"
        )
        return [Row(*row) for row in found]

    def live_claims(self, connection: sa.Connection) -> list[tuple[str, str]]:
        """Return item and reviewer of each claim that is live now."""
        found = connection.exec_driver_sql(
            f"SELECT item_id, reviewer FROM {self._prefix}claim, (SELECT {self._clock} AS now) t "
            "WHERE since <= now AND now < until"
        )
        return [(str(item), str(reviewer)) for item, reviewer in found]

    def strata(self, connection: sa.Connection) -> dict[str, int]:
        """Return the stratum of every card in reserve."""
        found = connection.exec_driver_sql(f"SELECT item_id, stratum FROM {self._prefix}item")
        return {str(item): int(stratum) for item, stratum in found}
