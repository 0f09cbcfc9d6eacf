"""Candidates for cards: which rows an engine is asked for, and what is made of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np

from assay.core.cells import Heap
from assay.core.cuts import Cuts, rank
from assay.core.profile import Profile, ScoreCells
from assay.core.strata import Strata
from assay.core.types import Bools, Ints, Words
from assay.errors import PredictionsError
from assay.predictions.arrivals import Fetched
from assay.predictions.engine import Span, Survey
from assay.predictions.ids import Ids
from assay.predictions.memory import (
    first_shares,
    limits,
)


def by_score(strata: Strata, scores: Profile) -> list[Heap]:
    """Return heaps that are cut by the score, and hold the same items as those by the rank."""
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
    by_code: bool,  # whether what rows say are codes of heaps, and not the sides of a threshold
) -> tuple[Ints, list[Span]]:
    """Return the intervals of all strata that are wanted, and the stratum of each."""
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
    """Raise where an id repeats among those at hand.

    Rows with one id have one number, so they are drawn together: the share of repetitions
    among the drawn is an estimate of their share among all.
    """
    words = np.sort(ids.digest)
    repeated = np.unique(words[1:][words[1:] == words[:-1]])
    if not repeated.size:
        return
    suspects = ids.at(np.flatnonzero(np.isin(ids.digest, repeated)))
    often = {id: times for id, times in Counter(suspects).items() if times > 1}
    if not often:
        return
    rows = sum(often.values())
    some = ", ".join(f"{id!r} in {times} rows" for id, times in list(often.items())[:3])
    raise PredictionsError(
        f"{source} has ids that occur more than once: {len(often):,} among the "
        f"{len(ids):,} rows that were looked at",
        details=f"first: {some}; by that about {rows / len(ids):.2g} of all {size:,} rows "
        "share their id with another",
        hint="an item is one row with an id of its own; drop the repetitions",
    )


class Shares:
    """The share of all numbers, for each stratum, below which the items wanted lie.

    `wanted`, `sizes`, (H,): of each stratum the items that are wanted, and those that it holds.
    """

    def __init__(self, wanted: Ints, sizes: Ints) -> None:
        self._wanted, self._share = wanted, first_shares(wanted, np.maximum(sizes, 1))

    @property
    def limits(self) -> Words:
        """The number below which that share lies."""
        return limits(self._share)

    def wait(self, found: Fetched) -> bool:
        """Double the shares of strata that are short, and tell whether there are any."""
        held = np.bincount(found.stratum, minlength=self._wanted.size)
        short = (held < self._wanted) & (self._share < 1)
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
        """Return those of some strata; nothing is shown of them yet."""
        rows = np.flatnonzero(strata[self.stratum])
        return Candidates(self.ids.take(rows), self.stratum[rows], self.predicted[rows])


def joined(parts: list[Candidates]) -> Candidates:
    """Return the rows of all parts."""
    if len(parts) == 1:
        return parts[0]
    return Candidates(
        Ids.concatenated([part.ids for part in parts]),
        np.concatenate([part.stratum for part in parts]),
        np.concatenate([part.predicted for part in parts]),
    )


def listed_first(survey: Survey, cells: ScoreCells, strata: Strata, seed: int) -> Candidates | None:
    """Return the first pass's cards with their strata, if they serve these strata and this seed."""
    listed = survey.listed
    if listed is None or listed.seed != seed:
        return None
    of_cell = stratum_of_cells(strata, cells)
    if of_cell is None:
        return None
    stratum = of_cell[listed.cell]
    rows = np.flatnonzero(stratum >= 0)
    cell = listed.cell[rows]
    return Candidates(listed.ids.take(rows), stratum[rows], cells.said[cell])


def stratum_of_cells(strata: Strata, cells: ScoreCells) -> Ints | None:
    """Return the stratum of each cell, -1 for none; None where a cut goes through a cell."""
    said = cells.said.astype(np.int64) if strata.is_named else cells.yes
    lowest = strata.assign(cells.low, said)
    whole = (lowest == strata.assign(cells.high, said)).all()
    # A stratum of two flanks may hold both ends of a cell and not its middle.
    whole &= all(heap.cuts.owner == tuple(range(heap.cuts.n_strata)) for heap in strata.heaps)
    return lowest if whole else None
