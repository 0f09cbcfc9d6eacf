"""Labels that a goal takes: with the truth known, from the labels so far, and by other strata."""

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from assay.core.metrics import kind_of
from assay.core.special import z_of
from assay.core.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from assay.core.learning import Cost

LITTLE = 0.05  # savings below this share of random sampling's labels


def least_variance(scale: Floats, sd: Floats) -> Floats:
    """Variance, times n, of the best allocation of n labels: (sum scale_h S_h)^2.

    With scale_h = W_h this is paper 2, Eq. 10; for a ratio metric scale_h = |gradient_h| N_h.
    """
    return np.asarray((scale * sd).sum(axis=-1) ** 2)


def labels_needed(variance: Floats, within: float, confidence: float) -> Floats:
    """Labels at which z standard errors are `within`: z^2 variance / within^2.

    `variance` is n times that of the estimate. With `least_variance` of the true rates this is
    paper 1's oracle (section 6): the labels that an experimenter who knew every bin beforehand
    would need.

    >>> round(float(labels_needed(np.array(0.25), within=0.03, confidence=0.95)))
    1067
    """
    return np.asarray(z_of(confidence) ** 2 * variance / within**2)


def labels_at_width(labels: float, half_width: float, within: float, items: float) -> float:
    """Total labels at which a half-width is expected to reach `within`.

    A half-width falls like the standard error of a sample without replacement, whose square is in
    proportion to 1/n - 1/N. Half-way to the goal, four forecasts in five are 0.9 to 1.3 times the
    final number (tests/statistical/test_labels_at_width.py).

    >>> [round(labels_at_width(100, 0.06, 0.03, items=items)) for items in (1e6, 500)]
    [400, 250]
    """
    share = (within / half_width) ** 2
    return 1 / (1 / items + (1 / labels - 1 / items) * share)


def random_variance(metric: str, N: Floats, T: Floats, says_yes: Bools) -> float:
    """Variance of the metric, times n, under simple random sampling.

    The sample is of the items that the metric needs labels of. An item's contribution to the
    metric, to first order, is the metric's slope by its kind (true positive, false positive, ...),
    for a ratio R of sums (top - R bottom) / sum bottom. These have mean zero, and the variance is
    their mean square times the square of the number of items: R (1 - R) for a share of the items.

    `N`, `T`, `says_yes`, (H,): items and positives by predicted label (or any strata within it),
    and that label.
    """
    kind = kind_of(metric)
    needed = np.isin(says_yes, kind.sides)
    count = by_place(N[needed], T[needed], says_yes[needed])
    return float((count * kind.gradient(count) ** 2).sum() * count.sum())


def by_place(N: Floats, T: Floats, says_yes: Bools) -> Floats:
    """Split counts into true and false positives, false and true negatives, (..., 4).

    >>> by_place(np.array([10.0, 90.0]), np.array([8.0, 2.0]), np.array([True, False]))
    array([ 8.,  2.,  2., 88.])
    """
    sides = (says_yes, ~says_yes)
    return np.stack(
        [(count * predicted).sum(axis=-1) for predicted in sides for count in (T, N - T)], axis=-1
    )


def isotonic_rates(count: Floats, outcomes: Floats) -> Floats:
    """Probability of the outcome at each score, assumed to rise with the score.

    The non-decreasing rates nearest to the cells' own (isotonic regression, weighted by their
    items). With these, `least_variance` over the cells is the limit of strata by the score alone:
    infinitely fine ones, with the best allocation.

    >>> isotonic_rates(np.array([10.0, 10.0, 20.0]), np.array([5.0, 3.0, 20.0]))
    array([0.4, 0.4, 1. ])
    """
    from scipy.optimize import isotonic_regression  # takes long to load, and few need it

    return np.asarray(isotonic_regression(outcomes / count, weights=count).x)


# Precision of a stratified estimate in labels of a simple random sample.
#
# References
# ----------
# .. [1] Kish, Survey sampling (1965), section 8.2: the design effect and the effective sample size.
# .. [2] Wilson, Probable inference, JASA 22 (1927).


def labels_per_share(metric: str, value: float, items: float, denominator: float) -> float:
    """Labels of random items for each one that counts for a metric.

    1 for a share of the items. Recall is a share of the positives, which are rare in a random
    sample: items / positives. For F1 it is items (2 - F1) / (predicted + positives). In general it
    is the variance of the linearised values (`random_variance`) over value (1 - value), which is
    items (k (1 - value) + value) / denominator where a hit counts k times. Metrics of both classes
    have no such formula: `labels_per_range` uses the counts.

    One item in fifty is positive:

    >>> labels_per_share("recall", 0.8, items=1000, denominator=20)
    50.0
    """
    kind = kind_of(metric)
    if not kind.bends:
        return 1.0
    k = max(kind.top)
    return items * (k * (1 - value) + value) / denominator


def labels_per_range(metric: str, N: Floats, T: Floats, says_yes: Bools) -> float:
    """Like `random_variance` for a metric of both classes: per label of a share of its range.

    `N`, `T`, `says_yes`: (H,).

    With classes of one size, balanced accuracy is accuracy; one in fifty positive, it is not.

    >>> yes, N = np.array([True, False]), np.array([100.0, 100.0])
    >>> round(labels_per_range("balanced_accuracy", N, np.array([90.0, 10.0]), yes), 6)
    1.0
    >>> N, T = np.array([116.0, 4884.0]), np.array([90.0, 10.0])
    >>> round(labels_per_range("balanced_accuracy", N, T, yes), 1)
    22.6
    """
    kind = kind_of(metric)
    share = (float(kind.value(by_place(N, T, says_yes))) - kind.lowest) / (1 - kind.lowest)
    spread = share * (1 - share)
    if spread <= 0:
        return 1.0
    return random_variance(metric, N, T, says_yes) / (1 - kind.lowest) ** 2 / spread


def effective_labels(
    value: float, standard_error: float, *, per_share: float, items: float
) -> float | None:
    """Size of a simple random sample with the same variance [1]_.

    Without replacement, of so many items: s^2 = per_share value (1 - value) (1/n - 1/items).

    None where the value is 0 or 1, or the standard error is 0: a zero estimated spread does not
    mean that there is none, and only a full census would vary as little.

    >>> round(effective_labels(0.9, 0.01, per_share=1.0, items=1e9))
    900
    >>> effective_labels(0.9, 0.0, per_share=1.0, items=500) is None
    True
    """
    spread = per_share * value * (1 - value)
    if spread <= 0 or standard_error <= 0:
        return None
    return 1 / (standard_error**2 / spread + 1 / items)


def wilson_labels(value: Floats, within: float, confidence: float) -> Floats:
    """Size of a random sample whose Wilson interval has half-width `within`."""
    z2, s, d2 = z_of(confidence) ** 2, value * (1 - value), within**2
    root = np.sqrt(np.maximum(s**2 - 4 * s * d2 + d2, 0.0))
    return np.asarray(z2 * np.maximum(s - 2 * d2 + root, 0.0) / (2 * d2))


def two_digits(labels: float) -> int:
    """Round a number of labels to as many digits as an estimate deserves.

    >>> [two_digits(labels) for labels in (7.2, 335.4, 12_345)]
    [7, 340, 12000]
    """
    step: int = 10 ** max(len(str(round(labels))) - 2, 0)
    return round(labels / step) * step


def labels_at_random(
    value: float, half_width: float, *, confidence: float, per_share: float, items: float
) -> float:
    """Labels at which a simple random sample's interval would be as narrow.

    The interval is Wilson's [2]_, looked at once: the n at which its half-width

        z sqrt(n v (1 - v) + z^2 / 4) / (n + z^2)

    has come down to `half_width`, times `per_share`; with all items labelled there is no
    uncertainty, so n is 1 / (1/n + 1/items) of a finite population.

    >>> round(labels_at_random(0.5, 0.03, confidence=0.95, per_share=1.0, items=1e9))
    1063
    >>> round(labels_at_random(1.0, 0.01, confidence=0.95, per_share=1.0, items=1e9))
    188
    """
    if half_width <= 0:
        return items
    n = per_share * float(wilson_labels(np.array(value), half_width, confidence))
    return 1 / ((1 / n if n > 0 else inf) + 1 / items)


# Savings by other strata: labels that they take, relative to the previous strata.
#
# Both are the labels of the best allocation, in proportion to (sum |gradient_h| N_h S_h)^2 or, of
# several targets, the fewest that serve all (`joint_allocation`), with the rates of judged items.
# An item stands for its share of the stratum that it was drawn from, so the rates of the former
# strata are weighted. Items of each stratum are drawn again with replacement for the interval (the
# bootstrap).
#
# References
# ----------
# .. [1] Brown, Cai and Zhou (2010). Nonparametric regression in exponential families. Annals of
#    Statistics 38.

_TIMES = 400
_QUARTER = 0.25  # E sqrt(x + 1/4) is nearest to the root of a Poisson count's mean [1]_
_ENDS = (2.5, 97.5)


@dataclass(frozen=True, eq=False)
class Placed:
    """Strata, and the stratum of each judged item."""

    # Labels that the strata take, by the rate of the outcome in each and the standard deviation
    # there (`Procedure.fewest`)
    cost: "Cost"
    sizes: Floats  # (H,)
    stratum: Ints  # (n,)

    def least(self, rows: Ints, outcome: Bools, weight: Floats) -> float:
        """Labels of the best allocation, estimated from the items of some rows.

        Rates are weighted by the items' weights, with a quarter of an item of each kind added.

        `rows`, (m,): places among the judged items, possibly repeated; `outcome`, `weight`, (m,):
        whether they have the outcome, and their weights.
        """
        stratum, number = self.stratum[rows], self.sizes.size
        items = np.bincount(stratum, minlength=number)
        whole = np.bincount(stratum, weight, minlength=number)
        hits = np.bincount(stratum, weight * outcome, minlength=number)
        rate = (hits / np.maximum(whole, 1e-300) * items + _QUARTER) / (items + 2 * _QUARTER)
        return self.cost(rate, np.sqrt(rate * (1 - rate)))


def share_of_labels(
    now: Placed, before: Placed, outcome: Bools, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Labels that strata take as a share of others', and the ends of its interval.

    `outcome`: (n,).

    >>> stratum = np.repeat([0, 1], 50)
    >>> outcome = np.arange(100) < 52
    >>> two, one = np.array([900.0, 100.0]), np.array([1000.0])
    >>> share, low, high = share_of_labels(
    ...     Placed(lambda rate, sd: (two @ sd) ** 2, two, stratum),
    ...     Placed(lambda rate, sd: (one @ sd) ** 2, one, np.zeros(100, dtype=int)),
    ...     outcome, np.random.default_rng(0))
    >>> low < share < high < 1
    True
    """
    stratum = now.stratum
    items = np.bincount(stratum, minlength=now.sizes.size)
    weight = now.sizes[stratum] / items[stratum]
    order = np.argsort(stratum, kind="stable")
    first = (np.cumsum(items) - items)[stratum[order]]

    def share(rows: Ints) -> float:
        new, old = (each.least(rows, outcome[rows], weight[rows]) for each in (now, before))
        return new / old if old > 0 else 1.0

    drawn = []
    for _ in range(_TIMES):
        places = (rng.random(order.size) * items[stratum[order]]).astype(np.int64)
        drawn.append(share(order[first + places]))
    low, high = np.percentile(drawn, _ENDS)
    return share(order), float(low), float(high)
