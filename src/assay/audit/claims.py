"""The check of claims."""

from collections.abc import Iterator
from math import isfinite

from assay.audit.books import Books, Checked, checked


def check_claims(books: Books) -> Checked:
    """See that claims are on items that were dealt, here or before a rebase."""
    return checked("claims are on items", len(books.claims), _findings(books))


def _findings(books: Books) -> Iterator[str]:
    dealt = books.dealt_items
    for row in books.claims:
        which = f"the claim of {row['reviewer']!r} on item {row['item_id']!r}"
        if books.settings.before is None and row["item_id"] not in dealt:
            yield f"{which}, which was never dealt"
        if not isfinite(row["since"]) or not isfinite(row["until"]):
            yield f"{which} has no time"
