"""Draws in proportion to weight, found again: all arrivals up to some time, sorted.

The definition is that of `assay.core.weights`; the way is another.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, count, takewhile
from math import inf, log1p
from typing import Any

from assay.core.deck import Id, number
from assay.core.weights import seed_of_arrival
from assay.labelling.settings import Settings

_NEAR = 1e-12  # two machines' logarithms differ in their last digits

Row = Mapping[str, Any]


def _arrivals(id: Id, weight: int, seed: int) -> Iterator[float]:
    """Yield when an item arrives, again and again."""
    drawn = (number(id, seed_of_arrival(seed, j)) >> 12 for j in count())
    return accumulate(-log1p(-(each + 0.5) / 2**52) / weight for each in drawn)


def draws_of(deck: Sequence[Row], settings: Settings, wanted: int) -> list[tuple[Row, int]]:
    """Return the first draws from a deck, each card with the times that it had come before.

    As many as are wanted, or as are sure: what comes later than the last card of a deck that is not
    whole may be a card's that is not there.
    """
    if not deck or not wanted:
        return []
    each = [_item(card, settings) for card in deck]
    whole = len(deck) >= settings.strata.sizes[deck[0]["stratum"]]
    last = inf if whole else max(next(_arrivals(*item)) for item in each)
    until = 0.0
    found: list[tuple[float, int, int]] = []
    while len(found) < wanted and until < last:
        until = min(2 * until or wanted / sum(weight for _, weight, _ in each), last)
        found = [
            (when, place, before)
            for place, item in enumerate(each)
            for before, when in enumerate(takewhile(until.__ge__, _arrivals(*item)))
        ]
    return [(deck[place], before) for _, place, before in sorted(found)[:wanted]]


def in_order(deck: Sequence[Row], settings: Settings) -> Iterator[tuple[Row, bool]]:
    """Yield the cards of a deck, and whether each comes first after those above it."""
    last = 0.0
    for card in deck:
        when = next(_arrivals(*_item(card, settings)))
        yield card, when >= last * (1 - _NEAR)
        last = when


def _item(card: Row, settings: Settings) -> tuple[Id, int, int]:
    """Return a card's id, weight and seed; what cannot be read is found by another check."""
    try:
        id = settings.item_id(card["item_id"])
    except ValueError:
        id = card["item_id"]
    return id, max(card["weight"] or 1, 1), settings.seed
