"""Checks of strata, cards and rounds, and differences between a file and what follows."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise, zip_longest
from math import isfinite
from os import PathLike
from pathlib import PurePosixPath
from typing import Any

from assay.audit.books import Books, Checked, Row, checked, counts_of, in_order
from assay.audit.members import MOST_VALUES
from assay.core.deck import number
from assay.core.strata import Strata
from assay.core.types import read_json
from assay.labelling import FROM_BEFORE, SKIP, WITHDRAWN, Settings, epoch_seed
from assay.storage import LABEL_FIELDS, Session, label_link, open_backup


def check_file(session: Session) -> Checked:
    """See that SQLite finds nothing wrong with its file, and no row belongs to nothing."""
    found = session.damage()
    advice = [
        "the file is damaged: restore a backup (`assay restore`); without one, SQLite's `.recover` "
        "saves what can still be read of a copy of the file"
    ]
    return checked("the database is whole", 1, [*found, *(advice if found else ())])


def check_strata(books: Books) -> Checked:
    """Compare the table of strata with the settings."""
    stored = {row["number"]: row["size"] for row in books.strata}
    sizes = dict(enumerate(books.settings.strata.sizes.tolist()))
    findings = (
        f"stratum {number} has {stored.get(number)} items, and {sizes.get(number)} in the settings"
        for number in sorted(stored.keys() | sizes.keys())
        if stored.get(number) != sizes.get(number)
    )
    return checked("strata are as in the settings", len(sizes), findings)


def check_cards(books: Books) -> Checked:
    """See that decks have no holes, no item twice, and no card that is not of their stratum."""
    return checked("cards are where they belong", len(books.cards), _card_findings(books))


def _card_findings(books: Books) -> Iterator[str]:
    strata = books.settings.strata
    may_lie = set(strata.held)
    sizes = strata.sizes.tolist()
    for stratum, deck in books.decks.items():
        if not 0 <= stratum < len(sizes):
            yield f"item {deck[0]['item_id']!r} lies in stratum {stratum}, which there is not"
            continue
        if len(deck) > sizes[stratum]:
            yield f"stratum {stratum} has {len(deck)} cards for {sizes[stratum]} items"
        for place, card in enumerate(deck):
            if card["position"] != place:
                yield (
                    f"item {card['item_id']!r} lies at place {card['position']} of stratum "
                    f"{stratum}, and place {place} is empty"
                )
                break
        yield from (
            f"item {card['item_id']!r} cannot lie in stratum {stratum}: {problem}"
            for card in deck
            if (problem := _problem(books, card, may_lie))
        )
        if strata.weighted:
            yield from _weight_findings(strata, stratum, deck)
    seen = Counter(card["item_id"] for card in books.cards)
    yield from (
        f"item {item_id!r} lies in {often} places" for item_id, often in seen.items() if often > 1
    )


def _weight_findings(strata: Strata, stratum: int, deck: Sequence[Row]) -> Iterator[str]:
    missing = [card["item_id"] for card in deck if not (card["weight"] or 0) > 0]
    if missing:
        yield f"item {missing[0]!r} of stratum {stratum} has no weight"
        return
    there, whole = sum(card["weight"] for card in deck), int(strata.weights[stratum])
    left = int(strata.sizes[stratum]) - len(deck)
    if there + left > whole or (left == 0 and there != whole):
        yield f"the items of stratum {stratum} weigh {there:,}, and {whole:,} in the settings"


def _problem(books: Books, card: Row, may_lie: set[tuple[int, int]]) -> str:
    if (card["stratum"], card["predicted"]) not in may_lie:
        return f"{card['predicted']} was predicted of it"
    with suppress(ValueError):
        if isinstance(json.loads(card["shown"]), dict) and _is_id(books, card["item_id"]):
            return ""
    return "its id, or what it shows, cannot be read"


def _is_id(books: Books, text: str) -> bool:
    return books.settings.id_kind == "string" or str(int(text)) == text


def check_order(books: Books) -> Checked:
    """See that every deck is in the order of its items' permanent numbers, or first arrivals.

    Labels that were there before the campaign lie on top of the decks, in any order.
    """
    settings, findings = books.settings, []
    if books.weighted:
        findings = [
            f"item {card['item_id']!r} of stratum {stratum} comes after its turn"
            for stratum, deck in books.decks.items()
            for card, is_next in in_order(deck, settings)
            if not is_next
        ]
        return checked("decks are in their order", len(books.cards), findings)
    told_before: set[str] = set()
    if settings.epochs:  # on top lies what was judged before the strata were cut anew
        told_before = {card["item_id"] for card, _ in next(iter(books.dealt), ())}
    elif settings.before is None:
        told_before = {row["item_id"] for row in books.events if row["reviewer"] == FROM_BEFORE}
    for stratum, deck in books.decks.items():
        last = (-1, b"")
        for card in deck:
            if card["item_id"] in told_before and last[0] < 0:
                continue
            with suppress(ValueError):
                id = settings.item_id(card["item_id"])
                place = number(id, settings.draw_seed), str(id).encode()
                if place < last:
                    findings.append(f"item {id!r} of stratum {stratum} comes after its turn")
                last = place
    findings += _epoch_findings(settings, told_before)
    return checked("decks are in their order", len(books.cards), findings)


def _epoch_findings(settings: Settings, known: set[str]) -> Iterator[str]:
    """Yield what is wrong with draws from before the strata were cut anew, if bets rest on them."""
    before: set[str] = set()
    for place, epoch in enumerate(settings.epochs):
        seed, last = epoch_seed(settings.seed, settings.epochs[:place]), dict[int, int]()
        for turn, cards in enumerate(epoch.rounds):
            items = {card.item_id for card in cards}
            if place and not turn:
                if missing := before - items:
                    yield f"item {min(missing)!r} was drawn, and is not known in epoch {place}"
                before |= items
                continue
            if again := items & before:
                yield f"item {min(again)!r} was drawn twice, in epoch {place}"
            before |= items
            numbers = [number(settings.item_id(card.item_id), seed) for card in cards]
            for card, its in zip(cards, numbers, strict=True):
                if its < last.get(card.stratum, 0):
                    yield f"item {card.item_id!r} comes after its turn, in epoch {place}"
            for card, its in zip(cards, numbers, strict=True):
                last[card.stratum] = max(last.get(card.stratum, 0), its)
    if missing := before - known:
        yield f"item {min(missing)!r} was drawn before the strata were cut anew, and is not known"


def check_rounds(books: Books) -> Checked:
    """See that no round is missing, and that all cards that were dealt are there."""
    return checked("rounds are whole", len(books.rounds), _round_findings(books))


def _round_findings(books: Books) -> Iterator[str]:
    numbers = [row["number"] for row in books.rounds]
    yield from (
        f"round {each} is missing"
        for each in range(max(numbers, default=-1))
        if each not in numbers
    )
    n_strata = books.settings.strata.n_strata
    dealt = [0] * n_strata
    for row in books.rounds:
        counts = counts_of(row)
        if counts is None or len(counts) != n_strata:
            yield f"round {row['number']} is of {row['counts']}, and there are {n_strata} strata"
            continue
        dealt = [sum(pair) for pair in zip(dealt, counts, strict=True)]
    for stratum, cards in enumerate(dealt):
        there = len(books.drawn.get(stratum, ()))
        if cards > there:
            yield f"{cards} cards of stratum {stratum} were dealt, and {there} are there"


def check_commitment(
    settings: Settings, published: str | None, campaigns: Mapping[str, Any] | None = None
) -> Checked:
    """Compare what fixes the draws with what was published before, and tell of other campaigns."""
    own, name = settings.commitment, "draws are as committed to"
    findings = []
    if published is not None and published.strip().lower() != own:
        findings = [f"the campaign is committed to {own}, and not to {published.strip()[:80]}"]
    return checked(name, int(published is not None), findings, _on_campaigns(campaigns))


def _on_campaigns(told: Mapping[str, Any] | None) -> Iterator[str]:
    if told is None:
        return
    every = told["over_the_same_predictions"]
    for word, others in (
        ("before", [each for each in every if each["number"] < told["number"]]),
        ("after", [each for each in every if each["number"] > told["number"]]),
    ):
        if others:
            labels = sum(each["labels"] for each in others)
            yield (
                f"its storage had {len(others):,} more campaigns over the same predictions made "
                f"{word} this one, with {labels:,} labels: see campaigns.json"
            )
    if gone := told.get("gone"):
        yield f"{len(gone):,} campaigns of its storage are gone"


# Checks of the log of labels.

# All but the key: a campaign beside others does not take what is sent to them.
_COPIED = ("told_at", *(name for name in LABEL_FIELDS if name != "key"))


def check_events(books: Books) -> Checked:
    """See that labels are of items that were asked for, in words that there are."""
    late_clock = _set_back(books)
    notes = [f"the clock was set back {late_clock} times between labels"] if late_clock else []
    return checked("labels can be read", len(books.events), _event_findings(books), notes)


def _set_back(books: Books) -> int:
    """Return how often the clock was set back between labels."""
    own = books.events[len(books.before or ()) :]  # others' labels were told side by side
    return sum(one["told_at"] > two["told_at"] for one, two in pairwise(own))


def _event_findings(books: Books) -> Iterator[str]:
    asked = books.dealt_items | books.asked_before
    for row in books.events:
        which = f"label {row['id']} of item {row['item_id']!r}"
        if row["answer"] not in books.settings.words:
            yield f"{which} says {row['answer']!r}, which is no answer"
        if row["ruling"] and row["answer"] == "skip":
            yield f"{which} is a ruling that says nothing"
        if row["item_id"] not in asked:
            yield f"{which}: nobody was asked about it"
        if not _is_time(row["told_at"]):
            yield f"{which} was told at {row['told_at']!r}, which is no time"
    keys = Counter(row["key"] for row in books.events if row["key"] is not None)
    yield from (f"{often} labels were sent as {key!r}" for key, often in keys.items() if often > 1)


def check_asked(books: Books) -> Checked:
    """See that no more reviewers were given an item than it is for.

    A page's answer that comes in time was given under a lease, and no more leases are given than an
    item wants answers. Answers beyond that are a sign of writers that did not see each other. It is
    none where answers came late, from a file or a program, as a ruling, or from before a rebase:
    these take no lease.
    """
    findings = list(_beyond(books))
    notes = []
    if findings and _set_back(books):  # a lease that was over may then have come to life again
        notes = [f"{each}, which a clock that was set back explains" for each in findings]
        findings = []
    return checked("no item was given to more than it is for", len(books.events), findings, notes)


def _beyond(books: Books) -> Iterator[str]:
    first_own = len(books.before or ())
    in_time: dict[str, dict[str, bool]] = {}  # by item and reviewer, of those whose answers stand
    for place, row in enumerate(books.events):
        if row["ruling"] or row["answer"] == SKIP:
            continue
        said = in_time.setdefault(row["item_id"], {})
        if row["answer"] == WITHDRAWN:
            said.pop(row["reviewer"], None)
        elif row["reviewer"] not in said:
            leased = place >= first_own and row["key"] is not None and not row["late"]
            said[row["reviewer"]] = leased
            wanted = books.settings.reviewers_wanted(row["item_id"])
            if leased and sum(said.values()) > wanted:
                yield (
                    f"label {row['id']} of item {row['item_id']!r} is answer {sum(said.values())} "
                    f"of reviewers who had it before them in time, and the item is for {wanted}"
                )


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


def check_chain(books: Books) -> Checked:
    """See that every label follows from the one before it, and the first from the settings.

    A break says that this label, or what stands right before it, is not what was stored.
    """
    return checked("the log's chain is whole", len(books.events), _chain_findings(books))


def _chain_findings(books: Books) -> Iterator[str]:
    link, before = books.first_link, "the campaign's settings"
    for row in books.events:
        if row["chain"] != label_link(link, row):
            yield (
                f"label {row['id']} of item {row['item_id']!r} does not follow from {before}: one "
                "of the two was changed since it was stored, or something between them was "
                "removed or put in"
            )
        link, before = row["chain"], f"label {row['id']}"


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


def check_epochs(books: Books) -> Checked:
    """See that what bets rest on from before the strata were cut anew is as it was dealt then."""
    findings, now = [], books
    while epochs := now.settings.epochs:
        known = {card["item_id"] for card, _ in next(iter(now.dealt), ())}
        if never := known - now.asked_before:
            findings.append(f"item {min(never)!r} is known, and nobody was asked about it before")
        if now.former is None:
            findings.append("the campaign from before the strata were cut anew is gone")
            break
        epoch, now = epochs[-1], now.former
        dealt = tuple(frozenset(_place(card) for card, _ in cards) for cards in now.dealt)
        told = tuple(frozenset((c.stratum, c.item_id) for c in cards) for cards in epoch.rounds)
        same_strata = epoch.strata.to_dict() == now.settings.strata.to_dict()
        if dealt != told or not same_strata or epochs[:-1] != now.settings.epochs:
            findings.append(f"the draws of epoch {len(epochs) - 1} are not what was dealt then")
    cards = sum(len(cards) for epoch in books.settings.epochs for cards in epoch.rounds)
    return checked("draws from before strata were cut anew are as they were", cards, findings)


def _place(card: Row) -> tuple[int, str]:
    return card["stratum"], card["item_id"]


def _content(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _COPIED)


def check_against(session: Session, backup: str | PathLike[str]) -> Checked:
    """See that every label of a backup is in the storage, unchanged and in its place."""
    with open_backup(backup) as former, former.read() as before:
        looked_at, findings = 0, []
        if before.storage_uid() != session.storage_uid():
            findings = [f"{backup} is no backup of this storage, but of another one"]
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
            yield f"{which} is not as it was, or what stands before it is not"


# The check of claims.


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


# Differences between two files, as the row, the field and both values.


_AT_MOST = 5  # of one file
_LONGEST = 80  # characters of a value
_ABSENT = object()

_Difference = tuple[tuple[str, ...], object, object]  # the place, what is written, what follows


def differences(name: str, written: bytes, follows: bytes, *, words: bool = True) -> list[str]:
    r"""Return where a file is not what follows from the log; empty where each byte is.

    >>> differences("a.csv", b"item,answer\n7,yes\n", b"item,answer\n7,no\n")
    ["a.csv, row 1 (item '7'), answer: 'yes' is written, and 'no' follows"]
    >>> differences("a.json", b'{"note": "few"}', b'{"note": "some"}', words=False)
    ['a.json has the right figures, but other words than this version of Assay writes']
    """
    if written == follows:
        return []
    if PurePosixPath(name).suffix not in (".json", *_TABLES):
        more = "; do not run it" if name.endswith(".py") else ""
        return [f"{name} is not what this version of Assay writes{more}"]
    try:
        every = _all(name, written, follows)
        found = _first_of_each_field(each for each in every if words or not _is_worded(each))
    except (ValueError, csv.Error, RecursionError) as error:
        return [f"{name} cannot be read: {str(error)[:_LONGEST]}"]
    told = [
        f"{', '.join((name, *place))}: {_told(one)} is written, and {_told(two)} follows"
        + (f"; {more:,} more such" if more else "")
        for (place, one, two), more in found
    ]
    beyond = [f"{name}: {len(told) - _AT_MOST:,} other fields differ"] if told[_AT_MOST:] else []
    same = "says the same in other bytes"
    if not words:
        same = "has the right figures, but other words than this version of Assay writes"
    return [*told[:_AT_MOST], *beyond] or [f"{name} {same}"]


def _all(name: str, written: bytes, follows: bytes) -> Iterator[_Difference]:
    """Yield every difference; in a table, row by row."""
    suffix = PurePosixPath(name).suffix
    if suffix == ".json":
        yield from _differing(_json(written.decode()), json.loads(follows))
        return
    word, read = _TABLES[suffix]
    pairs: Iterator[tuple[Any, Any]] = zip_longest(
        read(written.decode()), read(follows.decode()), fillvalue=_ABSENT
    )
    for row, (one, two) in enumerate(pairs, start=1):
        record = two if isinstance(two, dict) else one
        named = isinstance(record, dict) and "item" in record
        item = f" (item {_told(record['item'])})" if named else ""
        yield from _differing(one, two, (f"{word} {row}{item}",))


def _rows(text: str) -> Iterator[dict[str, Any]]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = next(rows, [])
    yield from (dict(zip_longest(header, row)) for row in rows)


def _records(text: str) -> Iterator[dict[str, Any]]:
    yield from map(_json, text.split("\n")[:-1])


def _json(written: str) -> Any:
    return read_json(written, at_most=MOST_VALUES)


_TABLES = {".csv": ("row", _rows), ".jsonl": ("line", _records)}


def _differing(written: Any, follows: Any, place: tuple[str, ...] = ()) -> Iterator[_Difference]:
    if isinstance(written, dict) and isinstance(follows, dict):
        for key in dict.fromkeys((*follows, *written)):
            one, two = written.get(key, _ABSENT), follows.get(key, _ABSENT)
            yield from _differing(one, two, (*place, str(key)))
    elif isinstance(written, list) and isinstance(follows, list):
        pairs = zip_longest(written, follows, fillvalue=_ABSENT)
        for number, (one, two) in enumerate(pairs, start=1):
            yield from _differing(one, two, (*place, f"number {number}"))
    # By how they are written: 1 is not true, and what is not a number is like itself.
    elif written is _ABSENT or follows is _ABSENT or repr(written) != repr(follows):
        yield place, written, follows


def _is_worded(found: _Difference) -> bool:
    _, written, follows = found
    return all(isinstance(each, str) or each is _ABSENT for each in (written, follows))


def _first_of_each_field(found: Iterator[_Difference]) -> list[tuple[_Difference, int]]:
    """Return the first difference of each field of a table, with how many more there are."""
    fields: dict[tuple[str, ...], tuple[_Difference, int]] = {}
    for each in found:
        place = each[0]
        field = place[1:] if place and place[0].startswith(("row ", "line ")) else place
        first, more = fields.get(field, (each, -1))
        fields[field] = first, more + 1
    return list(fields.values())


def _told(value: object) -> str:
    text = "nothing" if value is _ABSENT else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
