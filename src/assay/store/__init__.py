"""What must never be lost: campaigns, their cards, and every label ever given."""

from assay.store.session import CardRow, Event, Session
from assay.store.sql import Store, open_store

__all__ = ["CardRow", "Event", "Session", "Store", "open_store"]
