"""Metrics of the whole confusion matrix: macro F1, balanced accuracy, Cohen's kappa and others.

All of them depend on the matrix through two vectors: d_c, the correctly predicted items of class c,
and T_c, all items of class c. The number of items predicted as c, P_c, is known. This module has
their values, slopes and curvature; `core.metrics` has their table, and `core.matrix` estimates them
from labels, as linear forms in the totals of strata (`core.linear`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.core.class_counts import over
from assay.core.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class Counts:
    """Arguments of metrics of the matrix; arrays of shape (..., K), and N of all items."""

    d: Floats  # correctly predicted items of each class
    T: Floats  # all items of each class
    P: Floats  # (K,): the items predicted as each class
    N: float  # all items. Some may be of no class.


Slopes = tuple[Floats, Floats, Floats]
"""A metric's value, (...), and its slopes in d and in T, (..., K)."""


def _mean(value: Floats, by_d: Floats, by_T: Floats, among: Bools) -> Slopes:
    """Mean over the classes that count, with its slopes."""
    number = np.maximum(among.sum(axis=-1, keepdims=True), 1)
    share = among / number
    return (value * share).sum(axis=-1), by_d * share, by_T * share


def _each(name: str, m: Counts) -> Slopes:
    """Precision, recall or F1 of every class, with the slopes in its own d and T."""
    none = np.zeros_like(m.d)
    if name == "precision":
        return over(m.d, m.P + none), over(1 + none, m.P + none), none
    if name == "recall":
        value = over(m.d, m.T)
        return value, over(1 + none, m.T), -over(value, m.T)
    value = over(2 * m.d, m.P + m.T)
    return value, over(2 + none, m.P + m.T), -over(value, m.P + m.T)


def macro(name: str, m: Counts) -> Slopes:
    """Mean precision, recall or F1 of the classes."""
    return _mean(*_each(name, m), among=(m.P > 0) | (m.T > 0))


def balanced(m: Counts) -> Slopes:
    """Mean recall of the classes that occur."""
    return _mean(*_each("recall", m), among=m.T > 0)


def weighted(name: str, m: Counts) -> Slopes:
    """Mean precision, recall or F1, with classes weighted by their items."""
    value, by_d, by_T = _each(name, m)
    total = m.T.sum(axis=-1, keepdims=True)
    share = over(m.T, np.broadcast_to(total, m.T.shape))
    whole = (share * value).sum(axis=-1)
    own = over(value - whole[..., None], np.broadcast_to(total, m.T.shape))
    return whole, share * by_d, share * by_T + own


def accuracy(m: Counts) -> Slopes:
    """Share of correct predictions."""
    return m.d.sum(axis=-1) / m.N, np.ones_like(m.d) / m.N, np.zeros_like(m.d)


def kappa(m: Counts) -> Slopes:
    """Cohen's kappa of predictions and truth."""
    agreed, chance = m.d.sum(axis=-1) / m.N, (m.P * m.T).sum(axis=-1) / m.N**2
    left = np.maximum(1 - chance, 1e-12)
    value = (agreed - chance) / left
    by_T = -m.P / m.N**2 * ((1 - agreed) / left**2)[..., None]
    return value, np.ones_like(m.d) / m.N / left[..., None], by_T


def matthews(m: Counts) -> Slopes:
    """Matthews correlation of several classes."""
    others = m.N - m.T.sum(axis=-1)  # of no class
    of_said = m.N**2 - (m.P**2).sum(axis=-1)
    of_truth = m.N**2 - (m.T**2).sum(axis=-1) - others**2
    under = np.sqrt(np.maximum(of_said * of_truth, 0.0))
    top = m.N * m.d.sum(axis=-1) - (m.P * m.T).sum(axis=-1)
    value = over(top, under)
    by_d = over(m.N * np.ones_like(m.d), under[..., None] + np.zeros_like(m.d))
    turn = (m.T - others[..., None]) * over(value, of_truth)[..., None]
    by_T = turn - over(m.P + np.zeros_like(m.d), under[..., None] + np.zeros_like(m.d))
    return value, by_d, by_T


@dataclass(frozen=True, eq=False)
class ClassScore:
    """A metric of each class at A correctly predicted and M missed items; arrays (..., K)."""

    value: Floats
    # by_right, by_missed: loss from an item of A less, and from an item of M more.
    by_right: Floats
    by_missed: Floats
    under: Floats  # the denominator, if it depends on A and M; otherwise infinite

    @property
    def bends(self) -> tuple[Floats, Floats]:
        """Second slopes in A and in M."""
        return -2 * over(self.by_right, self.under), 2 * over(self.by_missed, self.under)


def class_score(name: str, A: Floats, M: Floats, P: Floats) -> ClassScore:
    """Precision, recall or F1 of every class.

    `A`, `M`, `P`, (..., K): correctly predicted and missed items of each class, and all items
    predicted as it.

    >>> class_score("recall", np.array([8.0]), np.array([2.0]), np.array([9.0])).value
    array([0.8])
    """
    T = A + M
    value, by_d, by_T = _each(name, Counts(A + 0 * T, T, P, float(P.sum())))
    under = {"recall": T, "f1": P + T}.get(name, np.full_like(T, np.inf))
    return ClassScore(value, by_d + by_T, -by_T, under)


@dataclass(frozen=True)
class MatrixKind:
    """A metric of the whole confusion matrix."""

    slopes: Callable[[Counts], Slopes]  # its value and slopes at counts
    lowest: float = 0.0  # lower bound
    # The mean of which metric (`core.class_means`). The other metrics weigh classes by their items.
    mean_of: str = ""
    # Whether the mean leaves out classes without items even if some items are predicted as them.
    only_true: bool = False
