"""Metrics, each a ratio of two linear forms in the stratum totals.

`METRICS` is the one table. A row says how often a true positive, a false positive, a false negative
and a true negative count in the numerator, and how often in the denominator; all else follows. With
T_h the number of positives in stratum h (T_h = N_h p_h), and no stratum straddling a predicted
label, T_h are true positives and N_h - T_h false positives in the yes-set, false and true negatives
in the no-set, so that

    metric = (a0 + sum_h a_h T_h) / (b0 + sum_h b_h T_h),

for precision, for example, a = 1 in the yes-set, b0 its size, a0 = 0 and b = 0.

For strata that straddle predicted labels (paper 2) the outcome is "the prediction was correct",
T_h counts correct predictions, and accuracy is their sum over N (paper 2, Eqs. 1 and 4).

The difference of two such metrics over the same strata is one again, if their denominators do not
depend on the labels or are the same (`difference`); for others (F1) there is `Gap`. `subtract`
gives whichever it is: the statistics need a `Metric`'s value and slopes only.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assay.core.types import Bools, Floats
from assay.errors import DesignError, did_you_mean


@dataclass(frozen=True)
class Kind:
    """A metric in the table: what counts in it, which way is better, and what it is.

    Parameters
    ----------
    top, bottom : (int, int, int, int)
        How often true positives, false positives, false negatives and true negatives count in the
        numerator and in the denominator. What counts in the numerator counts as often in the
        denominator, and all else that does, once.
    text : str
        The metric in a line.
    better : {1, -1, 0}
        Whether higher is better, lower, or neither.
    """

    top: tuple[int, int, int, int]
    bottom: tuple[int, int, int, int]
    text: str
    better: int = 1

    def counts(self, *, said: bool, positive: bool) -> tuple[int, int]:
        """Return how often an item counts in the numerator, and in the denominator."""
        place = 2 * (not said) + (not positive)
        return self.top[place], self.bottom[place]

    def slopes(self, *, said: bool) -> tuple[int, int]:
        """Return what a positive changes in both, where items are predicted so: a_h and b_h."""
        (top, bottom), (top_no, bottom_no) = (
            self.counts(said=said, positive=positive) for positive in (True, False)
        )
        return top - top_no, bottom - bottom_no

    @property
    def sides(self) -> tuple[bool, ...]:
        """The predicted labels whose items it needs labels for."""
        return tuple(said for said in (True, False) if any(self.slopes(said=said)))

    @property
    def bends(self) -> bool:
        """Whether its denominator depends on the labels."""
        return any(self.slopes(said=said)[1] for said in (True, False))

    @property
    def depends_on(self) -> str:
        """The class of items that a random sample must find for it: nothing if any will do."""
        if not self.bends:
            return ""
        return "positives" if self.bottom[0] else "negatives"

    @property
    def counts_misses(self) -> bool:
        """Whether it depends on how many positives the classifier misses: recall and F1."""
        return self.bends and self.bottom[2] > 0

    @property
    def is_of_classifier(self) -> bool:
        """Whether it depends on what the classifier says."""
        return any(
            self.counts(said=True, positive=positive) != self.counts(said=False, positive=positive)
            for positive in (True, False)
        )

    def is_told_by(self, *, said: bool) -> bool:
        """Tell whether labels say anything of it where every item is predicted so.

        They do not where its numerator is a constant share of its denominator, or there is none.
        """
        (top, bottom), (top_no, bottom_no) = (
            self.counts(said=said, positive=positive) for positive in (True, False)
        )
        return top * bottom_no != top_no * bottom

    def rises(self, *, said: bool) -> bool:
        """Tell whether a positive that is predicted so raises it."""
        a, b = self.slopes(said=said)
        return 2 * a > b  # the slope a - value b, at value 1/2: its sign is the same at any


METRICS: dict[str, Kind] = {
    "precision": Kind(
        (1, 0, 0, 0), (1, 1, 0, 0), "of what the classifier calls yes, the share that is yes"
    ),
    "recall": Kind(
        (1, 0, 0, 0), (1, 0, 1, 0), "of what is yes, the share that the classifier calls yes"
    ),
    "f1": Kind((2, 0, 0, 0), (2, 1, 1, 0), "the harmonic mean of precision and recall"),
    "accuracy": Kind((1, 0, 0, 1), (1, 1, 1, 1), "the share of predictions that are correct"),
    "false_omission_rate": Kind(
        (0, 0, 1, 0), (0, 0, 1, 1), "of what the classifier calls no, the share that is yes", -1
    ),
    "prevalence": Kind(
        (1, 0, 1, 0), (1, 1, 1, 1), "the share that is yes, whatever the classifier says", 0
    ),
    "specificity": Kind(
        (0, 0, 0, 1), (0, 1, 0, 1), "of what is no, the share that the classifier calls no"
    ),
    "false_positive_rate": Kind(
        (0, 1, 0, 0), (0, 1, 0, 1), "of what is no, the share that the classifier calls yes", -1
    ),
    "negative_predictive_value": Kind(
        (0, 0, 0, 1), (0, 0, 1, 1), "of what the classifier calls no, the share that is no"
    ),
}


def canonical_metric(name: str) -> str:
    """Return the metric's one spelling, or raise.

    Examples
    --------
    >>> canonical_metric("False omission rate"), canonical_metric("F1")
    ('false_omission_rate', 'f1')
    """
    known = str(name).strip().lower().replace(" ", "_").replace("-", "_")
    if known not in METRICS:
        raise DesignError(
            f"unknown metric {name!r}",
            details=f"metrics: {', '.join(METRICS)}",
            hint=did_you_mean(known, METRICS),
        )
    return known


def sides(metric: str) -> tuple[bool, ...]:
    """Return the predicted labels whose items the metric needs labels for.

    Examples
    --------
    >>> sides("precision"), sides("recall")
    ((True,), (True, False))
    """
    return METRICS[canonical_metric(metric)].sides


class Metric(Protocol):
    """What the statistics ask of a metric, at stratum totals T of shape (..., H)."""

    @property
    def bends(self) -> bool:
        """Whether what a stratum weighs depends on the totals."""

    @property
    def counts(self) -> Bools:
        """The strata that it depends on, (H,)."""

    def over(self, which: Bools) -> "Metric":
        """Return the metric over some of the strata, if it depends on no others."""

    def denominator(self, T: Floats) -> Floats:
        """Return what is above 0 where the metric is defined."""

    def value(self, T: Floats) -> Floats:
        """Return the metric; 0 where it is not defined."""

    def gradient(self, T: Floats) -> Floats:
        """Return d metric / d T_h; 0 where the metric is not defined."""

    def weights(self, T: Floats) -> Floats:
        """Return the size of the gradient, up to a common factor."""

    def rises(self, T: Floats) -> Bools:
        """Where more outcomes raise the metric; elsewhere they lower it."""

    def extremes(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the metric when least <= T <= most."""

    def plane(self, m: Floats, T: Floats) -> tuple[Floats, Floats]:
        """Return c, (..., H), and c0, (...): the metric is at least m where c0 + c.T >= 0.

        Exactly so for a ratio; for others to first order about the totals `T`.
        """

    def slope_of_variance(self, T: Floats, variance: Floats) -> Floats:
        """Return d ln V / d T_k, with V = sum_h g_h^2 variance_h, through the gradient g alone."""


@dataclass(frozen=True, eq=False)
class Ratio:
    """A metric: (a0 + a.T) / (b0 + b.T) for stratum totals T of shape (..., H)."""

    a0: float
    a: Floats
    b0: float
    b: Floats

    @property
    def bends(self) -> bool:
        """Whether its denominator depends on the totals."""
        return bool(self.b.any())

    @property
    def counts(self) -> Bools:
        """The strata that it depends on, (H,)."""
        return np.asarray((self.a != 0) | (self.b != 0))

    def over(self, which: Bools) -> "Ratio":
        """Return the metric over some of the strata, if it depends on no others."""
        return Ratio(self.a0, self.a[which], self.b0, self.b[which])

    def denominator(self, T: Floats) -> Floats:
        """Return b0 + b.T; where it is zero the metric is not defined."""
        return np.asarray(self.b0 + (self.b * T).sum(axis=-1))

    def value(self, T: Floats) -> Floats:
        """Return the metric; 0 where it is not defined, as scikit-learn does."""
        top = self.a0 + (self.a * T).sum(axis=-1)
        bottom = self.denominator(T)
        return np.asarray(np.where(bottom > 0, top, 0.0) / np.where(bottom > 0, bottom, 1.0))

    def gradient(self, T: Floats) -> Floats:
        """Return d metric / d T_h = (a_h - metric * b_h) / (b0 + b.T); 0 where not defined."""
        bottom = self.denominator(T)[..., None]
        slope = self.a - self.value(T)[..., None] * self.b
        return np.asarray(np.where(bottom > 0, slope, 0.0) / np.where(bottom > 0, bottom, 1.0))

    def weights(self, T: Floats) -> Floats:
        """Return |a_h - metric * b_h|: no denominator, so that it is there without positives."""
        return np.abs(self.a - self.value(T)[..., None] * self.b)

    def rises(self, T: Floats) -> Bools:
        """Where more outcomes raise the metric; elsewhere they lower it, (..., H).

        Each metric of the table rises or falls in each T_h throughout: more positives called yes
        never lower recall, more called no never raise it. The latter bring it nearer to 0, which is
        up where the difference of two recalls is below 0.
        """
        return np.asarray(np.where(self.a != 0, self.a, -self.value(T)[..., None] * self.b) > 0)

    def extremes(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Return the metric's smallest and largest value when least <= T <= most."""
        lows, highs = [], []
        for T in (least, most):  # where a = 0, whichever is the worse: that depends on the sign
            lows.append(self.value(np.where(self.a > 0, least, np.where(self.a < 0, most, T))))
            highs.append(self.value(np.where(self.a > 0, most, np.where(self.a < 0, least, T))))
        return np.asarray(np.minimum(*lows)), np.asarray(np.maximum(*highs))

    def plane(self, m: Floats, T: Floats) -> tuple[Floats, Floats]:
        """Return c = a - m b and c0 = a0 - m b0: the metric is at least m where c0 + c.T >= 0."""
        del T  # a ratio's plane is the same everywhere
        return np.asarray(self.a - m[..., None] * self.b), np.asarray(self.a0 - m * self.b0)

    def slope_of_variance(self, T: Floats, variance: Floats) -> Floats:
        """Return -2 g_k sum_h (g_h b_h variance_h) / (D V) - 2 b_k / D, D the denominator."""
        D, g = self.denominator(T)[..., None], self.gradient(T)
        D = np.where(D > 0, D, 1.0)
        V = (g * g * variance).sum(axis=-1, keepdims=True)
        shared = (g * self.b * variance).sum(axis=-1, keepdims=True)
        return np.asarray(-2 * (g * shared / np.where(V > 0, V, 1.0) + self.b) / D)


@dataclass(frozen=True, eq=False)
class Gap:
    """The difference of two metrics over the same strata, whatever their denominators.

    Examples
    --------
    Both say yes to the first stratum, each alone to one of the others; the F1s are 0.84 and 0.8.

    >>> N = np.array([80.0, 20.0, 20.0])
    >>> first = ratio("f1", N, np.array([True, True, False]))
    >>> second = ratio("f1", N, np.array([True, False, True]))
    >>> Gap(first, second).value(np.array([76.0, 15.0, 10.0])).round(3)
    np.float64(0.05)
    """

    first: Ratio
    second: Ratio

    @property
    def bends(self) -> bool:
        """Whether either denominator depends on the totals."""
        return self.first.bends or self.second.bends

    @property
    def counts(self) -> Bools:
        """The strata that either depends on, (H,)."""
        return self.first.counts | self.second.counts

    def over(self, which: Bools) -> "Gap":
        """Return the difference over some of the strata, if it depends on no others."""
        return Gap(self.first.over(which), self.second.over(which))

    def denominator(self, T: Floats) -> Floats:
        """Return the smaller denominator."""
        return np.minimum(self.first.denominator(T), self.second.denominator(T))

    def value(self, T: Floats) -> Floats:
        """Return the first metric less the second."""
        return np.asarray(self.first.value(T) - self.second.value(T))

    def gradient(self, T: Floats) -> Floats:
        """Return the first gradient less the second."""
        return np.asarray(self.first.gradient(T) - self.second.gradient(T))

    def weights(self, T: Floats) -> Floats:
        """Return the size of the gradient."""
        return np.abs(self.gradient(T))

    def rises(self, T: Floats) -> Bools:
        """Where more outcomes raise the difference; elsewhere they lower it."""
        return np.asarray(self.gradient(T) > 0)

    def extremes(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the difference when least <= T <= most: each metric at its worst."""
        (low, high), (less, more) = (
            each.extremes(least, most) for each in (self.first, self.second)
        )
        return np.asarray(low - more), np.asarray(high - less)

    def plane(self, m: Floats, T: Floats) -> tuple[Floats, Floats]:
        """Return c and c0: to first order about T, it is at least m where c0 + c.T >= 0.

        With numerators A and B and denominators C and D, that is where A D - B C - m C D >= 0.
        """
        one, other = self.first, self.second
        A, B = (each.a0 + (each.a * T).sum(axis=-1, keepdims=True) for each in (one, other))
        C, D = (each.denominator(T)[..., None] for each in (one, other))
        at = m[..., None]
        c = one.a * D + A * other.b - other.a * C - B * one.b - at * (one.b * D + C * other.b)
        here = (A * D - B * C - at * C * D)[..., 0]
        return np.asarray(c), np.asarray(here - (c * T).sum(axis=-1))

    def slope_of_variance(self, T: Floats, variance: Floats) -> Floats:
        """Return the sum over both metrics' denominators, to first order."""
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
            total = total - 2 * sign * (own * shared + each.b * mixed) / (d * V)
        return np.asarray(total)


def ratio(
    metric: str,
    N: Floats,
    says_yes: Bools | None,
    *,
    items: float | None = None,
    yes_items: float | None = None,
) -> Ratio:
    """Return the metric's coefficients for strata of sizes `N`.

    Parameters
    ----------
    metric : str
        A name of `METRICS`.
    N : array, shape (H,)
        Stratum sizes. For a one-sided metric only that side's strata need be there.
    says_yes : array of bool, shape (H,), or None
        Whether the classifier says yes to the stratum's items. None: strata straddle predicted
        labels and the outcome is "the prediction was correct"; only accuracy can be read off those.
    items, yes_items : float, optional
        All items, and those that the classifier says yes to; otherwise those of the strata, which
        may leave out what a comparison does not depend on.

    Examples
    --------
    >>> N, yes = np.array([10.0, 90.0]), np.array([True, False])
    >>> ratio("recall", N, yes).value(np.array([8.0, 2.0]))
    array(0.8)
    """
    name = canonical_metric(metric)
    if says_yes is None:
        if name != "accuracy":
            raise DesignError(
                f"{name} cannot be read off strata that mix predicted labels",
                hint="use variable='score', which keeps the strata apart, or metric='accuracy'",
            )
        return Ratio(0.0, np.ones_like(N), float(N.sum()), np.zeros_like(N))
    yes = says_yes.astype(np.float64)
    size = float(N.sum()) if items is None else items
    yes_size = float((N * yes).sum()) if yes_items is None else yes_items
    no_size = size - yes_size
    kind = METRICS[name]
    (a_yes, b_yes), (a_no, b_no) = (kind.slopes(said=said) for said in (True, False))
    (_, fp, _, tn), (_, fp_below, _, tn_below) = kind.top, kind.bottom
    return Ratio(
        fp * yes_size + tn * no_size,
        a_yes * yes + a_no * (1 - yes),
        fp_below * yes_size + tn_below * no_size,
        b_yes * yes + b_no * (1 - yes),
    )


def subtract(first: Ratio, second: Ratio) -> Metric:
    """Return `first` - `second` as a `difference` where that is one, and else as a `Gap`."""
    # Two denominators that depend on the labels, and are not the same: the F1s of two classifiers.
    apart = first.bends and (first.b0 != second.b0 or not np.array_equal(first.b, second.b))
    return Gap(first, second) if apart else difference(first, second)


def difference(first: Ratio, second: Ratio) -> Ratio:
    """Return `first` - `second`, metrics of two classifiers over the same strata, as one metric.

    Only strata in which the two differ have a weight: for accuracy those where one classifier says
    yes and the other no. Its values lie between -1 and 1.

    Parameters
    ----------
    first, second : Ratio
        Over strata that straddle neither classifier's predicted labels. Either both denominators
        are known (precision, accuracy, false omission rate) or they are the same (recall).

    Examples
    --------
    Both say yes to the first stratum, each alone to one of the others.

    >>> N = np.array([80.0, 20.0, 20.0])
    >>> first = ratio("precision", N, np.array([True, True, False]))
    >>> second = ratio("precision", N, np.array([True, False, True]))
    >>> both = difference(first, second)
    >>> both.a, both.value(np.array([76.0, 15.0, 10.0])).round(3)
    (array([ 0.  ,  0.01, -0.01]), np.float64(0.05))
    """
    if first.a.shape != second.a.shape:
        raise DesignError(
            f"metrics over {first.a.size} and {second.a.size} strata have no difference",
            details="both must be over the same strata",
        )
    one, other = _over_1(first), _over_1(second)
    if one.b0 != other.b0 or not np.array_equal(one.b, other.b):
        raise DesignError(
            "two denominators that depend on the labels, and are not the same",
            details="a difference needs known denominators (precision, accuracy, false omission "
            "rate) or a common one (recall)",
            hint="Gap(first, second) is the difference whatever the denominators",
        )
    both = Ratio(one.a0 - other.a0, one.a - other.a, one.b0, one.b)
    if not both.a.any():
        raise DesignError(
            f"no label tells the two metrics apart: their difference is {both.a0:g}",
            details="the classifiers say the same in every stratum that counts",
        )
    return both


def _over_1(metric: Ratio) -> Ratio:
    """Return the same metric with denominator 1, where the denominator is known."""
    if metric.b.any():
        return metric
    if metric.b0 <= 0:
        raise DesignError("a metric over no items has no value, and no difference to another")
    return Ratio(metric.a0 / metric.b0, metric.a / metric.b0, 1.0, metric.b)
