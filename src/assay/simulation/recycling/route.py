"""Paper 3's route: every metric of every classifier from precisions and one false omission rate.

Section 6 of [1]_. Let x = (T_1, ..., T_K, M): the hits of each classifier, the parent first, and
the positives that the parent misses. P = T_1 + M are all positives, and among what classifier k
calls no there are P - T_k. A metric is a ratio of linear forms in x (`recall_route`);
here are targets: differences too, and which entries of x each needs.

References
----------
.. [1] RecycleSamplesForPrecision (``papers/recycle-samples-for-precision.txt``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from assay.core.goal import JointGoal, Target
from assay.core.metrics import Metric, Ratio, subtract
from assay.core.types import Bools, Floats
from assay.simulation.ensemble import Ensemble
from assay.simulation.recycling.recall_route import route_ratio


def choose_parent(ensemble: Ensemble, goal: JointGoal) -> str:
    """Return the classifier of the goal whose yes-set has most in common with the others'.

    Examples
    --------
    >>> said = {"a": [1, 0, 0, 0], "b": [1, 1, 1, 0], "c": [0, 1, 1, 1]}
    >>> goal = JointGoal((Target("prevalence", ""),), budget=1)
    >>> choose_parent(Ensemble(y_true=[1, 1, 0, 0], y_pred=said), goal)
    'b'
    """
    named = [name for target in goal.targets for name in _whose(target)]
    names = list(dict.fromkeys(named)) or list(ensemble.classifiers)
    yes = ensemble.yes_cells(names)
    both = (yes * ensemble.by_cell.sizes) @ yes.T
    own = np.diag(both)
    # Of sets that have nothing in common the largest: it is not empty, unless all are.
    return names[max(range(len(names)), key=lambda k: (both[k].sum() - own[k], own[k]))]


@dataclass(frozen=True, eq=False)
class Route:
    """How a goal's targets are read off x.

    Parameters
    ----------
    names : tuple of str
        The classifiers, the parent first.
    yes : array, shape (K,)
        How many items each says yes to.
    N : int
        All items.
    targets : tuple of Target

    Examples
    --------
    The recall of the second, from the hits of both and what the first misses.

    >>> recall = Target("recall", "old")
    >>> route = Route(("new", "old"), np.array([1000.0, 1050.0]), 11_000, (recall,))
    >>> route.values(np.array([900.0, 840.0, 100.0])), route.needs
    (array([0.84]), array([[ True,  True,  True]]))
    """

    names: tuple[str, ...]
    yes: Floats
    N: int
    targets: tuple[Target, ...]

    @classmethod
    def of(cls, ensemble: Ensemble, goal: JointGoal, parent: str) -> Self:
        """Return the route of a goal by the false omission rate of `parent`."""
        names = (parent, *(name for name in ensemble.classifiers if name != parent))
        yes = ensemble.yes_cells(names) @ ensemble.by_cell.sizes
        return cls(names, yes, ensemble.truth.size, goal.targets)

    @property
    def no(self) -> float:
        """How many items the parent says no to."""
        return float(self.N - self.yes[0])

    @property
    def metrics(self) -> list[Metric]:
        """Each target as a metric of x, of shape (K + 1,)."""
        return [self._metric(target) for target in self.targets]

    @property
    def needs(self) -> Bools:
        """Which entries of x each target depends on, shape (T, K + 1)."""
        return np.array([metric.counts for metric in self.metrics])

    def values(self, x: Floats) -> Floats:
        """Return the targets at x, (..., T).

        Cut to what they can be: nothing keeps the estimate of T_k below that of P.
        """
        values = np.stack([metric.value(x) for metric in self.metrics], axis=-1)
        least = [0.0 if target.minus is None else -1.0 for target in self.targets]
        return np.asarray(np.clip(values, least, 1.0))

    def _metric(self, target: Target) -> Metric:
        first, *rest = [
            self._of_one(target.metric, name) for name in _whose(target) or self.names[:1]
        ]
        return subtract(first, rest[0]) if rest else first

    def _of_one(self, metric: str, name: str) -> Ratio:
        return route_ratio(metric, self.names.index(name), self.yes, self.N)


def _whose(target: Target) -> Sequence[str]:
    return [name for name in (target.classifier, target.minus) if name]
