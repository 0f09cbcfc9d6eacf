"""Limits: labels without which no honest interval of a metric is within a half-width.

The design limit treats every rate as known. If errors are rare, an honest interval costs more:
labels must also show that the clean mass is clean.
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
    """Minimum number of labels for a half-width. `labels`: the larger of the two."""

    design: float  # by the best allocation, with every rate known, and the normal approximation
    clean: float  # to show that the clean mass is clean (`clean_floor`)

    @property
    def labels(self) -> float:
        """The larger of the two limits."""
        return max(self.design, self.clean)


def honest_limit(
    metric: Metric, N: Floats, rate: Floats, *, within: float, confidence: float
) -> LabelLimit:
    """Minimum number of labels for a metric, by the cells that a design can distinguish.

    `N`, `rate`, (H,): their items, and the true share of outcomes in each.

    Half of the items are pure, and one in a hundred of the others is an error:

    >>> from assay.core.forms import ratio
    >>> N = np.array([1e6, 1e6])
    >>> precision = ratio("precision", N, np.array([True, True]))
    >>> limit = honest_limit(precision, N, np.array([1.0, 0.99]), within=0.01, confidence=0.95)
    >>> round(limit.design), round(limit.clean)
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
    """Labels needed to show that the clean mass of a metric is clean."""
    T, known, rare = N * rate, -log((1 - confidence) / 2), np.minimum(rate, 1 - rate)
    value, (lowest, highest) = metric.value(T), metric.extremes(0 * N, N)
    roots = items = 0.0
    for side in (-1, 1):
        end = np.asarray(value + side * 2 * within)
        if not lowest < end < highest:
            continue  # the metric cannot be that far away
        c, c0 = metric.plane(end, T)
        moves = side * np.where(rate < 0.5, c, -c)  # by an unobserved outcome
        weight = np.maximum(moves, 0.0) * N / np.abs(c0 + (c * T).sum())
        taken = _clean(weight * rare, rare, log(2) / known) * (weight > 0)
        roots += sqrt(known * float((weight * taken).sum()))
        items += float((N * taken).sum())
    return 1 / (1 / roots**2 + 1 / items) if roots > 0 else 0.0


def _clean(load: Floats, rare: Floats, most: float) -> Floats:
    """Share of each cell that is taken, the cleanest first, until loads add up."""
    order = np.argsort(rare)
    before = np.cumsum(load[order]) - load[order]
    taken = np.ones_like(load)
    some = np.maximum(load[order], 1e-300)
    taken[order] = np.where(load[order] > 0, np.clip((most - before) / some, 0.0, 1.0), 1.0)
    return taken
