"""Campaigns in a store: their names, strata, cards and rounds, and whole tables of rows."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, count
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from assay.errors import StorageError, did_you_mean
from assay.storage import schema

_UNIX_EPOCH = 2440587.5  # as a Julian day
_SECONDS_A_DAY = 86_400.0
_MOST_NAMED = 20  # campaigns in an error: the newest

# Statements are built once, here and in every part of a session: SQLAlchemy takes longer to build
# one than to send it.
_TIME = {
    "sqlite": (sa.func.julianday("now") - _UNIX_EPOCH) * _SECONDS_A_DAY,
    "postgresql": sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Double),
}
_CLOCKS = {name: sa.select(time) for name, time in _TIME.items()}


class Connected:
    """A part of a session."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        # Chain links that the next labels of campaigns follow, as known in this transaction.
        self._last_links: dict[int, str] = {}

    @cached_property
    def now(self) -> float:
        """Database time at its first use in this transaction.

        Seconds since 1970. Clocks of reviewers and servers are never used: they differ.
        """
        return float(self._connection.scalar(_CLOCKS[self._connection.dialect.name]) or 0.0)

    @property
    def _timestamp(self) -> str:
        return datetime.fromtimestamp(self.now, UTC).isoformat(timespec="milliseconds")


RETIRED = re.compile(r".* until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d( \(\d+\))?")
"""Names of campaigns that others have replaced."""

_TRACE = '{"deleted": '  # the beginning of what is kept of a deleted campaign, as its settings
_exists = sa.not_(schema.campaign.c.settings.startswith(_TRACE, autoescape=True))
_NAME = sa.select(schema.campaign.c.name).where(schema.campaign.c.id == sa.bindparam("campaign"))
_CREATED = sa.select(schema.campaign.c.created_at).where(
    schema.campaign.c.id == sa.bindparam("campaign")
)


@dataclass(frozen=True)
class News:
    """State that changes with a campaign: its name, its number of rounds, its last label."""

    name: str
    rounds: int
    last_label: int


_NEWS = {
    dialect: sa.select(
        schema.campaign.c.name,
        sa.select(sa.func.coalesce(sa.func.max(schema.round_.c.number), -1) + 1)
        .where(schema.round_.c.campaign_id == sa.bindparam("campaign"))
        .scalar_subquery()
        .label("rounds"),
        *(
            sa.select(schema.label_event.c[name])
            .where(schema.label_event.c.campaign_id == sa.bindparam("campaign"))
            .order_by(schema.label_event.c.id.desc())
            .limit(1)
            .scalar_subquery()
            .label(name)
            for name in ("id", "chain")
        ),
        time.label("now"),
    ).where(schema.campaign.c.id == sa.bindparam("campaign"))
    for dialect, time in _TIME.items()
}


class Campaigns(Connected):
    """Campaigns by name."""

    def news(self, campaign: int) -> News:
        """Read the current state of a campaign, to detect changes.

        Every request of a reviewer starts with it. So the same statement reads the time, and the
        link that the next label follows.
        """
        query = _NEWS[self._connection.dialect.name]
        row = self._connection.execute(query, {"campaign": campaign}).one()
        self.__dict__.setdefault("now", float(row.now))
        if row.chain is not None:
            self._last_links[campaign] = row.chain
        return News(str(row.name), int(row.rounds), int(row.id or 0))

    def storage_uid(self) -> str:
        """Read the unique id of this storage."""
        return str(self._connection.scalars(sa.select(schema.storage.c.uid)).one())

    def create(self, name: str, settings: dict[str, Any]) -> int:
        """Add a campaign and return its number."""
        row = {"name": name, "created_at": self._timestamp, "settings": json.dumps(settings)}
        try:
            result = self._connection.execute(schema.campaign.insert(), row)
        except IntegrityError:
            raise _taken(name) from None
        key = result.inserted_primary_key
        return int(key[0]) if key else 0

    def find(self, name: str) -> tuple[int, dict[str, Any]]:
        """Find the number and settings of a campaign."""
        query = sa.select(schema.campaign).where(schema.campaign.c.name == name, _exists)
        row = self._connection.execute(query).one_or_none()
        if row is None:
            names = self.names()
            older = "…, " if len(names) > _MOST_NAMED else ""
            existing = older + ", ".join(map(repr, names[-_MOST_NAMED:])) or "none"
            raise StorageError(
                f"there is no campaign named {name!r}",
                details=f"campaigns: {existing}",
                hint=did_you_mean(name, names),
            )
        return int(row.id), json.loads(row.settings)

    def change(self, campaign: int, settings: dict[str, Any]) -> None:
        """Replace the settings of a campaign; what fixes its draws must stay as it was."""
        row = schema.campaign.update().where(schema.campaign.c.id == campaign)
        self._connection.execute(row.values(settings=json.dumps(settings)))

    def retire(self, name: str, word: str = "until") -> str:
        """Rename a campaign, so that a new one can have its name; return the new name."""
        until = f"{name} {word} {self._timestamp[:19].replace('T', ' ')}"
        names_in_use = set(self._connection.scalars(sa.select(schema.campaign.c.name)))
        names = chain([until], (f"{until} ({number})" for number in count(2)))
        free = next(each for each in names if each not in names_in_use)
        self.rename(name, free)
        return free

    def rename(self, name: str, new: str) -> None:
        """Give a campaign another name."""
        table = schema.campaign
        try:
            self._connection.execute(table.update().where(table.c.name == name).values(name=new))
        except IntegrityError:
            raise _taken(new) from None

    def delete(self, campaign: int, trace: Mapping[str, Any]) -> None:
        """Delete all rows of a campaign. Its number and those of its labels stay, with a trace."""
        if self._connection.dialect.name == "sqlite":  # overwrite them in the file, too
            self._connection.exec_driver_sql("PRAGMA secure_delete = ON")
        events, table = schema.label_event, schema.campaign
        query = sa.select(events.c.id).where(events.c.campaign_id == campaign).order_by(events.c.id)
        numbers = _ranges(self._connection.scalars(query))
        for each in reversed(schema.metadata.sorted_tables):
            if "campaign_id" in each.c:
                self._connection.execute(each.delete().where(each.c.campaign_id == campaign))
        kept = _TRACE + json.dumps({**trace, "numbers": numbers}) + "}"
        self.retire(self.name_of(campaign), "deleted")
        self._connection.execute(table.update().where(table.c.id == campaign).values(settings=kept))

    def deleted(self) -> dict[int, dict[str, Any]]:
        """Trace of every deleted campaign, by its number."""
        query = sa.select(schema.campaign.c.id, schema.campaign.c.settings).where(sa.not_(_exists))
        rows = self._connection.execute(query)
        return {int(number): json.loads(settings)["deleted"] for number, settings in rows}

    def name_of(self, campaign: int) -> str:
        """Read the current name of a campaign."""
        return str(self._connection.scalars(_NAME, {"campaign": campaign}).one())

    def created_at(self, campaign: int) -> str:
        """Creation time of a campaign."""
        return str(self._connection.scalars(_CREATED, {"campaign": campaign}).one())

    def lost_campaigns(self) -> list[int] | None:
        """Numbers of campaigns missing below the last; None for PostgreSQL, as for labels.

        SQLite reuses the number of a deleted last campaign.
        """
        if self._connection.dialect.name != "sqlite":
            return None
        existing = set(self._connection.scalars(sa.select(schema.campaign.c.id)))
        return [number for number in range(1, max(existing, default=0)) if number not in existing]

    def lost_labels(self) -> list[int] | None:
        """Numbers of labels of any campaign that were stored, are missing, and were not deleted.

        None if unknown: PostgreSQL's numbers have gaps after failed writes. SQLite reuses a number
        that was never committed.
        """
        if self._connection.dialect.name != "sqlite":
            return None
        existing = set(self._connection.scalars(sa.select(schema.label_event.c.id)))
        for first, last in chain.from_iterable(each["numbers"] for each in self.deleted().values()):
            existing.update(range(first, last + 1))
        counter = sa.table("sqlite_sequence", sa.column("name"), sa.column("seq"))
        query = sa.select(counter.c.seq).where(counter.c.name == schema.label_event.name)
        last = int(self._connection.scalar(query) or 0)
        return [number for number in range(1, last + 1) if number not in existing]

    def names(self, mentioning: str = "") -> list[str]:
        """Names of all campaigns whose settings contain a text, oldest first."""
        query = sa.select(schema.campaign.c.name).where(_exists).order_by(schema.campaign.c.id)
        if mentioning:
            query = query.where(schema.campaign.c.settings.contains(mentioning, autoescape=True))
        return list(self._connection.scalars(query))


def _taken(name: str) -> StorageError:
    return StorageError(
        f"a campaign named {name!r} already exists",
        hint=f"choose another name, or continue that campaign. In Python: load_campaign({name!r})",
    )


def _ranges(numbers: Iterable[int]) -> list[list[int]]:
    """First and last of each run of ascending numbers.

    >>> _ranges([1, 2, 3, 7, 8])
    [[1, 3], [7, 8]]
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


# Strata, the cards in reserve, and rounds.


@dataclass(frozen=True)
class CardRow:
    """A card as stored."""

    stratum: int
    position: int
    item_id: str
    predicted: int
    shown: str
    weight: int | None = None


_ADD_CARDS = schema.item.insert()  # of all columns, in the order of CardRow's
_in_row = attrgetter(*CardRow.__dataclass_fields__)
_CARDS = (
    sa.select(*(schema.item.c[name] for name in CardRow.__dataclass_fields__))
    .where(schema.item.c.campaign_id == sa.bindparam("campaign"))
    .where(schema.item.c.stratum == sa.bindparam("stratum"))
    .where(schema.item.c.position >= sa.bindparam("start"))
    .where(schema.item.c.position < sa.bindparam("stop"))
    .order_by(schema.item.c.position)
)
_ROUNDS = (
    sa.select(schema.round_.c.counts)
    .where(schema.round_.c.campaign_id == sa.bindparam("campaign"))
    .where(schema.round_.c.number >= sa.bindparam("start"))
    .order_by(schema.round_.c.number)
)


class Decks(Connected):
    """Strata, cards and rounds."""

    def add_strata(self, campaign: int, sizes: Sequence[int]) -> None:
        """Store the number of items of each stratum."""
        rows = [
            {"campaign_id": campaign, "number": number, "size": size}
            for number, size in enumerate(sizes)
        ]
        self._connection.execute(schema.stratum.insert(), rows)

    def add_cards(self, campaign: int, cards: Sequence[CardRow]) -> None:
        """Add cards to the reserve."""
        if not cards:
            return
        if self._connection.dialect.name != "sqlite":
            rows = [{"campaign_id": campaign, **vars(card)} for card in cards]
            self._connection.execute(_ADD_CARDS, rows)
            return
        # As text for the driver: SQLAlchemy alone would take as long as the database.
        statement = str(_ADD_CARDS.compile(dialect=self._connection.dialect))
        rows_as_text = [(campaign, *_in_row(card)) for card in cards]
        self._connection.exec_driver_sql(statement, rows_as_text)

    def cards(self, campaign: int, stratum: int, start: int, stop: int) -> list[CardRow]:
        """Cards of a stratum at the positions start <= position < stop."""
        span = {"campaign": campaign, "stratum": stratum, "start": start, "stop": stop}
        return [CardRow(*row) for row in self._connection.execute(_CARDS, span).all()]

    def reserve(self, campaign: int, n_strata: int) -> list[int]:
        """Count the cards of each stratum in the reserve."""
        table = schema.item.c
        query = (
            sa.select(table.stratum, sa.func.max(table.position))
            .where(table.campaign_id == campaign)
            .group_by(table.stratum)
        )
        last = {int(stratum): int(top) for stratum, top in self._connection.execute(query)}
        return [last.get(stratum, -1) + 1 for stratum in range(n_strata)]

    def add_round(self, campaign: int, number: int, counts: Sequence[int]) -> None:
        """Store the number of cards of each stratum in a round."""
        row = {"campaign_id": campaign, "number": number, "counts": json.dumps(list(counts))}
        self._connection.execute(schema.round_.insert(), row)

    def rounds(self, campaign: int, start: int) -> list[list[int]]:
        """Read the counts of every round from number `start` on."""
        rows = self._connection.scalars(_ROUNDS, {"campaign": campaign, "start": start})
        return [json.loads(counts) for counts in rows]


# Rows as stored, for audits.


class Rows(Connected):
    """Whole tables, without interpretation."""

    def rows(self, table: str, campaign: int) -> list[dict[str, Any]]:
        """All rows of a campaign in a table, by their keys."""
        source = schema.metadata.tables[table]
        query = (
            sa.select(*(column.label(column.key) for column in source.c))
            .where(source.c.campaign_id == campaign)
            .order_by(*source.primary_key.columns)
        )
        return [dict(row) for row in self._connection.execute(query).mappings()]

    def damage(self) -> list[str]:
        """Problems that SQLite finds in its own file; PostgreSQL is not checked."""
        if self._connection.dialect.name != "sqlite":
            return []
        run = self._connection.exec_driver_sql
        problems = [str(text) for (text,) in run("PRAGMA integrity_check(20)")]
        # A row without its parent is damage, too, although SQLite finds its pages sound.
        orphans = [
            f"row {row} of table {table} belongs to no row of {parent}"
            for table, row, parent, _ in run("PRAGMA foreign_key_check").fetchmany(20)
        ]
        return [text for text in problems if text != "ok"] + orphans
