"""Chain of a log of labels: every label has a digest of itself and of the digest before it.

What is changed, left out or put in later no longer follows from what stands before it. Whoever
writes every link again from that place on is not found out, unless somebody has kept a later link:
that of a backup, say.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

# All that a label says, and when it was told; not its number, which is another in a copy of a log.
_CHAINED = ("item_id", "answer", "reviewer", "told_at", "key", "late", "ruling", "comment")


def next_link(before: str, told: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the link before it and of what is told, in hexadecimal digits.

    Examples
    --------
    >>> next_link("", {"item": 7})[:8]
    '29d77365'
    """
    return follow(before, json.dumps(told).encode())


def follow(before: str, content: bytes) -> str:
    """Return the link that a content has after another link."""
    return sha256(before.encode() + content).hexdigest()


def first_link(campaign: int, created_at: str, settings: str) -> str:
    """Return what the first label of a campaign follows: a digest of all that is fixed of it."""
    fixed = {"campaign": campaign, "created_at": created_at, "settings": settings}
    return next_link("", fixed)


def label_link(before: str, row: Mapping[str, Any]) -> str:
    """Return the link of a label in a storage, given its row and the link before it."""
    return follow(before, label_content(row))


def label_content(row: Mapping[str, Any]) -> bytes:
    """Return what of a label's row its link is a digest of."""
    return json.dumps({name: row[name] for name in _CHAINED}).encode()
