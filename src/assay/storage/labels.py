"""Labels in a store: append-only events, in a chain of digests."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from assay.storage import schema
from assay.storage.campaigns import Connected
from assay.storage.schema import LABEL_FIELDS, Label, StoredLabel

_FIXED = sa.select(*(schema.campaign.c[name] for name in ("id", "created_at", "settings"))).where(
    schema.campaign.c.id == sa.bindparam("campaign")
)
_event = schema.label_event.c
_STORED = tuple(field.name for field in fields(StoredLabel))
_AFTER = (
    sa.select(*(_event[name] for name in _STORED))
    .where(_event.campaign_id == sa.bindparam("campaign"))
    .where(_event.id > sa.bindparam("after"))
    .order_by(_event.id)
)
_LAST_LINK = (
    sa.select(_event.chain)
    .where(_event.campaign_id == sa.bindparam("campaign"))
    .order_by(_event.id.desc())
    .limit(1)
)
_LATEST = (
    sa.select(_event.id)
    .where(_event.campaign_id == sa.bindparam("campaign"))
    .order_by(_event.id.desc())
    .limit(sa.bindparam("n"))
)


def _stored_label(values: dict[str, Any]) -> StoredLabel:
    """Make a stored label, without validation: its types are right."""
    label = object.__new__(StoredLabel)
    object.__setattr__(label, "__dict__", values)
    return label


_FEW = 100  # labels that are inserted as any other row


class Labels(Connected):
    """The log of labels."""

    def add_labels(self, campaign: int, labels: Sequence[Label]) -> list[StoredLabel]:
        """Append to the log, and return the labels as stored.

        Writers hold the store's lock, so numbers grow in the order of commits: a reader who has
        seen one number has missed none below it.
        """
        if not labels:
            return []
        stamp = {"told_at": self._timestamp}
        rows = [stamp | label.content() for label in labels]
        self._put_rows(campaign, ((row, label_content(row)) for row in rows))
        latest = self._connection.scalars(_LATEST, {"campaign": campaign, "n": len(rows)}).all()
        return [
            _stored_label({"id": number, **row})
            for number, row in zip(reversed(latest), rows, strict=True)
        ]

    def copy_labels(self, campaigns: Sequence[int], to: int, *, keys: bool = True) -> None:
        """Append all labels of campaigns to those of another, with their reviewers and times.

        Labels of several campaigns are ordered by time. The submit keys are copied if the other
        campaign replaces this one: repeated submits go there.
        """
        table = schema.label_event.c
        query = (
            sa.select(*(table[name].label(name) for name in (*LABEL_FIELDS, "told_at")))
            .where(table.campaign_id.in_(campaigns))
            .order_by(*([table.told_at] if len(campaigns) > 1 else []), table.id)
        )
        events = self._connection.execute(query).mappings()
        rows = (dict(row) if keys else {**row, "key": None} for row in events)
        self._put_rows(to, ((row, label_content(row)) for row in rows))

    def labels(self, campaign: int, after: int = 0) -> list[StoredLabel]:
        """Label events with a number above `after`, oldest first."""
        rows = self._connection.execute(_AFTER, {"campaign": campaign, "after": after})
        return [_stored_label(dict(zip(_STORED, row, strict=True))) for row in rows.all()]

    def first_link(self, campaign: int) -> str:
        """Link before a campaign's first label."""
        return first_link(*self._connection.execute(_FIXED, {"campaign": campaign}).one())

    def put_rows(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows into a table unchanged: those of a campaign from another storage.

        Except the links of labels, which follow from the labels before them here.
        """
        if table == schema.label_event.name:
            for campaign in dict.fromkeys(row["campaign_id"] for row in rows):
                own = (row for row in rows if row["campaign_id"] == campaign)
                self._put_rows(campaign, ((row, label_content(row)) for row in own))
        elif rows:
            self._connection.execute(schema.metadata.tables[table].insert(), list(rows))

    def _put_rows(self, campaign: int, rows: Iterable[tuple[Mapping[str, Any], bytes]]) -> None:
        """Append rows to a campaign's log, each with the content that its link hashes."""
        link = self._last_link(campaign)
        chained = []
        for row, content in rows:
            link = follow(link, content)
            chained.append({**row, "campaign_id": campaign, "chain": link})
        self._last_links[campaign] = link
        if len(chained) > _FEW:
            _insert_many(self._connection, schema.label_event, chained)
        elif chained:
            self._connection.execute(schema.label_event.insert(), chained)

    def _last_link(self, campaign: int) -> str:
        """Link that the next label of a campaign follows."""
        link = self._last_links.get(campaign)
        if link is None:
            link = self._connection.scalar(_LAST_LINK, {"campaign": campaign})
        return self.first_link(campaign) if link is None else link


def _insert_many(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert rows with the same columns through the driver, which is faster."""
    if connection.dialect.name == "sqlite":
        made = table.insert().compile(dialect=connection.dialect, column_keys=list(rows[0]))
        values = map(itemgetter(*(made.positiontup or ())), rows)
        connection.exec_driver_sql(str(made), list(values))
        return
    from psycopg.sql import SQL, Identifier

    moved = connection.get_execution_options().get("schema_translate_map") or {}
    place = [name for name in (moved.get(None), table.name) if name]
    names = list(rows[0])
    columns = SQL(", ").join([Identifier(table.c[name].name) for name in names])
    command = SQL("COPY {} ({}) FROM STDIN").format(Identifier(*place), columns)
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(command) as copy:
        for values in map(itemgetter(*names), rows):
            copy.write_row(values)


# Chain of a log of labels: every label has a digest of itself and of the digest before it.
#
# A changed, removed or inserted label no longer follows from the one before it. Rewriting every
# link from that place on is undetected, unless somebody has kept a later link, for example in a
# backup.

# All fields of a label, and its time; not its number, which differs in a copy of a log.
_CHAINED = ("item_id", "answer", "reviewer", "told_at", "key", "late", "ruling", "comment")


def next_link(before: str, content: Mapping[str, Any]) -> str:
    """SHA-256 of the link before it and of a label's fields, in hexadecimal digits.

    >>> next_link("", {"item": 7})[:8]
    '29d77365'
    """
    return follow(before, json.dumps(content).encode())


def follow(before: str, content: bytes) -> str:
    """Link of a content after another link."""
    return sha256(before.encode() + content).hexdigest()


def first_link(campaign: int, created_at: str, settings: str) -> str:
    """Link before the first label of a campaign: a digest of its fixed data."""
    fixed = {"campaign": campaign, "created_at": created_at, "settings": settings}
    return next_link("", fixed)


def label_link(before: str, row: Mapping[str, Any]) -> str:
    """Link of a stored label, from its row and the link before it."""
    return follow(before, label_content(row))


def label_content(row: Mapping[str, Any]) -> bytes:
    """Content of a label's row that its link hashes.

    It is JSON. Labels of a file differ in little but the item, so the JSON of all other fields is
    cached.

    >>> label_content(dict.fromkeys(_CHAINED, "x"))[:32]
    b'{"item_id": "x", "answer": "x", '
    """
    _, *further = _CHAINED
    fields = _fields_without_item(*[row[name] for name in further])
    item_id = row["item_id"]
    # In a damaged storage it may be of any type.
    quoted = encode_basestring_ascii(item_id) if type(item_id) is str else json.dumps(item_id)
    return f'{{"item_id": {quoted}, {fields}'.encode()


@lru_cache(maxsize=100, typed=True)
def _fields_without_item(*values: object) -> str:
    return json.dumps(dict(zip(_CHAINED[1:], values, strict=True))).removeprefix("{")
