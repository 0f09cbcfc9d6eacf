"""Storage of campaigns, their items, and every label ever given, in SQLite or PostgreSQL."""

from typing import TYPE_CHECKING

from assay.lazy import on_demand

if TYPE_CHECKING:
    from assay.storage.backup import copy_backup, new_database, open_backup, place_of
    from assay.storage.chain import label_link, next_link
    from assay.storage.schema import LABEL_FIELDS, Label, StoredLabel
    from assay.storage.session import CardRow, Claim, NewLabel, News, Session, TokenRow
    from assay.storage.store import Store, open_storage, open_store, reading_stored
else:
    __getattr__ = on_demand(
        __name__,
        {
            "backup": "copy_backup new_database open_backup place_of",
            "chain": "label_link next_link",
            "schema": "LABEL_FIELDS Label StoredLabel",
            "session": "CardRow Claim NewLabel News Session TokenRow",
            "store": "Store open_storage open_store reading_stored",
        },
    )

__all__ = [
    "LABEL_FIELDS",
    "CardRow",
    "Claim",
    "Label",
    "NewLabel",
    "News",
    "Session",
    "Store",
    "StoredLabel",
    "TokenRow",
    "copy_backup",
    "label_link",
    "new_database",
    "next_link",
    "open_backup",
    "open_storage",
    "open_store",
    "place_of",
    "reading_stored",
]
