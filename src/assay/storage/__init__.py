"""Storage of campaigns, their items, and every label ever given, in SQLite or PostgreSQL."""

from assay.storage.session import CardRow, Claim, Event, Said, Session, TokenRow
from assay.storage.store import Store, open_storage, open_store

__all__ = [
    "CardRow",
    "Claim",
    "Event",
    "Said",
    "Session",
    "Store",
    "TokenRow",
    "open_storage",
    "open_store",
]
