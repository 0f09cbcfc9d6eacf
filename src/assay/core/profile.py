"""Profile: the distribution of a score in a few thousand exact counts, by bin and label."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Self, TypeVar

import numpy as np

from assay.core.bins import LARGEST_BIN, Ranges, Rule, Scale, bins_of, pieces, scale_of
from assay.core.types import Bools, Floats, Ints, Words
from assay.errors import InputError

# Counts are summed as float64 in places; up to here that is exact.
_MAX_TOTAL = 2**53


@dataclass(frozen=True, eq=False)
class Profile:
    """Sorted, disjoint score cells, each with the number of items in it.

    >>> cells = np.array([0.1, 0.5, 0.9])
    >>> profile = Profile(low=cells, high=cells, mean=cells, count=np.array([2, 1, 4]))
    >>> profile.total, profile.exact
    (7, True)
    """

    # low, high, mean, (M,): the smallest and the largest score in each cell, and a representative
    # one.
    low: Floats
    high: Floats
    mean: Floats
    count: Ints  # (M,): the items in each cell; at least one
    # The kind of scores, if known; default: inferred from their range.
    scale: Scale | None = None

    def __post_init__(self) -> None:
        """Refuse cells that are not finite, unordered or empty."""
        for name in ("low", "high", "mean"):
            scores = as_scores(getattr(self, name))
            refuse_non_finite(scores)
            if scores.shape != self.low.shape or scores.size == 0:
                raise InputError(
                    f"a profile's {name} has {scores.size} cells",
                    details="low, high, mean and count have one entry for each cell, at least one",
                )
        if self.count.dtype.kind not in "iu" or self.count.shape != self.low.shape:
            raise InputError(
                f"a profile's count is {self.count.dtype} of shape {self.count.shape}",
                details=f"it would be one whole number for each of the {self.low.size} cells",
            )
        if self.count.min() < 1 or self.count.sum(dtype=np.float64) > _MAX_TOTAL:
            raise InputError(
                f"a profile's counts run from {self.count.min()} to {self.count.max()}",
                details=f"each is at least 1, and their sum at most {_MAX_TOTAL}",
            )
        inside = (self.low <= self.mean) & (self.mean <= self.high)
        if not inside.all() or not (self.high[:-1] < self.low[1:]).all():
            raise InputError(
                "a profile's cells are not in order",
                details="low <= mean <= high in each cell, and high below the next cell's low",
            )

    @classmethod
    def of_ranges(cls, *, low: Floats, high: Floats, count: Ints) -> Self:
        """Profile whose cells are represented by the middles of their ranges.

        A mean would depend, in its last digits, on the order in which an engine adds.
        """
        # Adding zero turns -0.0 into 0.0; halves first, as low + high could overflow.
        low, high = low + 0.0, high + 0.0
        return cls(low=low, high=high, mean=_middle(low, high), count=count)

    @property
    def exact(self) -> bool:
        """Whether every cell is one single score."""
        return bool((self.low == self.high).all())

    @property
    def total(self) -> int:
        """The number of items."""
        return int(self.count.sum())

    @property
    def min(self) -> float:
        """The smallest score."""
        return float(self.low[0])

    @property
    def max(self) -> float:
        """The largest score."""
        return float(self.high[-1])


def _middle(low: Floats, high: Floats) -> Floats:
    return np.where(low == high, low, np.clip(low / 2 + high / 2, low, high))


def profile_of(values: Floats, rule: Rule | None = None) -> Profile:
    """Count the scores in cells, one for each bin (`assay.core.bins`) that holds any.

    `values`, (N,): the items' scores, in any order; finite; `rule`: how bins are made; default:
    inferred from the range of the scores. If the scores are a part of a population, pass the rule
    for all of it.

    Equal scores are never in different cells; different ones are in one cell only where they are
    nearly equal.

    >>> profile_of(np.array([0.9, 0.1, 0.9, 0.5])).count
    array([1, 1, 2])
    """
    scores = as_scores(values)
    low, high = score_range(scores)
    fits = scale_of(low, high)
    if rule in ("probability", "tail") and fits == "margin":
        raise InputError(
            f"scores run from {low} to {high}", details="probabilities lie between 0 and 1"
        )
    ranges = Ranges(2 * LARGEST_BIN + 1)
    for piece in pieces(scores.size):
        ranges.add(bins_of(scores[piece], rule or fits) + LARGEST_BIN, scores[piece])
    there = np.flatnonzero(ranges.count)
    return Profile.of_ranges(
        low=ranges.low[there], high=ranges.high[there], count=ranges.count[there]
    )


def score_range(scores: Floats) -> tuple[float, float]:
    """Smallest and largest score; raise if there is none.

    >>> score_range(np.array([0.9, 0.1, 0.5]))
    (0.1, 0.9)
    """
    if scores.size == 0:
        raise InputError("there are no scores to profile", details="at least one is needed")
    low, high = float(scores.min()), float(scores.max())
    if not np.isfinite([low, high]).all():  # NaN makes both NaN
        refuse_non_finite(scores)
    return low, high


def as_scores(values: Floats) -> Floats:
    """Convert values to a one-dimensional float64 array; raise if they are not numbers.

    >>> as_scores(np.array([1, 2]))
    array([1., 2.])
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or array.ndim != 1:
        raise InputError(
            f"scores are {array.dtype} of shape {array.shape}",
            details="they must be numbers in one dimension",
        )
    return array.astype(np.float64, copy=False)


def refuse_non_finite(scores: Floats) -> None:
    """Raise an error that names the first NaN or infinite score, if there is one.

    >>> refuse_non_finite(np.array([0.5, np.nan]))
    Traceback (most recent call last):
    assay.errors.InputError: score 1 is nan
    1 of 2 scores are not finite
    """
    finite = np.isfinite(scores)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise InputError(
            f"score {bad[0]} is {scores[bad[0]]}",
            details=f"{bad.size} of {scores.size} scores are not finite",
        )


# Counts from one pass over the predictions: items by the bin of their score and their label.


# A cell with more of a label's items would make one of ten strata larger by a fifth.
HEAVY = 1 / 50

Counted = TypeVar("Counted")


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Items by bin and predicted label or class, one row for each pair that occurs."""

    rule: Rule  # how bins are made of scores (`assay.core.bins`)
    # (M,): ascending; rows of one bin ascend by label: first those predicted no.
    bin: Ints
    predicted: Bools | Ints  # (M,): the predicted label, or the number of the predicted class
    count: Ints  # (M,): the items; at least one
    # low, high, (M,): their smallest and their largest score.
    low: Floats
    high: Floats
    # (M,): the exclusive or of d(id) (`assay.core.deck`) over the items; of cells of several
    # classifiers, the sum modulo 2^64.
    digest: Words
    classes: int = 2  # how many classes there are
    # (M,): the items' weights, if they have any (`core.weights`)
    weight: Ints | None = None

    def __post_init__(self) -> None:
        """Refuse unordered cells: engines must agree on them row by row."""
        later = self.bin[:-1] < self.bin[1:]
        beside = (self.bin[:-1] == self.bin[1:]) & (self.predicted[:-1] < self.predicted[1:])
        if self.bin.size == 0 or not (later | beside).all():
            raise InputError(
                "score cells are not in order",
                details="ascending by bin and predicted label, each once, at least one",
            )

    @property
    def size(self) -> int:
        """The number of items."""
        return int(self.count.sum())

    @property
    def by_weight(self) -> "ScoreCells":
        """The same cells, with their items' weights in place of their number."""
        return self if self.weight is None else replace(self, count=self.weight, weight=None)

    @property
    def yes(self) -> Bools:
        """Cells of items predicted yes, or as another class than the first."""
        return np.asarray(self.predicted != 0)

    @property
    def positives(self) -> int:
        """The number of items predicted yes."""
        return int(self.count[self.yes].sum())

    @property
    def score_range(self) -> tuple[float, float]:
        """The smallest and the largest score."""
        return float(self.low.min()), float(self.high.max())

    @property
    def middle(self) -> Floats:
        """Representative score of each cell, as in a profile."""
        return _middle(self.low + 0.0, self.high + 0.0)

    @property
    def heaviest(self) -> float:
        """Largest share of a label's items in one cell, among cells with distinct scores.

        With more than two classes, the share of all items: otherwise a rare class would require the
        finer rule for any scores.
        """
        if self.classes > 2:
            every = self.profile(None)
            shares = every.count / every.total
            return float(np.max(shares, where=every.low < every.high, initial=0.0))
        of_label = np.where(self.yes, self.positives, self.size - self.positives)
        return float(np.max(self.count / of_label, where=self.low < self.high, initial=0.0))

    @property
    def finer_rule(self) -> Rule | None:
        """The rule to try if the scores are too uneven for this one; otherwise None."""
        uneven = self.rule == "probability" and self.heaviest > HEAVY
        return "tail" if uneven else None

    def profile(self, side: bool | None) -> Profile:
        """Distribution of the scores among the items with one label, or with either (None)."""
        rows = np.flatnonzero(self.yes == side) if side is not None else np.arange(self.bin.size)
        if rows.size == 0:
            raise InputError(f"no item is predicted {'yes' if side else 'no'}: nothing to profile")
        return self._merged(rows, self.bin[rows])

    def rebinned(self, inside: Bools, scale: Scale) -> Profile:
        """Distribution among the items of some cells, by the bins of a scale.

        `inside`, (M,): which cells; their values ascend, as ranks of scores do.
        """
        return self._merged(inside, bins_of(self.low[inside], scale))

    def _merged(self, rows: Bools | Ints, bins: Ints) -> Profile:
        """Distribution among the items of some cells, those of one bin merged."""
        starts = np.flatnonzero(np.diff(bins, prepend=bins[:1] - 1))
        return Profile.of_ranges(
            low=np.minimum.reduceat(self.low[rows], starts),
            high=np.maximum.reduceat(self.high[rows], starts),
            count=np.add.reduceat(self.count[rows], starts),
        )

    def fingerprint(self) -> str:
        """Text that changes when the cells do, with the rule and the number of items.

        It covers every id and predicted label, and every score up to its bin and the extremes of
        each cell: all inputs of strata cut from these cells. It guards against mistakes, not
        against deliberate forgery.
        """
        seen = sha256(self.rule.encode())
        if self.classes > 2:
            seen.update(f":{self.classes}".encode())
        for column, kind in (
            (self.bin, "<i8"),
            (self.predicted, "<i8"),
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
    """Count by a rule and, if the scores are too uneven for it, again by a finer one.

    `count`: goes over all items, and returns the counts by a rule; `rule`: the first to try;
    `cells`: returns the cells of the counts.
    """
    first = count(rule)
    finer = cells(first).finer_rule
    return first if finer is None else min(first, count(finer), key=lambda n: cells(n).heaviest)
