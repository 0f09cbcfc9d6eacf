"""Several classifiers whose rows come in pieces: the second pass, by mean rank and code.

The ranks of all bins are known after the first (`assay.predictions.streamed`), and what that kept
of the rows is all that is read.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np

from assay.core.bins import PROBABILITY_STEPS, Ranges, bins_of, pieces
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.predictions.judgements import NO_SCORE
from assay.predictions.sql.several import Steps
from assay.predictions.streamed import STEPS, Kept, in_threads, workers

_BINS = 2 * PROBABILITY_STEPS + 1  # of a mean rank
_MANY_CELLS = 2**20  # up to here there is a counter for every pair of a bin and a code


class Ranked:
    """The mean rank and the code of rows, from what was kept of them.

    Parameters
    ----------
    steps : sequence of Steps
        Of each classifier what its cells tell.
    scored : sequence of bool
        Whether each has a score.
    """

    def __init__(self, steps: Sequence[Steps], scored: Sequence[bool]) -> None:
        self._tables: list[Floats | None] = []
        for step, has_score in zip(steps, scored, strict=True):
            cells = step.cells
            table = np.zeros(2 * (2 * STEPS[cells.rule] + 1))
            table[2 * (cells.bin + STEPS[cells.rule]) + cells.said] = step.rank
            self._tables.append(table if has_score else None)

    def of(self, kept: Kept) -> tuple[Floats, Ints]:
        """Return the mean ranks and the codes."""
        total, scored = np.zeros(kept.size), 0
        code = np.zeros(kept.size, dtype=np.uint32)
        for place, (key, table) in enumerate(zip(kept.keys, self._tables, strict=True)):
            code |= (key & 1).astype(np.uint32) << np.uint32(place)
            if table is not None:
                total += table.take(key, mode="clip")
                scored += 1
        means = total / scored if scored else np.full(total.size, NO_SCORE)
        codes = code.astype(np.int64)
        return means, codes if kept.bits is None else codes | kept.bits << len(self._tables)

    def count(self, kept: Iterable[Kept], n_codes: int) -> ScoreCells:
        """Count rows by mean rank and code.

        Parameters
        ----------
        kept : iterable of arrays
            What was kept of the rows.
        n_codes : int
            How many codes there may be.
        """
        few = _BINS * n_codes <= _MANY_CELLS
        tallies = [_Dense(n_codes) if few else _Sparse() for _ in range(workers())]

        weighted: list[bool] = []

        def counter(tally: _Tally) -> Callable[[Kept], None]:
            def count(batch: Kept) -> None:
                weighted.append(batch.weights is not None)
                for rows in pieces(batch.size):
                    some = batch.at(rows)
                    value, code = self.of(some)
                    tally.add(rank_places(value, code), value, some.weights)

            return count

        in_threads(kept, [counter(tally) for tally in tallies])
        place, count, weight, low, high = _joined([tally.counted() for tally in tallies])
        said, bins = np.divmod(place, _BINS)
        order = np.argsort(bins * n_codes + said)
        return ScoreCells(
            rule="probability",
            bin=bins[order] - PROBABILITY_STEPS,
            said=said[order],
            count=count[order],
            low=low[order],
            high=high[order],
            digest=np.zeros(place.size, dtype=np.uint64),
            classes=n_codes,
            weight=weight[order] if any(weighted) else None,
        )


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


# Places, and of each the items, what they count for, the lowest and the highest value.
_Counted = tuple[Ints, Ints, Ints, Floats, Floats]


class _Tally(Protocol):
    """Counts of rows by place."""

    def add(self, place: Ints, value: Floats, weight: Ints | None) -> None:
        """Count rows."""

    def counted(self) -> _Counted:
        """Return the counts of places that occur."""


class _Dense:
    """Counts, with a counter for every place."""

    def __init__(self, n_codes: int) -> None:
        self._ranges = Ranges(_BINS * n_codes)
        self._weight = np.zeros(_BINS * n_codes, dtype=np.int64)

    def add(self, place: Ints, value: Floats, weight: Ints | None) -> None:
        """Count rows."""
        self._ranges.add(place, value)
        if weight is not None:
            np.add.at(self._weight, place, weight)

    def counted(self) -> _Counted:
        """Return the counts of places that occur."""
        found = self._ranges
        there = np.flatnonzero(found.count)
        counts = found.count[there], self._weight[there]
        return there, *counts, found.low[there], found.high[there]


class _Sparse:
    """Counts of the places that occur alone."""

    def __init__(self) -> None:
        self._parts: list[_Counted] = []
        self._held = self._after = 0

    def add(self, place: Ints, value: Floats, weight: Ints | None) -> None:
        """Count rows."""
        ones = np.ones_like(place)
        self._parts.append(
            _joined([(place, ones, ones if weight is None else weight, value, value)])
        )
        self._held += self._parts[-1][0].size
        if self._held > 2 * self._after + _MANY_CELLS:
            self._parts = [_joined(self._parts)]
            self._held = self._after = self._parts[0][0].size

    def counted(self) -> _Counted:
        """Return the counts of places that occur."""
        return _joined(self._parts)


def _joined(parts: Sequence[_Counted]) -> _Counted:
    """Return the counts of all parts together, by place."""
    no, none = np.zeros(0, dtype=np.int64), np.zeros(0)
    every = [(no, no, no, none, none), *parts]
    place, count, weight, low, high = (np.concatenate(each) for each in zip(*every, strict=True))
    if not place.size:
        return place, count, weight, low, high
    order = np.argsort(place)
    place = place[order]
    starts = np.flatnonzero(np.diff(place, prepend=place[0] - 1))
    return (
        place[starts],
        np.add.reduceat(count[order], starts),
        np.add.reduceat(weight[order], starts),
        np.minimum.reduceat(low[order], starts),
        np.maximum.reduceat(high[order], starts),
    )
