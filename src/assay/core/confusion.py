"""Metrics of the whole confusion matrix: macro F1, balanced accuracy, Cohen's kappa and others.

All of them depend on the matrix through two vectors of labels, d_c, the items of class c that are
called so, and T_c, all items of class c; how many items are called c, P_c, is known. An item that
is called c and is of class t adds

    z = [t = c] df/dd_c + df/dT_t

to a metric f, to first order. Where it is wrong, it takes away the **loss** z_cc - z_ct = df/dd_c +
df/dT_c - df/dT_t. So in a stratum the metric hangs on how many items are wrong, and on what an
error costs there. With p the rate of errors, and L the loss of one, an item's variance is

    p (1 - p) E[L]^2 + p Var(L) = p (1 - p) w^2,    w^2 = E[L]^2 + Var(L) / (1 - p):

that of an error that always costs w. To first order the metric is thus a linear form in the correct
items of the strata, each with the weight w_h, and the statistics of accuracy apply (`Linear`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from assay.core.metrics import top_of
from assay.core.tallies import plain_totals
from assay.core.types import Bools, Floats, Ints
from assay.errors import DesignError, did_you_mean

_PRIOR = 2.0  # errors that what all strata tell of a loss counts for in each of them
_POOLED = 1.0  # labels that a stratum's rate counts for in each of its classes
_SUREST = 0.95  # an error rate is taken to be no more, where it divides


@dataclass(frozen=True, eq=False)
class Counts:
    """What metrics of the matrix are of; arrays of shape (..., K), and N of all items.

    Parameters
    ----------
    d : array
        The items of each class that are called so.
    T : array
        All items of each class.
    P : array, shape (K,)
        The items that are called so.
    N : float
        All items. Some may be of no class.
    """

    d: Floats
    T: Floats
    P: Floats
    N: float


Slopes = tuple[Floats, Floats, Floats]
"""A metric's value, (...), and its slopes in d and in T, (..., K)."""


def _over(top: Floats, bottom: Floats) -> Floats:
    return np.asarray(np.where(bottom > 0, top, 0.0) / np.where(bottom > 0, bottom, 1.0))


def _mean(value: Floats, by_d: Floats, by_T: Floats, among: Bools) -> Slopes:
    """Return the mean over the classes that count, with its slopes."""
    number = np.maximum(among.sum(axis=-1, keepdims=True), 1)
    share = among / number
    return (value * share).sum(axis=-1), by_d * share, by_T * share


def _each(name: str, m: Counts) -> Slopes:
    """Return precision, recall or F1 of every class, with the slopes in its own d and T."""
    none = np.zeros_like(m.d)
    if name == "precision":
        return _over(m.d, m.P + none), _over(1 + none, m.P + none), none
    if name == "recall":
        value = _over(m.d, m.T)
        return value, _over(1 + none, m.T), -_over(value, m.T)
    value = _over(2 * m.d, m.P + m.T)
    return value, _over(2 + none, m.P + m.T), -_over(value, m.P + m.T)


def _macro(name: str) -> Callable[[Counts], Slopes]:
    def metric(m: Counts) -> Slopes:
        return _mean(*_each(name, m), among=(m.P > 0) | (m.T > 0))

    return metric


def _balanced(m: Counts) -> Slopes:
    return _mean(*_each("recall", m), among=m.T > 0)


def _weighted(name: str) -> Callable[[Counts], Slopes]:
    def metric(m: Counts) -> Slopes:
        value, by_d, by_T = _each(name, m)
        total = m.T.sum(axis=-1, keepdims=True)
        share = _over(m.T, np.broadcast_to(total, m.T.shape))
        whole = (share * value).sum(axis=-1)
        own = _over(value - whole[..., None], np.broadcast_to(total, m.T.shape))
        return whole, share * by_d, share * by_T + own

    return metric


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
    value = _over(top, under)
    by_d = _over(m.N * np.ones_like(m.d), under[..., None] + np.zeros_like(m.d))
    turn = (m.T - others[..., None]) * _over(value, of_truth)[..., None]
    by_T = turn - _over(m.P + np.zeros_like(m.d), under[..., None] + np.zeros_like(m.d))
    return value, by_d, by_T


@dataclass(frozen=True)
class MatrixKind:
    """A metric of the whole matrix: what it is, and the least that it can be."""

    slopes: Callable[[Counts], Slopes]
    text: str
    lowest: float = 0.0


MATRIX_METRICS: dict[str, MatrixKind] = {
    "accuracy": MatrixKind(_accuracy, "the share of predictions that are correct"),
    "macro_precision": MatrixKind(_macro("precision"), "the mean of the classes' precisions"),
    "macro_recall": MatrixKind(_macro("recall"), "the mean of the classes' recalls"),
    "macro_f1": MatrixKind(_macro("f1"), "the mean of the classes' F1s"),
    "weighted_precision": MatrixKind(
        _weighted("precision"), "the mean of the precisions, weighted by the classes' items"
    ),
    "weighted_recall": MatrixKind(
        _weighted("recall"), "the mean of the recalls, weighted by the classes' items"
    ),
    "weighted_f1": MatrixKind(
        _weighted("f1"), "the mean of the F1s, weighted by the classes' items"
    ),
    "balanced_accuracy": MatrixKind(
        _balanced, "the mean of the recalls of the classes that there are"
    ),
    "cohen_kappa": MatrixKind(
        _kappa, "agreement of what is said with what is so, beyond chance", -1.0
    ),
    "matthews_correlation": MatrixKind(
        _matthews, "the correlation of what is said with what is so, from -1 to 1", -1.0
    ),
}
"""Metrics over all classes. Of micro averages, where every item is called one class, each is
accuracy."""

_SAME = {
    **dict.fromkeys(("micro_f1", "micro_precision", "micro_recall"), "accuracy"),
    "kappa": "cohen_kappa",
    "mcc": "matthews_correlation",
}


def is_matrix_metric(name: str) -> bool:
    """Tell whether a metric, in its one spelling, is over all classes."""
    return name in MATRIX_METRICS or top_of(name) is not None


def canonical_matrix_metric(name: str) -> str:
    """Return the one spelling of a metric over all classes, or raise.

    Examples
    --------
    >>> canonical_matrix_metric("Macro-F1"), canonical_matrix_metric("micro f1")
    ('macro_f1', 'accuracy')
    >>> canonical_matrix_metric("top-5-accuracy")
    'top_5_accuracy'
    """
    known = str(name).strip().lower().replace(" ", "_").replace("-", "_")
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
class Linear:
    """A metric that is linear in the stratum totals: value + sum_h w_h (T_h - at_h).

    Parameters
    ----------
    at : array, shape (..., H)
        The totals where it has the value.
    value_at : array, shape (...)
    w : array, shape (..., H)
        What an outcome adds.
    lowest, highest : float
        The least and the most that it can be.
    """

    at: Floats
    value_at: Floats
    w: Floats
    lowest: float = 0.0
    highest: float = 1.0

    @property
    def bends(self) -> bool:
        """Whether what a stratum weighs depends on the totals: no."""
        return False

    @property
    def straight(self) -> bool:
        """Whether `plane` is the same wherever it is taken."""
        return True

    @property
    def counts(self) -> Bools:
        """The strata that it depends on, (H,): all."""
        return np.ones(self.w.shape[-1], dtype=np.bool_)

    def over(self, which: Bools) -> "Linear":
        """Return the metric over some of the strata, if it depends on no others."""
        return replace(self, at=self.at[..., which], w=self.w[..., which])

    def per(self, share: Floats) -> "Linear":
        """Return the metric of totals of which only these shares are counted, (H,)."""
        return replace(self, at=self.at * share, w=self.w / share)

    def of(self, which: Ints) -> "Linear":
        """Return the metric of some of the evaluations side by side, in their order."""
        if self.w.ndim == 1 or which.size == len(self.w):
            return self
        return Linear(self.at[which], self.value_at[which], self.w[which], self.lowest)

    def denominator(self, T: Floats) -> Floats:
        """Return 1: it is defined everywhere."""
        return np.ones(T.shape[:-1])

    def value(self, T: Floats) -> Floats:
        """Return the metric, which is not below its least or above its most."""
        found = self.value_at + (self.w * (T - self.at)).sum(axis=-1)
        return np.asarray(np.clip(found, self.lowest, self.highest))

    def gradient(self, T: Floats) -> Floats:
        """Return w."""
        return np.broadcast_to(self.w, T.shape)

    def weights(self, T: Floats) -> Floats:
        """Return the size of w."""
        return np.broadcast_to(np.abs(self.w), T.shape)

    def rises(self, T: Floats) -> Bools:
        """Where an outcome raises it; elsewhere it lowers it."""
        return np.broadcast_to(self.w > 0, T.shape)

    def extremes(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the metric when least <= T <= most."""
        up = self.w > 0
        low, high = np.where(up, least, most), np.where(up, most, least)
        return self.value(low), self.value(high)

    def plane(self, m: Floats, T: Floats) -> tuple[Floats, Floats]:
        """Return c = w and c0: the metric is at least m where c0 + c.T >= 0."""
        c0 = self.value_at - m - (self.w * self.at).sum(axis=-1)
        return np.broadcast_to(self.w, T.shape), np.asarray(c0)

    def slope_of_variance(self, T: Floats, variance: Floats) -> Floats:
        """Return 0: the gradient is the same everywhere."""
        return np.zeros(np.broadcast_shapes(T.shape, variance.shape))


@dataclass(frozen=True, eq=False)
class Matrix:
    """A metric of the matrix over parts of strata.

    Parameters
    ----------
    metric : str
        A name of `MATRIX_METRICS`.
    stratum, said : array of int, shape (C,)
        Of each part: its stratum, from 0, ascending, and the number of the class that its items
        are called.
    size : array, shape (C,)
        Its items.
    said_items : array, shape (K,)
        All items that are called each class.
    """

    metric: str
    stratum: Ints
    said: Ints
    size: Floats
    said_items: Floats

    def counts(self, n: Floats, by_class: Floats) -> Counts:
        """Return the estimated counts, from labels of the parts.

        Parameters
        ----------
        n : array, shape (..., C)
            Labels.
        by_class : array, shape (..., C, K + 1)
            Of these, those of each class, and last those of none.

        Notes
        -----
        The rate of correct items of a part is its own, with the rate of its stratum for one label
        more: parts are small, and a part without labels has the stratum's rate. What is missing
        there is shared out as the errors of the stratum are, or, where none was seen, those of all
        strata. With every item labelled all of it is exact.
        """
        starts, K = self._starts, self.said_items.size
        correct = np.take_along_axis(by_class, self.own(by_class), axis=-1)[..., 0]
        in_stratum = np.add.reduceat(n, starts, axis=-1)
        right = np.add.reduceat(correct, starts, axis=-1)
        rate = (np.where(in_stratum > 0, right, 0.5) / np.maximum(in_stratum, 1.0))[..., self._row]
        left = _POOLED * (1 - n / self.size)
        d_part = self.size * (correct + left * rate) / np.maximum(n + left, 1e-300)
        d = np.zeros((*n.shape[:-1], K))
        missing = np.add.reduceat(self.size - d_part, starts, axis=-1)
        wrong = self.wrong(by_class)
        errors = np.add.reduceat(wrong, starts, axis=-2)  # (..., H, K + 1)
        seen = errors.sum(axis=-1, keepdims=True)
        every = errors.sum(axis=-2, keepdims=True)
        pool = np.where(every.sum(axis=-1, keepdims=True) > 0, every, 1.0)
        pool = pool / pool.sum(axis=-1, keepdims=True)
        share = np.where(seen > 0, errors, pool) / np.maximum(np.where(seen > 0, seen, 1.0), 1.0)
        T = (missing[..., None] * share).sum(axis=-2)[..., :K]
        flat = np.moveaxis(d, -1, 0)
        np.add.at(flat, self.said, np.moveaxis(d_part, -1, 0))
        return Counts(d, T + d, self.said_items, float(self.said_items.sum()))

    def linear(self, N: Floats, n: Floats, by_class: Floats) -> Linear:
        """Return the metric, to first order about what the labels tell.

        Parameters
        ----------
        N : array, shape (H,)
            The items of each stratum.
        n, by_class
            As in `counts`; of the parts.
        """
        kind, starts = MATRIX_METRICS[self.metric], self._starts
        found = self.counts(n, by_class)
        value, by_d, by_T = kind.slopes(found)
        ends = np.concatenate([by_T, np.zeros_like(by_T[..., :1])], axis=-1)  # none of these
        own = (by_d + by_T)[..., self.said]  # (..., C)
        wrong = self.wrong(by_class)
        # What an error costs, by what all strata tell of the class that it is of.
        every = wrong.sum(axis=-2)
        every = np.where(every.sum(axis=-1, keepdims=True) > 0, every, 1.0)
        every = every / every.sum(axis=-1, keepdims=True)
        B, B2 = ((every * each).sum(axis=-1)[..., None] for each in (ends, ends**2))
        size = np.add.reduceat(self.size, starts)
        A, A2 = (
            np.add.reduceat(self.size * each, starts, axis=-1) / size for each in (own, own**2)
        )
        first, second = A - B, A2 - 2 * A * B + B2
        # Sums over errors of the loss, own - end, and of its square.
        number = wrong.sum(axis=-1)
        lost, square = ((wrong @ each[..., None])[..., 0] for each in (ends, ends**2))
        errors = np.add.reduceat(number, starts, axis=-1)
        one = np.add.reduceat(own * number - lost, starts, axis=-1)
        two = np.add.reduceat(own**2 * number - 2 * own * lost + square, starts, axis=-1)
        mean = (one + _PRIOR * first) / (errors + _PRIOR)
        square = (two + _PRIOR * second) / (errors + _PRIOR)
        labels = np.add.reduceat(n, starts, axis=-1)
        right = labels - errors
        p = np.minimum((errors + 0.5) / (labels + 1), _SUREST)
        w = np.sqrt(mean**2 + np.maximum(square - mean**2, 0.0) / (1 - p))
        at = plain_totals(N, labels, right)
        return Linear(at, value, w, kind.lowest)

    @property
    def _starts(self) -> Ints:
        return np.flatnonzero(np.diff(self.stratum, prepend=-1))

    @property
    def _row(self) -> Ints:
        """The place of each part's stratum among those that have parts."""
        return np.cumsum(np.diff(self.stratum, prepend=self.stratum[:1]) > 0)

    def own(self, by_class: Floats) -> Ints:
        """Return where in `by_class` the class is that a part's items are called."""
        return np.broadcast_to(self.said[:, None], (*by_class.shape[:-1], 1))

    def wrong(self, by_class: Floats) -> Floats:
        """Return the labels of other classes than the one that an item is called."""
        wrong = by_class.copy()
        np.put_along_axis(wrong, self.own(by_class), 0.0, axis=-1)
        return wrong
