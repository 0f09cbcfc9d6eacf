"""One transaction on the store: the few questions that are ever asked of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from assay.errors import StorageError, did_you_mean
from assay.store import schema

__all__ = ["CardRow", "Event", "Session"]


@dataclass(frozen=True)
class CardRow:
    """A card as it is kept."""

    stratum: int
    position: int
    item_id: str
    predicted: int
    shown: str


@dataclass(frozen=True)
class Event:
    """A label as it was told."""

    id: int
    item_id: str
    answer: str
    reviewer: str
    told_at: str


class Session:
    """One transaction: all that was read and written in it happened at one moment."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def prepare(self) -> None:
        """Make the tables in a new database; refuse one that another Assay has written."""
        tables = sa.inspect(self._connection).get_table_names()
        if tables and schema.version.name not in tables:
            raise StorageError(
                f"the database holds something else: {', '.join(sorted(tables)[:5])}",
                hint="give a file of its own, such as sqlite:///labels.db",
            )
        schema.metadata.create_all(self._connection)
        found = self._connection.scalar(sa.select(sa.func.max(schema.version.c.version)))
        known = schema.SCHEMA_VERSION
        if found is None:
            self._connection.execute(schema.version.insert(), {"version": known})
        elif found != known:
            raise StorageError(
                f"the storage has schema version {found}, this Assay knows {known}",
                hint="use the version of Assay that wrote it",
            )

    def create(self, name: str, settings: dict[str, Any]) -> int:
        """Add a campaign and return its number."""
        row = {"name": name, "created_at": _now(), "settings": json.dumps(settings)}
        try:
            result = self._connection.execute(schema.campaign.insert(), row)
        except IntegrityError:
            raise StorageError(
                f"there is a campaign named {name!r} already",
                hint=f"choose another name, or go on with load_campaign({name!r})",
            ) from None
        key = result.inserted_primary_key
        return int(key[0]) if key else 0

    def find(self, name: str) -> tuple[int, dict[str, Any]]:
        """Return a campaign's number and settings."""
        query = sa.select(schema.campaign).where(schema.campaign.c.name == name)
        row = self._connection.execute(query).one_or_none()
        if row is None:
            names = self.names()
            there = ", ".join(repr(other) for other in names) or "none"
            raise StorageError(
                f"there is no campaign named {name!r}",
                details=f"campaigns: {there}",
                hint=did_you_mean(name, names),
            )
        return int(row.id), json.loads(row.settings)

    def retire(self, name: str) -> str:
        """Give a campaign another name, so that a new one can have its own; return that name."""
        until = f"{name} until {datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
        taken = set(self.names())
        names = chain([until], (f"{until} ({number})" for number in count(2)))
        free = next(each for each in names if each not in taken)
        table = schema.campaign
        self._connection.execute(table.update().where(table.c.name == name).values(name=free))
        return free

    def name_of(self, campaign: int) -> str:
        """Return what a campaign is called now."""
        query = sa.select(schema.campaign.c.name).where(schema.campaign.c.id == campaign)
        return str(self._connection.scalars(query).one())

    def names(self) -> list[str]:
        """Return the names of all campaigns, oldest first."""
        query = sa.select(schema.campaign.c.name).order_by(schema.campaign.c.id)
        return list(self._connection.scalars(query))

    def add_cards(self, campaign: int, cards: Sequence[CardRow]) -> None:
        """Add cards to the reserve."""
        if cards:
            rows = [{"campaign_id": campaign, **vars(card)} for card in cards]
            self._connection.execute(schema.card.insert(), rows)

    def cards(self, campaign: int, stratum: int, start: int, stop: int) -> list[CardRow]:
        """Return a stratum's cards at the positions start <= position < stop."""
        table = schema.card.c
        query = (
            sa.select(table.stratum, table.position, table.item_id, table.predicted, table.shown)
            .where(table.campaign_id == campaign, table.stratum == stratum)
            .where(table.position >= start, table.position < stop)
            .order_by(table.position)
        )
        return [CardRow(*row) for row in self._connection.execute(query)]

    def reserve(self, campaign: int, n_strata: int) -> list[int]:
        """Return how many cards of each stratum are in the reserve."""
        table = schema.card.c
        query = (
            sa.select(table.stratum, sa.func.max(table.position))
            .where(table.campaign_id == campaign)
            .group_by(table.stratum)
        )
        last = {int(stratum): int(top) for stratum, top in self._connection.execute(query)}
        return [last.get(stratum, -1) + 1 for stratum in range(n_strata)]

    def add_round(self, campaign: int, number: int, counts: Sequence[int]) -> None:
        """Record that so many cards of each stratum went out."""
        row = {"campaign_id": campaign, "number": number, "counts": json.dumps(list(counts))}
        self._connection.execute(schema.round_.insert(), row)

    def rounds(self, campaign: int, start: int) -> list[list[int]]:
        """Return the counts of every round from number `start` on."""
        table = schema.round_.c
        query = (
            sa.select(table.counts)
            .where(table.campaign_id == campaign, table.number >= start)
            .order_by(table.number)
        )
        return [json.loads(counts) for counts in self._connection.scalars(query)]

    def add_labels(self, campaign: int, answers: Sequence[tuple[str, str]], reviewer: str) -> None:
        """Append labels: pairs of item id and answer."""
        told_at = _now()
        rows = [
            {
                "campaign_id": campaign,
                "item_id": item_id,
                "answer": answer,
                "reviewer": reviewer,
                "told_at": told_at,
            }
            for item_id, answer in answers
        ]
        if rows:
            self._connection.execute(schema.label_event.insert(), rows)

    def copy_labels(self, campaign: int, to: int) -> None:
        """Append all labels of a campaign to those of another, by whom and when they were told."""
        table = schema.label_event.c
        told = (table.item_id, table.answer, table.reviewer, table.told_at)
        query = (
            sa.select(sa.literal(to), *told).where(table.campaign_id == campaign).order_by(table.id)
        )
        into = ["campaign_id", *(column.name for column in told)]
        self._connection.execute(schema.label_event.insert().from_select(into, query))

    def labels(self, campaign: int, after: int = 0) -> list[Event]:
        """Return the label events with a number above `after`, oldest first."""
        table = schema.label_event.c
        query = (
            sa.select(table.id, table.item_id, table.answer, table.reviewer, table.told_at)
            .where(table.campaign_id == campaign, table.id > after)
            .order_by(table.id)
        )
        return [Event(*row) for row in self._connection.execute(query)]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
