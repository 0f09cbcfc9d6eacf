"""The part of a session that is about claims: who has which item before them, and for how long.

A claim is live from `since` until just before `until`, by the database's clock. Should that clock
be set back, claims from its future are over, and nobody waits a day for them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from assay.store import schema
from assay.store.connected import Connected

__all__ = ["Claim", "Claims"]


@dataclass(frozen=True)
class Claim:
    """An item before a reviewer."""

    item_id: str
    reviewer: str


class Claims(Connected):
    """Claims on items."""

    def live_claims(self, campaign: int) -> list[Claim]:
        """Return the claims that have not run out."""
        table = schema.claim.c
        query = (
            sa.select(table.item_id, table.reviewer)
            .where(table.campaign_id == campaign)
            .where(table.since <= self.now, self.now < table.until)
            .order_by(table.since, table.item_id, table.reviewer)
        )
        return [Claim(*row) for row in self._connection.execute(query)]

    def claimed(self, campaign: int, reviewer: str, item_ids: Sequence[str]) -> set[str]:
        """Return those of the items that a reviewer ever claimed, be it live or not."""
        table = schema.claim.c
        query = (
            sa.select(table.item_id)
            .where(table.campaign_id == campaign, table.reviewer == reviewer)
            .where(table.item_id.in_(item_ids))
        )
        return set(self._connection.scalars(query))

    def claim(self, campaign: int, reviewer: str, item_ids: Iterable[str], lease: float) -> None:
        """Give items to a reviewer for so many seconds from now; again: renew it."""
        wanted = list(item_ids)
        again = self.claimed(campaign, reviewer, wanted)
        span = {"since": self.now, "until": self.now + lease}
        self._set(campaign, reviewer, again, span)
        new = [item_id for item_id in wanted if item_id not in again]
        if new:
            who = {"campaign_id": campaign, "reviewer": reviewer, **span}
            rows = [{**who, "item_id": item_id} for item_id in new]
            self._connection.execute(schema.claim.insert(), rows)

    def give_back(self, campaign: int, reviewer: str, item_ids: Iterable[str]) -> None:
        """End a reviewer's claims on items."""
        self._set(campaign, reviewer, set(item_ids), {"until": self.now})

    def copy_claims(self, campaign: int, to: int) -> None:
        """Let claims on a campaign's items be claims on another's."""
        table = schema.claim.c
        same = [column for column in table if column.name != "campaign_id"]
        query = sa.select(sa.literal(to), *same).where(table.campaign_id == campaign)
        into = ["campaign_id", *(column.name for column in same)]
        self._connection.execute(schema.claim.insert().from_select(into, query))

    def _set(
        self, campaign: int, reviewer: str, item_ids: set[str], values: dict[str, float]
    ) -> None:
        table = schema.claim
        if item_ids:
            self._connection.execute(
                table.update()
                .where(table.c.campaign_id == campaign, table.c.reviewer == reviewer)
                .where(table.c.item_id.in_(item_ids))
                .values(values)
            )
