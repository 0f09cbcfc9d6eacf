"""Number of judgements and labels if a judge costs money.

A judge (another model, a cheap opinion) gives a verdict on each item that it is asked about. If the
correlation of verdict and outcome is rho, verdicts explain a share rho^2 of the outcome's variance,
and labels must resolve the rest. There are two ways to use verdicts on a part of the items.

* `double_sampling`: the part is all that labels are drawn from. It is itself a random sample, so
  the answer for all items varies with the part, too.
* `judged_strata`: labels are drawn from all items; those that were judged are in strata of their
  own. The part must then be a large share of all items to be of use.

References
----------
.. [1] Cochran, Sampling techniques (3rd ed., 1977), chapter 12: double sampling; sections 12.2
   and 12.3 with strata, 12.6 and 12.7 with regression on the first sample, and their costs.
.. [2] Neyman, Contribution to the theory of sampling human populations, JASA 33 (1938).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from assay.core.forecast import by_place
from assay.core.forms import Ratio
from assay.core.metrics import METRICS
from assay.core.special import z_of
from assay.core.tallies import Tallies, plain_totals
from assay.core.types import Floats


@dataclass(frozen=True)
class Effort:
    """Judgements and labels that reach a variance; real numbers, not rounded."""

    judgements: float
    labels: float

    def cost(self, judge_cost: float, label_cost: float) -> float:
        """Total cost of judgements and labels."""
        return judge_cost * self.judgements + label_cost * self.labels


@dataclass(frozen=True)
class Question:
    """A goal with the labels that it takes without a judge."""

    labels: float  # without a judge, in strata by score: n0
    items: float  # that they are drawn from: N, more than `labels`
    # Labels of a simple random sample, if these are more: the variance of the mean of a random part
    # of the items follows from it.
    at_random: float | None = None
    # Labels from which on the judge is used; before, its value is unknown.
    fewest: float = 0.0

    @property
    def variance(self) -> float:
        """Required variance, in units of the variance of one label in strata by score."""
        return 1 / self.labels - 1 / self.items

    @property
    def spread(self) -> float:
        """Variance of one item drawn at random, in the same units; 1 if strata save nothing."""
        if self.at_random is None or not self.labels < self.at_random < self.items:
            return 1.0
        return self.variance / (1 / self.at_random - 1 / self.items)

    @property
    def least(self) -> float:
        """The fewest labels with a judge."""
        return min(self.fewest, self.labels)


def double_sampling(
    question: Question, rho: float, *, judge_cost: float, label_cost: float
) -> Effort:
    """Cheapest number of items to judge, and of labels to draw from them.

    With n_j items judged, n_h of these labelled, and S^2 the variance in strata by score [1]_::

        V = S^2 [(1 - rho^2) (1/n_h - 1/n_j) + b (1/n_j - 1/N)]

    b S^2 is the variance of the mean of the part: b = 1 where strata by score save nothing, or
    where the part has as much of every score as all items. V is to be S^2 (1/n0 - 1/N). The
    cheapest ratio is::

        n_j / n_h = sqrt(c_h / c_j) sqrt((b - (1 - rho^2)) / (1 - rho^2))

    which for b = 1 is sqrt(c_h / c_j) sqrt(rho^2 / (1 - rho^2)), with n_h = n0 [(1 - rho^2) +
    rho^2 n_h / n_j]. It is at least 1, and n_j at most N.

    >>> sample = double_sampling(Question(500, 1e9), 0.9, judge_cost=0.02, label_cost=1.5)
    >>> round(sample.judgements), round(sample.labels), round(sample.cost(0.02, 1.5))
    (2104, 118, 219)
    """
    rest = 1 - rho**2
    first = question.spread - rest
    wanted = question.variance + question.spread / question.items
    ratio = max(sqrt(label_cost / judge_cost) * sqrt(first / rest), 1.0)
    labels = (rest + first / ratio) / wanted
    judgements = ratio * labels
    if judgements > question.items:
        judgements = question.items
        labels = rest / (wanted - first / judgements)
    if labels < question.least:
        labels = question.least
        judgements = max(first / (wanted - rest / labels), labels)
    return Effort(judgements, labels)


def part_of_variance(question: Question, rho: float, effort: Effort) -> float:
    """Share of the variance that is left if the judged part counts as all items.

    The rest is the variance of the part's own mean, which labels of the part do not reduce.

    >>> question = Question(500, 1e9)
    >>> sample = double_sampling(question, 0.9, judge_cost=0.02, label_cost=1.5)
    >>> round(part_of_variance(question, 0.9, sample), 3)
    0.762
    """
    return (1 - rho**2) * (1 / effort.labels - 1 / effort.judgements) / question.variance


def judged_strata(
    question: Question, rho: float, *, judge_cost: float, label_cost: float
) -> Effort:
    """Cheapest part to judge if labels are drawn from all items.

    A share f of the items is judged, and in strata whose variance is (1 - rho^2) S^2; that of the
    others is S^2. With the best shares of labels [2]_, and k = 1 - sqrt(1 - rho^2)::

        V = S^2 [(1 - f k)^2 / n_h - (1 - f rho^2) / N]

    A quadratic over a linear function of f: convex, so that the cheapest f is the only minimum.
    """

    def effort(share: float) -> Effort:
        return Effort(share * question.items, labels_with(question, rho, share))

    def cost(share: float) -> float:
        return effort(share).cost(judge_cost, label_cost)

    return effort(_smallest(cost))


def labels_with(question: Question, rho: float, share: float) -> float:
    """Labels of a campaign on all items, of which a share is judged."""
    if share == 0:
        return question.labels
    left = 1 - share * (1 - sqrt(1 - rho**2))
    needed = left**2 / (question.variance + (1 - share * rho**2) / question.items)
    return max(needed, question.least)


def _smallest(function: Callable[[float], float]) -> float:
    """Minimiser of a convex function on [0, 1]."""
    from scipy.optimize import minimize_scalar  # takes long to load, and few need it

    inside = float(minimize_scalar(function, bounds=(0.0, 1.0), method="bounded").x)
    return min(0.0, 1.0, inside, key=function)


# First phase: items that are themselves a random sample of more items.
#
# A judge that costs money is asked about a random part of the items, and the campaign is of that
# part alone. Its labels estimate the metric of the part. For all items, the part's own metric
# varies, too, like the mean of a simple random sample, and an interval must include both [1]_::
#
#     V = V(labels within the part) + (1 - n/N) S^2 / n
#
# with n of N items in the part, and S^2 the variance of an item's contribution to the metric, to
# first order (`core.forecast.random_variance`); v (1 - v) for a share.
#
# The two errors are independent. Each end of the part's interval goes outwards to the root of the
# sum of squares, as for a difference of two samples [2]_. S^2 is computed at the estimated rates,
# and again with all rates moved by the distance of the end. The larger counts, so that a part
# without an observed error does not count as one without variance.
#
# References
# ----------
# .. [1] Cochran, Sampling techniques (3rd ed., 1977), section 12.2.
# .. [2] Zou and Donner, Construction of confidence limits about effect measures, Statistics in
#    Medicine 27 (2008).


def part_variance(name: str, metric: Ratio, N: Floats, T: Floats, share: float) -> Floats:
    """Variance of the metric of a random part of all items, shape (...).

    `N`, `T`, (..., H): the part's items that the metric is about, and the outcomes in each stratum.

    Of 10,000 items 1,000 were drawn, and 900 are right: 0.9 * 0.1 * (1/1000 - 1/10000).

    >>> from assay.core.forms import ratio
    >>> N, T = np.array([600.0, 400.0]), np.array([560.0, 340.0])
    >>> both = ratio("precision", N, np.array([True, True]))
    >>> float(part_variance("precision", both, N, T, 0.1)).__round__(9)
    8.1081e-05
    """
    predicted = (
        np.ones(N.shape[-1], dtype=np.bool_) if metric.predicted is None else metric.predicted
    )
    count = by_place(N, T, predicted)
    items = count.sum(axis=-1)
    mean_square = (count * METRICS[name].gradient(count) ** 2).sum(axis=-1)
    return np.asarray((1 - share) * mean_square * items / np.maximum(items - 1, 1.0))


def of_all_items(
    name: str,
    metric: Ratio,
    tallies: Tallies,  # the part's
    *,
    ends: tuple[Floats, Floats, Floats],  # the part's, each of shape (...)
    share: float,
    confidence: float,
) -> tuple[Floats, Floats]:
    """Interval for all items, from that of a random part of them."""
    low, value, high = ends
    z, N = z_of(confidence), tallies.N
    T = plain_totals(N, tallies.n, tallies.x)
    way = np.where(metric.rises(T), 1.0, -1.0)
    moved_by_all = (np.abs(metric.gradient(T)) * N).sum(axis=-1)
    here = part_variance(name, metric, N, T, share)
    lowest, highest = metric.extremes(0 * N, N)
    bounds = []
    for end, sign in ((low, -1.0), (high, 1.0)):
        off = np.abs(end - value)
        by = off / np.where(moved_by_all > 0, moved_by_all, 1.0)
        there = np.clip(T / N + sign * way * by[..., None], 0.0, 1.0) * N
        most = np.maximum(here, part_variance(name, metric, N, there, share))
        bounds.append(value + sign * np.sqrt(off**2 + z**2 * most))
    return np.maximum(bounds[0], lowest), np.minimum(bounds[1], highest)
