"""What must never be lost: campaigns, their cards, and every label ever given."""

from assay.storage.claims import Claim
from assay.storage.decks import CardRow
from assay.storage.labels import Event, Said
from assay.storage.session import Session
from assay.storage.store import Store, open_store
from assay.storage.tokens import TokenRow

__all__ = ["CardRow", "Claim", "Event", "Said", "Session", "Store", "TokenRow", "open_store"]
