"""Paper 3's designs for several classifiers, drawn item by item: samples of a fixed size [1]_.

- ``independent``: a random sample of each classifier's yes-set, with replacement, for itself.
- ``recycle-sample``, ``recycle-shuffle``: one of the parent's yes-set, used again for every other
  classifier (Algorithm 1 with ``UniformSample`` or ``UniformShuffle``).
- ``coordinated``: the first cards of one deck, restricted to each yes-set; without replacement.

Metrics other than precision need a random sample of the parent's no-set besides (`route`).

References
----------
.. [1] RecycleSamplesForPrecision (``papers/recycle-samples-for-precision.txt``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from zlib import crc32

import numpy as np
from scipy.special import ndtri

from assay.core.goal import Goal
from assay.core.types import Bools, Floats, Ints
from assay.errors import DesignError
from assay.simulation.population import Population
from assay.simulation.recycling.route import Route
from assay.simulation.recycling.samples import (
    Option,
    Overlap,
    coordinated_sample,
    overlap,
    recycle,
    sample_size,
    uniform_sample,
)
from assay.simulation.runs import Runs

# Sample sizes of paper 3's designs for several targets.
#
# Section 3.2 of [1]_ gives the size for a precision. The paper names none for section 6, so here
# they are chosen kindly to it: by the delta method at the *true* rates, which nobody knows
# beforehand, and with what shared labels do to the variance.
#
# - Classifier k gets the size of section 3.2 for the tightest `within` of the targets that depend
#   on its hits. For precisions that is all.
# - The variance of every other target must come down to (within / z)^2. The labels for the false
#   omission rate see to that. Where they alone cannot do it, or would be too many, the samples of
#   the classifiers in such targets grow in steps of 10%. The cheapest sizes are taken.


_GROWTH = 1.1


@dataclass(frozen=True)
class Sizes:
    """The labels of each sample: by classifier, the parent first, and of the parent's no-set."""

    samples: Mapping[str, int]
    omission: int


def plan_sizes(
    population: Population, goal: Goal, route: Route, design: str, *, assume: float
) -> Sizes:
    """Return the sizes of a design's samples.

    >>> from assay.core.targets import parse_targets
    >>> rng = np.random.default_rng(1)
    >>> y_true = rng.random(20_000) < 0.3
    >>> said = {name: y_true ^ (rng.random(20_000) < 0.1) for name in ("new", "old")}
    >>> population = Population(y_true=y_true, y_pred=said)
    >>> targets = parse_targets(["precision:old", "recall:new"], ["new", "old"], within=0.03)
    >>> goal = Goal(targets=targets)
    >>> route = Route.of(population, goal, parent="new")
    >>> plan_sizes(population, goal, route, "independent", assume=0.5)
    Sizes(samples={'new': 1068, 'old': 1068}, omission=694)
    """
    start = _published(goal, route, assume, recycles=design.startswith("recycle"))
    others = np.array([t.metric != "precision" or t.minus is not None for t in goal.targets])
    grows = route.needs[others, :-1].any(axis=0)
    names = tuple(name for name, n in zip(route.names, start, strict=True) if n)
    best, cheapest, factor = Sizes({}, 0), inf, 1.0
    while True:
        n = np.ceil(np.where(grows, factor * start, start))
        hits = np.zeros((n.size, n.size))
        taken = np.flatnonzero(n)
        hits[np.ix_(taken, taken)] = covariance_of_hits(population, design, names, n[taken])
        omission = _omission(population, goal, route, others, hits)
        if n.sum() + omission < cheapest:
            cheapest = n.sum() + omission
            samples = dict(zip(names, n[taken].astype(int).tolist(), strict=True))
            best = Sizes(samples, int(omission))
        elif cheapest < inf:
            return best
        factor *= _GROWTH


def _published(goal: Goal, route: Route, assume: float, *, recycles: bool) -> Floats:
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


def _omission(
    population: Population, goal: Goal, route: Route, which: Bools, hits: Floats
) -> float:
    """Return the labels of the parent's no-set that these targets take; inf: none are enough."""
    x = _true_totals(population, route)
    missed = x[-1] / max(route.no, 1.0)
    spread = route.no**2 * missed * (1 - missed)
    z = -ndtri(_delta(goal) / 2)
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


def covariance_of_hits(
    population: Population, design: str, names: tuple[str, ...], n: Floats
) -> Floats:
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
    cells, yes = population.by_cell, population.yes_cells(names)
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


def _true_totals(population: Population, route: Route) -> Floats:
    cells = population.by_cell
    yes = population.yes_cells(route.names)
    return np.append(yes @ cells.positives, (1 - yes[0]) @ cells.positives)


def _delta(goal: Goal) -> float:
    return 1 - goal.goals[0].confidence


FIXED = ("independent", "recycle-sample", "recycle-shuffle", "coordinated")

_OPTIONS: dict[str, Option] = {
    "recycle-sample": "UniformSample",
    "recycle-shuffle": "UniformShuffle",
}
_WORD = 2**64


class SharedSamples:
    """A design, ready to be drawn many times.

    `design`: one of `FIXED`.

    >>> from assay.core.goal import Goal
    >>> from assay.core.targets import Target
    >>> y_true, said = [1, 1, 0, 0], {"new": [1, 1, 1, 0], "old": [1, 0, 1, 0]}
    >>> population = Population(y_true=y_true, y_pred=said)
    >>> goal = Goal(targets=(Target("precision", "new"), Target("precision", "old")), budget=1)
    >>> route, sizes = Route.of(population, goal, "new"), Sizes({"new": 3, "old": 1}, 0)
    >>> design = SharedSamples(population, route, "coordinated", sizes)
    >>> runs = design.replay(2, key=[1])
    >>> runs.labels, runs.counted.tolist(), runs.value[:, 0]
    (array([3, 3]), [[3.0, 1.0], [3.0, 1.0]], array([0.66666667, 0.66666667]))
    """

    block = 200  # replications: few enough to tell how far the work is

    def __init__(self, population: Population, route: Route, design: str, sizes: Sizes) -> None:
        self._truth = population.truth
        self._route = route
        self._design = design
        self._n = [*sizes.samples.values(), sizes.omission]
        self._sets = [np.flatnonzero(population.says_yes(name)) for name in sizes.samples]
        self._sets.append(np.flatnonzero(~population.says_yes(route.names[0])))
        # Where in x the samples stand: the no-set's last.
        self._places = [*(route.names.index(name) for name in sizes.samples), len(route.names)]
        self._overlaps: list[Overlap] = []
        if design in _OPTIONS and sizes.samples:
            self._overlaps = [overlap(self._sets[0], each) for each in self._sets[1:-1]]

    def draw(self, rng: np.random.Generator) -> list[Ints]:
        """Return the rows of each sample, in the order of the sizes, the no-set's last."""
        if self._design == "coordinated":
            number = rng.integers(_WORD, size=self._truth.size, dtype=np.uint64)
            return [
                coordinated_sample(rows, number[rows], n)
                for rows, n in zip(self._sets, self._n, strict=True)
            ]
        if self._design in _OPTIONS and self._overlaps:
            option = _OPTIONS[self._design]
            parent, *_, rejected = self._fresh([0, -1], rng)
            children = [
                recycle(parent, sets, n, option=option, rng=rng).sample
                for sets, n in zip(self._overlaps, self._n[1:-1], strict=True)
            ]
            return [parent, *children, rejected]
        return self._fresh(range(len(self._n)), rng)

    def _fresh(self, which: Sequence[int], rng: np.random.Generator) -> list[Ints]:
        return [uniform_sample(self._sets[place], self._n[place], rng) for place in which]

    def replay(self, replications: int, *, key: Sequence[int]) -> Runs:
        """Draw and label the samples so many times on the random stream of `key` and its own."""
        seed, *rest = key
        rng = np.random.default_rng([seed, crc32(self._design.encode()), *rest])
        needs = self._route.needs
        runs = Runs.start(replications, len(needs))
        x = np.zeros((replications, len(self._route.names) + 1))
        scale = np.append(self._route.yes, self._route.no)
        for run in range(replications):
            samples = self.draw(rng)
            runs.labels[run] = _distinct(samples)
            for place, rows in zip(self._places, samples, strict=True):
                if rows.size:
                    x[run, place] = scale[place] * self._truth[rows].mean()
            for t, needed in enumerate(needs):
                mine = [
                    rows for place, rows in zip(self._places, samples, strict=True) if needed[place]
                ]
                runs.counted[run, t] = _distinct(mine)
        return replace(runs, value=self._route.values(x))


def _distinct(samples: Sequence[Ints]) -> int:
    return np.unique(np.concatenate(samples)).size if samples else 0
