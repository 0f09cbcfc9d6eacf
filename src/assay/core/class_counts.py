"""Outcome counts of every class, with intervals that are valid at zero, and error rates."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.types import Floats

_FEW = 3.0  # labels of a cell that count as much as its stratum
_MID_P = 0.5  # outcomes before the upper end: half of what an exact interval counts


def over(top: Floats, bottom: Floats) -> Floats:
    """Quotient of top and bottom; 0 where the denominator is 0."""
    return np.asarray(np.where(bottom > 0, top, 0.0) / np.where(bottom > 0, bottom, 1.0))


def gamma_end(mean: Floats, variance: Floats, z: float) -> Floats:
    """Quantile of a gamma distribution at the normal quantile z (Wilson and Hilferty's cube).

    No outcome, and an allowance of one: 3.7, as for a count of 0 in `core.stratified`.

    >>> gamma_end(np.array(1.0), np.array(1.0), 1.96).round(2)
    np.float64(3.67)
    """
    share = over(variance, mean**2)  # 1/k, k the shape
    return np.asarray(mean * np.maximum(1 - share / 9 + z * np.sqrt(share) / 3, 0.0) ** 3)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Outcomes among the items of cells, one cell for each of G strata and K classes."""

    N: Floats  # (G, K): the items of each cell
    # n, x, (..., G, K): labels, and those with the outcome.
    n: Floats
    x: Floats
    stratum: Floats  # (..., G, 1): items for each label of the whole stratum

    @cached_property
    def left(self) -> Floats:
        """Finite population correction of each cell, (N - n)/(N - 1)."""
        return np.asarray(np.maximum(self.N - self.n, 0.0) / np.maximum(self.N - 1, 1.0))

    @cached_property
    def items(self) -> Floats:
        """Items of each class, (K,)."""
        return np.asarray(self.N.sum(axis=-2))

    @cached_property
    def labels(self) -> Floats:
        """Labels of each class, (..., K)."""
        return np.asarray(self.n.sum(axis=-2))

    @cached_property
    def _weight(self) -> Floats:
        """Items that one label stands for: of its cell, or of its stratum if the cell has few.

        All labels of a class together stand for its items.
        """
        own = over(self.N + 0 * self.n, self.n)
        each = (self.n * own + _FEW * self.stratum) / (self.n + _FEW)
        seen = (self.n * each).sum(axis=-2)
        scale = over(np.broadcast_to(self.items, seen.shape), seen)
        return np.asarray(scale[..., None, :] * each)

    @cached_property
    def total(self) -> Floats:
        """Estimated outcomes of each class, (..., K); half of its items if it has no label."""
        outcomes = (self._weight * self.x).sum(axis=-2)
        return np.where(self.labels > 0, outcomes, self.items / 2)

    @cached_property
    def variance(self) -> Floats:
        """Variance of `total`, (..., K); a cell whose labels all agree counts as one outcome."""
        n = np.maximum(self.n, 1.0)
        spread = self.x * (1 - self.x / (n + 1)) * (n + 1) / n
        return np.asarray((self._weight**2 * self.left * spread).sum(axis=-2))

    def variance_at(self, rate: Floats, prior: float) -> Floats:
        """Variance of `total` at the cells' rates, with a prior rate that counts as `prior` labels.

        Classes without outcomes also have a variance.
        """
        p = (self.x + prior * rate) / (self.n + prior)
        spread = self.N**2 * self.left / np.maximum(self.n, 1.0)
        return np.asarray((spread * p * (1 - p)).sum(axis=-2))

    @cached_property
    def unseen(self) -> Floats:
        """Items that an outcome would stand for, if one were observed; (..., K)."""
        labels = np.where(self.left > 0, self.n, 0.0).sum(axis=-2)
        return np.asarray((self.N * self.left).sum(axis=-2) / np.maximum(labels, 0.5))

    @cached_property
    def one(self) -> Floats:
        """Items that a typical outcome stands for, (..., K)."""
        return np.where(self.total > 0, over(self.variance, self.total), self.unseen)

    def ends(self, z: float, b: float) -> tuple[Floats, Floats]:
        """Confidence limits of the outcomes of each class, (..., K)."""
        known, one = self.labels > 0, self.one
        least = self.x.sum(axis=-2)
        most = self.items - (self.n - self.x).sum(axis=-2)
        high = upper_end(self.total, self.variance, one=one, unseen=self.unseen, z=z, b=b)
        low = gamma_end(np.maximum(self.total - b * one, 0.0), self.variance, -z)
        return (
            np.where(known, np.clip(low, least, most), least),
            np.where(known, np.clip(high, least, most), most),
        )


def upper_end(
    total: Floats, variance: Floats, *, one: Floats, unseen: Floats, z: float, b: float
) -> Floats:
    """Upper confidence limit of a sum of weighted counts (Fay and Feuer 1997, mid-P)."""
    mean = total + b * one + _MID_P * unseen
    return gamma_end(mean, variance + b * one**2 + _MID_P * unseen**2, z)


# Rates of errors by stratum and class, from few parameters.
#
# The model has an error rate for each stratum and a factor for each class. A rate for each class in
# each stratum would follow luck, and an allocation by it would starve strata without finds of a
# rare class.


# Weight, in labels, of a rate from many strata in each of them. Less makes labels follow luck.
STEADY = 40.0
_AT_FIRST = 0.2  # error rate before the first label
_EXPECTED = 3.0  # weight, in finds of a class, of the expected number
_EVEN = 0.1  # share of errors expected equally in all classes; the rest as often as predicted
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """Error rates estimated from labels."""

    wrong: ClassCounts  # of the items predicted as each class: those of another class
    missed: ClassCounts  # of the items predicted as other classes: those of this class

    @cached_property
    def overall(self) -> Floats:
        """Error rate of all items, (..., 1, 1)."""
        N, n, x = (each.sum(axis=-1, keepdims=True) for each in self._counts)
        labels, seen = n.sum(axis=-2, keepdims=True), np.where(n > 0, N, 0.0)
        rate = (seen * over(x, n)).sum(axis=-2, keepdims=True)
        rate = over(rate, seen.sum(axis=-2, keepdims=True))
        return np.asarray((labels * rate + STEADY * _AT_FIRST) / (labels + STEADY))

    @property
    def _counts(self) -> tuple[Floats, Floats, Floats]:
        return self.wrong.N, self.wrong.n, self.wrong.x

    @cached_property
    def errors(self) -> Floats:
        """Error rate of the items of each stratum predicted as each class, (..., G, K)."""
        _, n, x = self._counts
        labels, outcomes = n.sum(axis=-1, keepdims=True), x.sum(axis=-1, keepdims=True)
        stratum = (outcomes + STEADY * self.overall) / (labels + STEADY)
        return np.asarray((x + STEADY * stratum) / (n + STEADY))

    @cached_property
    def _among_others(self) -> Floats:
        """Error rate of the items of each stratum predicted as other classes, (..., G, K)."""
        errors = self.wrong.N * self.errors
        others = errors.sum(axis=-1, keepdims=True) - errors
        return over(others, np.broadcast_to(self.missed.N, others.shape))

    @cached_property
    def _per_error(self) -> Floats:
        """Rate of each class among errors, (..., K); not normalised."""
        P = self.wrong.items
        share = (1 - _EVEN) * P / P.sum() + _EVEN / P.size
        expected = (self.missed.n * self._among_others).sum(axis=-2) * share
        missed = self.missed.x.sum(axis=-2)
        return np.asarray(share * (missed + _EXPECTED) / (expected + _EXPECTED))

    @cached_property
    def mix(self) -> Floats:
        """Share of the errors that belong to each class, (..., K)."""
        return np.asarray(self._per_error / self._per_error.sum(axis=-1, keepdims=True))

    @cached_property
    def misses(self) -> Floats:
        """Rate of each class among the items of each stratum predicted as others, (..., G, K)."""
        return np.asarray(np.minimum(self._among_others * self._per_error[..., None, :], 0.9))

    def loss(self, by_right: Floats, by_missed: Floats) -> tuple[Floats, Floats]:
        """Mean and mean square of an error's loss in items of each predicted class, (..., 1, K).

        `by_right`, `by_missed`, (..., K): loss from one item of A less, and from one of M more.
        """
        rest = np.maximum(1 - self.mix, _TINY)
        first, second = (
            ((each.sum(axis=-1, keepdims=True) - each) / rest)[..., None, :]
            for each in (self.mix * by_missed, self.mix * by_missed**2)
        )
        own = by_right[..., None, :]
        return own + first, own**2 + 2 * own * first + second

    def both_sides(self, by_right: Floats, by_missed: Floats) -> Floats:
        """Variance of the mean over the sum of its parts' variances, at least 1; (...)."""
        N, n, x = self._counts
        p = (x + self.errors) / (n + 1)
        mean, square = self.loss(by_right, by_missed)
        rest = np.maximum(1 - self.mix, _TINY)
        mixed = self.mix * by_missed
        apart, joint = (
            ((each.sum(axis=-1, keepdims=True) - each) / rest**power)[..., None, :]
            for each, power in ((mixed * by_missed, 1), (mixed**2, 2))
        )
        own = by_right[..., None, :] ** 2
        spread = N**2 * self.wrong.left / np.maximum(n, 1.0)
        together = (spread * (p * square - (p * mean) ** 2)).sum(axis=(-2, -1))
        parts = (spread * (p * (own + apart) - p**2 * (own + joint))).sum(axis=(-2, -1))
        return np.asarray(np.maximum(over(together, parts), 1.0))
