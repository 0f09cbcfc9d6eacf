"""Checks of the file, strata, cards, rounds and claims."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

from assay.audit.books import Books, Checked, Row, checked, counts_of, in_order
from assay.core.deck import number
from assay.core.strata import Strata
from assay.errors import counted
from assay.labelling import FROM_BEFORE, Settings, epoch_seed
from assay.storage import Session

_MOST_UNLISTED = 1_000  # campaigns that are counted: a bundle may claim any number


def check_file(session: Session) -> Checked:
    """Check that SQLite finds no damage in its file, and no row lacks its parent."""
    damage = session.damage()
    advice = [
        "the file is damaged: restore a backup (`assay restore`); without one, SQLite's `.recover` "
        "saves what can still be read of a copy of the file"
    ]
    return checked("the database is whole", 1, [*damage, *(advice if damage else ())])


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
    """Check that decks have no holes, no repeated items, and only cards of their stratum."""
    return checked("cards are where they belong", len(books.cards), _card_findings(books))


def _card_findings(books: Books) -> Iterator[str]:
    strata = books.settings.strata
    may_lie = set(strata.possible_codes)
    sizes = strata.sizes.tolist()
    for stratum, deck in books.decks.items():
        if not 0 <= stratum < len(sizes):
            yield f"item {deck[0]['item_id']!r} lies in stratum {stratum}, which does not exist"
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
    drawn, total = sum(card["weight"] for card in deck), int(strata.weights[stratum])
    undrawn = int(strata.sizes[stratum]) - len(deck)
    if drawn + undrawn > total or (undrawn == 0 and drawn != total):
        yield f"the items of stratum {stratum} weigh {drawn:,}, and {total:,} in the settings"


def _problem(books: Books, card: Row, may_lie: set[tuple[int, int]]) -> str:
    if (card["stratum"], card["predicted"]) not in may_lie:
        return f"its predicted label is {card['predicted']}"
    with suppress(ValueError):
        if isinstance(json.loads(card["shown"]), dict) and _is_id(books, card["item_id"]):
            return ""
    return "its id, or what it shows, cannot be read"


def _is_id(books: Books, text: str) -> bool:
    return books.settings.id_kind == "string" or str(int(text)) == text


def check_order(books: Books) -> Checked:
    """Check that every deck is in the order of its items' permanent numbers, or first arrivals.

    Labels from before the campaign are on top of the decks, in any order.
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
    labelled_before: set[str] = set()
    if settings.epochs:  # items labelled before the strata changed are on top
        labelled_before = {card["item_id"] for card, _ in next(iter(books.dealt), ())}
    elif settings.before is None:
        labelled_before = {row["item_id"] for row in books.events if row["reviewer"] == FROM_BEFORE}
    for stratum, deck in books.decks.items():
        last = (-1, b"")
        for card in deck:
            if card["item_id"] in labelled_before and last[0] < 0:
                continue
            with suppress(ValueError):
                id = settings.item_id(card["item_id"])
                place = number(id, settings.draw_seed), str(id).encode()
                if place < last:
                    findings.append(f"item {id!r} of stratum {stratum} comes after its turn")
                last = place
    findings += _epoch_findings(settings, labelled_before)
    return checked("decks are in their order", len(books.cards), findings)


def _epoch_findings(settings: Settings, labelled_before: set[str]) -> Iterator[str]:
    """Yield findings about draws from before the strata were redefined, if bets depend on them."""
    before: set[str] = set()
    for place, epoch in enumerate(settings.epochs):
        seed, last = epoch_seed(settings.seed, settings.epochs[:place]), dict[int, int]()
        for turn, cards in enumerate(epoch.rounds):
            items = {card.item_id for card in cards}
            if place and not turn:
                if missing := before - items:
                    yield f"item {min(missing)!r} was drawn, and is missing in epoch {place}"
                before |= items
                continue
            if again := items & before:
                yield f"item {min(again)!r} was drawn twice, in epoch {place}"
            before |= items
            numbers = [number(settings.item_id(card.item_id), seed) for card in cards]
            for card, item_number in zip(cards, numbers, strict=True):
                if item_number < last.get(card.stratum, 0):
                    yield f"item {card.item_id!r} comes after its turn, in epoch {place}"
            for card, item_number in zip(cards, numbers, strict=True):
                last[card.stratum] = max(last.get(card.stratum, 0), item_number)
    if missing := before - labelled_before:
        yield f"item {min(missing)!r} was drawn before the strata were cut anew, and is missing"


def check_rounds(books: Books) -> Checked:
    """Check that no round is missing, and that all dealt cards exist."""
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
            yield f"round {row['number']} has the counts {row['counts']}, for {n_strata} strata"
            continue
        dealt = [sum(pair) for pair in zip(dealt, counts, strict=True)]
    for stratum, cards in enumerate(dealt):
        existing = len(books.drawn.get(stratum, ()))
        if cards > existing:
            yield f"{cards} cards of stratum {stratum} were dealt, and {existing} exist"


def check_commitment(
    settings: Settings, published: str | None, campaigns: Mapping[str, Any] | None = None
) -> Checked:
    """Compare the commitment of the draws with the published one, and note other campaigns."""
    own, name = settings.commitment, "draws are as committed to"
    findings = []
    if published is not None and published.strip().lower() != own:
        findings = [f"the commitment of the campaign is {own}, not {published.strip()[:80]}"]
    return checked(name, int(published is not None), findings, _campaign_notes(campaigns))


def _campaign_notes(campaigns: Mapping[str, Any] | None) -> Iterator[str]:
    if campaigns is None:
        return
    every = campaigns["over_the_same_predictions"]
    for word, others in (
        ("before", [each for each in every if each["number"] < campaigns["number"]]),
        ("after", [each for each in every if each["number"] > campaigns["number"]]),
    ):
        if others:
            labels = sum(each["labels"] for each in others)
            yield (
                f"its storage had {len(others):,} more campaigns over the same predictions made "
                f"{word} this one, with {counted(labels, 'label')}: see campaigns.json"
            )
    if others := campaigns["over_others"]:
        yield f"its storage had {len(others):,} more campaigns over other predictions"
    if gone := campaigns.get("gone"):
        yield f"{len(gone):,} campaigns of its storage are gone"
    elif missing := unlisted(campaigns):  # in PostgreSQL, numbers have gaps after failed writes
        yield f"nothing is known of {listed_numbers(missing)} of its storage"


def unlisted(campaigns: Mapping[str, Any]) -> list[int]:
    """Numbers of earlier campaigns that a bundle's list leaves out."""
    every = [each["number"] for each in campaigns["over_the_same_predictions"]]
    known = {*every, *campaigns["over_others"], *(campaigns.get("gone") or ())}
    last = min(campaigns["number"], len(known) + _MOST_UNLISTED)
    return [number for number in range(1, last) if number not in known]


def listed_numbers(numbers: Sequence[int]) -> str:
    """Campaigns by number, for a finding.

    >>> listed_numbers([2]), listed_numbers([2, 3, 5, 8])
    ('campaign 2', 'campaigns 2, 3, 5, …')
    """
    few = ", ".join(map(str, numbers[:3])) + (", …" if len(numbers) > 3 else "")
    return f"campaign{'' if len(numbers) == 1 else 's'} {few}"


def check_claims(books: Books) -> Checked:
    """Check that claims are on items that were dealt, here or before a rebase."""
    return checked("claims are on items", len(books.claims), _findings(books))


def _findings(books: Books) -> Iterator[str]:
    dealt = books.dealt_items
    for row in books.claims:
        which = f"the claim of {row['reviewer']!r} on item {row['item_id']!r}"
        if books.settings.before is None and row["item_id"] not in dealt:
            yield f"{which}, which was never dealt"
        if not isfinite(row["since"]) or not isfinite(row["until"]):
            yield f"{which} has no time"
