"""Checks of the log of labels."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import pairwise

from assay.audit.books import Books, Checked, Row, checked
from assay.labelling.review_rule import WORDS

_COPIED = ("item_id", "answer", "reviewer", "told_at", "late", "ruling")


def check_events(books: Books) -> Checked:
    """See that labels are of items that were asked for, in words that there are."""
    own = books.events[len(books.before or ()) :]  # others' labels were told side by side
    late_clock = sum(one["told_at"] > two["told_at"] for one, two in pairwise(own))
    notes = [f"the clock was set back {late_clock} times between labels"] if late_clock else []
    return checked("labels can be read", len(books.events), _event_findings(books), notes)


def _event_findings(books: Books) -> Iterator[str]:
    asked = books.dealt_items | books.asked_before
    for row in books.events:
        which = f"label {row['id']} of item {row['item_id']!r}"
        if row["answer"] not in WORDS:
            yield f"{which} says {row['answer']!r}, which is no answer"
        if row["ruling"] and row["answer"] == "skip":
            yield f"{which} is a ruling that says nothing"
        if row["item_id"] not in asked:
            yield f"{which}: nobody was asked about it"
        if not _is_time(row["told_at"]):
            yield f"{which} was told at {row['told_at']!r}, which is no time"
    keys = Counter(row["submit_key"] for row in books.events if row["submit_key"] is not None)
    yield from (f"{often} labels were sent as {key!r}" for key, often in keys.items() if often > 1)


def _is_time(text: str) -> bool:
    with suppress(ValueError):
        return datetime.fromisoformat(text).tzinfo is not None
    return False


def check_numbers(books: Books) -> Checked:
    """See that no label is gone from the log, of whichever campaign."""
    if books.lost is None:
        note = "PostgreSQL does not tell a label that was deleted from one that was never stored"
        return checked("no label is gone", len(books.events), (), [note])
    findings = (f"label {number} of the storage is gone" for number in books.lost)
    return checked("no label is gone", len(books.events), findings)


def check_copies(books: Books) -> Checked:
    """See that the labels of the campaign whose place it took are all there, as they were."""
    name = "labels from before a rebase are as they were"
    if books.before is None:
        return checked(name, 0, ())
    copies = [_content(row) for row in books.events[: len(books.before)]]
    originals = [_content(row) for row in books.before]
    findings = [
        f"label {old['id']} of item {old['item_id']!r} from before is not as it was"
        for place, old in enumerate(books.before)
        if place >= len(copies) or copies[place] != originals[place]
    ]
    if not books.before and books.settings.before is not None and books.settings.before.judged:
        findings = [f"campaign {books.settings.before.campaign!r} and its labels are gone"]
    return checked(name, len(originals), findings)


def _content(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _COPIED)
