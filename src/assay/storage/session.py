"""One transaction on the store: the few questions that are ever asked of it, by subject."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import chain, count
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable, DropTable

from assay.errors import StorageError, did_you_mean
from assay.storage import schema
from assay.storage.chain import first_link, follow, label_content
from assay.storage.schema import LABEL_FIELDS, Label, StoredLabel

# What every part of a session shares: the connection, and the database's clock.

_UNIX_EPOCH = 2440587.5  # as a Julian day
_SECONDS_A_DAY = 86_400.0

# Statements are made once, here and in every part of a session: to make one takes SQLAlchemy ten
# times as long as to send it.
_TIME = {
    "sqlite": (sa.func.julianday("now") - _UNIX_EPOCH) * _SECONDS_A_DAY,
    "postgresql": sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Double),
}
_CLOCKS = {name: sa.select(time) for name, time in _TIME.items()}


class Connected:
    """A part of a session."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        # The links that the next labels of campaigns follow, as far as this transaction knows.
        self._last_links: dict[int, str] = {}

    @cached_property
    def now(self) -> float:
        """The database's time when it was first asked for in this transaction.

        Seconds since 1970. Reviewers' and servers' own clocks are never asked: they differ.
        """
        return float(self._connection.scalar(_CLOCKS[self._connection.dialect.name]) or 0.0)

    @property
    def _timestamp(self) -> str:
        return datetime.fromtimestamp(self.now, UTC).isoformat(timespec="milliseconds")


# The part of a session that is about campaigns and their names.

_NAME = sa.select(schema.campaign.c.name).where(schema.campaign.c.id == sa.bindparam("campaign"))
_CREATED = sa.select(schema.campaign.c.created_at).where(
    schema.campaign.c.id == sa.bindparam("campaign")
)
_FIXED = sa.select(*(schema.campaign.c[name] for name in ("id", "created_at", "settings"))).where(
    schema.campaign.c.id == sa.bindparam("campaign")
)


@dataclass(frozen=True)
class News:
    """What tells whether anything of a campaign is new: its name, its rounds, its last label."""

    name: str
    rounds: int
    last_label: int


_NEWS = {
    dialect: sa.select(
        schema.campaign.c.name,
        sa.select(sa.func.coalesce(sa.func.max(schema.round_.c.number), -1) + 1)
        .where(schema.round_.c.campaign_id == sa.bindparam("campaign"))
        .scalar_subquery()
        .label("rounds"),
        *(
            sa.select(schema.label_event.c[name])
            .where(schema.label_event.c.campaign_id == sa.bindparam("campaign"))
            .order_by(schema.label_event.c.id.desc())
            .limit(1)
            .scalar_subquery()
            .label(name)
            for name in ("id", "chain")
        ),
        time.label("now"),
    ).where(schema.campaign.c.id == sa.bindparam("campaign"))
    for dialect, time in _TIME.items()
}


class Campaigns(Connected):
    """Campaigns by name."""

    def news(self, campaign: int) -> News:
        """Return what tells whether anything is new.

        Every turn of a reviewer begins with it. So the same statement asks for the time, and for
        the link that the next label follows.
        """
        query = _NEWS[self._connection.dialect.name]
        row = self._connection.execute(query, {"campaign": campaign}).one()
        self.__dict__.setdefault("now", float(row.now))
        if row.chain is not None:
            self._last_links[campaign] = row.chain
        return News(str(row.name), int(row.rounds), int(row.id or 0))

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

    def lost_campaigns(self) -> list[int] | None:
        """Return the numbers of campaigns that are missing below the last; None as for labels.

        SQLite gives the number of a last one that was deleted to the next.
        """
        if self._connection.dialect.name != "sqlite":
            return None
        there = set(self._connection.scalars(sa.select(schema.campaign.c.id)))
        return [number for number in range(1, max(there, default=0)) if number not in there]

    def names(self) -> list[str]:
        """Return the names of all campaigns, oldest first."""
        query = sa.select(schema.campaign.c.name).order_by(schema.campaign.c.id)
        return list(self._connection.scalars(query))


# The part of a session that is about strata, the cards in reserve, and rounds.


@dataclass(frozen=True)
class CardRow:
    """A card as it is kept."""

    stratum: int
    position: int
    item_id: str
    predicted: int
    shown: str
    weight: int | None = None


_ADD_CARDS = schema.item.insert()  # of all columns, in the order of CardRow's
_in_row = attrgetter(*CardRow.__dataclass_fields__)
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
        if not cards:
            return
        if self._connection.dialect.name != "sqlite":
            rows = [{"campaign_id": campaign, **vars(card)} for card in cards]
            self._connection.execute(_ADD_CARDS, rows)
            return
        # As text that the driver takes: SQLAlchemy alone would take as long as the database.
        statement = str(_ADD_CARDS.compile(dialect=self._connection.dialect))
        told = [(campaign, *_in_row(card)) for card in cards]
        self._connection.exec_driver_sql(statement, told)

    def cards(self, campaign: int, stratum: int, start: int, stop: int) -> list[CardRow]:
        """Return a stratum's cards at the positions start <= position < stop."""
        span = {"campaign": campaign, "stratum": stratum, "start": start, "stop": stop}
        return [CardRow(*row) for row in self._connection.execute(_CARDS, span).all()]

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


# The part of a session that is about rows as they are kept, for those who check the books.


class Rows(Connected):
    """Whole tables, without a word of interpretation."""

    def rows(self, table: str, campaign: int) -> list[dict[str, Any]]:
        """Return all of a campaign's rows in a table, by their keys."""
        found = schema.metadata.tables[table]
        query = (
            sa.select(*(column.label(column.key) for column in found.c))
            .where(found.c.campaign_id == campaign)
            .order_by(*found.primary_key.columns)
        )
        return [dict(row) for row in self._connection.execute(query).mappings()]

    def damage(self) -> list[str]:
        """Return what SQLite finds wrong with its own file; of PostgreSQL nothing is asked."""
        if self._connection.dialect.name != "sqlite":
            return []
        run = self._connection.exec_driver_sql
        told = [str(text) for (text,) in run("PRAGMA integrity_check(20)")]
        # One with no parent is not whole either, though SQLite takes its pages for sound.
        orphans = [
            f"row {row} of table {table} belongs to no row of {parent}"
            for table, row, parent, _ in run("PRAGMA foreign_key_check").fetchmany(20)
        ]
        return [text for text in told if text != "ok"] + orphans

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


# The part of a session that is about labels: events that are only ever appended.

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
    """Return a label as it is stored, of the right types: it need not be looked at again."""
    label = object.__new__(StoredLabel)
    object.__setattr__(label, "__dict__", values)
    return label


_FEW = 1_000  # labels that are inserted as any other row


class NewLabel(NamedTuple):
    """A label that is to be appended: its row, but for its campaign and link, and its content."""

    label: Label
    row: dict[str, Any]
    content: bytes


# Where labels of a file wait in SQLite. It belongs to a connection and is in another file, so the
# rows are written there without the lock, and vanish with the process.
_waiting = sa.Table(
    "waiting_label",
    sa.MetaData(),
    sa.Column("place", sa.Integer, primary_key=True),
    *(sa.Column(name, schema.label_event.c[name].type) for name in (*LABEL_FIELDS, "told_at")),
    prefixes=["TEMPORARY"],
)


def put_aside(connection: sa.Connection, labels: Sequence[NewLabel]) -> None:
    """Let labels wait until a transaction has the lock; only SQLite has to be helped so."""
    if connection.dialect.name == "sqlite" and len(labels) > _FEW:
        clear_away(connection)  # what is left of a transaction that failed
        connection.exec_driver_sql("BEGIN")
        connection.execute(CreateTable(_waiting))
        rows = [{"place": place, **each.row} for place, each in enumerate(labels)]
        _insert_many(connection, _waiting, rows)
        connection.exec_driver_sql("COMMIT")


def clear_away(connection: sa.Connection) -> None:
    """Forget labels that have waited."""
    if connection.dialect.name == "sqlite":
        connection.execute(DropTable(_waiting, if_exists=True))


class Labels(Connected):
    """The log of labels."""

    def add_labels(self, campaign: int, labels: Sequence[Label]) -> list[StoredLabel]:
        """Append to the log, and return what stands there now.

        Whoever writes has the store's lock, so numbers grow in the order of commits: a reader who
        has seen one number has missed none below it.
        """
        if not labels:
            return []
        new = self.prepare(labels)
        self.put_labels(campaign, new)
        latest = self._connection.scalars(_LATEST, {"campaign": campaign, "n": len(new)}).all()
        return [
            StoredLabel(id=number, told_at=each.row["told_at"], **each.label.content())
            for number, each in zip(reversed(latest), new, strict=True)
        ]

    def prepare(self, labels: Sequence[Label]) -> list[NewLabel]:
        """Return labels as they can be appended, now or in a later transaction."""
        told = {"told_at": self._timestamp}
        rows = [told | label.content() for label in labels]
        return [
            NewLabel(label, row, label_content(row))
            for label, row in zip(labels, rows, strict=True)
        ]

    def put_labels(self, campaign: int, labels: Iterable[NewLabel]) -> None:
        """Append to the log what was prepared: nobody else can write meanwhile, so it is fast."""
        self._put_rows(campaign, ((each.row, each.content) for each in labels))

    def put_waiting(
        self, campaign: int, labels: Sequence[NewLabel], left_out: Collection[int]
    ) -> None:
        """Append to the log what was put aside before this transaction, but for some places."""
        if self._connection.dialect.name != "sqlite" or len(labels) <= _FEW:
            some = (each for place, each in enumerate(labels) if place not in left_out)
            self.put_labels(campaign, some)
            return
        if left_out:
            gone = _waiting.delete().where(_waiting.c.place == sa.bindparam("gone"))
            self._connection.execute(gone, [{"gone": place} for place in left_out])
        link = self._last_link(campaign)

        def next_link(place: int) -> str:
            nonlocal link
            link = follow(link, labels[place].content)
            return link

        driver: Any = self._connection.connection.driver_connection
        driver.create_function("next_link", 1, next_link)  # in the order of the places
        names = (*LABEL_FIELDS, "told_at")
        # One statement: SQLite takes a third of the time that it takes for one after the other.
        rows = sa.select(
            sa.literal(campaign),
            *(_waiting.c[name] for name in names),
            sa.func.next_link(_waiting.c.place),
        ).order_by(_waiting.c.place)
        into = schema.label_event.insert().from_select(["campaign_id", *names, "chain"], rows)
        try:
            self._connection.execute(into)
        finally:
            driver.create_function("next_link", 1, None)
        self._last_links[campaign] = link

    def copy_labels(self, campaigns: Sequence[int], to: int, *, keys: bool = True) -> None:
        """Append all labels of campaigns to those of another, by whom and when they were told.

        Of several, in the order in which they were told. With the keys they were sent under where
        the other one takes its place: what is sent again goes there.
        """
        table = schema.label_event.c
        query = (
            sa.select(*(table[name].label(name) for name in (*LABEL_FIELDS, "told_at")))
            .where(table.campaign_id.in_(campaigns))
            .order_by(*([table.told_at] if len(campaigns) > 1 else []), table.id)
        )
        found = self._connection.execute(query).mappings()
        rows = (dict(row) if keys else {**row, "key": None} for row in found)
        self._put_rows(to, ((row, label_content(row)) for row in rows))

    def labels(self, campaign: int, after: int = 0) -> list[StoredLabel]:
        """Return the label events with a number above `after`, oldest first."""
        found = self._connection.execute(_AFTER, {"campaign": campaign, "after": after})
        return [_stored_label(dict(zip(_STORED, row, strict=True))) for row in found.all()]

    def first_link(self, campaign: int) -> str:
        """Return what a campaign's first label follows."""
        return first_link(*self._connection.execute(_FIXED, {"campaign": campaign}).one())

    def put_rows(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put rows into a table as they are: those of a campaign that was kept elsewhere.

        But for the links of labels, which follow what stands before them here.
        """
        if table == schema.label_event.name:
            for campaign in dict.fromkeys(row["campaign_id"] for row in rows):
                own = (row for row in rows if row["campaign_id"] == campaign)
                self._put_rows(campaign, ((row, label_content(row)) for row in own))
        elif rows:
            self._connection.execute(schema.metadata.tables[table].insert(), list(rows))

    def _put_rows(self, campaign: int, rows: Iterable[tuple[Mapping[str, Any], bytes]]) -> None:
        """Append rows to a campaign's log, each with what its link is a digest of."""
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
        """Return what the next label of a campaign follows."""
        link = self._last_links.get(campaign)
        if link is None:
            link = self._connection.scalar(_LAST_LINK, {"campaign": campaign})
        return self.first_link(campaign) if link is None else link


def _insert_many(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert rows of the same columns, as the driver takes them: several times as fast."""
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


# The part of a session that is about claims: who has which item before them, and for how long.
#
# A claim is live from `since` until just before `until`, by the database's clock. Should that
# clock be set back, claims from its future are over, and nobody waits a day for them.


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


# The part of a session that is about tokens: who may use a campaign's page.
#
# Only a token's digest is kept: whoever reads the database cannot log in with it.


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


class Session(Campaigns, Decks, Labels, Claims, Tokens, Rows):
    """One transaction: all that was read and written in it happened at one moment."""
