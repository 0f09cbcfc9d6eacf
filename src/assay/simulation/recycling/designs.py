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

from collections.abc import Sequence

import numpy as np

from assay.core.types import Ints
from assay.simulation.ensemble import Ensemble
from assay.simulation.recycling.route import Route
from assay.simulation.recycling.samples import (
    Option,
    Overlap,
    coordinated_sample,
    overlap,
    recycle,
    uniform_sample,
)
from assay.simulation.recycling.sizes import Sizes
from assay.simulation.workers import SeveralRuns

FIXED = ("independent", "recycle-sample", "recycle-shuffle", "coordinated")

_OPTIONS: dict[str, Option] = {
    "recycle-sample": "UniformSample",
    "recycle-shuffle": "UniformShuffle",
}
_WORD = 2**64


class SharedSamples:
    """A design, ready to be drawn many times.

    Parameters
    ----------
    ensemble : Ensemble
    route : Route
    design : str
        One of `FIXED`.
    sizes : Sizes

    Examples
    --------
    >>> from assay.core.goal import JointGoal, Target
    >>> y_true, said = [1, 1, 0, 0], {"new": [1, 1, 1, 0], "old": [1, 0, 1, 0]}
    >>> ensemble = Ensemble(y_true=y_true, y_pred=said)
    >>> goal = JointGoal((Target("precision", "new"), Target("precision", "old")), budget=1)
    >>> route, sizes = Route.of(ensemble, goal, "new"), Sizes({"new": 3, "old": 1}, 0)
    >>> design = SharedSamples(ensemble, route, "coordinated", sizes)
    >>> runs = design.replay(2, np.random.default_rng(1))
    >>> runs.labels, runs.counted.tolist(), runs.value[:, 0]
    (array([3, 3]), [[3.0, 1.0], [3.0, 1.0]], array([0.66666667, 0.66666667]))
    """

    def __init__(self, ensemble: Ensemble, route: Route, design: str, sizes: Sizes) -> None:
        self._truth = ensemble.truth
        self._route = route
        self._design = design
        self._n = [*sizes.samples.values(), sizes.omission]
        self._sets = [np.flatnonzero(ensemble.says_yes(name)) for name in sizes.samples]
        self._sets.append(np.flatnonzero(~ensemble.says_yes(route.names[0])))
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

    def replay(self, replications: int, rng: np.random.Generator) -> SeveralRuns:
        """Draw and label the samples so many times."""
        needs = self._route.needs
        labels = np.zeros(replications, dtype=np.int64)
        counted = np.zeros((replications, len(needs)))
        x = np.zeros((replications, len(self._route.names) + 1))
        scale = np.append(self._route.yes, self._route.no)
        for run in range(replications):
            samples = self.draw(rng)
            labels[run] = _distinct(samples)
            for place, rows in zip(self._places, samples, strict=True):
                if rows.size:
                    x[run, place] = scale[place] * self._truth[rows].mean()
            for t, needed in enumerate(needs):
                mine = [
                    rows for place, rows in zip(self._places, samples, strict=True) if needed[place]
                ]
                counted[run, t] = _distinct(mine)
        return SeveralRuns(labels, self._route.values(x), counted)


def _distinct(samples: Sequence[Ints]) -> int:
    return np.unique(np.concatenate(samples)).size if samples else 0
