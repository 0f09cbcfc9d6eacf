"""What one pass over the predictions counts: items by the bin of their score and their label."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

import numpy as np

from assay.core.bins import LARGEST_BIN, Rule, bins_of, rule_of
from assay.core.profile import Profile, score_range
from assay.core.tally_ranges import Ranges, pieces
from assay.core.types import Bools, Floats, Ints, Words
from assay.errors import InputError

# A cell with more of a label's items would make one of ten strata larger by a fifth.
HEAVY = 1 / 50

Counted = TypeVar("Counted")


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Items by bin and predicted label, one row for each pair that occurs.

    Parameters
    ----------
    rule : {"probability", "tail", "margin"}
        How bins are made of scores (`assay.core.bins`).
    bin : array of int64, shape (M,)
        Ascending; where a bin has items of both labels, first those predicted no.
    yes : array of bool, shape (M,)
        The predicted label.
    count : array of int64, shape (M,)
        The items; at least one.
    low, high : array, shape (M,)
        Their smallest and their largest score.
    digest : array of uint64, shape (M,)
        The exclusive or of d(id) (`assay.core.deck`) over the items.

    Examples
    --------
    >>> cells = cells_of(np.array([0.1, 0.9, 0.9]), np.array([False, True, True]),
    ...                  np.array([1, 2, 3], dtype=np.uint64))
    >>> cells.size, cells.positives, cells.score_range
    (3, 2, (0.1, 0.9))
    >>> cells.profile(None).count
    array([1, 2])
    """

    rule: Rule
    bin: Ints
    yes: Bools
    count: Ints
    low: Floats
    high: Floats
    digest: Words

    def __post_init__(self) -> None:
        """Refuse cells out of order: engines must agree on them row by row."""
        place = 2 * self.bin + self.yes
        if place.size == 0 or not (place[:-1] < place[1:]).all():
            raise InputError(
                "score cells are not in order",
                details="ascending by bin and predicted label, each once, at least one",
            )

    @property
    def size(self) -> int:
        """The number of items."""
        return int(self.count.sum())

    @property
    def positives(self) -> int:
        """The number of items predicted yes."""
        return int(self.count[self.yes].sum())

    @property
    def score_range(self) -> tuple[float, float]:
        """The smallest and the largest score."""
        return float(self.low.min()), float(self.high.max())

    @property
    def heaviest(self) -> float:
        """The largest share of a label's items in one cell, of cells with scores to tell apart."""
        of_label = np.where(self.yes, self.positives, self.size - self.positives)
        return float(np.max(self.count / of_label, where=self.low < self.high, initial=0.0))

    @property
    def finer_rule(self) -> Rule | None:
        """The rule to try where the scores are too uneven for this one; None where they are not."""
        uneven = self.rule == "probability" and self.heaviest > HEAVY
        return "tail" if uneven else None

    def profile(self, side: bool | None) -> Profile:
        """Return the scores' distribution among the items with one label, or with either (None)."""
        rows = np.flatnonzero(self.yes == side) if side is not None else np.arange(self.bin.size)
        if rows.size == 0:
            raise InputError(f"no item is predicted {'yes' if side else 'no'}: nothing to profile")
        starts = np.flatnonzero(np.diff(self.bin[rows], prepend=self.bin[rows[:1]] - 1))
        return Profile.of_ranges(
            low=np.minimum.reduceat(self.low[rows], starts),
            high=np.maximum.reduceat(self.high[rows], starts),
            count=np.add.reduceat(self.count[rows], starts),
        )

    def fingerprint(self) -> str:
        """Return a text that changes when the cells do, and names the rule and the number of items.

        It sees every id and predicted label, and every score as far as its bin and the extremes of
        each cell go: all that strata cut from these cells depend on. It guards against mistakes,
        not against somebody who wants to deceive.
        """
        seen = sha256(self.rule.encode())
        for column, kind in (
            (self.bin, "<i8"),
            (self.yes, "<i8"),
            (self.count, "<i8"),
            (self.low + 0.0, "<f8"),  # adding zero turns -0.0 into 0.0
            (self.high + 0.0, "<f8"),
            (self.digest, "<u8"),
        ):
            seen.update(np.ascontiguousarray(column, dtype=kind).tobytes())
        return f"assay-predictions-2:{self.rule}:{self.size}:{seen.hexdigest()[:16]}"


def evenest(
    count: Callable[[Rule], Counted], rule: Rule, cells: Callable[[Counted], ScoreCells]
) -> Counted:
    """Count by a rule and, where the scores are too uneven for it, once more by a finer one.

    Parameters
    ----------
    count : callable
        Goes over all items, and returns what it counted by a rule.
    rule : {"probability", "tail", "margin"}
        The first to try.
    cells : callable
        Returns the cells of what was counted.
    """
    first = count(rule)
    finer = cells(first).finer_rule
    return first if finer is None else min(first, count(finer), key=lambda n: cells(n).heaviest)


def cells_of(
    values: Floats, predicted: Bools, digest: Words | None = None, weights: Ints | None = None
) -> ScoreCells:
    """Count items that are in memory.

    Parameters
    ----------
    values, predicted : array, shape (N,)
        Each item's score and predicted label.
    digest : array, shape (N,), optional
        Each item's d(id), where the fingerprint is wanted.
    weights : array of int64, shape (N,), optional
        How many times each item counts, at least once; otherwise every item counts once.
    """

    def count(rule: Rule) -> ScoreCells:
        return _count(values, predicted, digest, weights, rule)

    return evenest(count, rule_of(*score_range(values)), lambda cells: cells)


def _count(
    values: Floats, predicted: Bools, digest: Words | None, weights: Ints | None, rule: Rule
) -> ScoreCells:
    places = 2 * (2 * LARGEST_BIN + 1)
    ranges, digests = Ranges(places), np.zeros(places, dtype=np.uint64)
    weighed = np.zeros(places, dtype=np.int64)
    for piece in pieces(values.size):
        place = 2 * (bins_of(values[piece], rule) + LARGEST_BIN) + predicted[piece]
        ranges.add(place, values[piece])
        if digest is not None:
            np.bitwise_xor.at(digests, place, digest[piece])
        if weights is not None:
            np.add.at(weighed, place, weights[piece])
    there = np.flatnonzero(ranges.count)
    return ScoreCells(
        rule=rule,
        bin=there // 2 - LARGEST_BIN,
        yes=there % 2 == 1,
        count=(ranges.count if weights is None else weighed)[there],
        low=ranges.low[there],
        high=ranges.high[there],
        digest=digests[there],
    )
