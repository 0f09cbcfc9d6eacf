"""The part of a session that is about campaigns and their names."""

import json
from itertools import chain, count
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from assay.errors import StorageError, did_you_mean
from assay.storage import schema
from assay.storage.connected import Connected

_NAME = sa.select(schema.campaign.c.name).where(schema.campaign.c.id == sa.bindparam("campaign"))
_CREATED = sa.select(schema.campaign.c.created_at).where(
    schema.campaign.c.id == sa.bindparam("campaign")
)


class Campaigns(Connected):
    """Campaigns by name."""

    def storage_uid(self) -> str:
        """Return what tells this storage from all others."""
        return str(self._connection.scalars(sa.select(schema.storage.c.uid)).one())

    def create(self, name: str, settings: dict[str, Any]) -> int:
        """Add a campaign and return its number."""
        row = {"name": name, "created_at": self._timestamp, "settings": json.dumps(settings)}
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
        until = f"{name} until {self._timestamp[:19].replace('T', ' ')}"
        taken = set(self.names())
        names = chain([until], (f"{until} ({number})" for number in count(2)))
        free = next(each for each in names if each not in taken)
        table = schema.campaign
        self._connection.execute(table.update().where(table.c.name == name).values(name=free))
        return free

    def name_of(self, campaign: int) -> str:
        """Return what a campaign is called now."""
        return str(self._connection.scalars(_NAME, {"campaign": campaign}).one())

    def created_at(self, campaign: int) -> str:
        """Return when a campaign was made."""
        return str(self._connection.scalars(_CREATED, {"campaign": campaign}).one())

    def names(self) -> list[str]:
        """Return the names of all campaigns, oldest first."""
        query = sa.select(schema.campaign.c.name).order_by(schema.campaign.c.id)
        return list(self._connection.scalars(query))
