"""The part of a session that is about tokens: who may use a campaign's page.

Only a token's digest is kept: whoever reads the database cannot log in with it.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from assay.storage import schema
from assay.storage.connected import Connected


@dataclass(frozen=True)
class TokenRow:
    """A token as it is kept, without its digest."""

    id: int
    role: str
    name: str
    created_at: str
    revoked_at: str | None


_SHOWN = tuple(schema.token.c[name] for name in TokenRow.__dataclass_fields__)
_WITH_DIGEST = (
    sa.select(*_SHOWN)
    .where(schema.token.c.campaign == sa.bindparam("campaign"))
    .where(schema.token.c.digest == sa.bindparam("digest"))
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

    def token(self, campaign: str, digest: str) -> TokenRow | None:
        """Return the campaign's token with this digest, even if it was revoked."""
        which = {"campaign": campaign, "digest": digest}
        row = self._connection.execute(_WITH_DIGEST, which).one_or_none()
        return None if row is None else TokenRow(*row)

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
