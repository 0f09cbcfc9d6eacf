"""The part of a session that is about rows as they are kept, for those who check the books."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from assay.storage import schema
from assay.storage.connected import Connected


class Rows(Connected):
    """Whole tables, without a word of interpretation."""

    def rows(self, table: str, campaign: int) -> list[dict[str, Any]]:
        """Return all of a campaign's rows in a table, by their keys."""
        found = schema.metadata.tables[table]
        query = (
            sa.select(found)
            .where(found.c.campaign_id == campaign)
            .order_by(*found.primary_key.columns)
        )
        return [dict(row) for row in self._connection.execute(query).mappings()]

    def put_rows(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put rows into a table as they are: those of a campaign that was kept elsewhere."""
        if rows:
            self._connection.execute(schema.metadata.tables[table].insert(), list(rows))

    def lost_labels(self) -> list[int] | None:
        """Return the numbers of labels of any campaign that were stored and are not there any more.

        None where that cannot be told: PostgreSQL's numbers have gaps where a writer failed.
        SQLite gives a number that was never committed to the next writer.
        """
        if self._connection.dialect.name != "sqlite":
            return None
        there = set(self._connection.scalars(sa.select(schema.label_event.c.id)))
        counter = sa.table("sqlite_sequence", sa.column("name"), sa.column("seq"))
        query = sa.select(counter.c.seq).where(counter.c.name == schema.label_event.name)
        last = int(self._connection.scalar(query) or 0)
        return [number for number in range(1, last + 1) if number not in there]
