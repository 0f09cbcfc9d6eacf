"""Limits: labels without which no honest interval of a metric is within a half-width.

The design limit takes every rate as known. Where errors are rare, an honest interval costs more:
somebody has to see that the clean mass is clean.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from assay.core.forecast import least_variance
from assay.core.forms import Metric
from assay.core.special import z_of
from assay.core.types import Floats


@dataclass(frozen=True)
class LabelLimit:
    """Labels that a half-width takes at least.

    `labels`: the larger of the two.
    """

    design: float  # by the best allocation, with every rate known, and the normal approximation
    clean: float  # to see that the clean mass is clean (`clean_floor`)

    @property
    def labels(self) -> float:
        """The larger of the two: what labels are compared with."""
        return max(self.design, self.clean)


def honest_limit(
    metric: Metric, N: Floats, rate: Floats, *, within: float, confidence: float
) -> LabelLimit:
    """Return the labels that a metric takes at least, by the cells that a design can tell apart.

    `N`, `rate`, (H,): their items, and the true share of outcomes in each.

    Half of the items are pure, and one in a hundred of the others is an error:

    >>> from assay.core.forms import ratio
    >>> N = np.array([1e6, 1e6])
    >>> precision = ratio("precision", N, np.array([True, True]))
    >>> found = honest_limit(precision, N, np.array([1.0, 0.99]), within=0.01, confidence=0.95)
    >>> round(found.design), round(found.clean)
    (95, 162)
    """
    scale, spread = np.abs(metric.gradient(N * rate)) * N, rate * (1 - rate)
    alone = (scale**2 * spread / N).sum()  # for a finite population
    reach = (within / z_of(confidence)) ** 2 + alone
    design = float(least_variance(scale, np.sqrt(spread)) / reach)
    return LabelLimit(design, clean_floor(metric, N, rate, within=within, confidence=confidence))


def clean_floor(
    metric: Metric, N: Floats, rate: Floats, *, within: float, confidence: float
) -> float:
    """Return the labels that it takes to see that the clean mass of a metric is clean.

    The metric is at least m where c0 + c.T >= 0, c = a - m b (`Ratio.plane`). With no find in n_h
    labels of each clean cell, its unseen outcomes may have any rates e with sum n_h e_h <= k,
    k = -ln((1 - confidence) / 2), 3.7 at 95%: exp(-k) is the chance of finding none. They bring the
    metric v down to m = v - 2 within, twice the half-width as the other end stays at v, if sum
    |c_h| N_h e_h reaches c0 + c.T. With W_h = |c_h| N_h / (c0 + c.T) that is k max(W_h / n_h) < 1,
    and the fewest labels are n_h = k W_h: k W in all. For precision and accuracy W is the clean
    share of the items over 2 within; for recall, N_0 (v - 2 within) over 2 within times the
    positives, with N_0 the items called no; for F1, c is v - 2 within there, and 2 less that among
    items called yes. Outcomes that raise the metric do the same to the upper end; the best split of
    the width among both is k (sqrt(W) + sqrt(W'))^2. A finite mass of N items takes
    1 / (1/n + 1/N).

    A mass is clean where so many labels find nothing in half of all evaluations: of the cells with
    the rarest outcomes, as many as have k sum W_h e_h <= ln 2.
    """
    T, known, rare = N * rate, -log((1 - confidence) / 2), np.minimum(rate, 1 - rate)
    value, (lowest, highest) = metric.value(T), metric.extremes(0 * N, N)
    roots = items = 0.0
    for side in (-1, 1):
        end = np.asarray(value + side * 2 * within)
        if not lowest < end < highest:
            continue  # the metric cannot be so far away
        c, c0 = metric.plane(end, T)
        moves = side * np.where(rate < 0.5, c, -c)  # by an outcome that nobody has seen
        weight = np.maximum(moves, 0.0) * N / np.abs(c0 + (c * T).sum())
        taken = _clean(weight * rare, rare, log(2) / known) * (weight > 0)
        roots += sqrt(known * float((weight * taken).sum()))
        items += float((N * taken).sum())
    return 1 / (1 / roots**2 + 1 / items) if roots > 0 else 0.0


def _clean(load: Floats, rare: Floats, most: float) -> Floats:
    """Return the share of each cell that is taken, the cleanest first, until loads add up."""
    order = np.argsort(rare)
    before = np.cumsum(load[order]) - load[order]
    taken = np.ones_like(load)
    some = np.maximum(load[order], 1e-300)
    taken[order] = np.where(load[order] > 0, np.clip((most - before) / some, 0.0, 1.0), 1.0)
    return taken
