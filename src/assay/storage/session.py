"""One transaction on the store: the few questions that are ever asked of it, by subject."""

from assay.storage.campaigns import Campaigns, Decks, Rows
from assay.storage.claims import Claims, Tokens
from assay.storage.labels import Labels


class Session(Campaigns, Decks, Labels, Claims, Tokens, Rows):
    """One transaction: all that was read and written in it happened at one moment."""
