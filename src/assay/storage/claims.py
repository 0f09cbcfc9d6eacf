"""Claims and tokens in a store: reviewers' current items, and access to pages.

A claim is live from `since` until just before `until`, by the database's clock. If that clock is
set back, claims from its future have ended, and nobody waits a day for them. Only a token's digest
is stored: a reader of the database cannot log in with it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from assay.storage import schema
from assay.storage.campaigns import Connected
from assay.storage.schema import Label


@dataclass(frozen=True)
class Claim:
    """An item claimed by a reviewer."""

    item_id: str
    reviewer: str


_claim = schema.claim.c
_is_live = sa.and_(
    _claim.campaign_id == sa.bindparam("campaign"),
    _claim.since <= sa.bindparam("now"),
    # A difference, because a database would look at all live claims to find those on a few items.
    _claim.until - sa.bindparam("now") > 0,
)
_ALL_LIVE = sa.select(_claim.item_id, _claim.reviewer).where(_is_live)
_CLAIMED = (
    sa.select(_claim.item_id)
    .where(_claim.campaign_id == sa.bindparam("campaign"))
    .where(_claim.reviewer == sa.bindparam("who"))
    .where(_claim.item_id.in_(sa.bindparam("which", expanding=True)))
)
_SPAN = ("since", "until")
_AT_ONCE = 1_000  # items that are named in one query
_TOGETHER = 100  # reviewers in one query: SQLite joins at most 500 parts


@cache
def _claim_in(dialect: str) -> sa.Insert:
    """Statement that claims an item, or renews a claim, in either dialect."""
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


@cache
def _live_claims(reviewers: int) -> sa.Select[Any] | sa.CompoundSelect[Any]:
    """Statement for the live claims on some items, and on the first items of so many reviewers."""
    live = sa.select(_claim.item_id, _claim.reviewer, _claim.until).where(_is_live)
    named = live.where(_claim.item_id.in_(sa.bindparam("which", expanding=True)))
    queries = [
        sa.select(_claim.item_id)
        .where(_is_live, _claim.until > sa.bindparam("now"))
        .where(_claim.reviewer == sa.bindparam(f"who_{number}"))
        .order_by(_claim.until, _claim.item_id)
        .limit(sa.bindparam("most"))
        .subquery()
        for number in range(reviewers)
    ]
    if not queries:
        return named
    of_reviewers = live.where(_claim.item_id.in_(sa.union_all(*map(sa.select, queries))))
    return sa.union_all(named, of_reviewers)


_END = (
    schema.claim.update()
    .where(_claim.campaign_id == sa.bindparam("campaign"))
    .where(_claim.item_id == sa.bindparam("item"))
    .where(_claim.reviewer == sa.bindparam("who"))
    .values(until=sa.bindparam("to"))
)


class Claims(Connected):
    """Claims on items."""

    def live_claims(
        self, campaign: int, item_ids: Sequence[str], reviewers: Sequence[str] = (), most: int = 0
    ) -> dict[Claim, float]:
        """Claims that have not expired, each with the time of its end.

        They are those on the items, and on up to `most` items that each reviewer has claimed: those
        whose claims end first.
        """
        claims: dict[Claim, float] = {}
        while item_ids or reviewers:
            some, item_ids = item_ids[:_AT_ONCE], item_ids[_AT_ONCE:]
            who, reviewers = reviewers[:_TOGETHER], reviewers[_TOGETHER:]
            names = {f"who_{number}": reviewer for number, reviewer in enumerate(who)}
            these = {"campaign": campaign, "now": self.now, "which": some, "most": most}
            rows = self._connection.execute(_live_claims(len(who)), {**these, **names})
            claims |= {Claim(item_id, reviewer): until for item_id, reviewer, until in rows}
        return claims

    def all_live_claims(self, campaign: int) -> list[Claim]:
        """All claims that have not expired."""
        rows = self._connection.execute(_ALL_LIVE, {"campaign": campaign, "now": self.now})
        return [Claim(*row) for row in rows]

    def claimed(self, campaign: int, reviewer: str, item_ids: Sequence[str]) -> set[str]:
        """Items that a reviewer ever claimed, among these; live or not."""
        these = {"campaign": campaign, "who": reviewer, "which": list(item_ids)}
        return set(self._connection.scalars(_CLAIMED, these))

    def claim(self, campaign: int, claims: Iterable[Claim], lease: float) -> None:
        """Claim items for reviewers for `lease` seconds from now, or renew the claims."""
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

    def end_answered(self, campaign: int, labels: Iterable[Label]) -> None:
        """End claims on items that their holders have answered."""
        answered = {Claim(label.item_id, label.reviewer) for label in labels}
        live = self.live_claims(campaign, list({claim.item_id for claim in answered}))
        self.give_back(campaign, live.keys() & answered)

    def copy_claims(self, campaign: int, to: int) -> None:
        """Copy the claims on a campaign's items to another campaign."""
        table = schema.claim.c
        same = [column for column in table if column.name != "campaign_id"]
        query = sa.select(sa.literal(to), *same).where(table.campaign_id == campaign)
        into = ["campaign_id", *(column.name for column in same)]
        self._connection.execute(schema.claim.insert().from_select(into, query))


@dataclass(frozen=True)
class TokenRow:
    """A token as stored, without its digest."""

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
        """Store a token's digest, and return the token's number."""
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
        """Tokens of a campaign, oldest first, including revoked ones."""
        table = schema.token.c
        query = sa.select(*_SHOWN).where(table.campaign == campaign).order_by(table.id)
        return [TokenRow(*row) for row in self._connection.execute(query)]

    def tokens_with(self, campaign: str, digests: Iterable[str]) -> dict[str, TokenRow]:
        """Tokens of the campaign with these digests, by digest, including revoked ones."""
        which = {"campaign": campaign, "digests": sorted(set(digests))}
        rows = self._connection.execute(_WITH_DIGESTS, which)
        return {digest: TokenRow(*row) for digest, *row in rows}

    def holder_of(self, digest: str) -> tuple[str, TokenRow] | None:
        """Campaign and row of the token with this digest, whichever campaign it is for."""
        query = sa.select(schema.token.c.campaign, *_SHOWN).where(schema.token.c.digest == digest)
        row = self._connection.execute(query).one_or_none()
        return None if row is None else (row[0], TokenRow(*row[1:]))

    def revoke_token(self, campaign: str, number: int) -> bool:
        """Revoke a token; False if there is no valid one."""
        table = schema.token
        result = self._connection.execute(
            table.update()
            .where(table.c.campaign == campaign, table.c.id == number)
            .where(table.c.revoked_at.is_(None))
            .values(revoked_at=self._timestamp)
        )
        return result.rowcount > 0

    def rename_tokens(self, campaign: str, new: str) -> None:
        """Let the tokens of a campaign follow its new name."""
        table = schema.token
        of_campaign = table.update().where(table.c.campaign == campaign)
        self._connection.execute(of_campaign.values(campaign=new))

    def delete_tokens(self, campaign: str) -> None:
        """Delete the tokens of a campaign."""
        self._connection.execute(schema.token.delete().where(schema.token.c.campaign == campaign))
