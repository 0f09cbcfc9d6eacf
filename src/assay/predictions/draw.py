"""Drawing cards: rows to request from an engine, and their order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from math import inf

import numpy as np

from assay.core.cells import Heap
from assay.core.cuts import Cuts, rank
from assay.core.profile import Profile, ScoreCells
from assay.core.strata import Strata
from assay.core.types import Bools, Floats, Ints, Words
from assay.core.weights import first_arrivals
from assay.errors import PredictionsError
from assay.predictions.column import Ids, rows_of_repeated
from assay.predictions.engine import Span, Survey, number_of

# First arrivals among items with weights (`assay.core.weights`), and how to request them.


_NUMBERS = 2.0**64
# An item's v times 2^64 equals its number to within half of the 12 bits that v leaves out.
_LEFT_OUT = 2.0**11
# Larger than the rounding error of any logarithm, quotient or product of a few roundings.
_ROUNDED = 1e-9


def first_to_arrive(
    # number, weights, stratum, (N,): each item's number in the deck, its impressions and its
    # stratum.
    number: Words,
    weights: Ints,
    stratum: Ints,
    counts: Ints,  # (H,): the items wanted of each stratum
    utf8: Callable[[Ints], Sequence[bytes]],
) -> list[Ints]:
    """Positions of the first items to arrive in each stratum, in their order.

    >>> number = np.array([2**61, 2**62, 2**63], dtype=np.uint64)
    >>> weights, stratum = np.array([1, 1, 9]), np.zeros(3, dtype=np.int64)
    >>> first_to_arrive(number, weights, stratum, np.array([2]), lambda at: [b""] * at.size)
    [array([2, 0])]
    """
    when = first_arrivals(number, weights)
    decks = []
    for each, count in enumerate(counts.tolist()):
        rows = np.flatnonzero(stratum == each)
        if 0 < count < rows.size:
            last = np.partition(when[rows], count - 1)[count - 1]
            rows = rows[when[rows] <= last]
        facts = zip(when[rows].tolist(), number[rows].tolist(), utf8(rows), rows, strict=True)
        order = [row for *_, row in sorted(facts)][:count]
        decks.append(np.array(order, dtype=np.int64))
    return decks


class ArrivalTimes:
    """A time for each stratum by which the wanted items have arrived; extended if they have not.

    An engine need not compute a logarithm. As -log(1 - v) >= v, an item that arrives by time T has
    v <= w T. The engine returns all such items, and some that arrive later. Their arrival times are
    computed in numpy, as in memory.

    `wanted`, `weights`, `sizes`, (H,): for each stratum the items wanted, its impressions, and its
    items. If all items are wanted, there is no limit: the lightest may arrive very late.

    >>> times = ArrivalTimes(np.array([4]), np.array([2**20]), np.array([900]))
    >>> (times.limits * 2**20 / 2**64).round(6)  # in that time so many impressions are expected
    array([32.])
    """

    def __init__(self, wanted: Ints, weights: Ints, sizes: Ints) -> None:
        self._wanted, self._weights = wanted, weights
        soon = _surely(wanted) / np.maximum(weights, 1)
        self._time = np.where(wanted < sizes, soon, np.inf)

    @property
    def limits(self) -> Floats:
        """Upper limit of v * 2^64 per impression, with room for rounding.

        2^64 includes all items of a stratum, as each has at least one impression.
        """
        return np.minimum(self._time * _NUMBERS * (1 + _ROUNDED) + _LEFT_OUT, _NUMBERS)

    def wait(self, stratum: Ints, number: Words, weights: Ints) -> bool:
        """Choose a later time for strata that are short, and return whether there are any.

        A stratum is short if fewer items than wanted have arrived: items not found may come before
        the last of them. The heavy items have been found by then. The missing ones have the weight
        that the found leave. The time at least doubles, so this terminates.
        """
        came = stratum[first_arrivals(number, weights) <= self._time[stratum]]
        counts = np.bincount(came, minlength=self._wanted.size)
        short = (counts < self._wanted) & (self.limits < _NUMBERS)
        seen = np.zeros_like(self._weights)
        np.add.at(seen, stratum, weights)
        missing = _surely(np.maximum(self._wanted - counts, 0))
        later = self._time + missing / np.maximum(self._weights - seen, 1)
        self._time = np.where(short, np.maximum(later, 2 * self._time), self._time)
        return bool(short.any())


def _surely(wanted: Ints) -> Floats:
    """Upper limit of arrivals for the wanted ones: six standard deviations more."""
    return np.asarray(wanted + 6 * np.sqrt(wanted) + 16)


# A text that changes if a weight does, or the item that has it.


def with_weights(fingerprint: str, word: int) -> str:
    """Fingerprint with weights, from the exclusive or of their words.

    >>> with_weights("assay-predictions-2:tail:3:00ff", 7)
    'assay-predictions-2:tail:3:00ff:weights-...'
    """
    seen = sha256(np.uint64(word).tobytes()).hexdigest()[:8]
    return f"{fingerprint}:weights-{seen}"


def by_score(strata: Strata, scores: Profile) -> list[Heap]:
    """Heaps cut by the score, with the same items as those cut by the rank."""
    ranks = rank(scores.low, scores)
    heaps = []
    for heap in strata.heaps:
        owner = heap.cuts.assign(ranks)
        changes = np.flatnonzero(np.diff(owner)) + 1
        cuts = Cuts(
            method=heap.cuts.method,
            points=tuple(scores.low[changes].tolist()),
            owner=tuple(owner[np.concatenate([[0], changes])].tolist()),
        )
        heaps.append(Heap(heap.codes, cuts))
    return heaps


def spans_of(
    heaps: Sequence[Heap],
    limit: Sequence[float],
    wanted: Bools | None = None,
    *,
    by_code: bool,  # whether rows have codes of heaps, and not sides of a threshold
) -> tuple[Ints, list[Span]]:
    """Stratum and interval of each span of the wanted strata."""
    owners, spans = [], []
    first = 0
    for heap in heaps:
        codes = heap.codes if by_code else None
        side = heap.side if codes is None else None
        edges = [-inf, *heap.cuts.points, inf]
        for owner, (low, high) in zip(heap.cuts.owner, pairwise(edges), strict=True):
            stratum = first + owner
            if wanted is None or wanted[stratum]:
                owners.append(stratum)
                spans.append(Span(side, low, high, limit[stratum], codes))
        first += heap.cuts.n_strata
    return np.array(owners, dtype=np.int64), spans


def refuse_repeated(ids: Ids, source: str, size: int) -> None:
    """Raise if an id repeats among these.

    Rows with the same id have the same number and are drawn together. So the share of repeated ids
    among the drawn estimates their share among all.
    """
    often = rows_of_repeated(ids, ids.digest)
    if not often:
        return
    rows = sum(map(len, often.values()))
    some = ", ".join(f"{id!r} in {len(own)} rows" for id, own in list(often.items())[:3])
    raise PredictionsError(
        f"{source} has ids that occur more than once: {len(often):,} among the "
        f"{len(ids):,} rows that were looked at",
        details=f"first: {some}; by that about {rows / len(ids):.2g} of all {size:,} rows "
        "share their id with another",
        hint="each item needs one row and its own id; drop the duplicates",
    )


class Shares:
    """Share of all numbers, for each stratum, below which the wanted items lie.

    `wanted`, `sizes`, (H,): for each stratum the items wanted, and its items.
    """

    def __init__(self, wanted: Ints, sizes: Ints) -> None:
        self._wanted, self._share = wanted, first_shares(wanted, np.maximum(sizes, 1))

    @property
    def limits(self) -> Words:
        """Number below which that share lies."""
        return limits(self._share)

    def wait(self, stratum: Ints, number: Words, weights: Ints | None = None) -> bool:
        """Double the shares of strata that are short, and return whether there are any."""
        del number, weights
        counts = np.bincount(stratum, minlength=self._wanted.size)
        short = (counts < self._wanted) & (self._share < 1)
        self._share[short] *= 2
        return bool(short.any())


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows from which cards are taken, each with its stratum."""

    ids: Ids
    stratum: Ints
    predicted: Bools | Ints
    shown: list[dict[str, object]] | None = None
    weights: Ints | None = None

    def only(self, strata: Bools) -> "Candidates":
        """Candidates of some strata, without displayed values."""
        rows = np.flatnonzero(strata[self.stratum])
        return Candidates(self.ids.take(rows), self.stratum[rows], self.predicted[rows])

    def first(self, wanted: Ints, sizes: Ints, seed: int) -> list[Ints]:
        """Positions of the first cards of each stratum, in dealing order.

        `wanted`, `sizes`, (H,): for each stratum the cards wanted, and its items.
        """
        number = number_of(self.ids.digest, seed)

        def utf8(at: Ints) -> list[bytes]:
            return [str(id).encode() for id in self.ids.at(at)]

        if self.weights is None:
            return first_cards(number, self.stratum, wanted, sizes, utf8)
        return first_to_arrive(number, self.weights, self.stratum, wanted, utf8)


def joined(parts: list[Candidates]) -> Candidates:
    """Rows of all parts."""
    if len(parts) == 1:
        return parts[0]
    return Candidates(
        Ids.concatenated([part.ids for part in parts]),
        np.concatenate([part.stratum for part in parts]),
        np.concatenate([part.predicted for part in parts]),
    )


def listed_first(survey: Survey, cells: ScoreCells, strata: Strata, seed: int) -> Candidates | None:
    """First pass's cards with their strata, if they are valid for these strata and this seed."""
    listed = survey.listed
    if listed is None or listed.seed != seed:
        return None
    of_cell = stratum_of_cells(strata, cells)
    if of_cell is None:
        return None
    stratum = of_cell[listed.cell]
    rows = np.flatnonzero(stratum >= 0)
    cell = listed.cell[rows]
    return Candidates(listed.ids.take(rows), stratum[rows], cells.predicted[cell])


def stratum_of_cells(strata: Strata, cells: ScoreCells) -> Ints | None:
    """Stratum of each cell, -1 for none; None if a cut goes through a cell."""
    predicted = cells.predicted.astype(np.int64)
    lowest = strata.assign(cells.low, predicted)
    whole = (lowest == strata.assign(cells.high, predicted)).all()
    # A stratum with two flanks may contain both ends of a cell and not its middle.
    whole &= all(heap.cuts.owner == tuple(range(heap.cuts.n_strata)) for heap in strata.heaps)
    return lowest if whole else None


def counts_of_parts(strata: Strata, cells: ScoreCells) -> Ints | None:
    """Count and weigh the items in each part of the strata, shape (2, parts).

    None if a cut goes through a cell.
    """
    of_cell = stratum_of_cells(strata, cells)
    if of_cell is None:
        return None
    inside = of_cell >= 0
    pairs = zip(of_cell[inside].tolist(), cells.predicted[inside].tolist(), strict=True)
    part = np.array([strata.part_of(stratum, int(code)) for stratum, code in pairs])
    counts = np.zeros((2, len(strata.parts)), dtype=np.int64)
    np.add.at(counts[0], part, cells.count[inside])
    np.add.at(counts[1], part, cells.by_weight.count[inside])
    return counts


# First cards of every deck, without sorting the decks.

TOP = int(np.iinfo(np.uint64).max)
"""Largest number that an item can have."""


def first_cards(
    # number, stratum, (N,): each item's number in the deck, and its stratum.
    number: Words,
    stratum: Ints,
    # counts, sizes, (H,): for each stratum the cards wanted, and its items.
    counts: Ints,
    sizes: Ints,
    # Returns the bytes of the ids at some positions; they order items with equal numbers.
    utf8: Callable[[Ints], Sequence[bytes]],
) -> list[Ints]:
    """Positions of the first cards of each stratum, in dealing order.

    The numbers are spread evenly, so the first n of N lie below about n / N of their range. Only
    items below a somewhat higher limit are sorted. If a stratum is short of cards, which happens
    once in many million deals, the limit is doubled and tried again.

    >>> number = np.array([9, 3, 5, 4], dtype=np.uint64)
    >>> stratum, sizes = np.array([0, 0, 0, 1]), np.array([3, 1])
    >>> first_cards(number, stratum, np.array([2, 5]), sizes, lambda at: [b""] * at.size)
    [array([1, 2]), array([3])]
    """
    wanted = np.minimum(counts, sizes)
    shares, again = Shares(wanted, sizes), True
    while again:
        below = np.flatnonzero(number <= shares.limits[stratum])
        again = shares.wait(stratum[below], number[below])
    so_far = np.bincount(stratum[below], minlength=sizes.size)
    below = below[np.lexsort((number[below], stratum[below]))]
    if (number[below[1:]] == number[below[:-1]]).any():
        order = zip(stratum[below], number[below], utf8(below), below, strict=True)
        below = np.array([place for *_, place in sorted(order)], dtype=np.int64)
    ends = np.cumsum(so_far)
    return [
        below[end - size : end][:count]
        for end, size, count in zip(ends, so_far, wanted, strict=True)
    ]


def first_shares(wanted: Ints, sizes: Ints) -> Floats:
    """Share of all numbers below which the wanted cards of each stratum surely lie.

    Six standard deviations above the expected share: too low a limit costs a second pass.

    >>> first_shares(np.array([100]), np.array([17_600]))
    array([0.01])
    """
    share: Floats = (wanted + 6 * np.sqrt(wanted) + 16) / sizes
    return share


def limits(share: Floats) -> Words:
    """Find the number below which a share of all numbers lies.

    >>> limits(np.array([0.5, 1.0]))
    array([ 9223372036854775808, 18446744073709551615], dtype=uint64)
    """
    whole = share >= 1
    return np.where(whole, TOP, (np.where(whole, 0, share) * 2.0**64).astype(np.uint64))


def checked_counts(counts: Sequence[int], n_strata: int) -> Ints:
    """Cards wanted of each stratum; raise if the counts are invalid."""
    wanted = np.array(counts)
    if wanted.shape != (n_strata,) or wanted.dtype.kind not in "iu" or wanted.min() < 0:
        raise PredictionsError(
            f"counts are {counts!r}",
            details=f"there is one for each of the {n_strata} strata, at least 0",
        )
    return wanted
