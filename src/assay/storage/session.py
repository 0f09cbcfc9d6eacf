"""One transaction on the store: the few questions that are ever asked of it, by subject."""

from assay.storage.campaigns import Campaigns
from assay.storage.claims import Claims
from assay.storage.decks import Decks
from assay.storage.labels import Labels
from assay.storage.rows import Rows
from assay.storage.tokens import Tokens


class Session(Campaigns, Decks, Labels, Claims, Tokens, Rows):
    """One transaction: all that was read and written in it happened at one moment."""
