"""Means of the classes' recalls, precisions or F1s, with an interval for what no label has shown.

In such a mean an item of a rare class weighs as much as a hundred of a common one, and the items of
that class that are called something else lie among large strata, where a sample shows few of them.
A variance at the rates that were seen leaves them out, so the mean would look certain when its
value is too high. Here every class has two uncertain counts, as the items called c, P_c, are known:

    B_c   items that are called c, and are not
    M_c   items of class c that are called something else

and the metric of the class is a function of both, with A = P - B: the recall A/(A + M), the F1
2 A/(P + A + M), the precision A/P. Each count has an interval of its own, Fay and Feuer's for a sum
of weighted counts [1]_: it holds for a count of 0. The ends of the mean follow from these by the
squares of the distances that each of them makes (MOVER [2]_). Two things are allowed for.

- An error is seen from two sides, as an item that is called c and as one that is missed: the
  distances grow by the root of Var(all)/sum Var(each), where that is above 1.
- A recall is convex in what is missed, so a mean of estimated recalls lies above the mean recall by
  half the second slopes times the variances. Every class leans the same way, so the leans add up
  while the distances add in squares. The lean is taken off.

A class that no label has shown has any value from 0 to 1.

Labels are allocated by a model with few parameters (`_rates`): an error rate for every stratum and
a factor for every class, not a rate for every class of every stratum. An allocation that follows
what a stratum shows of a rare class starves the strata that happened to show nothing.

References
----------
.. [1] Fay and Feuer (1997). Confidence intervals for directly standardized rates: a method based on
   the gamma distribution. Statistics in Medicine 16.
.. [2] Zou and Donner (2008). Construction of confidence limits about effect measures: a general
   approach. Statistics in Medicine 27.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.confusion import Linear
from assay.core.special import z_of
from assay.core.tallies import Tallies, plain_totals
from assay.core.types import Bools, Floats, Ints

_KAPPA = 40.0
_MODE = 1
_HALF = 0.5
_BY_LOSS = 0.1  # of the labels: by what an error can cost at most, whatever was found
_STEADY = 40.0  # labels that the error rate of all strata counts for in each of them
_EXPECTED = 3.0  # finds of a class that what is expected of it counts for
_AT_FIRST = 0.2  # the error rate before any label, which counts for `_STEADY` labels
_EVEN = 0.1  # of the errors: expected of all classes alike; the others as often as it is predicted
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Score:
    """What a class adds to the mean: a function of A, M and P, with slopes and bends.

    Parameters
    ----------
    value : callable
        Of A, M and P.
    slopes : callable
        What an item less of A, and an item more of M, takes away; both are 0 or more.
    bends : callable
        The second slopes in A and in M.
    """

    value: Callable[[Floats, Floats, Floats], Floats]
    slopes: Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]
    bends: Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]


def _over(top: Floats, bottom: Floats) -> Floats:
    return np.asarray(np.where(bottom > 0, top, 0.0) / np.where(bottom > 0, bottom, 1.0))


def _recall_slopes(A: Floats, M: Floats, P: Floats) -> tuple[Floats, Floats]:
    T = A + M
    return _over(M, T**2), _over(A, T**2)


def _recall_bends(A: Floats, M: Floats, P: Floats) -> tuple[Floats, Floats]:
    T = A + M
    return -2 * _over(M, T**3), 2 * _over(A, T**3)


def _f1_slopes(A: Floats, M: Floats, P: Floats) -> tuple[Floats, Floats]:
    D = P + A + M
    return _over(2 * (P + M), D**2), _over(2 * A, D**2)


def _f1_bends(A: Floats, M: Floats, P: Floats) -> tuple[Floats, Floats]:
    D = P + A + M
    return -4 * _over(P + M, D**3), 4 * _over(A, D**3)


RECALL = Score(lambda A, M, P: _over(A, A + M), _recall_slopes, _recall_bends)
F1 = Score(lambda A, M, P: _over(2 * A, P + A + M), _f1_slopes, _f1_bends)
PRECISION = Score(
    lambda A, M, P: _over(A, P + 0 * A),
    lambda A, M, P: (_over(1 + 0 * A, P + 0 * A), 0 * M),
    lambda A, M, P: (0 * A, 0 * M),
)


@dataclass(frozen=True, eq=False)
class Tally:
    """Outcomes among the items of cells, summed over strata for every class; (..., G, K).

    Parameters
    ----------
    N : array, shape (G, K)
        The items of each cell.
    n, x : array
        Labels, and those with the outcome.
    """

    N: Floats
    n: Floats
    x: Floats

    @cached_property
    def left(self) -> Floats:
        """The share of the variance that is left, (N - n)/(N - 1)."""
        return np.asarray(np.maximum(self.N - self.n, 0.0) / np.maximum(self.N - 1, 1.0))

    @cached_property
    def items(self) -> Floats:
        """The items of each class, (K,)."""
        return np.asarray(self.N.sum(axis=-2))

    @cached_property
    def _each(self) -> Floats:
        """The items that a label stands for; those of cells without labels are shared out."""
        seen = np.where(self.n > 0, self.N, 0.0)
        more = _over(self.items + 0 * seen.sum(axis=-2), seen.sum(axis=-2))
        return np.asarray(more[..., None, :] * seen / np.maximum(self.n, 1.0))

    @cached_property
    def total(self) -> Floats:
        """The estimated outcomes, (..., K); half of the items where there is no label."""
        found = (self._each * self.x).sum(axis=-2)
        return np.where((self.n > 0).any(axis=-2), found, self.items / 2)

    @cached_property
    def variance(self) -> Floats:
        """The variance of `total`; a cell whose labels all agree on the outcome counts for one."""
        n = np.maximum(self.n, 1.0)
        spread = self.x * (1 - self.x / (n + 1)) * (n + 1) / n
        return np.asarray((self._each**2 * self.left * spread).sum(axis=-2))

    def variance_at(self, rate: Floats) -> Floats:
        """Return the variance of `total` at rates of the cells, each counted as one label."""
        p = (self.x + _KAPPA * rate) / (self.n + _KAPPA)
        spread = self.N**2 * self.left / np.maximum(self.n, 1.0)
        return np.asarray((spread * p * (1 - p)).sum(axis=-2))

    @cached_property
    def unseen(self) -> Floats:
        """The items that an outcome stands for where none was found, (..., K)."""
        mass = self.N * self.left
        labels = np.where(self.left > 0, self.n, 0.0).sum(axis=-2)
        return np.asarray(mass.sum(axis=-2) / np.maximum(labels, 0.5))

    def ends(self, z: float, b: float) -> tuple[Floats, Floats]:
        """Return the ends of the interval, (..., K).

        Parameters
        ----------
        z : float
            The normal quantile of the confidence.
        b : float
            Outcomes for peeking (`stratified.extra_outcomes`).
        """
        T, V, w = self.total, self.variance, self.unseen
        s = np.where(T > 0, _over(V, T), w)
        least, most = self.x.sum(axis=-2), self.items - (self.n - self.x).sum(axis=-2)
        y = T + b * s + _HALF * w
        high = _gamma(y, V + b * s**2 + _HALF * w**2, z)
        low = _gamma(np.maximum(T - b * s, 0.0), V, -z)
        none = (self.n > 0).any(axis=-2)
        return (
            np.where(none, np.clip(low, least, most), least),
            np.where(none, np.clip(high, least, most), most),
        )


def _gamma(y: Floats, v: Floats, z: float) -> Floats:
    """Return a quantile of the gamma distribution with mean y and variance v, 0 at the least.

    By Wilson and Hilferty's cube.
    """
    share = _over(v, y**2)  # 1/k, k the shape
    return np.asarray(y * np.maximum(1 - share / 9 + z * np.sqrt(share) / 3, 0.0) ** 3)


@dataclass(frozen=True, eq=False)
class ClassMean(Linear):
    """A mean over classes, whose ends come from the intervals of the classes' counts.

    As a linear form it tells what items that nobody could judge may change.

    Parameters
    ----------
    shares : array, shape (..., H)
        Of all labels, those that each part should have had.
    ends_at : callable
        Returns the ends of the interval, by z and by the outcomes for peeking.
    """

    shares: Floats = None  # type: ignore
    ends_at: Callable[[float, float], tuple[Floats, Floats]] = None  # type: ignore
    centre: Floats = None # type: ignore

    def ends(self, tallies: Tallies, confidence: float, b: float) -> tuple[Floats, Floats]:
        """Return the interval's ends; other tallies than those it is made of shift it."""
        there = plain_totals(tallies.N, tallies.n, tallies.x)
        shift = self.value_at - self.centre + (self.w * (there - self.at)).sum(axis=-1)
        low, high = self.ends_at(z_of(confidence), b)
        lowest, highest = self.lowest, self.highest
        return np.clip(low + shift, lowest, highest), np.clip(high + shift, lowest, highest)


@dataclass(frozen=True, eq=False)
class Classes:
    """The labels of a mean over classes, by stratum and class.

    Parameters
    ----------
    score : Score
    wrong : Tally
        Of the items that are called each class: those that are not of it.
    missed : Tally
        Of the items that are called others: those that are of it.
    only_true : bool
        Whether classes without items do not count, even if some are called so.
    """

    score: Score
    wrong: Tally
    missed: Tally
    only_true: bool = False

    @cached_property
    def P(self) -> Floats:
        return self.wrong.items

    @cached_property
    def A(self) -> Floats:
        return np.asarray(self.P - self.wrong.total)

    @cached_property
    def M(self) -> Floats:
        return self.missed.total

    @cached_property
    def _counted(self) -> Bools:
        """The classes that count, as far as is known: not those that cannot have items."""
        some = (self.missed.items - (self.missed.n - self.missed.x).sum(axis=-2)) > 0
        right = self.P - self.wrong.x.sum(axis=-2) > 0
        return np.asarray(some | (right if self.only_true else self.P > 0))

    @cached_property
    def _unknown(self) -> Bools:
        """The classes of which no label shows what they add."""
        none = np.where(self.P > 0, self.wrong.n.sum(axis=-2) <= 0, self.M <= 0)
        if self.score is RECALL:
            none = none | (self.A + self.M <= 0)
        return np.asarray(none & self._counted)

    @cached_property
    def _number(self) -> Floats:
        return np.asarray(np.maximum(self._counted.sum(axis=-1), 1))

    @cached_property
    def values(self) -> Floats:
        """What each class adds, (..., K); one that is not known is like the others."""
        value = self.score.value(self.A, self.M, self.P)
        known = self._counted & ~self._unknown
        mean = _over((value * known).sum(axis=-1), known.sum(axis=-1) + 0.0)
        return np.where(self._unknown, mean[..., None], np.where(self._counted, value, 0.0))

    @cached_property
    def plain(self) -> Floats:
        return np.asarray(self.values.sum(axis=-1) / self._number)

    def _mean(self, each: Floats) -> Floats:
        return np.asarray((each * self._counted).sum(axis=-1) / self._number)

    # The model of errors.

    @cached_property
    def _errors(self) -> Floats:
        """The error rate of the items of each stratum that are called each class, (..., G, K)."""
        N, n, x = self.wrong.N, self.wrong.n, self.wrong.x
        in_stratum, found = n.sum(axis=-1, keepdims=True), x.sum(axis=-1, keepdims=True)
        size, labels = N.sum(axis=-1, keepdims=True), in_stratum.sum(axis=-2, keepdims=True)
        seen = np.where(in_stratum > 0, size, 0.0)
        rate = (seen * found / np.maximum(in_stratum, 1)).sum(axis=-2, keepdims=True)
        rate = _over(rate, seen.sum(axis=-2, keepdims=True))
        overall = (labels * rate + _STEADY * _AT_FIRST) / (labels + _STEADY)
        stratum = (found + _STEADY * overall) / (in_stratum + _STEADY)
        return np.asarray((x + _STEADY * stratum) / (n + _STEADY))

    @cached_property
    def _among_others(self) -> Floats:
        """The error rate of the items of each stratum that are called other classes."""
        errors = self.wrong.N * self._errors
        return np.asarray(
            _over(errors.sum(axis=-1, keepdims=True) - errors, self.missed.N + 0 * errors)
        )

    @cached_property
    def _mix(self) -> Floats:
        """The share of errors that are of each class, (..., K)."""
        K = self.P.size
        share = (1 - _EVEN) * self.P / self.P.sum() + _EVEN / K
        expected = (self.missed.n * self._among_others).sum(axis=-2) * share
        factor = (self.missed.x.sum(axis=-2) + _EXPECTED) / (expected + _EXPECTED)
        return np.asarray(share * factor)

    @cached_property
    def _rates(self) -> Floats:
        """The rate of each class among the items of each stratum that are called others."""
        return np.asarray(np.minimum(self._among_others * self._mix[..., None, :], 0.9))

    @cached_property
    def value(self) -> Floats:
        return np.asarray(self.plain - self._lean)

    @cached_property
    def _lean(self) -> Floats:
        return self._lean_at(
            self.wrong.variance_at(self._errors), self.missed.variance_at(self._rates)
        )

    def _lean_at(self, of_A: Floats, of_M: Floats) -> Floats:
        by_A, by_M = self.score.bends(self.A, self.M, self.P)
        each = (by_A * of_A + by_M * of_M) / 2
        most = self.values / 3
        return self._mean(np.where(self._unknown, 0.0, np.clip(each, -most, most)))

    def _loss(self, by_A: Floats, by_M: Floats, errors: Floats) -> tuple[Floats, Floats, Floats]:
        """Return an error's cost: E[L], E[L^2] given an error, and the sum of both parts alone."""
        mix = self._mix / self._mix.sum(axis=-1, keepdims=True)
        rest = np.maximum(1 - mix, 1e-9)
        one, two, square = (
            ((each.sum(axis=-1, keepdims=True) - each) / rest**power)[..., None, :]
            for each, power in ((mix * by_M, 1), (mix * by_M**2, 1), ((mix * by_M) ** 2, 2))
        )
        a = by_A[..., None, :]
        return a + one, a**2 + 2 * a * one + two, errors * (a**2 + two) - errors**2 * (a**2 + square)

    @cached_property
    def _both_sides(self) -> Floats:
        """By what distances grow, as errors are seen from two sides, (...)."""
        by_A, by_M = self.score.slopes(self.A, self.M, self.P)
        p = (self.wrong.x + self._errors) / (self.wrong.n + 1)
        mean, square, apart = self._loss(by_A, by_M, p)
        spread = self.wrong.N**2 * self.wrong.left / np.maximum(self.wrong.n, 1.0)
        joint = (spread * (p * square - (p * mean) ** 2)).sum(axis=(-2, -1))
        return np.sqrt(np.maximum(_over(joint, (spread * apart).sum(axis=(-2, -1))), 1.0))

    def ends(self, z: float, b: float) -> tuple[Floats, Floats]:
        less, more = self.wrong.ends(z, b)
        fewer, most = self.missed.ends(z, b)
        A, M, P, f = self.A, self.M, self.P, self.values
        value = self.score.value
        down = (f - value(A, most, P)) ** 2 + (f - value(P - more, M, P)) ** 2
        up = (f - value(A, np.where(A + fewer > 0, fewer, M), P)) ** 2
        up = up + (f - value(P - less, M, P)) ** 2
        known = self._counted & ~self._unknown
        low, high = (
            (self._both_sides * np.sqrt((each * known).sum(axis=-1)) + (rest * self._unknown).sum(axis=-1)) / self._number
            for each, rest in ((down, f), (up, np.where(self.P > 0, 1 - f, 0.0)))
        )
        high = np.maximum(high, self._few_errors(z, b))
        if _MODE:
            low = self._many(z, b, low)
        plain = self._lean_at(self.wrong.variance, self.missed.variance)
        lean = np.minimum(self._lean, plain)
        return self.plain - low - self._lean, self.plain + high - lean

    def _few_errors(self, z: float, b: float) -> Floats:
        """Return how far the mean may be above its estimate, by all errors together."""
        by_A, by_M = self.score.slopes(self.A, self.M, self.P)
        each = by_A**2 * self.wrong.variance + by_M**2 * self.missed.variance
        V = self._both_sides**2 * (each * self._counted).sum(axis=-1) / self._number**2
        lost = 1 - self.plain
        fewer = np.maximum(lost - b * _over(V, lost), 0.0)
        return np.asarray(lost - _gamma(fewer, V, -z))

    def _many(self, z, b, mover):
        by_A, by_M = self.score.slopes(self.A, self.M, self.P)
        known = self._counted & ~self._unknown
        each = by_A**2 * self.wrong.variance + by_M**2 * self.missed.variance
        V = self._both_sides**2 * (each * known).sum(axis=-1) / self._number**2
        most_M = np.where(known, by_M * self.missed.unseen, 0.0)
        most_A = np.where(known, by_A * self.wrong.unseen, 0.0)
        if _MODE == 1:
            w = np.maximum(most_M, most_A).max(axis=-1) / self._number
        else:
            w = np.sqrt((most_M**4 + most_A**4).sum(-1) / np.maximum((most_M**2 + most_A**2).sum(-1), 1e-300)) / self._number
        lost = 1 - self.plain
        s = _over(V, lost)
        rest = np.where(self._unknown, self.values, 0.0).sum(axis=-1) / self._number
        total = _gamma(lost + b * s + _HALF * w, V + b * s**2 + _HALF * w**2, z) - lost + rest
        return np.minimum(mover, total)

    @cached_property
    def _expected_slopes(self) -> tuple[Floats, Floats]:
        A = (self.wrong.N * (1 - self._errors)).sum(axis=-2)
        M = (self.missed.N * self._rates).sum(axis=-2)
        by_A, by_M = self.score.slopes(A, M, self.P)
        return by_A / self._number[..., None], by_M / self._number[..., None]

    @cached_property
    def hidden(self) -> Floats:
        """What an allocation that follows the errors of strata has hidden, (...)."""
        by_A, by_M = self._expected_slopes
        mean, _, _ = self._loss(by_A, by_M, self._errors)
        N, n, x = (each.sum(axis=-1) for each in (self.wrong.N, self.wrong.n, self.wrong.x))
        expected = self.wrong.N * self._errors
        mean = _over((expected * mean).sum(axis=-1), expected.sum(axis=-1))
        labels = n.sum(axis=-1, keepdims=True)
        overall = _over((N * _over(x, n)).sum(axis=-1, keepdims=True), (N + 0 * n).sum(axis=-1, keepdims=True))
        follows = 0.5 * _over(x, x + _STEADY * np.maximum(overall, 1e-9)) * (1 - n / np.maximum(labels, 1.0))
        left = np.maximum(N - n, 0.0) / np.maximum(N - 1, 1.0)
        follows = np.where(left > 0, follows * (1 - _BY_LOSS), 0.0)
        return np.asarray((follows * mean * N / np.maximum(n, 1.0)).sum(axis=-1))

    def losses(self) -> tuple[Floats, Floats]:
        """Return the root of an error's mean square loss, and the shares of labels, (..., G, K)."""
        by_A, by_M = self._expected_slopes
        mean, square, _ = self._loss(by_A, by_M, self._errors)
        p = self._errors
        sd = np.sqrt(np.maximum(p * square - (p * mean) ** 2, 0.0))
        order = np.sort(by_M, axis=-1)
        largest = np.where(by_M == order[..., -1:], order[..., -2:-1], order[..., -1:])
        most = (by_A + largest)[..., None, :]
        spread, by_loss = self.wrong.N * sd, self.wrong.N * most
        shares = (1 - _BY_LOSS) * spread / np.maximum(spread.sum(axis=(-2, -1), keepdims=True), _TINY)
        shares = shares + _BY_LOSS * by_loss / np.maximum(by_loss.sum(axis=(-2, -1), keepdims=True), _TINY)
        return np.broadcast_to(np.sqrt(square), shares.shape), shares


def class_mean(
    score: Score, stratum: Ints, said: Ints, size: Floats, K: int, n: Floats, by_class: Floats, *, only_true: bool
) -> ClassMean:
    G = int(stratum.max()) + 1
    cell = stratum * K + said

    def grid(values: Floats) -> Floats:
        found = np.zeros((*values.shape[:-1], G * K))
        np.add.at(np.moveaxis(found, -1, 0), cell, np.moveaxis(values, -1, 0))
        return found.reshape(*values.shape[:-1], G, K)

    own = np.broadcast_to(said[:, None], (*by_class.shape[:-1], 1))
    right = np.take_along_axis(by_class, own, axis=-1)[..., 0]
    N, labels, correct = grid(size), grid(n), grid(right)
    starts = np.flatnonzero(np.diff(stratum, prepend=-1))
    named = np.add.reduceat(by_class, starts, axis=-2)[..., :K]
    rest = lambda each: each.sum(axis=-1, keepdims=True) - each
    found = Classes(
        score,
        Tally(N, labels, labels - correct),
        Tally(rest(N), rest(labels), named - correct),
        only_true,
    )
    loss, shares = (each.reshape(*each.shape[:-2], -1)[..., cell] for each in found.losses())
    part = size / grid(size).ravel()[cell]
    return ClassMean(
        plain_totals(size, n, right),
        found.value,
        loss,
        shares=shares * part,
        ends_at=found.ends,
        centre=found.value,
        hidden=found.hidden,
    )


SCORES = {
    "macro_recall": (RECALL, False),
    "balanced_accuracy": (RECALL, True),
    "macro_f1": (F1, False),
    "macro_precision": (PRECISION, False),
}
