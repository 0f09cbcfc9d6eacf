"""What one pass over the predictions counts: items by the bin of their score and their label."""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from assay.core.bins import Rule, bins_of, rule_of
from assay.core.profile import Profile
from assay.core.types import Bools, Floats, Ints, Words
from assay.errors import InputError

__all__ = ["ScoreCells", "cells_of"]


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Items by bin and predicted label, one row for each pair that occurs.

    Parameters
    ----------
    rule : {"probability", "margin"}
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

    def profile(self, side: bool | None) -> Profile:
        """Return the scores' distribution among the items with one label, or with either (None)."""
        rows = np.flatnonzero(self.yes == side) if side is not None else np.arange(self.bin.size)
        starts = np.flatnonzero(np.diff(self.bin[rows], prepend=self.bin[rows[:1]] - 1))
        return Profile.of_ranges(
            low=np.minimum.reduceat(self.low[rows], starts),
            high=np.maximum.reduceat(self.high[rows], starts),
            count=np.add.reduceat(self.count[rows], starts),
        )

    def fingerprint(self) -> str:
        """Return a text that changes when the cells do.

        It sees every id and predicted label, and every score as far as its bin and the extremes of
        each cell go: all that strata and draws depend on. It guards against mistakes, not against
        somebody who wants to deceive.
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
        return f"assay-predictions-2:{self.size}:{seen.hexdigest()[:16]}"


def cells_of(values: Floats, predicted: Bools, digest: Words) -> ScoreCells:
    """Count items that are in memory.

    Parameters
    ----------
    values, predicted, digest : array, shape (N,)
        Each item's score, predicted label and d(id).
    """
    rule = rule_of(float(values.min()), float(values.max()))
    place = 2 * bins_of(values, rule) + predicted
    order = np.argsort(place, kind="stable")
    ordered = place[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    there = ordered[starts]
    return ScoreCells(
        rule=rule,
        bin=there >> 1,
        yes=(there & 1).astype(np.bool_),
        count=np.diff(starts, append=ordered.size),
        low=np.minimum.reduceat(values[order], starts),
        high=np.maximum.reduceat(values[order], starts),
        digest=np.bitwise_xor.reduceat(digest[order], starts),
    )
