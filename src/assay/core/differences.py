"""Differences of two classifiers' metrics over the same strata.

The difference of two metrics is one again, if their denominators do not depend on the labels or are
the same (`difference`); for others (F1) there is `Gap`. `subtract` returns the one that applies:
the statistics only need a `Metric`'s value and slopes.
"""

from dataclasses import dataclass

import numpy as np

from assay.core.forms import Metric, Ratio
from assay.core.types import Bools, Floats
from assay.errors import DesignError


@dataclass(frozen=True, eq=False)
class Gap(Metric):
    """The difference of two metrics over the same strata, whatever their denominators."""

    first: Ratio
    second: Ratio

    @property
    def bends(self) -> bool:
        """Whether either denominator depends on the totals."""
        return self.first.bends or self.second.bends

    @property
    def straight(self) -> bool:
        """Whether `plane` is exact: never."""
        return False

    @property
    def lowest(self) -> float:
        """Lower bound of either metric."""
        return self.first.lowest

    @property
    def counts(self) -> Bools:
        """Strata that either metric depends on, (H,)."""
        return self.first.counts | self.second.counts

    def over(self, which: Bools) -> "Gap":
        """Difference over some of the strata, if it depends on no others."""
        return Gap(self.first.over(which), self.second.over(which))

    def per(self, share: Floats) -> "Gap":
        """Difference of totals of which only these shares are counted, (H,)."""
        return Gap(self.first.per(share), self.second.per(share))

    def denominator(self, T: Floats) -> Floats:
        """Smaller denominator."""
        return np.minimum(self.first.denominator(T), self.second.denominator(T))

    def value(self, T: Floats) -> Floats:
        """First metric minus the second."""
        return np.asarray(self.first.value(T) - self.second.value(T))

    def gradient(self, T: Floats) -> Floats:
        """First gradient minus the second."""
        return np.asarray(self.first.gradient(T) - self.second.gradient(T))

    def extremes(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Bounds of the difference for least <= T <= most: each metric at its worst."""
        (low, high), (less, more) = (
            each.extremes(least, most) for each in (self.first, self.second)
        )
        return np.asarray(low - more), np.asarray(high - less)

    def plane(self, m: Floats, T: Floats) -> tuple[Floats, Floats]:
        """Find c and c0: to first order about T, the difference reaches m if c0 + c.T >= 0.

        With numerators A and B and denominators C and D, that is where A D - B C - m C D >= 0.
        """
        one, other = self.first, self.second
        A, B = (each.numerator(T)[..., None] for each in (one, other))
        C, D = (each.denominator(T)[..., None] for each in (one, other))
        b, d = (each.denominator_slopes(T) for each in (one, other))
        at = m[..., None]
        c = one.a * D + A * d - other.a * C - B * b - at * (b * D + C * d)
        here = (A * D - B * C - at * C * D)[..., 0]
        # Without a positive, or a negative, only the numerators have a slope.
        flat = ~c.any(axis=-1, keepdims=True)
        c = np.where(flat, one.a - other.a, c)
        return c, np.asarray(here - (c * T).sum(axis=-1))

    def slope_of_variance(self, T: Floats, variance: Floats) -> Floats:
        """Sum over both metrics' denominators, to first order."""
        D = [
            np.maximum(each.denominator(T)[..., None], 1e-300) for each in (self.first, self.second)
        ]
        slopes = [each.gradient(T) for each in (self.first, self.second)]
        g = slopes[0] - slopes[1]
        V = (g * g * variance).sum(axis=-1, keepdims=True)
        V = np.where(V > 0, V, 1.0)
        total = np.zeros_like(g)
        for sign, each, d, own in zip((1, -1), (self.first, self.second), D, slopes, strict=True):
            shared = (g * each.b * variance).sum(axis=-1, keepdims=True)
            mixed = (g * own * variance).sum(axis=-1, keepdims=True)
            turned = each.turned(T, shared, own) + each.denominator_slopes(T) * mixed
            total = total - 2 * sign * turned / (d * V)
        return np.asarray(total)


def subtract(first: Ratio, second: Ratio) -> Metric:
    """Difference of two metrics: a `difference` if possible, else a `Gap`."""
    # Two denominators that depend on the labels, and are not the same: the F1s of two classifiers.
    alike = first.b0 == second.b0 and np.array_equal(first.b, second.b)
    apart = first.bends and not (alike and first.straight and second.straight)
    return Gap(first, second) if apart else difference(first, second)


def difference(first: Ratio, second: Ratio) -> Ratio:
    """Difference of two classifiers' metrics over the same strata, as one metric.

    Only strata in which the two differ have a weight: for accuracy those where one classifier
    predicts yes and the other no. Its values lie between -1 and 1.
    """
    if first.a.shape != second.a.shape:
        raise DesignError(
            f"metrics over {first.a.size} and {second.a.size} strata have no difference",
            details="both must be over the same strata",
        )
    one, other = _over_1(first), _over_1(second)
    known = one.straight and other.straight
    if not known or one.b0 != other.b0 or not np.array_equal(one.b, other.b):
        raise DesignError(
            "two denominators that depend on the labels, and are not the same",
            details="a difference needs known denominators (precision, accuracy, false omission "
            "rate) or a common one (recall)",
            hint="a Gap is the difference whatever the denominators",
        )
    both = Ratio(one.a0 - other.a0, one.a - other.a, one.b0, one.b)
    if not both.a.any():
        raise DesignError(
            f"no label can distinguish the two metrics: their difference is {both.a0:g}",
            details="the classifiers say the same in every stratum that counts",
        )
    return both


def _over_1(metric: Ratio) -> Ratio:
    """Copy of the metric with denominator 1, if the denominator is known."""
    if metric.b.any():
        return metric
    if metric.b0 <= 0:
        raise DesignError("a metric over no items has no value, and no difference to another")
    return Ratio(metric.a0 / metric.b0, metric.a / metric.b0, 1.0, metric.b)
