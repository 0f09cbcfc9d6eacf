"""One transaction on the store: the few questions that are ever asked of it, by subject."""

from assay.store.campaigns import Campaigns
from assay.store.claims import Claims
from assay.store.decks import Decks
from assay.store.labels import Labels
from assay.store.rows import Rows
from assay.store.tokens import Tokens

__all__ = ["Session"]


class Session(Campaigns, Decks, Labels, Claims, Tokens, Rows):
    """One transaction: all that was read and written in it happened at one moment."""
