"""What must never be lost: campaigns, their cards, and every label ever given."""

from assay.store.claims import Claim
from assay.store.decks import CardRow
from assay.store.labels import Event, Said
from assay.store.session import Session
from assay.store.sql import Store, open_store
from assay.store.tokens import TokenRow

__all__ = ["CardRow", "Claim", "Event", "Said", "Session", "Store", "TokenRow", "open_store"]
