"""The part of a session that is about claims: who has which item before them, and for how long.

A claim is live from `since` until just before `until`, by the database's clock. Should that clock
be set back, claims from its future are over, and nobody waits a day for them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from assay.storage import schema
from assay.storage.connected import Connected


@dataclass(frozen=True)
class Claim:
    """An item before a reviewer."""

    item_id: str
    reviewer: str


_table = schema.claim.c
_LIVE = (
    sa.select(_table.item_id, _table.reviewer)
    .where(_table.campaign_id == sa.bindparam("campaign"))
    .where(_table.since <= sa.bindparam("now"), sa.bindparam("now") < _table.until)
    .order_by(_table.since, _table.item_id, _table.reviewer)
)
_BY_REVIEWER = sa.and_(
    _table.campaign_id == sa.bindparam("campaign"),
    _table.reviewer == sa.bindparam("who"),
    _table.item_id.in_(sa.bindparam("which", expanding=True)),
)
_CLAIMED = sa.select(_table.item_id).where(_BY_REVIEWER)
_RENEW = (
    schema.claim.update()
    .where(_BY_REVIEWER)
    .values(since=sa.bindparam("from"), until=sa.bindparam("to"))
)
_END = schema.claim.update().where(_BY_REVIEWER).values(until=sa.bindparam("to"))


class Claims(Connected):
    """Claims on items."""

    def live_claims(self, campaign: int) -> list[Claim]:
        """Return the claims that have not run out."""
        found = self._connection.execute(_LIVE, {"campaign": campaign, "now": self.now})
        return [Claim(*row) for row in found]

    def claimed(self, campaign: int, reviewer: str, item_ids: Sequence[str]) -> set[str]:
        """Return those of the items that a reviewer ever claimed, be it live or not."""
        these = {"campaign": campaign, "who": reviewer, "which": list(item_ids)}
        return set(self._connection.scalars(_CLAIMED, these))

    def claim(self, campaign: int, reviewer: str, item_ids: Iterable[str], lease: float) -> None:
        """Give items to a reviewer for so many seconds from now; again: renew it."""
        wanted, now = list(item_ids), self.now
        if again := self.claimed(campaign, reviewer, wanted):
            these = {"campaign": campaign, "who": reviewer, "which": list(again)}
            self._connection.execute(_RENEW, {**these, "from": now, "to": now + lease})
        if new := [item_id for item_id in wanted if item_id not in again]:
            claim = {"campaign_id": campaign, "reviewer": reviewer, "since": now}
            claim |= {"until": now + lease}
            rows = [{**claim, "item_id": item_id} for item_id in new]
            self._connection.execute(schema.claim.insert(), rows)

    def give_back(self, campaign: int, reviewer: str, item_ids: Iterable[str]) -> None:
        """End a reviewer's claims on items."""
        these = {"campaign": campaign, "who": reviewer, "which": list(item_ids)}
        self._connection.execute(_END, {**these, "to": self.now})

    def copy_claims(self, campaign: int, to: int) -> None:
        """Let claims on a campaign's items be claims on another's."""
        table = schema.claim.c
        same = [column for column in table if column.name != "campaign_id"]
        query = sa.select(sa.literal(to), *same).where(table.campaign_id == campaign)
        into = ["campaign_id", *(column.name for column in same)]
        self._connection.execute(schema.claim.insert().from_select(into, query))
