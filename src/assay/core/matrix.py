"""Estimates of the confusion matrix, and its metrics as linear forms in the totals of strata.

An item with predicted class c and true class t adds

    z = [t = c] df/dd_c + df/dT_t

to a metric f (`core.confusion`), to first order. An error subtracts the **loss** z_cc - z_ct =
df/dd_c + df/dT_c - df/dT_t. So in a stratum the metric depends on the number of errors and on their
loss. With p the error rate, and L the loss of one error, an item's variance is

    p (1 - p) E[L]^2 + p Var(L) = p (1 - p) w^2,    w^2 = E[L]^2 + Var(L) / (1 - p):

that of errors with the constant loss w. To first order the metric is thus a linear form in the
correct items of the strata, each with the weight w_h, and the statistics of accuracy apply
(`Linear`).

Its value is estimated in two steps (`Predicted`). Unlabelled items are assumed to be correct as
often as their stratum's labels, with errors distributed over classes as its errors are. That has a
low variance, but ignores differences between classes of one stratum. So a correction is added, to
first order: for each stratum the sum over its labels of z minus the assumed z, times the unlabelled
items for each label: the difference estimator of survey sampling. A rate for every class of every
stratum would have too many parameters for its labels. Means over classes have an interval of their
own (`core.class_means`).

Labels follow the observed errors, mostly the few with a large loss. A stratum where one was found
gets more labels, so the error counts for less (`_Errors.hidden`). `Linear.evened` corrects for that
if labels were allocated this way.
"""

from dataclasses import dataclass

import numpy as np

from assay.core.allocation import explore
from assay.core.class_means import class_mean
from assay.core.confusion import Counts, MatrixKind, Slopes
from assay.core.likelihood import shares
from assay.core.linear import Linear
from assay.core.metrics import MATRIX_METRICS
from assay.core.tallies import at_columns, plain_totals, sums_at
from assay.core.types import Floats, Ints

_PRIOR = 2.0  # weight, in errors, of the loss in all strata in each of them
_POOLED = 1.0  # weight, in labels, of a stratum's rate in each of its classes
_SUREST = 0.95  # upper bound of an error rate as a divisor
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Matrix:
    """A metric of the confusion matrix over parts of strata."""

    metric: str  # a name of `MATRIX_METRICS`
    # stratum, predicted, (C,): of each part: its stratum, from 0, ascending, and the number of its
    # predicted class.
    stratum: Ints
    predicted: Ints
    size: Floats  # (C,): its items
    predicted_items: Floats  # (K,): all items predicted as each class

    @property
    def kind(self) -> MatrixKind:
        """Definition of the metric."""
        return MATRIX_METRICS[self.metric]

    def predict(self, n: Floats, by_class: Floats) -> "Predicted":
        """Estimate the counts of the matrix from labels.

        `n`, (..., C): labels; `by_class`, (..., C, K + 1): labels by class, those of no class last.
        """
        return Predicted(self, n, by_class)

    def linear(self, N: Floats, n: Floats, outcomes: Floats) -> Linear:
        """Metric, to first order about the estimated counts.

        `N`, (H,): the items of each stratum; `outcomes`: as in `Tallies.by_class`.
        """
        by_class = outcomes[..., : self.predicted_items.size + 1]
        if self.kind.mean_of:
            return class_mean(
                self.kind, self.row, self.predicted, self.size, n=n, by_class=by_class
            )
        value, by_d, by_T = self.predict(n, by_class).value()
        ends = np.concatenate([by_T, np.zeros_like(by_T[..., :1])], axis=-1)  # none of these
        own = (by_d + by_T)[..., self.predicted]  # (..., C)
        wrong = self.wrong(by_class)
        labels, errors = self.by_stratum(n), self.by_stratum(wrong.sum(axis=-1))
        # Loss of an error: in its stratum, and by all strata for its class.
        every = shares(wrong.sum(axis=-2))
        B, B2 = ((every * each).sum(axis=-1)[..., None] for each in (ends, ends**2))
        A, A2 = (self.by_stratum(self.size * each) / N for each in (own, own**2))
        *lead, part, named = np.nonzero(wrong)
        loss = own[(*lead, part)] - ends[(*lead, named)]
        seen = _Errors(wrong[(*lead, part, named)], loss, (*lead, self.row[part]), errors.shape)
        mean = (seen.sum(loss) + _PRIOR * (A - B)) / (errors + _PRIOR)
        square = (seen.sum(loss**2) + _PRIOR * (A2 - 2 * A * B + B2)) / (errors + _PRIOR)
        square = np.maximum(square, mean**2)  # rounding must not make a variance negative
        p = np.minimum((errors + 0.5) / (labels + 1), _SUREST)
        w = np.sqrt(mean**2 + np.maximum(square - mean**2, 0.0) / (1 - p))

        left = (N - labels) / np.maximum(N - 1, 1.0)
        asked = explore(shares(w * N), labels, errors, left)
        hidden = np.where(left > 0, seen.hidden(square, errors + _PRIOR) * (1 - asked.shares), 0.0)
        hidden = hidden + asked.pull * (mean - w)  # pull * w is corrected by the interval
        return Linear(
            plain_totals(N, labels, labels - errors),
            value,
            w,
            self.kind.lowest,
            hidden=(hidden * N / np.maximum(labels, 1.0)).sum(axis=-1),
        )

    def right(self, n: Floats, by_class: Floats) -> Floats:
        """Count the correct items among those predicted as each class, (..., K).

        A part's rate is that of its own labels plus one label at the rate of its stratum: parts are
        small, and one without labels has the stratum's rate.
        """
        known, left = self.predict(n, by_class), _POOLED * (1 - n / self.size)
        rate = known.rate[..., self.row]
        share = (known.correct + left * rate) / np.maximum(n + left, _TINY)
        return self.by_prediction(self.size * share)

    @property
    def starts(self) -> Ints:
        """Index of the first part of each stratum that has parts."""
        return np.flatnonzero(np.diff(self.stratum, prepend=-1))

    @property
    def row(self) -> Ints:
        """Index of each part's stratum among the strata that have parts."""
        return np.cumsum(np.diff(self.stratum, prepend=self.stratum[:1]) > 0)

    def by_stratum(self, values: Floats) -> Floats:
        """Sum over the parts, (..., C), of each stratum, (..., H)."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))

    def by_prediction(self, values: Floats) -> Floats:
        """Sum over the parts, (..., C), of each predicted class, (..., K)."""
        return sums_at(values, self.predicted, self.predicted_items.size)

    def wrong(self, by_class: Floats) -> Floats:
        """Labels that differ from the predicted class."""
        wrong = by_class.copy()
        wrong[..., np.arange(self.predicted.size), self.predicted] = 0.0
        return wrong


@dataclass(frozen=True, eq=False)
class _Errors:
    """Observed errors; arrays of shape (E,)."""

    # number, loss: the number of errors of a kind, and the loss of one.
    number: Floats
    loss: Floats
    row: tuple[Ints, ...]  # the evaluation and the stratum that they are in
    shape: tuple[int, ...]  # of evaluations and strata: (..., H)

    def sum(self, values: Floats) -> Floats:
        """Sum the values over the errors of each stratum, (..., H)."""
        sums = np.zeros(self.shape)
        np.add.at(sums, self.row, self.number * values)
        return sums

    def hidden(self, square: Floats, count: Floats) -> Floats:
        """Effect hidden by the allocation of labels, in labels times loss, (..., H).

        Labels of a stratum are in proportion to the root of the mean square of losses. If an error
        of loss L had not been found, that root would be smaller by a factor g, and n with it; so
        L/n is too small by L (g - 1)/n on average. An error with a smaller loss than others makes
        the root smaller; that is the case g < 1.

        `square`, `count`, (..., H): the mean square of losses, and the number of errors behind it.
        """
        square, count = square[self.row], count[self.row]
        without = np.maximum(square * count - self.loss**2, 0.0) / np.maximum(count - 1, 1.0)
        g = np.sqrt(square / np.where(without > 0, without, np.maximum(square, _TINY)))
        return self.sum(self.loss * (g - 1))


class Predicted:
    """Counts of a matrix, assuming that unlabelled items are like their stratum's labels."""

    def __init__(self, matrix: Matrix, n: Floats, by_class: Floats) -> None:
        # n, correct, (..., C): labels of each part, and correct ones.
        self.matrix, self.n, self.correct = matrix, n, at_columns(by_class, matrix.predicted)
        # labels, rate, (..., H): labels of each stratum, and the share of correct ones.
        self.labels, right = matrix.by_stratum(n), matrix.by_stratum(self.correct)
        self.rate = np.where(self.labels > 0, right, 0.5) / np.maximum(self.labels, 1.0)
        # (..., H, K + 1): wrong labels, by true class
        self.errors = np.add.reduceat(matrix.wrong(by_class), matrix.starts, axis=-2)

    def value(self) -> Slopes:
        """Metric, estimated as in the module docstring, and its slopes at the counts."""
        value, by_d, by_T = self.matrix.kind.slopes(self.counts)
        return value + self._beyond(by_d, by_T), by_d, by_T

    @property
    def counts(self) -> Counts:
        """The counts; exact where every item has a label."""
        matrix, K = self.matrix, self.matrix.predicted_items.size
        right = self.rate[..., matrix.row]
        unknown = matrix.size - self.n
        d = matrix.by_prediction(self.correct + unknown * right)
        missing = matrix.by_stratum(unknown * (1 - right))
        missed = (missing[..., None] * self._of_class + self.errors).sum(axis=-2)[..., :K]
        return Counts(d, missed + d, matrix.predicted_items, float(matrix.predicted_items.sum()))

    @property
    def _of_class(self) -> Floats:
        """Share of each class among a stratum's errors, (..., H, K + 1).

        A stratum without errors gets the shares of all strata.
        """
        seen = self.errors.sum(axis=-1, keepdims=True)
        every = shares(self.errors.sum(axis=-2, keepdims=True))
        return np.asarray(np.where(seen > 0, self.errors / np.maximum(seen, 1.0), every))

    def _beyond(self, by_d: Floats, by_T: Floats) -> Floats:
        """Difference between the labels and the model, to first order.

        Errors have their observed classes, stratum by stratum; so the sum over labels of z minus
        the assumed z is (correct labels minus the assumed number) times the contribution of a
        correct label in place of an error.
        """
        matrix, K = self.matrix, self.matrix.predicted_items.size
        more = self.correct - self.n * self.rate[..., matrix.row]
        own = (by_d + by_T)[..., matrix.predicted]
        error = (self._of_class[..., :K] * by_T[..., None, :]).sum(axis=-1)
        gain = matrix.by_stratum(more * own) - error * matrix.by_stratum(more)
        # Unlabelled items for each labelled one.
        unlabelled = matrix.by_stratum(matrix.size) / np.maximum(self.labels, 1) - 1
        return np.asarray((unlabelled * gain).sum(axis=-1))


# Differences of two classifiers' metrics of the whole confusion matrix.
#
# An item of class t with the predicted classes c and b adds z = z1 - z2 to the difference
# (`core.confusion`). Items on which the classifiers agree are separated from the others. If they
# disagree, the outcome is that the first is right: z is then large and positive, negative if the
# second is right, and small if neither is. If they agree, the outcome is that both are right. With
# two weeks, items that are in only one are separated, too, and add z1 or -z2 alone; the outcome is
# that the one classifier applied to them is right. An outcome with weight w has the variance p (1 -
# p) w^2, so with
#
#     w^2 = Var(z) / (p (1 - p))
#
# the difference is to first order a linear form in the outcomes (`Linear`). In each stratum one
# pseudo-label is added, half of it an outcome, so that no stratum with few labels looks certain.


@dataclass(frozen=True, eq=False)
class MatrixGap:
    """The difference of a metric between two classifiers, over parts of strata."""

    # first, second: the same metric of each, over the parts to which it was applied.
    first: Matrix
    second: Matrix
    # first_at, second_at: which of the C parts these are.
    first_at: Ints
    second_at: Ints
    size: Floats  # (C,): the items of every part
    # (C,): the class that is the outcome: the first's predicted class, or the second's if the first
    # was not applied.
    reads: Ints
    # (C,): the view's stratum of each part, ascending: a stratum's items with agreement, with
    # disagreement, or of one classifier alone.
    row: Ints

    def linear(self, N: Floats, n: Floats, outcomes: Floats) -> Linear:
        """Difference, to first order about the estimated counts.

        `N`, (V,): the items of each stratum of the view; `outcomes`: as in `Tallies.by_class`.
        """
        by_class = outcomes[..., : self.first.predicted_items.size + 1]
        kind = MATRIX_METRICS[self.first.metric]
        values, z = [], np.zeros(by_class.shape)
        for sign, each, at in ((1, self.first, self.first_at), (-1, self.second, self.second_at)):
            theirs = by_class[..., at, :]
            value, by_d, by_T = each.predict(n[..., at], theirs).value()
            ends = np.concatenate([by_T, np.zeros_like(by_T[..., :1])], axis=-1)
            own = np.zeros(theirs.shape)
            own[..., np.arange(each.predicted.size), each.predicted] = by_d[..., each.predicted]
            values.append(value)
            z[..., at, :] += sign * (own + ends[..., None, :])
        smoothed = by_class + self._one_more(by_class)
        total, mean, square = (self._sum(smoothed * power) for power in (1.0, z, z * z))
        outcome = at_columns(smoothed, self.reads)[..., None]
        right_z = at_columns(z, self.reads)[..., None]
        p, both = self._sum(outcome) / total, self._sum(outcome * right_z) / total
        mean, square = mean / total, square / total
        variance = np.maximum(square - mean**2, 0.0)
        w = np.sqrt(variance / np.maximum(p * (1 - p), 1e-12))
        towards = np.where(both - p * mean < 0, -1.0, 1.0)
        labels, x = self._sum(n[..., None]), self._sum(at_columns(by_class, self.reads)[..., None])
        there = plain_totals(N, labels, x)
        most = 1 - kind.lowest
        return Linear(
            there,
            values[0] - values[1],
            towards * w,
            lowest=-most,
            highest=most,
            unknown=self._unknown(n, by_class),
        )

    def _unknown(self, n: Floats, by_class: Floats) -> Floats | None:
        """Possible shift of a mean over classes from classes whose labels do not show both sides.

        There is no label of such a class, or of the items that one of the classifiers predicts as
        it. Its difference may be anything.
        """
        if not MATRIX_METRICS[self.first.metric].mean_of:
            return None
        named = by_class[..., :-1].sum(axis=-2)
        hidden = named <= 0
        for each, at in ((self.first, self.first_at), (self.second, self.second_at)):
            hidden = hidden | (each.by_prediction(n[..., at]) <= 0)
        counted = (self.first.predicted_items + self.second.predicted_items > 0) | (named > 0)
        known = n.sum(axis=-1) >= self.size.sum()
        share = (hidden & counted).sum(axis=-1) / np.maximum(counted.sum(axis=-1), 1)
        return np.where(known, 0.0, share)

    def _one_more(self, by_class: Floats) -> Floats:
        """One pseudo-label for each stratum, in its parts by size: half of it an outcome.

        In the other half the second classifier is right; if they agree, or only one was applied,
        the half is distributed over classes as all errors are.
        """
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        size = self.size / np.add.reduceat(self.size, starts)[self.row]
        errors, part = by_class.copy(), np.arange(self.reads.size)
        errors[..., part, self.reads] = 0.0
        wrong = shares(errors.sum(axis=-2, keepdims=True))
        other = np.broadcast_to(wrong, by_class.shape).copy()
        second = self.reads.copy()
        second[self.second_at] = self.second.predicted
        for number in np.flatnonzero(second != self.reads):
            other[..., number, :] = 0.0
            other[..., number, second[number]] = 1.0
        more = 0.5 * other
        more[..., part, self.reads] += 0.5
        return np.asarray(size[:, None] * more)

    def _sum(self, counts: Floats) -> Floats:
        """Sum over classes and over the parts of each stratum of the view."""
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        return np.asarray(np.add.reduceat(counts.sum(axis=-1), starts, axis=-1))
