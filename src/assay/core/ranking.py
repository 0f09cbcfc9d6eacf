"""Top-k accuracy: the share of items whose class is among the k most probable ones.

A target of it has an outcome of its own: the item's class is among the k. It cannot be derived from
the class alone, so labels are counted by it beside their class (`Tallies.by_class`), part by part.
For the rest of the statistics it replaces the outcome "correct" of accuracy.

The difference of two classifiers has two outcomes: only the first has the class among its k, and
only the second has. Let z = 1, -1 or 0 be an item's contribution to the difference, and p the rate
of the more frequent outcome of a stratum. An outcome with the weight w, w^2 = Var(z) / (p (1 - p)),
then has the variance of z, so the difference is a linear form in these outcomes, as in
`core.matrix`. In each stratum one label more is counted than there are, half of it for either.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.linear import Linear
from assay.core.tallies import Tallies, plain_totals
from assay.core.targets import Target
from assay.core.types import Bools, Floats, Ints


def top_classes(probabilities: Floats, k: int) -> Ints:
    """Find the k classes with the largest probabilities, in descending order, shape (N, k).

    Among ties the later class comes first, as in scikit-learn's `top_k_accuracy_score`.

    >>> top_classes(np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]]), 2).tolist()
    [[1, 2], [2, 0]]
    """
    return np.asarray(np.argsort(probabilities, axis=1, kind="stable")[:, ::-1][:, :k])


@dataclass(frozen=True)
class InTop:
    """An outcome: the item's class is among the top k of one classifier, and not of another."""

    k: int
    classifier: int  # its index among the classifiers
    without: int | None = None  # index of the other

    def holds(self, ranked: Sequence[Sequence[int]], number: int) -> bool:
        """Whether an item of that class has the outcome.

        `ranked`: for each classifier, at least the item's k most probable classes, in order.
        """
        if number not in ranked[self.classifier][: self.k]:
            return False
        return self.without is None or number not in ranked[self.without][: self.k]

    def among(self, places: Ints) -> Bools:
        """Items that have the outcome, by the rank of their class.

        `places`, (N, J): for each of J classifiers, the rank of the item's class, from 0.
        """
        inside = places[:, self.classifier] < self.k
        if self.without is not None:
            inside = inside & (places[:, self.without] >= self.k)
        return np.asarray(inside)


def tops_of_target(target: Target, classifiers: Sequence[str]) -> tuple[InTop, ...]:
    """Outcomes that a target counts: one for top-k accuracy, two for a difference."""
    k = target.k
    if not k:
        return ()
    new = list(classifiers).index(target.classifier or "")
    if target.minus is None:
        return (InTop(k, new),)
    old = list(classifiers).index(target.minus)
    return InTop(k, new, old), InTop(k, old, new)


def tops_of(targets: Sequence[Target], classifiers: Sequence[str]) -> tuple[InTop, ...]:
    """Outcomes that targets count, each once, in the order of their columns."""
    each = (tops_of_target(target, classifiers) for target in targets)
    return tuple(dict.fromkeys(top for tops in each for top in tops))


def deepest(targets: Sequence[Target]) -> int:
    """Largest k of the targets; 0 if none is a top-k accuracy."""
    return max((target.k for target in targets), default=0)


def gap(mine: Tallies, other: Floats) -> tuple[Tallies, Linear]:
    """Tallies and linear form for a difference of two classifiers' top-k accuracies.

    `other`, (..., H): labels that only the second has. x is the more frequent outcome of each
    stratum.
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
