"""Sizes of paper 3's samples, and how estimates from shared labels vary together [1]_.

Section 3.2 of [1]_ gives the size for a precision. The paper names none for section 6, so here
they are chosen kindly to it: by the delta method at the *true* rates, which nobody knows
beforehand, and with what shared labels do to the variance.

- Classifier k gets the size of section 3.2 for the tightest `within` of the targets that depend
  on its hits. For precisions that is all.
- The variance of every other target must come down to (within / z)^2. The labels for the false
  omission rate see to that. Where they alone cannot do it, or would be too many, the samples of
  the classifiers in such targets grow in steps of 10%. The cheapest sizes are taken.

References
----------
.. [1] RecycleSamplesForPrecision (``papers/recycle-samples-for-precision.txt``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from assay.core.goal import Goal
from assay.core.recycling.route import Route, Venn
from assay.core.recycling.samples import sample_size
from assay.core.special import z_of
from assay.core.types import Bools, Floats
from assay.errors import DesignError

_GROWTH = 1.1


@dataclass(frozen=True)
class Sizes:
    """The labels of each sample: by classifier, the parent first, and of the parent's no-set."""

    samples: Mapping[str, int]
    omission: int


def plan_sizes(cells: Venn, goal: Goal, route: Route, design: str, *, assume: float) -> Sizes:
    """Return the sizes of a design's samples.

    >>> from assay.core.targets import parse_targets
    >>> sizes, positives = np.array([12e3, 2e3, 2e3, 4e3]), np.array([60.0, 540.0, 540.0, 3900.0])
    >>> cells = Venn(("new", "old"), np.arange(4), sizes, positives)
    >>> targets = parse_targets(["precision:old", "recall:new"], ["new", "old"], within=0.03)
    >>> goal = Goal(targets=targets)
    >>> route = Route.of(cells, goal, parent="new")
    >>> plan_sizes(cells, goal, route, "independent", assume=0.5)
    Sizes(samples={'new': 1068, 'old': 1068}, omission=1065)
    """
    start = published_sizes(goal, route, assume, recycles=design.startswith("recycle"))
    others = np.array([t.metric != "precision" or t.minus is not None for t in goal.targets])
    grows = route.needs[others, :-1].any(axis=0)
    names = tuple(name for name, n in zip(route.names, start, strict=True) if n)
    best, cheapest, factor = Sizes({}, 0), inf, 1.0
    while True:
        n = np.ceil(np.where(grows, factor * start, start))
        hits = np.zeros((n.size, n.size))
        taken = np.flatnonzero(n)
        hits[np.ix_(taken, taken)] = covariance_of_hits(cells, design, names, n[taken])
        omission = _omission(cells, goal, route, others, hits)
        if n.sum() + omission < cheapest:
            cheapest = n.sum() + omission
            samples = dict(zip(names, n[taken].astype(int).tolist(), strict=True))
            best = Sizes(samples, int(omission))
        elif cheapest < inf:
            return best
        factor *= _GROWTH


def published_sizes(goal: Goal, route: Route, assume: float, *, recycles: bool) -> Floats:
    """Return the sizes of section 3.2, shape (K,); 0 for a classifier that no target needs."""
    widths = np.array([target.within for target in goal.targets], dtype=np.float64)
    needed = route.needs[:, :-1] & (route.yes > 0)
    n = np.zeros(route.yes.size)
    for k in np.flatnonzero(needed.any(axis=0)):
        n[k] = sample_size(widths[needed[:, k]].min(), _delta(goal), assume)
    if recycles and n.any() and not route.yes[0]:
        raise DesignError(
            f"{route.names[0]} says yes to no item, so there is no sample of it to recycle",
            hint="let another classifier be the parent",
        )
    if recycles and n.any() and not n[0]:
        n[0] = n.max()  # nobody asks for the parent itself, but its sample is what is recycled
    return n


def _omission(cells: Venn, goal: Goal, route: Route, which: Bools, hits: Floats) -> float:
    """Return the labels of the parent's no-set that these targets take; inf: none are enough."""
    x = _true_totals(cells, route)
    missed = x[-1] / max(route.no, 1.0)
    spread = route.no**2 * missed * (1 - missed)
    z = z_of(goal.goals[0].confidence)
    most = 0.0
    for t in np.flatnonzero(which):
        slope = route.metrics[t].gradient(x)
        left = (goal.targets[t].within or 0.0) ** 2 / z**2 - slope[:-1] @ hits @ slope[:-1]
        by_misses = slope[-1] ** 2 * spread
        if left <= 0:
            return inf
        if route.needs[t, -1] and route.no:
            most = max(most, 1.0, ceil(by_misses / left))
    return most


def covariance_of_hits(cells: Venn, design: str, names: tuple[str, ...], n: Floats) -> Floats:
    """Return the covariance of the estimated hits of classifiers that share labels, (K, K).

    `names`: the classifiers that are sampled, the parent first; `n`, (K,): their sample sizes.

    With f_k = n_k / |A_k|, an item of both sets is in the samples of i and j with chance
    min(f_i, f_j) in coordinated samples, and, if it is the parent's too, min(f_1, f_i)
    min(f_1, f_j) / f_1 in recycled ones: the parent has it, and neither child is full without it.
    What the paper says of its samples is believed: that they are as good as independent ones.
    ``UniformSample`` is worse, and ``UniformShuffle`` a little better where a child is more precise
    within the parent's set than outside, as it holds both parts in proportion.
    """
    if not names:
        return np.zeros((0, 0))
    yes = cells.yes(names)
    size = yes @ cells.sizes
    p, f = (yes @ cells.positives / size)[:, None], n / size
    hit, miss = yes * (1 - p), yes * p

    def products(weight: Floats) -> Floats:
        """Return the sum over items of (y - p_i)(y - p_j), where both say yes."""
        of_positives = (hit * cells.positives * weight) @ hit.T
        return of_positives + (miss * (cells.sizes - cells.positives) * weight) @ miss.T

    everywhere = products(np.ones(cells.sizes.size))
    shared = np.zeros_like(everywhere)
    if design == "coordinated":
        shared = np.minimum.outer(f, f) * everywhere
    elif design.startswith("recycle"):
        from_parent = np.minimum(f, f[0])
        shared = np.outer(from_parent, from_parent) / f[0] * products(yes[0])
    np.fill_diagonal(shared, f * np.diag(everywhere))
    return np.asarray(shared / np.outer(f, f))


def _true_totals(cells: Venn, route: Route) -> Floats:
    yes = cells.yes(route.names)
    return np.append(yes @ cells.positives, (1 - yes[0]) @ cells.positives)


def _delta(goal: Goal) -> float:
    return 1 - goal.goals[0].confidence
