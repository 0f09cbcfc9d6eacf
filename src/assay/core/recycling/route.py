"""Paper 3's route: every metric of every classifier from precisions and one false omission rate.

Section 6 of [1]_ reduces the recalls of several classifiers to their precisions p_k and the false
omission rate f_1 of the first, the parent. It gives no variance; here it follows by the delta
method. Let A_k and B_k be the items that classifier k predicts yes and no, T_k = p_k A_k its hits,
M = f_1 B_1 the misses of the first, and P = T_1 + M the positives among N items. Then

| metric of k         | is                    |
|---------------------|-----------------------|
| precision           | T_k / A_k             |
| recall              | T_k / P               |
| F1                  | 2 T_k / (A_k + P)     |
| accuracy            | (B_k + 2 T_k - P) / N |
| false omission rate | (P - T_k) / B_k       |
| prevalence          | P / N                 |

Each is a ratio of linear forms in x = (T_1, ..., T_K, M), as in `assay.core.forms`, only that these
totals overlap: labels recycled from one classifier for another make them correlated.

References
----------
.. [1] RecycleSamplesForPrecision (``papers/recycle-samples-for-precision.txt``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from assay.core.differences import subtract
from assay.core.forms import Metric, Ratio, ratio
from assay.core.goal import Goal
from assay.core.metrics import METRICS
from assay.core.targets import Target
from assay.core.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Venn:
    """Cells of predicted labels that occur, ascending; arrays of shape (C,)."""

    classifiers: tuple[str, ...]
    codes: Ints  # bit k is set where classifier k says yes
    sizes: Floats
    positives: Floats  # as far as known

    def yes(self, names: Sequence[str]) -> Floats:
        """Mark with 1 where a classifier predicts yes for a cell's items; shape (K, C)."""
        bits = np.array([self.classifiers.index(name) for name in names], dtype=np.int64)
        return (self.codes >> bits[:, None] & 1).astype(np.float64)


def choose_parent(cells: Venn, goal: Goal) -> str:
    """Choose the classifier of the goal whose yes-set overlaps most with the others'.

    >>> codes, sizes = np.array([0b011, 0b100, 0b110]), np.array([1.0, 1.0, 2.0])
    >>> goal = Goal(targets=(Target("prevalence", ""),), budget=1)
    >>> choose_parent(Venn(("a", "b", "c"), codes, sizes, 0 * sizes), goal)
    'b'
    """
    named = [name for target in goal.targets for name in _whose(target)]
    names = list(dict.fromkeys(named)) or list(cells.classifiers)
    yes = cells.yes(names)
    both = (yes * cells.sizes) @ yes.T
    own = np.diag(both)
    # Among sets without overlap the largest: it is not empty, unless all are.
    return names[max(range(len(names)), key=lambda k: (both[k].sum() - own[k], own[k]))]


@dataclass(frozen=True, eq=False)
class Route:
    """A goal's targets as functions of x.

    The recall of the second, from the hits of both and the misses of the first.

    >>> recall = Target("recall", "old")
    >>> route = Route(("new", "old"), np.array([1000.0, 1050.0]), 11_000, (recall,))
    >>> route.values(np.array([900.0, 840.0, 100.0])), route.needs
    (array([0.84]), array([[ True,  True,  True]]))
    """

    names: tuple[str, ...]  # the classifiers, the parent first
    yes: Floats  # (K,): number of items that each predicts yes
    N: int  # all items
    targets: tuple[Target, ...]

    @classmethod
    def of(cls, cells: Venn, goal: Goal, parent: str) -> Self:
        """Route of a goal by the false omission rate of `parent`."""
        names = (parent, *(name for name in cells.classifiers if name != parent))
        return cls(names, cells.yes(names) @ cells.sizes, int(cells.sizes.sum()), goal.targets)

    @property
    def no(self) -> float:
        """Number of items that the parent predicts no."""
        return float(self.N - self.yes[0])

    @property
    def metrics(self) -> list[Metric]:
        """Each target as a metric of x, of shape (K + 1,)."""
        return [self._metric(target) for target in self.targets]

    @property
    def needs(self) -> Bools:
        """Entries of x that each target depends on, shape (T, K + 1)."""
        return np.array([metric.counts for metric in self.metrics])

    def values(self, x: Floats) -> Floats:
        """Values of the targets at x, (..., T).

        Clipped to their range: the estimate of T_k may exceed that of P.
        """
        values = np.stack([metric.value(x) for metric in self.metrics], axis=-1)
        lowest = [METRICS[target.metric].lowest for target in self.targets]
        alone = [target.minus is None for target in self.targets]
        least = np.where(alone, lowest, np.subtract(lowest, 1.0))
        return np.asarray(np.clip(values, least, np.where(alone, 1.0, np.subtract(1.0, lowest))))

    def _metric(self, target: Target) -> Metric:
        first, *rest = [
            self._of_one(target.metric, name) for name in _whose(target) or self.names[:1]
        ]
        return subtract(first, rest[0]) if rest else first

    def _of_one(self, metric: str, name: str) -> Ratio:
        """Metric of a classifier as a ratio in the totals (T_1, ..., T_K, M).

        Among its items predicted yes there are T_k positives, among the others T_1 + M - T_k.
        """
        k = self.names.index(name)
        called = np.zeros((2, self.yes.size + 1))  # positives among its items predicted yes, and no
        called[0, k] = 1.0
        called[1, [0, -1]] = 1.0
        called[1, k] -= 1.0
        sizes = np.array([self.yes[k], self.N - self.yes[k]])
        form = ratio(metric, sizes, np.array([True, False]))
        return replace(form, a=form.a @ called, b=form.b @ called)


def _whose(target: Target) -> Sequence[str]:
    return [name for name in (target.classifier, target.minus) if name]
