"""The tables. Nothing in them is ever deleted, and labels and rounds are only appended.

One thing is ever updated: the name of a campaign whose place a new one takes, which is kept under
another name (`Session.retire`).
"""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["SCHEMA_VERSION", "campaign", "card", "label_event", "metadata", "round_", "version"]

SCHEMA_VERSION = 1

metadata = MetaData()

version = Table("assay_schema", metadata, Column("version", Integer, primary_key=True))

campaign = Table(
    "campaign",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("created_at", String, nullable=False),
    # The frozen design, goal, strata and the predictions' fingerprint, as JSON.
    Column("settings", Text, nullable=False),
)

# The reserve: the first cards of every stratum's deck, with what reviewers see. A card is on the
# table once a round has dealt it; until then nobody is shown it.
card = Table(
    "card",
    metadata,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("stratum", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("item_id", String, nullable=False),
    # 1 where the classifier says yes; of several classifiers, bit k where the k-th does.
    Column("predicted", BigInteger, nullable=False),
    Column("shown", Text, nullable=False),
    UniqueConstraint("campaign_id", "item_id"),
)

# What was dealt when: the counts per stratum, as a JSON list. With the decks' fixed order this
# tells every card that was ever asked for.
round_ = Table(
    "round",
    metadata,
    Column("campaign_id", ForeignKey("campaign.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("counts", Text, nullable=False),
)

label_event = Table(
    "label_event",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("campaign_id", ForeignKey("campaign.id"), nullable=False),
    Column("item_id", String, nullable=False),
    Column("answer", String, nullable=False),
    Column("reviewer", String, nullable=False),
    Column("told_at", String, nullable=False),
    Index("label_event_of_campaign", "campaign_id", "id"),
    sqlite_autoincrement=True,
)
