"""Tables, the label that one of them stores, and the schema of a database.

Labels and rounds are only appended. Rows are deleted only with their whole campaign, which leaves a
trace in place of its settings.

The only updates are: the name of a campaign that is renamed or replaced; its forecast; the time of
a claim that is renewed or given back; and a token that is revoked, or follows a new name.
"""

from dataclasses import KW_ONLY, dataclass, fields
from operator import attrgetter
from secrets import token_hex
from typing import Any

import sqlalchemy as sa
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.schema import CreateIndex, CreateTable

from assay.errors import StorageError

SCHEMA_VERSION = 5

metadata = MetaData()

version = Table(
    "assay_schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False)
)

# One row: a random id that distinguishes this storage from others with equal campaign names.
storage = Table("storage", metadata, Column("uid", String, primary_key=True))

campaign = Table(
    "campaign",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("created_at", String, nullable=False),
    # The frozen design, goal, strata and the predictions' fingerprint, as JSON.
    Column("settings", Text, nullable=False),
)

# Sizes, so that SQL alone can weight the labels of the log; the cuts are in the settings.
stratum = Table(
    "stratum",
    metadata,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("size", BigInteger, nullable=False),
)

# The reserve: the first cards of every stratum's deck, with what reviewers see. Reviewers see a
# card only after a round has dealt it.
item = Table(
    "item",
    metadata,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("stratum", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("item_id", String, nullable=False),
    # 1 if the classifier says yes; of several classifiers, bit k if the k-th does.
    Column("predicted", BigInteger, nullable=False),
    Column("shown", Text, nullable=False),
    # Impressions of the item; NULL if every item counts once.
    Column("weight", BigInteger),
    UniqueConstraint("campaign_id", "item_id"),
)

# Cards dealt in each round: the counts per stratum, as a JSON list. With the fixed order of the
# decks, this determines every card ever dealt. If items have weights, arrivals are counted, and an
# item may arrive again (assay.core.weights).
round_ = Table(
    "round",
    metadata,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("counts", Text, nullable=False),
)

# Items claimed by reviewers, from when until when: seconds since 1970 by the database's clock.
claim = Table(
    "claim",
    metadata,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("item_id", String, primary_key=True),
    Column("reviewer", String, primary_key=True),
    Column("since", Double, nullable=False),
    Column("until", Double, nullable=False),
    Index("claim_of_reviewer", "campaign_id", "reviewer", "until"),
)

# The log of labels: each row is a `StoredLabel`.
label_event = Table(
    "label_event",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("campaign_id", ForeignKey("campaign.id"), nullable=False),
    Column("item_id", String, nullable=False),
    Column("answer", String, nullable=False),
    Column("reviewer", String, nullable=False),
    Column("told_at", String, nullable=False),
    # A client's name for this submit, so that sending it again changes nothing.
    Column("submit_key", String, key="key"),
    Column("late", Boolean, nullable=False, server_default=false()),
    Column("ruling", Boolean, nullable=False, server_default=false()),
    Column("comment", Text, nullable=False, server_default=""),
    # Link of the log's chain (assay.storage.labels). It has no default: an older Assay that still
    # runs after an upgrade is rejected instead of leaving a gap.
    Column("chain", String, nullable=False),
    Index("label_event_of_campaign", "campaign_id", "id"),
    Index("label_event_of_submit", "campaign_id", "key", unique=True),
    sqlite_autoincrement=True,
)

# Access to the page of a campaign. By name, because a rebased campaign has a new number.
token = Table(
    "token",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("campaign", String, nullable=False),
    Column("role", String, nullable=False),
    Column("name", String, nullable=False),
    Column("digest", String, nullable=False, unique=True),
    Column("created_at", String, nullable=False),
    Column("revoked_at", String),
)


@dataclass(frozen=True)
class Label:
    """A reviewer's label of an item: from a page, a file or a program.

    Attributes
    ----------
    item_id : str
        The item's id; a number is taken as its text.
    answer : str
        ``yes``, ``no``, ``cannot judge``, ``broken``; ``skip``; or ``withdrawn``, which takes back
        what this reviewer has said of the item.
    reviewer : str
        Empty where nobody is named.
    late : bool
        It came when the reviewer's lease had run out. Only the campaign can tell.
    ruling : bool
        It decides the item over the heads of its reviewers.
    key : str, optional
        What the sender calls it, made at random. The same key again is the same label, not another.
    comment : str
        What the reviewer wrote beside the answer; empty where nothing.

    Examples
    --------
    >>> Label(7, "yes", "ann")
    Label(item_id='7', answer='yes', reviewer='ann', late=False, ruling=False, key=None, comment='')
    """

    item_id: str
    answer: str
    reviewer: str = ""
    _: KW_ONLY
    late: bool = False
    ruling: bool = False
    key: str | None = None
    comment: str = ""

    def __post_init__(self) -> None:
        # An answer may be of its own type, which databases do not support.
        if type(self.item_id) is not str:
            object.__setattr__(self, "item_id", str(self.item_id))
        if type(self.answer) is not str:
            object.__setattr__(self, "answer", str(self.answer))

    def content(self) -> dict[str, Any]:
        """Fields of the label, the same in the log and in a file."""
        return dict(zip(LABEL_FIELDS, _values_of(self), strict=True))


LABEL_FIELDS = tuple(field.name for field in fields(Label))
"""Fields of a label. Tables, files and bundles derive their columns from them."""

_values_of = attrgetter(*LABEL_FIELDS)


@dataclass(frozen=True, kw_only=True)
class StoredLabel(Label):
    """A label in the log, with its number and its time."""

    id: int
    told_at: str


# Schema of a storage: created in a new database, and checked in an existing one.
#
# Schema 5 is the oldest supported. Each later schema adds a migration step, in one transaction with
# its record. Indexes have no number: the first writer who opens a storage makes those it lacks.

_NEWEST = sa.select(sa.func.max(version.c.version))


_FORMER_INDEX = "claim_of_campaign"  # every turn read the claims of all reviewers through it


def is_current(connection: sa.Connection, namespace: str | None) -> bool:
    """Whether the tables exist in the current version."""
    if not sa.inspect(connection).has_table(version.name, schema=namespace):
        return False
    return _version_of(connection) == SCHEMA_VERSION


def lacks_index(connection: sa.Connection, namespace: str | None) -> bool:
    """Whether the storage is from before the present indexes."""
    return sa.inspect(connection).has_index(claim.name, _FORMER_INDEX, schema=namespace)


def prepare(connection: sa.Connection, namespace: str | None, uid: str | None = None) -> None:
    """Create the tables in a new database; reject other databases and other schemas."""
    tables = sa.inspect(connection).get_table_names(schema=namespace)
    if not tables:
        _create_all(connection)
        connection.execute(storage.insert(), {"uid": uid or token_hex(16)})
        connection.execute(version.insert(), {"version": SCHEMA_VERSION})
        return
    if version.name not in tables:
        raise StorageError(
            "the database is not a storage of Assay; it has the tables "
            f"{', '.join(sorted(tables)[:5])}",
            hint="give Assay a file of its own, such as sqlite:///labels.db",
        )
    refuse_newer(connection)
    if (stored := _version_of(connection)) < SCHEMA_VERSION:
        raise StorageError(
            f"the storage has schema version {stored}; the oldest that this Assay opens is "
            f"{SCHEMA_VERSION}",
            details="nothing was changed",
            hint="create the campaign again, and import the labels that it exported",
        )
    for index in claim.indexes:
        connection.execute(CreateIndex(index, if_not_exists=True))
    place = "" if namespace is None else f"{namespace}."
    connection.exec_driver_sql(f"DROP INDEX IF EXISTS {place}{_FORMER_INDEX}")


def _create_all(connection: sa.Connection) -> None:
    """Create tables and indexes, always in the same order, so that equal rows give equal files."""
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table))
        for index in sorted(table.indexes, key=lambda each: str(each.name)):
            connection.execute(CreateIndex(index))


def refuse_newer(connection: sa.Connection) -> None:
    """Raise if a newer Assay has upgraded the database, perhaps since it was opened."""
    stored = _version_of(connection)
    if stored > SCHEMA_VERSION:
        raise StorageError(
            f"the storage has schema version {stored}; this Assay knows {SCHEMA_VERSION}",
            details="a newer Assay has upgraded it; nothing was written",
            hint="end this program, and use the version of Assay that upgraded it, or a newer one",
        )


def _version_of(connection: sa.Connection) -> int:
    stored = connection.scalar(_NEWEST) or 0
    if not isinstance(stored, int):
        raise StorageError(
            f"the storage has schema version {stored!r}, which is not a number",
            hint="the file is damaged: restore a backup (`assay restore`)",
        )
    return stored
