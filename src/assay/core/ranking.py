"""Top-k accuracy: the share of items whose class is among the k that are found most probable.

A target of it counts an outcome of its own: an item has it where the class that people name is
among the k. It cannot be told from the class alone, so labels are counted by it beside their class
(`engine.State.in_top`), part by part. To the rest of the statistics it is what "correct" is to
accuracy.

The difference of two classifiers has two outcomes: only the first has the class among its k, and
only the second has. With z = 1, -1 or 0 an item's share of the difference, and p the rate of the
one that is seen more often in a stratum, an outcome that weighs w with

    w^2 = Var(z) / (p (1 - p))

has the variance of z, so the difference is a linear form in these outcomes, as in
`core.matrix`. In each stratum one label more is counted than there are, half of it for either.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assay.core.confusion import Linear
from assay.core.metrics import top_of
from assay.core.tallies import Tallies, plain_totals
from assay.core.types import Bools, Floats, Ints


def top_classes(probabilities: Floats, k: int) -> Ints:
    """Return the k classes with the largest probabilities, those first, of shape (N, k).

    Of classes with the same probability the later one comes first, as in scikit-learn's
    `top_k_accuracy_score`.

    >>> top_classes(np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]]), 2).tolist()
    [[1, 2], [2, 0]]
    """
    return np.asarray(np.argsort(probabilities, axis=1, kind="stable")[:, ::-1][:, :k])


@dataclass(frozen=True)
class InTop:
    """An outcome: a classifier has an item's class among its k, and another one has not."""

    k: int
    classifier: int  # its place among the classifiers
    without: int | None = None  # the place of the other

    def holds(self, ranked: Sequence[Sequence[int]], number: int) -> bool:
        """Tell whether an item of that class has the outcome.

        `ranked`: of each classifier, the item's classes from the most probable one on; k at least.
        """
        if number not in ranked[self.classifier][: self.k]:
            return False
        return self.without is None or number not in ranked[self.without][: self.k]

    def among(self, places: Ints) -> Bools:
        """Return which items have the outcome, by the place of their class.

        `places`, (N, J): of each of J classifiers, where the item's class stands among all, from 0
        on.
        """
        inside = places[:, self.classifier] < self.k
        if self.without is not None:
            inside = inside & (places[:, self.without] >= self.k)
        return np.asarray(inside)


class _Target(Protocol):
    """What is asked of a target (`core.targets`, which knows this module)."""

    @property
    def metric(self) -> str: ...
    @property
    def classifier(self) -> str | None: ...
    @property
    def minus(self) -> str | None: ...
    @property
    def label(self) -> str | None: ...


def tops_of_target(target: _Target, classifiers: Sequence[str]) -> tuple[InTop, ...]:
    """Return the outcomes that a target counts: one of top-k accuracy, two of a difference."""
    k = top_of(target.metric) if target.label == "" else None
    if k is None:
        return ()
    new = list(classifiers).index(target.classifier or "")
    if target.minus is None:
        return (InTop(k, new),)
    old = list(classifiers).index(target.minus)
    return InTop(k, new, old), InTop(k, old, new)


def tops_of(targets: Sequence[_Target], classifiers: Sequence[str]) -> tuple[InTop, ...]:
    """Return the outcomes that targets count, each once, in the order of `State.in_top`."""
    each = (tops_of_target(target, classifiers) for target in targets)
    return tuple(dict.fromkeys(top for tops in each for top in tops))


def deepest(targets: Sequence[_Target]) -> int:
    """Return how many classes of an item targets ask for, of its most probable ones: 0 for none."""
    found = (top_of(target.metric) for target in targets if target.label == "")
    return max((k for k in found if k is not None), default=0)


def gap(mine: Tallies, other: Floats) -> tuple[Tallies, Linear]:
    """Return what a difference of two classifiers' top-k accuracies is seen by.

    `other`, (..., H): those that only the second has.

    With x whichever of the two a stratum has more of; and the difference, as a form in it.
    """
    n, first = mine.n, mine.x
    turned = other > first
    x = np.where(turned, other, first)
    p = (x + 0.5) / (n + 1)
    mean, square = (first - other) / (n + 1), (first + other + 1) / (n + 1)
    items = mine.N.sum(axis=-1)
    w = np.sqrt(np.maximum(square - mean**2, 0.0) / (p * (1 - p))) / items[..., None]
    share = (first - other) / np.maximum(n, 1.0)
    value = (mine.N * share).sum(axis=-1) / items
    seen = Tallies.trusted(mine.N, n, x, mine.u)
    return seen, Linear(plain_totals(mine.N, n, x), value, np.where(turned, -w, w), -1.0)
