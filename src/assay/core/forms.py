"""Metrics over strata, as the statistics see them: forms in the stratum totals."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.core.metrics import METRICS, Kind, canonical_metric
from assay.core.types import Bools, Floats, Ints
from assay.errors import DesignError


class Metric(ABC):
    """A metric for the statistics, at stratum totals T of shape (..., H).

    What it does not say otherwise is that of a metric that is linear in the totals.
    """

    @property
    def bends(self) -> bool:
        """Whether a stratum's weight depends on the totals."""
        return False

    @property
    def straight(self) -> bool:
        """Whether `plane` is exact: the same everywhere."""
        return True

    @property
    @abstractmethod
    def lowest(self) -> float:
        """Lower bound of such a metric of one classifier; the upper bound is 1."""

    @property
    @abstractmethod
    def counts(self) -> Bools:
        """Strata that it depends on, (H,)."""

    @abstractmethod
    def over(self, which: Bools) -> "Metric":
        """Metric over some of the strata, if it depends on no others."""

    @abstractmethod
    def per(self, share: Floats) -> "Metric":
        """Metric of totals of which only these shares are counted, (H,)."""

    def of(self, _which: Ints) -> "Metric":
        """Metric of some of the parallel evaluations; usually they share one."""
        return self

    def denominator(self, T: Floats) -> Floats:
        """Value above 0 where the metric is defined."""
        return np.ones(T.shape[:-1])

    @abstractmethod
    def value(self, T: Floats) -> Floats:
        """Metric; 0 where it is not defined."""

    @abstractmethod
    def gradient(self, T: Floats) -> Floats:
        """D metric / d T_h; 0 where the metric is not defined."""

    def weights(self, T: Floats) -> Floats:
        """Absolute values of the gradient, up to a common factor."""
        return np.abs(self.gradient(T))

    def rises(self, T: Floats) -> Bools:
        """Where more outcomes raise the metric; elsewhere they lower it."""
        return np.asarray(self.gradient(T) > 0)

    @abstractmethod
    def extremes(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Bounds of the metric for least <= T <= most."""

    @abstractmethod
    def plane(self, m: Floats, T: Floats) -> tuple[Floats, Floats]:
        """c, (..., H), and c0, (...): the metric is at least m where c0 + c.T >= 0.

        Exactly so for a ratio; for others to first order about the totals `T`.
        """

    def slope_of_variance(self, T: Floats, variance: Floats) -> Floats:
        """D ln V / d T_k, with V = sum_h g_h^2 variance_h, through the gradient g alone."""
        return np.zeros(np.broadcast_shapes(T.shape, variance.shape))

    def widened(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Lower and upper end of an interval, widened for what no label has shown."""
        return low, high

    def evened(self) -> "Metric":
        """Metric corrected for an allocation that followed the costly errors."""
        return self


@dataclass(frozen=True)
class Classes:
    """A denominator that counts both classes: (P (items - P))^power, P the positives."""

    items: float  # number of items that the metric is about
    power: float
    shift: float  # the metric if its numerator is 0
    # Value if all items are negative, and if all are positive: it is undefined there, and these are
    # scikit-learn's values.
    alone: tuple[float, float]

    def at(self, P: Floats) -> tuple[Floats, Floats, Floats]:
        """Denominator, and its first and second derivative; all 0 where it is 0."""
        Q, e = self.items - P, self.power
        there = (P > 0) & (Q > 0)
        p, q = np.where(there, P, 1.0), np.where(there, Q, 1.0)
        D = np.where(there, (p * q) ** e, 0.0)
        first = e * (1 / p - 1 / q)
        return D, D * first, D * (first * first - e * (1 / p**2 + 1 / q**2))


@dataclass(frozen=True, eq=False)
class Ratio(Metric):
    """A metric: (a0 + a.T) / D for stratum totals T of shape (..., H), with P = b0 + b.T.

    D is P itself, or, for a metric of both classes, the function `both` of P.
    """

    # a0, a, b0, b, (H,): or (R,), (R, H), (R,) and (R, H): a metric for each of R evaluations
    # (`side_by_side`)
    a0: float | Floats
    a: Floats
    b0: float | Floats
    b: Floats
    both: Classes | None = None
    # (H,): whether a stratum's items are predicted yes; None if strata straddle.
    predicted: Bools | None = None

    @cached_property
    def bends(self) -> bool:
        """Whether its denominator depends on the totals."""
        return bool(self.b.any())

    @property
    def straight(self) -> bool:
        """Whether its denominator is linear in the totals."""
        return self.both is None

    @property
    def lowest(self) -> float:
        """Lower bound."""
        return 0.0 if self.both is None else 2 * self.both.shift - 1

    @property
    def counts(self) -> Bools:
        """Strata that it depends on, (H,)."""
        return np.asarray((self.a != 0) | (self.b != 0))

    def over(self, which: Bools) -> "Ratio":
        """Metric over some of the strata, if it depends on no others."""
        predicted = None if self.predicted is None else self.predicted[which]
        return replace(self, a=self.a[which], b=self.b[which], predicted=predicted)

    def of(self, which: Ints) -> "Ratio":
        """Metric of some of the parallel evaluations, in their order."""
        if self.a.ndim == 1 or which.size == len(self.a):
            return self
        a0, b0 = (np.asarray(each)[which] for each in (self.a0, self.b0))
        return Ratio(a0, self.a[which], b0, self.b[which], self.both)

    def numerator(self, T: Floats) -> Floats:
        """a0 + a.T."""
        return np.asarray(self.a0 + (self.a * T).sum(axis=-1))

    def per(self, share: Floats) -> "Ratio":
        """Metric of totals of which only these shares are counted, (H,)."""
        return replace(self, a=self.a / share, b=self.b / share)

    def denominator(self, T: Floats) -> Floats:
        """D; where it is zero the metric is not defined."""
        P = self._base(T)
        return P if self.both is None else self.both.at(P)[0]

    def denominator_slopes(self, T: Floats) -> Floats:
        """D D / d T_h: b, or (..., H)."""
        if self.both is None:
            return self.b
        return np.asarray(self.both.at(self._base(T))[1][..., None] * self.b)

    def value(self, T: Floats) -> Floats:
        """Metric; where undefined, scikit-learn's value: 0 unless stated otherwise."""
        value = self._share(T)
        if self.both is None:
            return value
        P = self._base(T)
        none, every = self.both.alone
        value = np.where(P <= 0, none, self.both.shift + value)
        return np.where(self.both.items <= P, every, value)

    def gradient(self, T: Floats) -> Floats:
        """D metric / d T_h = (a_h - tilt * b_h) / D; 0 where not defined."""
        bottom = self.denominator(T)[..., None]
        slope = self.a - self._tilt(T) * self.b if self.bends else self.a
        return np.asarray(np.where(bottom > 0, slope, 0.0) / np.where(bottom > 0, bottom, 1.0))

    def weights(self, T: Floats) -> Floats:
        """|a_h - tilt * b_h|: without the denominator, so that it exists without positives."""
        return np.abs(self.a - self._tilt(T) * self.b if self.bends else self.a)

    def rises(self, T: Floats) -> Bools:
        """Where more outcomes raise the metric; elsewhere they lower it, (..., H).

        Each metric of the table is monotone in each T_h: more positives predicted yes never lower
        recall, and more predicted no never raise it. The latter move it towards 0, which is up
        where the difference of two recalls is below 0.
        """
        return np.asarray(np.where(self.a != 0, self.a, -self._tilt(T) * self.b) > 0)

    def extremes(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Metric's smallest and largest value for least <= T <= most."""
        if self.a.all():
            low, high = np.where(self.a > 0, least, most), np.where(self.a > 0, most, least)
            return self.value(low), self.value(high)
        lows, highs = [], []
        for T in (least, most):  # where a = 0, the worse of both, which depends on the sign
            lows.append(self.value(np.where(self.a > 0, least, np.where(self.a < 0, most, T))))
            highs.append(self.value(np.where(self.a > 0, most, np.where(self.a < 0, least, T))))
        return np.asarray(np.minimum(*lows)), np.asarray(np.maximum(*highs))

    def plane(self, m: Floats, T: Floats) -> tuple[Floats, Floats]:
        """C = a - m b and c0 = a0 - m b0: the metric is at least m where c0 + c.T >= 0.

        Where D is not linear, to first order about T: where a.T - (m - shift) D >= 0.
        """
        if self.both is None:
            return np.asarray(self.a - m[..., None] * self.b), np.asarray(self.a0 - m * self.b0)
        D, first, _ = self.both.at(self._base(T))
        over = m - self.both.shift
        c = self.a - (over * first)[..., None] * self.b
        return np.asarray(c), np.asarray(self.numerator(T) - over * D - (c * T).sum(axis=-1))

    def level(self, T: Floats) -> Floats:
        """Recall whose slopes are in proportion to the metric's at T, from 0 to 1.

        For a metric of both classes. If a positive predicted yes raises it by g, and one predicted
        no lowers it by l, a recall of l / (g + l) changes in the same proportion.
        """
        least, range_ = self._slants
        return np.asarray((self._tilt(T)[..., 0] - least) / range_)

    def slopes_at(self, level: Floats) -> Floats:
        """Slopes, up to a factor, of a metric of both classes at a level, (..., H)."""
        least, range_ = self._slants
        return np.asarray((self.a - least * self.b) / range_ - level[..., None] * self.b)

    def slope_of_variance(self, T: Floats, variance: Floats) -> Floats:
        """Slope -2 g_k sum_h (g_h b_h variance_h) / (D V) - 2 b_k / D, for D = P.

        In general, with S the sum and metric = shift + A / D, that is
        -2 (D' g_k S / V + D' b_k + (A/D) D'' b_k S / V) / D.
        """
        D, g = self.denominator(T)[..., None], self.gradient(T)
        D = np.where(D > 0, D, 1.0)
        V = (g * g * variance).sum(axis=-1, keepdims=True)
        shared = (g * self.b * variance).sum(axis=-1, keepdims=True)
        per = shared / np.where(V > 0, V, 1.0)
        if self.both is None:
            return np.asarray(-2 * (g * per + self.b) / D)
        return np.asarray(-2 * (self.turned(T, per, g) + self.denominator_slopes(T)) / D)

    def turned(self, T: Floats, per: Floats, g: Floats) -> Floats:
        """D' g_k per + (A/D) D'' b_k per, shape (..., H); g per where D is linear.

        `T`: (..., H); `per`: (..., 1); `g`, (..., H): the metric's gradient.
        """
        if self.both is None:
            return np.asarray(g * per)
        _, first, second = self.both.at(self._base(T))
        bent = (self._share(T) * second)[..., None] * self.b
        return np.asarray((first[..., None] * g + bent) * per)

    @property
    def _slants(self) -> tuple[float, float]:
        """The smaller a / b, that of the no-set, and the excess of the yes-set's over it."""
        slants = self.a[self.b != 0] / self.b[self.b != 0]
        return float(slants.min()), float(np.ptp(slants)) or 1.0

    @cached_property
    def _fixed(self) -> bool:
        """Whether D is a constant above 0, so that it need not be computed."""
        return self.both is None and not self.bends and bool(np.all(np.asarray(self.b0) > 0))

    def _base(self, T: Floats) -> Floats:
        if self._fixed:
            return np.asarray(self.b0 + np.zeros(T.shape[:-1]))
        return np.asarray(self.b0 + (self.b * T).sum(axis=-1))

    def _share(self, T: Floats) -> Floats:
        """Numerator over D; 0 where D is 0."""
        if self._fixed:
            return np.asarray(self.numerator(T) / self.b0)
        top, bottom = self.numerator(T), self.denominator(T)
        return np.asarray(np.where(bottom > 0, top, 0.0) / np.where(bottom > 0, bottom, 1.0))

    def _tilt(self, T: Floats) -> Floats:
        """Value of a unit of P in units of the numerator, (..., 1): the metric, if D is P."""
        share = self._share(T)
        if self.both is not None:
            share = share * self.both.at(self._base(T))[1]
        return np.asarray(share[..., None])


def side_by_side(metrics: Sequence[Ratio]) -> Ratio:
    """Stack metrics over equally many strata of R evaluations into one.

    Results are those of each metric alone; it takes little longer than one. They must agree in
    `bends`, and be of one class.

    >>> N, yes = np.array([10.0, 90.0]), np.array([True, False])
    >>> both = side_by_side([ratio(name, N, yes) for name in ("recall", "f1")])
    >>> both.value(np.array([[8.0, 2.0], [8.0, 2.0]]))
    array([0.8, 0.8])
    """
    a0, b0 = (np.array(each) for each in zip(*((one.a0, one.b0) for one in metrics), strict=True))
    a, b = np.stack([one.a for one in metrics]), np.stack([one.b for one in metrics])
    return Ratio(a0, a, b0, b)


def ratio(
    metric: str,  # a name of `METRICS`
    N: Floats,  # (H,): stratum sizes. For a one-sided metric only that side's strata need be there.
    # (H,): whether a stratum's items are predicted yes. None: strata straddle predicted labels and
    # the outcome is "the prediction was correct"; only accuracy can be computed from those.
    says_yes: Bools | None,
    *,
    # items, yes_items: all items, and those predicted yes; default: those of the strata, which may
    # leave out items that a comparison does not depend on.
    items: float | None = None,
    yes_items: float | None = None,
) -> Ratio:
    """Coefficients of the metric for strata of sizes `N`.

    >>> N, yes = np.array([10.0, 90.0]), np.array([True, False])
    >>> ratio("recall", N, yes).value(np.array([8.0, 2.0]))
    array(0.8)
    """
    name = canonical_metric(metric)
    if says_yes is None:
        if name != "accuracy":
            raise DesignError(
                f"{name} cannot be read off strata that mix predicted labels",
                hint="use the variable 'score', which keeps the strata apart, or metric='accuracy'",
            )
        return Ratio(0.0, np.ones_like(N), float(N.sum()), np.zeros_like(N))
    yes = says_yes.astype(np.float64)
    size = float(N.sum()) if items is None else items
    yes_size = float((N * yes).sum()) if yes_items is None else yes_items
    no_size = size - yes_size
    kind = METRICS[name]
    if kind.power is not None:
        return _over_class_sizes(kind, kind.power, says_yes, yes_size, no_size)
    (a_yes, b_yes), (a_no, b_no) = (kind.slopes(predicted=predicted) for predicted in (True, False))
    (_, fp, _, tn), (_, fp_below, _, tn_below) = kind.top, kind.bottom
    return Ratio(
        fp * yes_size + tn * no_size,
        a_yes * yes + a_no * (1 - yes),
        fp_below * yes_size + tn_below * no_size,
        b_yes * yes + b_no * (1 - yes),
        predicted=says_yes,
    )


def _over_class_sizes(
    kind: Kind, power: float, says_yes: Bools, yes_size: float, no_size: float
) -> Ratio:
    """Coefficients of a metric that is divided by a power of the sizes of both true classes."""
    yes, size = says_yes.astype(np.float64), yes_size + no_size
    shift, half = kind.scale
    scale = half * (yes_size * no_size) ** (power - 1) if yes_size * no_size > 0 else 0.0
    alone = (no_size / size, yes_size / size) if shift else (0.0, 0.0)
    return Ratio(
        0.0,
        scale * (no_size * yes - yes_size * (1 - yes)),
        0.0,
        np.ones_like(yes),
        Classes(size, power, shift, alone),
        says_yes,
    )
