"""Claims and tokens in a store: who has which item before them, and who may use a page.

A claim is live from `since` until just before `until`, by the database's clock. Should that clock
be set back, claims from its future are over, and nobody waits a day for them. Only a token's digest
is kept: whoever reads the database cannot log in with it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from assay.storage import schema
from assay.storage.campaigns import Connected


@dataclass(frozen=True)
class Claim:
    """An item before a reviewer."""

    item_id: str
    reviewer: str


_claim = schema.claim.c
_LIVE = (
    sa.select(_claim.item_id, _claim.reviewer)
    .where(_claim.campaign_id == sa.bindparam("campaign"))
    .where(_claim.since <= sa.bindparam("now"), sa.bindparam("now") < _claim.until)
    .order_by(_claim.since, _claim.item_id, _claim.reviewer)
)
_CLAIMED = (
    sa.select(_claim.item_id)
    .where(_claim.campaign_id == sa.bindparam("campaign"))
    .where(_claim.reviewer == sa.bindparam("who"))
    .where(_claim.item_id.in_(sa.bindparam("which", expanding=True)))
)
_SPAN = ("since", "until")


@cache
def _claim_in(dialect: str) -> sa.Insert:
    """Return the statement that claims an item, or goes on with a claim; both dialects have it."""
    insert: Callable[[sa.Table], Any] = sqlite.insert
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql  # few need it

        insert = postgresql.insert
    made = insert(schema.claim)
    statement: sa.Insert = made.on_conflict_do_update(
        index_elements=["campaign_id", "item_id", "reviewer"],
        set_={each: made.excluded[each] for each in _SPAN},
    )
    return statement


_END = (
    schema.claim.update()
    .where(_claim.campaign_id == sa.bindparam("campaign"))
    .where(_claim.item_id == sa.bindparam("item"))
    .where(_claim.reviewer == sa.bindparam("who"))
    .values(until=sa.bindparam("to"))
)


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

    def claim(self, campaign: int, claims: Iterable[Claim], lease: float) -> None:
        """Give items to reviewers for so many seconds from now; again: renew it."""
        span = dict(zip(_SPAN, (self.now, self.now + lease), strict=True))
        rows = [{"campaign_id": campaign, **vars(claim), **span} for claim in claims]
        if rows:
            self._connection.execute(_claim_in(self._connection.dialect.name), rows)

    def give_back(self, campaign: int, claims: Iterable[Claim]) -> None:
        """End claims."""
        rows = [
            {"campaign": campaign, "item": claim.item_id, "who": claim.reviewer, "to": self.now}
            for claim in claims
        ]
        if rows:
            self._connection.execute(_END, rows)

    def copy_claims(self, campaign: int, to: int) -> None:
        """Let claims on a campaign's items be claims on another's."""
        table = schema.claim.c
        same = [column for column in table if column.name != "campaign_id"]
        query = sa.select(sa.literal(to), *same).where(table.campaign_id == campaign)
        into = ["campaign_id", *(column.name for column in same)]
        self._connection.execute(schema.claim.insert().from_select(into, query))


@dataclass(frozen=True)
class TokenRow:
    """A token as it is kept, without its digest."""

    id: int
    role: str
    name: str
    created_at: str
    revoked_at: str | None


_SHOWN = tuple(schema.token.c[name] for name in TokenRow.__dataclass_fields__)
_WITH_DIGESTS = (
    sa.select(schema.token.c.digest, *_SHOWN)
    .where(schema.token.c.campaign == sa.bindparam("campaign"))
    .where(schema.token.c.digest.in_(sa.bindparam("digests", expanding=True)))
)


class Tokens(Connected):
    """Tokens of campaigns."""

    def add_token(self, campaign: str, role: str, name: str, digest: str) -> int:
        """Keep a token's digest, and return the token's number."""
        row = {
            "campaign": campaign,
            "role": role,
            "name": name,
            "digest": digest,
            "created_at": self._timestamp,
        }
        key = self._connection.execute(schema.token.insert(), row).inserted_primary_key
        return int(key[0]) if key else 0

    def tokens(self, campaign: str) -> list[TokenRow]:
        """Return a campaign's tokens, oldest first, revoked ones too."""
        table = schema.token.c
        query = sa.select(*_SHOWN).where(table.campaign == campaign).order_by(table.id)
        return [TokenRow(*row) for row in self._connection.execute(query)]

    def tokens_with(self, campaign: str, digests: Iterable[str]) -> dict[str, TokenRow]:
        """Return the campaign's tokens with these digests, by them, even if they were revoked."""
        which = {"campaign": campaign, "digests": sorted(set(digests))}
        found = self._connection.execute(_WITH_DIGESTS, which)
        return {digest: TokenRow(*row) for digest, *row in found}

    def revoke_token(self, campaign: str, number: int) -> bool:
        """Let a token open nothing from now on; False where there is none that does."""
        table = schema.token
        result = self._connection.execute(
            table.update()
            .where(table.c.campaign == campaign, table.c.id == number)
            .where(table.c.revoked_at.is_(None))
            .values(revoked_at=self._timestamp)
        )
        return result.rowcount > 0
