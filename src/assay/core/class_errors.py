"""Rates of errors by stratum and class, from few parameters.

An error rate for each stratum and a factor for each class: a rate for each class in each stratum
would follow luck, and an allocation by it starves the strata that happened to show nothing of a
rare class.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.class_counts import ClassCounts, over
from assay.core.types import Floats

# Labels that a rate from many strata counts for in each of them. Fewer make labels follow luck.
STEADY = 40.0
_AT_FIRST = 0.2  # error rate before the first label
_EXPECTED = 3.0  # finds of a class that the expected number counts for
_EVEN = 0.1  # share of errors expected in all classes alike; the rest as often as predicted
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """What labels tell of errors."""

    wrong: ClassCounts  # of the items that are called each class: those that are of another
    missed: ClassCounts  # of the items that are called other classes: those that are of this one

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
        """Error rate of the items of each stratum that are called each class, (..., G, K)."""
        _, n, x = self._counts
        labels, found = n.sum(axis=-1, keepdims=True), x.sum(axis=-1, keepdims=True)
        stratum = (found + STEADY * self.overall) / (labels + STEADY)
        return np.asarray((x + STEADY * stratum) / (n + STEADY))

    @cached_property
    def _among_others(self) -> Floats:
        """Error rate of the items of each stratum that are called other classes, (..., G, K)."""
        errors = self.wrong.N * self.errors
        others = errors.sum(axis=-1, keepdims=True) - errors
        return over(others, np.broadcast_to(self.missed.N, others.shape))

    @cached_property
    def _per_error(self) -> Floats:
        """Rate of each class among errors, (..., K); not scaled to a sum of 1."""
        P = self.wrong.items
        share = (1 - _EVEN) * P / P.sum() + _EVEN / P.size
        expected = (self.missed.n * self._among_others).sum(axis=-2) * share
        found = self.missed.x.sum(axis=-2)
        return np.asarray(share * (found + _EXPECTED) / (expected + _EXPECTED))

    @cached_property
    def mix(self) -> Floats:
        """Share of the errors that are of each class, (..., K)."""
        return np.asarray(self._per_error / self._per_error.sum(axis=-1, keepdims=True))

    @cached_property
    def misses(self) -> Floats:
        """Rate of each class among the items of each stratum called others, (..., G, K)."""
        return np.asarray(np.minimum(self._among_others * self._per_error[..., None, :], 0.9))

    def loss(self, by_right: Floats, by_missed: Floats) -> tuple[Floats, Floats]:
        """Mean and mean square of the loss of an error in items called each class, (..., 1, K).

        `by_right`, `by_missed`, (..., K): what an item less of A, and one more of M, takes away.
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
