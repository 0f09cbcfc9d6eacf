"""The cells of several classifiers: items by the bin of their mean rank and by code.

Engines that count elsewhere bring the same. Of each cell the items, what they count for, the
smallest and the largest mean rank, and the sum of d(id) modulo 2^64: numpy adds up numbers by place
six times as fast as it makes their exclusive or.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from assay.core.bins import PROBABILITY_STEPS, Ranges, bins_of, pieces
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints, Words

_BINS = 2 * PROBABILITY_STEPS + 1  # of a mean rank
_MANY_CELLS = 2**20  # up to here there is a counter for every pair of a bin and a code
_MOST_CODES = 2**40  # with the bins of a rank they are numbers of 64 bits


def cells_by_code(
    value: Floats, code: Ints, digest: Words, n_codes: int
) -> tuple[ScoreCells, Ints | None]:
    """Count items that are in memory.

    `value`, `code`, `digest`, (N,): each item's mean rank, code and d(id).

    Where there may be more codes than fit, those that occur, in order: cells have the number of one
    in its place.

    >>> digest = np.array([5, 6, 7], dtype=np.uint64)
    >>> cells, _ = cells_by_code(np.array([0.5, 0.5, 0.5]), np.array([2, 0, 2]), digest, 4)
    >>> cells.said, cells.count, cells.digest
    (array([0, 2]), array([1, 2]), array([ 6, 12], dtype=uint64))
    """
    codes = None
    if n_codes > _MOST_CODES:
        codes, code = np.unique(code, return_inverse=True)
        n_codes = codes.size
    tally = tally_of(n_codes)
    for rows in pieces(value.size):
        tally.add(value[rows], code[rows], digest[rows], None)
    return joined_cells([tally], n_codes), codes


def rank_places(value: Floats, code: Ints) -> Ints:
    """Return a number for the bin of mean ranks and the code.

    It goes by the code first: most rows have one of a few, so that their counters are near.
    """
    place = bins_of(value, "probability")
    place += PROBABILITY_STEPS
    place += _BINS * code
    return place


def find_cells(cells: ScoreCells, value: Floats, code: Ints) -> Ints:
    """Return which cells of mean ranks and codes rows are in; each is in one."""
    places = rank_places(cells.low, cells.said.astype(np.int64))
    order = np.argsort(places)
    return order[np.searchsorted(places[order], rank_places(value, code))]


# Places, and of each the items, what they count for, the sum of d(id) modulo 2^64 in the bits of an
# int64, the lowest and the highest value.
Counted = tuple[Ints, Ints, Ints, Ints, Floats, Floats]


class Tally(Protocol):
    """Counts of items by place."""

    weighted: bool

    def add(self, value: Floats, code: Ints, digest: Words, weights: Ints | None) -> None:
        """Count items."""

    def counted(self) -> Counted:
        """Return the counts of places that occur."""


def tally_of(n_codes: int) -> Tally:
    """Return what counts items of so many codes."""
    return _Dense(n_codes) if _BINS * n_codes <= _MANY_CELLS else _Sparse()


def joined_cells(tallies: Iterable[Tally], n_codes: int) -> ScoreCells:
    """Return the cells of all items that were counted."""
    every = list(tallies)
    place, count, weight, digest, low, high = _joined([tally.counted() for tally in every])
    said, bins = np.divmod(place, _BINS)
    order = np.argsort(bins * n_codes + said)
    return ScoreCells(
        rule="probability",
        bin=bins[order] - PROBABILITY_STEPS,
        said=said[order],
        count=count[order],
        low=low[order],
        high=high[order],
        digest=digest[order].view(np.uint64),
        classes=n_codes,
        weight=weight[order] if any(tally.weighted for tally in every) else None,
    )


class _Dense:
    """Counts, with a counter for every place."""

    weighted = False

    def __init__(self, n_codes: int) -> None:
        self._ranges = Ranges(_BINS * n_codes)
        self._weight, self._digest = np.zeros((2, _BINS * n_codes), dtype=np.int64)

    def add(self, value: Floats, code: Ints, digest: Words, weights: Ints | None) -> None:
        """Count items."""
        place = rank_places(value, code)
        self._ranges.add(place, value)
        np.add.at(self._digest, place, digest.view(np.int64))
        if weights is not None:
            self.weighted = True
            np.add.at(self._weight, place, weights)

    def counted(self) -> Counted:
        """Return the counts of places that occur."""
        found = self._ranges
        there = np.flatnonzero(found.count)
        counts = found.count[there], self._weight[there], self._digest[there]
        return there, *counts, found.low[there], found.high[there]


class _Sparse:
    """Counts of the places that occur alone."""

    weighted = False

    def __init__(self) -> None:
        self._parts: list[Counted] = []
        self._held = self._after = 0

    def add(self, value: Floats, code: Ints, digest: Words, weights: Ints | None) -> None:
        """Count items."""
        place = rank_places(value, code)
        ones = np.ones_like(place)
        self.weighted = weights is not None
        counts = ones, ones if weights is None else weights, digest.view(np.int64)
        self._parts.append(_joined([(place, *counts, value, value)]))
        self._held += self._parts[-1][0].size
        if self._held > 2 * self._after + _MANY_CELLS:
            self._parts = [_joined(self._parts)]
            self._held = self._after = self._parts[0][0].size

    def counted(self) -> Counted:
        """Return the counts of places that occur."""
        return _joined(self._parts)


def _joined(parts: Sequence[Counted]) -> Counted:
    """Return the counts of all parts together, by place."""
    no, none = np.zeros(0, dtype=np.int64), np.zeros(0)
    every = [(no, no, no, no, none, none), *parts]
    place, count, weight, digest, low, high = (
        np.concatenate(each) for each in zip(*every, strict=True)
    )
    if not place.size:
        return no, no, no, no, none, none
    order = np.argsort(place)
    place = place[order]
    starts = np.flatnonzero(np.diff(place, prepend=place[0] - 1))
    return (
        place[starts],
        np.add.reduceat(count[order], starts),
        np.add.reduceat(weight[order], starts),
        np.add.reduceat(digest[order], starts),
        np.minimum.reduceat(low[order], starts),
        np.maximum.reduceat(high[order], starts),
    )
