"""Checks of the log of labels: words, numbers, the chain, and copies of other logs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from os import PathLike

from assay.audit.books import Books, Checked, Row, checked
from assay.labelling import SKIP, WITHDRAWN
from assay.storage import LABEL_FIELDS, Session, label_link, open_backup

# Without the key, which copies may lack (`Labels.copy_labels`).
_COPIED = ("told_at", *(name for name in LABEL_FIELDS if name != "key"))


def check_events(books: Books) -> Checked:
    """Check that labels are of dealt items, with valid answers."""
    late_clock = _set_back(books)
    often = f", {late_clock} times" if late_clock > 1 else ""
    notes = [f"the clock was set back between labels{often}"] if late_clock else []
    return checked("labels can be read", len(books.events), _event_findings(books), notes)


def _set_back(books: Books) -> int:
    """Count the times that the clock was set back between labels.

    Copied labels may overlap in time, and those of a file have the time at which it was read: pages
    may have stored others since.
    """
    own = [row for row in books.events[len(books.before or ()) :] if row["key"] is not None]
    return sum(one["told_at"] > two["told_at"] for one, two in pairwise(own))


def _event_findings(books: Books) -> Iterator[str]:
    asked = books.dealt_items | books.asked_before
    for row in books.events:
        which = f"label {row['id']} of item {row['item_id']!r}"
        if row["answer"] not in books.settings.words:
            yield f"{which} has {row['answer']!r}, which is not an answer"
        if row["ruling"] and row["answer"] == "skip":
            yield f"{which} is a ruling without an answer"
        if row["item_id"] not in asked:
            yield f"{which}: the item was never given to a reviewer"
        if not _is_time(row["told_at"]):
            yield f"{which} has the time {row['told_at']!r}, which is not a time"
    keys = Counter(row["key"] for row in books.events if row["key"] is not None)
    yield from (f"{often} labels have the key {key!r}" for key, often in keys.items() if often > 1)


def check_asked(books: Books) -> Checked:
    """Check that no item was given to more reviewers than it needs.

    A timely answer from a page was given under a lease, and an item gets no more leases than the
    answers that it needs. More answers indicate writers that did not see each other. Answers
    without a lease do not count here: late ones, and those from a file or a program, as a ruling,
    or from before a rebase.
    """
    findings = list(_excess_answers(books))
    notes = []
    if findings and _set_back(books):  # a lease that was over may then have come to life again
        notes = [f"{each}, which a clock that was set back explains" for each in findings]
        findings = []
    return checked("no item was given to more than it is for", len(books.events), findings, notes)


def _excess_answers(books: Books) -> Iterator[str]:
    first_own = len(books.before or ())
    in_time: dict[str, dict[str, bool]] = {}  # by item and reviewer, of those whose answers stand
    for place, row in enumerate(books.events):
        if row["ruling"] or row["answer"] == SKIP:
            continue
        answered = in_time.setdefault(row["item_id"], {})
        if row["answer"] == WITHDRAWN:
            answered.pop(row["reviewer"], None)
        elif row["reviewer"] not in answered:
            leased = place >= first_own and row["key"] is not None and not row["late"]
            answered[row["reviewer"]] = leased
            needed = books.settings.reviewers_wanted(row["item_id"])
            if leased and sum(answered.values()) > needed:
                yield (
                    f"label {row['id']} of item {row['item_id']!r} is answer "
                    f"{sum(answered.values())} in time, and the item needs {needed}"
                )


def _is_time(text: str) -> bool:
    with suppress(ValueError):
        return datetime.fromisoformat(text).tzinfo is not None
    return False


# A file that was copied while others wrote to it looks like one that nobody has written to since.
_COPIED_FILE = (
    "labels that this file never had are not missed: if it was copied from a storage in use, only "
    "a copy by `assay backup` is complete"
)


def check_numbers(books: Books) -> Checked:
    """Check that no label is missing from the log of any campaign."""
    if books.lost is None:
        note = "PostgreSQL does not tell a label that was deleted from one that was never stored"
        return checked("no label is gone", len(books.events), (), [note])
    findings = (f"label {number} of the storage is gone" for number in books.lost)
    return checked("no label is gone", len(books.events), findings, [_COPIED_FILE])


def check_chain(books: Books) -> Checked:
    """Check that every label follows from the one before it, and the first from the settings.

    A break means that this label, or the data just before it, was changed.
    """
    return checked("the log's chain is whole", len(books.events), _chain_findings(books))


def _chain_findings(books: Books) -> Iterator[str]:
    link, before = books.first_link, "the campaign's settings"
    for row in books.events:
        if row["chain"] != label_link(link, row):
            yield (
                f"label {row['id']} of item {row['item_id']!r} does not follow from "
                f"{before}: one of the two was changed after it was stored, or labels "
                "between them were removed or inserted"
            )
        link, before = row["chain"], f"label {row['id']}"


def check_copies(books: Books) -> Checked:
    """Check that the labels of the campaign that it replaced are all present and unchanged."""
    name = "labels from before a rebase are as they were"
    if books.before is None:
        return checked(name, 0, ())
    copies = [_content(row) for row in books.events[: len(books.before)]]
    originals = [_content(row) for row in books.before]
    findings = [
        f"label {old['id']} of item {old['item_id']!r} from before has changed"
        for place, old in enumerate(books.before)
        if place >= len(copies) or copies[place] != originals[place]
    ]
    if not books.before and books.settings.before is not None and books.settings.before.judged:
        findings = [f"campaign {books.settings.before.campaign!r} and its labels are gone"]
    return checked(name, len(originals), findings)


def check_epochs(books: Books) -> Checked:
    """Check that earlier draws on which bets depend are unchanged since strata were redefined."""
    findings, now = [], books
    while epochs := now.settings.epochs:
        labelled = {card["item_id"] for card, _ in next(iter(now.dealt), ())}
        if never := labelled - now.asked_before:
            findings.append(
                f"item {min(never)!r} counts as labelled before, and was never given to a reviewer"
            )
        if now.former is None:
            findings.append("the campaign from before the strata were cut anew is gone")
            break
        epoch, now = epochs[-1], now.former
        dealt = tuple(frozenset(_place(card) for card, _ in cards) for cards in now.dealt)
        recorded = tuple(frozenset((c.stratum, c.item_id) for c in cards) for cards in epoch.rounds)
        same_strata = epoch.strata.to_dict() == now.settings.strata.to_dict()
        if dealt != recorded or not same_strata or epochs[:-1] != now.settings.epochs:
            findings.append(
                f"the draws of epoch {len(epochs) - 1} differ from the rounds dealt in it"
            )
    cards = sum(len(cards) for epoch in books.settings.epochs for cards in epoch.rounds)
    return checked("draws from before strata were cut anew are as they were", cards, findings)


def _place(card: Row) -> tuple[int, str]:
    return card["stratum"], card["item_id"]


def _content(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _COPIED)


def check_against(session: Session, backup: str | PathLike[str]) -> Checked:
    """Check that every label of a backup is in the storage, unchanged and in its place."""
    with open_backup(backup) as former, former.read() as before:
        looked_at, findings = 0, []
        if before.storage_uid() != session.storage_uid():
            findings = [f"{backup} is a backup of another storage"]
        for name in before.names() if not findings else ():
            key, _ = before.find(name)
            kept = before.rows("label_event", key)
            looked_at += len(kept)
            findings += _lost(name, kept, session.rows("label_event", key))
    return checked("every label of the backup is there", looked_at, findings)


def _lost(name: str, kept: Sequence[Row], now: Sequence[Row]) -> Iterator[str]:
    by_number = {row["id"]: row for row in now}
    for row in kept:
        which = f"label {row['id']} of item {row['item_id']!r} in campaign {name!r}"
        if row["id"] not in by_number:
            yield f"{which} is gone"
        elif by_number[row["id"]] != row:
            yield f"{which} has changed, or a label before it has"
