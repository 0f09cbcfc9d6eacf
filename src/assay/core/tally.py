"""Items counted by bin and code, in any number of pieces: the cells of a score."""

from collections.abc import Iterable, Sequence

import numpy as np

from assay.core.bins import STEPS, Places, Ranges, Rule, bins_by, find_places, pieces, scale_of
from assay.core.profile import ScoreCells, evenest, score_range
from assay.core.types import Bools, Floats, Ints, Words

MANY_CELLS = 2**20
"""Up to here, every pair of a bin and a code has a counter."""

_FEW_CELLS = 2**16  # up to here, few items in memory have a counter for every pair, too

# Places, and for each the number of items, their weight, their digests combined in the bits of an
# int64, and the lowest and the highest value.
Counted = tuple[Ints, Ints, Ints, Ints, Floats, Floats]


def cells_of(
    # values, predicted, (N,): each item's score and predicted label, or the number of its predicted
    # class.
    values: Floats,
    predicted: Bools | Ints,
    digest: Words | None = None,  # (N,): each item's d(id), if the fingerprint is wanted
    # (N,): how many times each item counts, at least once; otherwise every item counts once.
    weights: Ints | None = None,
    *,
    classes: int = 2,  # how many classes there are
) -> ScoreCells:
    """Count items that are in memory."""

    def counted(rule: Rule) -> ScoreCells:
        xor, places = np.bitwise_xor, bins_by(rule) * classes
        few = places <= max(values.size, _FEW_CELLS)
        tally = _Dense(places, xor) if few else _Sparse(xor)
        for rows in pieces(values.size) if few else [slice(0, values.size)]:
            place = np.empty(rows.stop - rows.start, dtype=np.int64)
            find_places(values[rows], rule, predicted[rows], place)
            own = None if digest is None else digest[rows]
            tally.add(place, values[rows], own, None if weights is None else weights[rows])
        return joined_cells([tally], rule, classes, xor=True)

    return evenest(counted, scale_of(*score_range(values)), lambda cells: cells)


def tally_of(rule: Rule, n_codes: int, *, xor: bool = False) -> "Tally":
    """Tally for `n_codes` codes that combines digests by sum or by exclusive or."""
    together = np.bitwise_xor if xor else np.add
    places = bins_by(rule) * n_codes
    return _Dense(places, together) if places <= MANY_CELLS else _Sparse(together)


def joined_cells(
    tallies: "Iterable[Tally]", rule: Rule, n_codes: int, *, xor: bool = False
) -> ScoreCells:
    """Cells of all items that were counted."""
    every = list(tallies)
    weighted = any(tally.weighted for tally in every)
    return cells_at([each.counted() for each in every], rule, n_codes, xor=xor, weighted=weighted)


def cells_at(
    parts: Sequence[Counted], rule: Rule, n_codes: int, *, xor: bool, weighted: bool
) -> ScoreCells:
    """Cells from counts by place; labels are codes, or yes and no if there are two."""
    together = np.bitwise_xor if xor else np.add
    place, count, weight, digest, low, high = _joined(parts, together)
    predicted, bins = np.divmod(place, bins_by(rule))
    order = np.argsort(bins * n_codes + predicted)
    predicted = predicted[order]
    return ScoreCells(
        rule=rule,
        bin=bins[order] - STEPS[rule],
        predicted=predicted == 1 if n_codes == 2 else predicted,
        count=count[order],
        low=low[order] + 0.0,  # -0.0 becomes 0.0
        high=high[order] + 0.0,
        digest=digest[order].view(np.uint64),
        classes=n_codes,
        weight=weight[order] if weighted else None,
    )


class _Dense:
    """Counts with a counter for every place."""

    weighted = False

    def __init__(self, places: int, together: np.ufunc) -> None:
        self._ranges, self._together = Ranges(places), together
        self._weight, self._digest = np.zeros((2, places), dtype=np.int64)

    def add(
        self,
        place: Places | Ints,
        value: Floats,
        digest: Words | None = None,
        weights: Ints | None = None,
    ) -> None:
        """Count items."""
        self.weighted |= weights is not None
        if digest is not None and self._together is not np.add:
            items = place, value, digest, weights
            at, count, weight, words, *ends = _grouped(*items, self._together)
            self._ranges.extend(at, count, *ends)
            self._weight[at] += weight
            self._digest[at] = self._together(self._digest[at], words)
            return
        place = place.astype(np.int64, copy=False)
        self._ranges.add(place, value)
        if digest is not None:
            np.add.at(self._digest, place, digest.view(np.int64))
        if weights is not None:
            np.add.at(self._weight, place, weights)

    def counted(self) -> Counted:
        """Count the places that occur."""
        ranges = self._ranges
        there = np.flatnonzero(ranges.count)
        counts = ranges.count[there], self._weight[there], self._digest[there]
        return there, *counts, ranges.low[there], ranges.high[there]


class _Sparse:
    """Counts of only the places that occur."""

    weighted = False

    def __init__(self, together: np.ufunc) -> None:
        self._parts: list[Counted] = []
        self._size = self._after = 0
        self._together = together

    def add(
        self,
        place: Places | Ints,
        value: Floats,
        digest: Words | None = None,
        weights: Ints | None = None,
    ) -> None:
        """Count items."""
        self.weighted |= weights is not None
        self._parts.append(_grouped(place, value, digest, weights, self._together))
        self._size += self._parts[-1][0].size
        if self._size > 2 * self._after + MANY_CELLS:
            self._parts = [_joined(self._parts, self._together)]
            self._size = self._after = self._parts[0][0].size

    def counted(self) -> Counted:
        """Count the places that occur."""
        return _joined(self._parts, self._together)


def _grouped(
    place: Places | Ints,
    value: Floats,
    digest: Words | None,
    weights: Ints | None,
    together: np.ufunc,
) -> Counted:
    """Count items by place. Places of 16 bits are sorted by radix, a quarter of the time."""
    order = np.argsort(place, kind="stable" if place.itemsize == 2 else None)
    place, value = place.take(order), value.take(order)
    starts = _starts(place)
    count = np.diff(starts, append=place.size)
    words = np.zeros_like(count)
    if digest is not None:
        words = together.reduceat(digest.view(np.int64).take(order), starts)
    return (
        place[starts].astype(np.int64),
        count,
        count if weights is None else np.add.reduceat(weights.take(order), starts),
        words,
        np.minimum.reduceat(value, starts),
        np.maximum.reduceat(value, starts),
    )


def _starts(place: Places | Ints) -> Ints:
    """First position of each of some sorted places."""
    first = np.ones(place.size, dtype=np.bool_)
    np.not_equal(place[1:], place[:-1], out=first[1:])
    return np.flatnonzero(first)


def _joined(parts: Sequence[Counted], together: np.ufunc) -> Counted:
    """Combine the counts of all parts, by place."""
    no, none = np.zeros(0, dtype=np.int64), np.zeros(0)
    every = [(no, no, no, no, none, none), *parts]
    place, count, weight, digest, low, high = (
        np.concatenate(each) for each in zip(*every, strict=True)
    )
    order = np.argsort(place)
    place = place[order]
    starts = _starts(place)
    return (
        place[starts],
        np.add.reduceat(count[order], starts),
        np.add.reduceat(weight[order], starts),
        together.reduceat(digest[order], starts),
        np.minimum.reduceat(low[order], starts),
        np.maximum.reduceat(high[order], starts),
    )


Tally = _Dense | _Sparse
"""Counts of items by place."""
