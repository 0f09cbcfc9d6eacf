"""Chain of a log of labels: every label has a digest of itself and of the digest before it.

What is changed, left out or put in later no longer follows from what stands before it. Whoever
writes every link again from that place on is not found out, unless somebody has kept a later link:
that of a backup, say.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from typing import Any

# All that a label says, and when it was told; not its number, which is another in a copy of a log.
_CHAINED = ("item_id", "answer", "reviewer", "told_at", "key", "late", "ruling", "comment")


def next_link(before: str, told: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the link before it and of what is told, in hexadecimal digits.

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
    """Return what of a label's row its link is a digest of.

    It is JSON. Labels of a file say nearly the same of one item after the other, so all but the
    item is written once for many.

    >>> label_content(dict.fromkeys(_CHAINED, "x"))[:32]
    b'{"item_id": "x", "answer": "x", '
    """
    _, *further = _CHAINED
    said = _all_but_the_item(*[row[name] for name in further])
    item_id = row["item_id"]
    # In a damaged storage it may be anything.
    quoted = encode_basestring_ascii(item_id) if type(item_id) is str else json.dumps(item_id)
    return f'{{"item_id": {quoted}, {said}'.encode()


@lru_cache(maxsize=100, typed=True)
def _all_but_the_item(*values: object) -> str:
    return json.dumps(dict(zip(_CHAINED[1:], values, strict=True))).removeprefix("{")
