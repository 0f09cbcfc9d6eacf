"""The part of a session that is about labels: events that are only ever appended."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from assay.storage import schema
from assay.storage.connected import Connected


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a reviewer said of an item.

    `answer` is a word of `assay.labelling.review_rule`. `submit_key` is what a client calls the
    submit; `late` flags what came when the lease had run out; `ruling` what decides whatever the
    reviewers said.
    """

    item_id: str
    answer: str
    reviewer: str
    submit_key: str | None = None
    late: bool = False
    ruling: bool = False


@dataclass(frozen=True, kw_only=True)
class Event(Said):
    """A label as it was told, with its place in the log."""

    id: int
    told_at: str


_CONTENT = tuple(Said.__dataclass_fields__)
_table = schema.label_event.c
_EVENTS = (
    sa.select(*(_table[name] for name in ("id", "told_at", *_CONTENT)))
    .where(_table.campaign_id == sa.bindparam("campaign"))
    .order_by(_table.id)
)
_AFTER = _EVENTS.where(_table.id > sa.bindparam("after"))
_SUBMITTED = _EVENTS.where(_table.submit_key == sa.bindparam("key"))


class Labels(Connected):
    """The log of labels."""

    def add_labels(self, campaign: int, said: Sequence[Said]) -> list[Event]:
        """Append to the log, and return what stands there now.

        Whoever writes has the store's lock, so numbers grow in the order of commits: a reader who
        has seen one number has missed none below it.
        """
        table = schema.label_event
        added = []
        for each in said:
            row = {"campaign_id": campaign, "told_at": self._timestamp, **asdict(each)}
            result = self._connection.execute(table.insert(), row)
            number = int((result.inserted_primary_key or (0,))[0])
            added.append(Event(id=number, told_at=self._timestamp, **asdict(each)))
        return added

    def copy_labels(self, campaigns: Sequence[int], to: int, *, keys: bool = True) -> None:
        """Append all labels of campaigns to those of another, by whom and when they were told.

        Of several, in the order in which they were told. With the keys they were sent under where
        the other one takes its place: what is sent again goes there.
        """
        table = schema.label_event.c
        names = [name for name in (*_CONTENT, "told_at") if keys or name != "submit_key"]
        told = [table[name] for name in names]
        query = (
            sa.select(sa.literal(to), *told)
            .where(table.campaign_id.in_(campaigns))
            .order_by(*([table.told_at] if len(campaigns) > 1 else []), table.id)
        )
        into = ["campaign_id", *(column.name for column in told)]
        self._connection.execute(schema.label_event.insert().from_select(into, query))

    def labels(self, campaign: int, after: int = 0) -> list[Event]:
        """Return the label events with a number above `after`, oldest first."""
        return self._events(_AFTER, {"campaign": campaign, "after": after})

    def submitted(self, campaign: int, key: str) -> Event | None:
        """Return what was submitted under a key."""
        found = self._events(_SUBMITTED, {"campaign": campaign, "key": key})
        return found[0] if found else None

    def _events(self, query: sa.Select[Any], which: Mapping[str, object]) -> list[Event]:
        return [Event(**row) for row in self._connection.execute(query, which).mappings()]
