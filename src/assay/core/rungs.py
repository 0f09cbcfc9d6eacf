"""Rungs: a metric with a floor at every threshold, and the wealth of the bettors on them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from assay.core.betting import Wealth, nothing
from assay.core.goal import OUTWARD
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints

_ROUNDING = 1e-7  # of sums over millions of items


@dataclass(frozen=True, eq=False)
class Rungs:
    """A metric with a floor at every threshold.

    Cells are in the order of their scores, the highest first; threshold t predicts yes for cells 0
    to t.

    >>> rungs = Rungs("precision", 0.9, np.array([10.0, 10.0]), 0.05)
    >>> rungs.total(np.array([10.0, 7.0])).round(6)
    array([ 1., -1.])
    >>> Rungs("recall", 0.9, np.array([10.0, 10.0]), 0.05).value(np.array([9.0, 1.0]))
    array([0.9, 1. ])
    """

    metric: str  # one of `core.goal.FLOORS`
    floor: float  # lower bound
    sizes: Floats  # (H,): the items of each cell
    alpha: float  # probability of wrongly showing any threshold to hold

    @cached_property
    def above(self) -> float:
        """Contribution of a positive above the threshold."""
        known = {"precision": 1.0, "recall": 1 - self.floor, "specificity": self.floor}
        return known.get(self.metric, 0.0)

    @cached_property
    def below(self) -> float:
        """Contribution of a positive below the threshold."""
        known = {"precision": 0.0, "recall": -self.floor, "specificity": self.floor - 1}
        return known.get(self.metric, -1.0)

    @cached_property
    def const(self) -> Floats:
        """Constant term at every threshold, whatever the labels are."""
        yes = np.cumsum(self.sizes)
        if self.metric == "precision":
            return -self.floor * yes
        if self.metric == "recall":
            return np.zeros_like(yes)
        if self.metric == "specificity":
            return np.asarray((1 - self.floor) * yes[-1] - yes)
        return np.asarray((1 - self.floor) * (yes[-1] - yes))

    @property
    def outward(self) -> bool:
        """Whether it is harder to hold the more items are predicted yes."""
        return self.metric in OUTWARD

    @property
    def goal(self) -> float:
        """The logarithm of the wealth at which a hypothesis is rejected."""
        return float(-np.log(self.alpha))

    @property
    def is_defined(self) -> Bools:
        """Thresholds at which the metric is defined, (H,)."""
        return np.asarray(self.sizes.sum() > np.cumsum(self.sizes)) | (
            self.metric != "negative_predictive_value"
        )

    def sure(self, tallies: Tallies) -> tuple[Bools, Bools]:
        """Where the floor holds, and where it fails, for any unlabelled items, (..., H)."""
        known, left = self.total(tallies.x), tallies.N - tallies.n
        least = known + self.sum_of(left, min(self.above, 0.0), min(self.below, 0.0))
        most = known + self.sum_of(left, max(self.above, 0.0), max(self.below, 0.0))
        return np.asarray(least >= -_ROUNDING), np.asarray(most < -_ROUNDING)

    def scale(self, T: Floats) -> Floats:
        """Denominator of the metric at every threshold, (..., H), for T positives."""
        yes, all_ = np.cumsum(self.sizes), T.sum(axis=-1, keepdims=True)
        scale = {
            "precision": yes + 0 * all_,
            "recall": all_ + 0 * yes,
            "specificity": yes[-1] - all_ + 0 * yes,
            "negative_predictive_value": yes[-1] - yes + 0 * all_,
        }[self.metric]
        return np.asarray(np.maximum(scale, 1.0))

    def total(self, T: Floats) -> Floats:
        """Sum that is at least 0 where the floor holds, (..., H)."""
        return np.asarray(self.const + self.sum_of(T, self.above, self.below))

    def value(self, T: Floats) -> Floats:
        """Metric at every threshold, (..., H)."""
        return np.asarray(self.floor + self.total(T) / self.scale(T))

    def spread(self, w: Floats) -> Floats:
        """Sum of the cells' weights, (..., H), over those that count."""
        return self.sum_of(w, abs(self.above), abs(self.below))

    def squares(self, v: Floats) -> Floats:
        """Sum of the cells' variances, (..., H), times their coefficients squared."""
        return self.sum_of(v, self.above**2, self.below**2)

    def counted(self, p: Floats) -> Floats:
        """Sum over the cells that count at every threshold, (..., H)."""
        return self.sum_of(p, float(self.above != 0), float(self.below != 0))

    def largest(self, rise: Floats, fall: Floats) -> Floats:
        """Largest fall at every threshold, from these possible rises and falls."""
        up, down = (
            np.maximum(coefficient * fall, -coefficient * rise)
            for coefficient in (self.above, self.below)
        )
        above = np.maximum.accumulate(up, axis=-1)
        below = np.maximum.accumulate(down[..., ::-1], axis=-1)[..., ::-1]
        below = np.concatenate([below[..., 1:], np.zeros_like(below[..., :1])], axis=-1)
        return np.asarray(np.maximum(above, below))

    @staticmethod
    def sum_of(values: Floats, above: float, below: float) -> Floats:
        """Sum over the cells at every threshold, with a factor above it and one below."""
        upto = np.cumsum(values, axis=-1)
        return np.asarray(above * upto + below * (upto[..., -1:] - upto))


@dataclass(frozen=True, eq=False)
class Chain(Wealth):
    """Wealth of one floor's bettors: that it holds at a threshold, or does not, (..., H)."""

    start: Ints  # (...): the first threshold; -1 before it is chosen

    @classmethod
    def begin(cls, shape: tuple[int, ...], cells: int) -> Self:
        """Wealth before the first card."""
        return cls(*nothing(shape, cells), np.full(shape, -1))

    def take(self, which: Bools) -> Self:
        """Bets of some of the parallel evaluations."""
        return replace(super().take(which), start=self.start[which])

    def ahead(self, rungs: Rungs) -> Bools:
        """Thresholds that are in the order: the first, and those beyond it."""
        place, start = np.arange(self.up.shape[-1]), self.start[..., None]
        beyond = place >= start if rungs.outward else place <= start
        return np.asarray(beyond & (start >= 0) & rungs.is_defined)

    def shown(self, rungs: Rungs, sure: Bools | None = None) -> Bools:
        """Thresholds at which the floor was shown to hold, (..., H).

        `sure`, (..., H): where it holds whatever the unlabelled items are.
        """
        ahead = self.ahead(rungs)
        there = ~ahead | (self.best_up >= rungs.goal)
        if sure is not None:
            there = there | sure
        step = 1 if rungs.outward else -1
        unbroken = np.logical_and.accumulate(there[..., ::step], axis=-1)[..., ::step]
        return np.asarray(unbroken & ahead)


@dataclass(frozen=True, eq=False)
class Climb:
    """Wealth of the bettors: by the current answers, and by those that were given first.

    The latter decide how cards are drawn, so that a later revision of an answer cannot change that.
    """

    now: tuple[Chain, ...]
    first: tuple[Chain, ...]

    def take(self, which: Bools) -> Self:
        """Bets of some of the parallel evaluations."""
        first = tuple(each.take(which) for each in self.first)
        if self.now is self.first:  # equal until an answer is revised
            return type(self)(first, first)
        return type(self)(tuple(each.take(which) for each in self.now), first)
