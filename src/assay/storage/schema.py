"""Tables, and the label that one of them keeps.

Nothing in the tables is ever deleted, and labels and rounds are only appended.

Updated are only: the name of a campaign whose place a new one takes, which is kept under another
name; a claim's time, when it is renewed or given back; and a token, when it is revoked.
"""

from dataclasses import KW_ONLY, dataclass, fields
from operator import attrgetter
from typing import Any

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

SCHEMA_VERSION = 5

metadata = MetaData()

version = Table(
    "assay_schema",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
)

# One row: a random text that tells this storage from others with campaigns of the same names.
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

# Sizes, so that SQL alone can weigh the labels of the log; what they are cut by is in the settings.
stratum = Table(
    "stratum",
    metadata,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("size", BigInteger, nullable=False),
)

# The reserve: the first cards of every stratum's deck, with what reviewers see. A card is on the
# table once a round has dealt it; until then nobody is shown it.
item = Table(
    "item",
    metadata,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("stratum", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("item_id", String, nullable=False),
    # 1 where the classifier says yes; of several classifiers, bit k where the k-th does.
    Column("predicted", BigInteger, nullable=False),
    Column("shown", Text, nullable=False),
    # The impressions that it counts for; NULL where every item counts once.
    Column("weight", BigInteger),
    UniqueConstraint("campaign_id", "item_id"),
)

# What was dealt when: the counts per stratum, as a JSON list. With the decks' fixed order this
# tells every card that was ever asked for. Where items have weights it counts arrivals, and an item
# may be among them again (assay.core.weights).
round_ = Table(
    "round",
    metadata,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("counts", Text, nullable=False),
)

# Who has an item before them, from when until when: seconds since 1970 by the database's clock.
claim = Table(
    "claim",
    metadata,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("item_id", String, primary_key=True),
    Column("reviewer", String, primary_key=True),
    Column("since", Double, nullable=False),
    Column("until", Double, nullable=False),
    Index("claim_of_campaign", "campaign_id", "until"),
)

# The log of labels: a row is a `StoredLabel`.
label_event = Table(
    "label_event",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("campaign_id", ForeignKey("campaign.id"), nullable=False),
    Column("item_id", String, nullable=False),
    Column("answer", String, nullable=False),
    Column("reviewer", String, nullable=False),
    Column("told_at", String, nullable=False),
    # What a client calls this submit, so that sending it again changes nothing.
    Column("submit_key", String, key="key"),
    Column("late", Boolean, nullable=False, server_default=false()),
    Column("ruling", Boolean, nullable=False, server_default=false()),
    Column("comment", Text, nullable=False, server_default=""),
    # The link of the log's chain (assay.storage.chain). It has no default: an Assay that does not
    # know of it, and still runs after an upgrade, is refused instead of leaving a gap.
    Column("chain", String, nullable=False),
    Index("label_event_of_campaign", "campaign_id", "id"),
    Index("label_event_of_submit", "campaign_id", "key", unique=True),
    sqlite_autoincrement=True,
)

# Who may use the page of a campaign. By name, because a rebased campaign has a new number.
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
    """What a reviewer says of an item: from a page, a file or a program.

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
        # An answer may be of a type of its own, which databases do not know.
        if type(self.item_id) is not str:
            object.__setattr__(self, "item_id", str(self.item_id))
        if type(self.answer) is not str:
            object.__setattr__(self, "answer", str(self.answer))

    def content(self) -> dict[str, Any]:
        """Return what is said, without where it stands, be it in the log or in a file."""
        return dict(zip(LABEL_FIELDS, _values_of(self), strict=True))


LABEL_FIELDS = tuple(field.name for field in fields(Label))
"""What a label consists of. Tables, files and bundles have their columns from it."""

_values_of = attrgetter(*LABEL_FIELDS)


@dataclass(frozen=True, kw_only=True)
class StoredLabel(Label):
    """A label in the log: its number there, and when it was told."""

    id: int
    told_at: str
