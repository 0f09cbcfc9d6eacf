"""The part of a session that is about strata, the cards in reserve, and rounds."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from assay.storage import schema
from assay.storage.connected import Connected


@dataclass(frozen=True)
class CardRow:
    """A card as it is kept."""

    stratum: int
    position: int
    item_id: str
    predicted: int
    shown: str
    weight: int | None = None


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
        """Record how many items each stratum has."""
        rows = [
            {"campaign_id": campaign, "number": number, "size": size}
            for number, size in enumerate(sizes)
        ]
        self._connection.execute(schema.stratum.insert(), rows)

    def add_cards(self, campaign: int, cards: Sequence[CardRow]) -> None:
        """Add cards to the reserve."""
        if cards:
            rows = [{"campaign_id": campaign, **vars(card)} for card in cards]
            self._connection.execute(schema.item.insert(), rows)

    def cards(self, campaign: int, stratum: int, start: int, stop: int) -> list[CardRow]:
        """Return a stratum's cards at the positions start <= position < stop."""
        span = {"campaign": campaign, "stratum": stratum, "start": start, "stop": stop}
        return [CardRow(*row) for row in self._connection.execute(_CARDS, span)]

    def reserve(self, campaign: int, n_strata: int) -> list[int]:
        """Return how many cards of each stratum are in the reserve."""
        table = schema.item.c
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
        found = self._connection.scalars(_ROUNDS, {"campaign": campaign, "start": start})
        return [json.loads(counts) for counts in found]
