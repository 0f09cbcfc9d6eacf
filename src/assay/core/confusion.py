"""Metrics of the whole confusion matrix: macro F1, balanced accuracy, Cohen's kappa and others.

All of them depend on the matrix through two vectors: d_c, the correctly predicted items of class c,
and T_c, all items of class c. The number of items predicted as c, P_c, is known. This module has
their values, slopes and curvature; `core.matrix` estimates them from labels, as linear forms in the
totals of strata (`Linear`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from assay.core.class_counts import over
from assay.core.forms import Metric
from assay.core.metrics import metric_word, top_of
from assay.core.types import Bools, Floats, Ints
from assay.errors import DesignError, did_you_mean


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


def _macro(name: str, m: Counts) -> Slopes:
    return _mean(*_each(name, m), among=(m.P > 0) | (m.T > 0))


def _balanced(m: Counts) -> Slopes:
    return _mean(*_each("recall", m), among=m.T > 0)


def _weighted(name: str, m: Counts) -> Slopes:
    value, by_d, by_T = _each(name, m)
    total = m.T.sum(axis=-1, keepdims=True)
    share = over(m.T, np.broadcast_to(total, m.T.shape))
    whole = (share * value).sum(axis=-1)
    own = over(value - whole[..., None], np.broadcast_to(total, m.T.shape))
    return whole, share * by_d, share * by_T + own


def _accuracy(m: Counts) -> Slopes:
    return m.d.sum(axis=-1) / m.N, np.ones_like(m.d) / m.N, np.zeros_like(m.d)


def _kappa(m: Counts) -> Slopes:
    agreed, chance = m.d.sum(axis=-1) / m.N, (m.P * m.T).sum(axis=-1) / m.N**2
    left = np.maximum(1 - chance, 1e-12)
    value = (agreed - chance) / left
    by_T = -m.P / m.N**2 * ((1 - agreed) / left**2)[..., None]
    return value, np.ones_like(m.d) / m.N / left[..., None], by_T


def _matthews(m: Counts) -> Slopes:
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
    text: str  # description
    lowest: float = 0.0  # lower bound
    # The mean of which metric (`core.class_means`). The other metrics weigh classes by their items.
    mean_of: str = ""
    # Whether the mean leaves out classes without items even if some items are predicted as them.
    only_true: bool = False


_OF_EACH = {"precision": "precisions", "recall": "recalls", "f1": "F1 scores"}

MATRIX_METRICS: dict[str, MatrixKind] = {
    "accuracy": MatrixKind(_accuracy, "share of correct predictions"),
    **{
        f"macro_{name}": MatrixKind(
            partial(_macro, name), f"mean of the classes' {every}", mean_of=name
        )
        for name, every in _OF_EACH.items()
    },
    **{
        f"weighted_{name}": MatrixKind(
            partial(_weighted, name), f"mean of the classes' {every}, weighted by size"
        )
        for name, every in _OF_EACH.items()
    },
    "balanced_accuracy": MatrixKind(
        _balanced, "mean of the recalls of the classes that occur", mean_of="recall", only_true=True
    ),
    "cohen_kappa": MatrixKind(_kappa, "agreement of prediction and truth beyond chance", -1.0),
    "matthews_correlation": MatrixKind(
        _matthews, "correlation of prediction and truth, from -1 to 1", -1.0
    ),
}
"""Metrics over all classes. Micro averages equal accuracy, as each item has one predicted class."""

_SAME = {
    **dict.fromkeys(("micro_f1", "micro_precision", "micro_recall"), "accuracy"),
    "kappa": "cohen_kappa",
    "mcc": "matthews_correlation",
}


def is_matrix_metric(name: str) -> bool:
    """Whether a metric, by its canonical name, is over all classes."""
    return name in MATRIX_METRICS or top_of(name) is not None


def canonical_matrix_metric(name: str) -> str:
    """Canonical name of a metric over all classes; raise if it is unknown.

    >>> canonical_matrix_metric("Macro-F1"), canonical_matrix_metric("micro f1")
    ('macro_f1', 'accuracy')
    >>> canonical_matrix_metric("top-5-accuracy")
    'top_5_accuracy'
    """
    known = metric_word(name)
    known = _SAME.get(known, known)
    if (k := top_of(known)) is not None:
        return f"top_{k}_accuracy"
    if known not in MATRIX_METRICS:
        words = [*MATRIX_METRICS, *_SAME, "top_5_accuracy"]
        raise DesignError(
            f"unknown metric {name!r} of several classes",
            details=f"over all classes: {', '.join(words)}; of one, precision:CLASS, recall:CLASS, "
            "f1:CLASS",
            hint=did_you_mean(known, words),
        )
    return known


@dataclass(frozen=True, eq=False)
class Linear(Metric):
    """A metric that is linear in the stratum totals: value + sum_h w_h (T_h - at_h)."""

    at: Floats  # (..., H): the totals where it has the value
    value_at: Floats  # (...)
    w: Floats  # (..., H): contribution of an outcome
    # lowest, highest: its bounds.
    lowest: float = 0.0
    highest: float = 1.0
    # (...): correction to subtract if labels followed the errors (`evened`)
    hidden: Floats | None = None
    unknown: Floats | None = None  # (...): possible shift from classes without labels, up or down

    def widened(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the ends of an interval, widened for classes without labels."""
        if self.unknown is None:
            return low, high
        return (
            np.maximum(low - self.unknown, self.lowest),
            np.minimum(high + self.unknown, self.highest),
        )

    def evened(self) -> "Linear":
        """Return the metric corrected for an allocation that followed the costly errors."""
        if self.hidden is None:
            return self
        return replace(self, value_at=self.value_at - self.hidden, hidden=None)

    @property
    def counts(self) -> Bools:
        """Strata that it depends on, (H,): all."""
        return np.ones(self.w.shape[-1], dtype=np.bool_)

    def over(self, which: Bools) -> "Linear":
        """Return the metric over some of the strata, if it depends on no others."""
        return replace(self, at=self.at[..., which], w=self.w[..., which])

    def per(self, share: Floats) -> "Linear":
        """Return the metric of totals of which only these shares are counted, (H,)."""
        return replace(self, at=self.at * share, w=self.w / share)

    def of(self, which: Ints) -> "Linear":
        """Return the metric of some of the parallel evaluations, in their order."""
        if self.w.ndim == 1 or which.size == len(self.w):
            return self
        hidden, unknown = (
            None if each is None else each[which] for each in (self.hidden, self.unknown)
        )
        return replace(
            self,
            at=self.at[which],
            value_at=self.value_at[which],
            w=self.w[which],
            hidden=hidden,
            unknown=unknown,
        )

    def value(self, T: Floats) -> Floats:
        """Return the metric, clipped to its range."""
        found = self.value_at + (self.w * (T - self.at)).sum(axis=-1)
        return np.asarray(np.clip(found, self.lowest, self.highest))

    def gradient(self, T: Floats) -> Floats:
        """Return the weights w."""
        return np.broadcast_to(self.w, T.shape)

    def extremes(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Bounds of the metric for least <= T <= most."""
        up = self.w > 0
        low, high = np.where(up, least, most), np.where(up, most, least)
        return self.widened(self.value(low), self.value(high))

    def plane(self, m: Floats, T: Floats) -> tuple[Floats, Floats]:
        """Return c = w and c0: the metric is at least m where c0 + c.T >= 0."""
        c0 = self.value_at - m - (self.w * self.at).sum(axis=-1)
        return np.broadcast_to(self.w, T.shape), np.asarray(c0)
