"""Estimates of the confusion matrix, and its metrics as linear forms in the totals of strata.

An item that is called c and is of class t adds

    z = [t = c] df/dd_c + df/dT_t

to a metric f (`core.confusion`), to first order. Where it is wrong, it takes away the **loss**
z_cc - z_ct = df/dd_c + df/dT_c - df/dT_t. So in a stratum the metric hangs on how many items are
wrong, and on what an error costs there. With p the rate of errors, and L the loss of one, an item's
variance is

    p (1 - p) E[L]^2 + p Var(L) = p (1 - p) w^2,    w^2 = E[L]^2 + Var(L) / (1 - p):

that of an error that always costs w. To first order the metric is thus a linear form in the correct
items of the strata, each with the weight w_h, and the statistics of accuracy apply (`Linear`).

Its value is estimated in three steps (`Predicted`). Items without a label are supposed to be right
as often as their stratum's labels are, and errors to be of the classes that its errors are of. That
varies little, but leaves out that classes of one stratum differ. So what the labels show beyond it
is added, to first order: for each stratum the sum over its labels of z less the z that was
supposed, times the items without a label for each that has one: the difference estimator of survey
sampling. A rate for every class of every stratum would be too large a model for its labels: on
news20 its estimates varied by 9% more than the interval says. Means over classes have an interval
of their own (`core.class_means`).

Labels follow the errors that were seen, and most those that cost much, which are few: where one was
found there are more labels for it, so that it counts for less (`_Errors.hidden`). That is given
back where labels were allocated so (`Linear.evened`).
"""

from dataclasses import dataclass

import numpy as np

from assay.core.allocation import explore
from assay.core.class_means import class_mean
from assay.core.confusion import MATRIX_METRICS, Counts, Linear, MatrixKind, Slopes
from assay.core.likelihood import shares
from assay.core.tallies import plain_totals
from assay.core.types import Floats, Ints

_PRIOR = 2.0  # errors that what all strata tell of a loss counts for in each of them
_POOLED = 1.0  # labels that a stratum's rate counts for in each of its classes
_SUREST = 0.95  # an error rate is taken to be no more, where it divides
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Matrix:
    """A metric of the matrix over parts of strata."""

    metric: str  # a name of `MATRIX_METRICS`
    # stratum, said, (C,): of each part: its stratum, from 0, ascending, and the number of the class
    # that its items are called.
    stratum: Ints
    said: Ints
    size: Floats  # (C,): its items
    said_items: Floats  # (K,): all items that are called each class

    @property
    def kind(self) -> MatrixKind:
        """What the metric is."""
        return MATRIX_METRICS[self.metric]

    def predict(self, n: Floats, by_class: Floats) -> "Predicted":
        """Return what the labels tell of the counts.

        `n`, (..., C): labels; `by_class`, (..., C, K + 1): of these, those of each class, and last
        those of none.
        """
        labels = self.by_stratum(n)
        correct = self.correct(by_class)
        right = self.by_stratum(correct)
        rate = np.where(labels > 0, right, 0.5) / np.maximum(labels, 1.0)
        errors = np.add.reduceat(self.wrong(by_class), self.starts, axis=-2)
        return Predicted(self, n, correct, labels, rate, errors)

    def linear(self, N: Floats, n: Floats, by_class: Floats) -> Linear:
        """Return the metric, to first order about what the labels tell.

        `N`, (H,): the items of each stratum.
        """
        if self.kind.mean_of:
            return class_mean(self.kind, self.row, self.said, self.size, n=n, by_class=by_class)
        value, by_d, by_T = self.predict(n, by_class).value()
        ends = np.concatenate([by_T, np.zeros_like(by_T[..., :1])], axis=-1)  # none of these
        own = (by_d + by_T)[..., self.said]  # (..., C)
        wrong = self.wrong(by_class)
        labels, errors = self.by_stratum(n), self.by_stratum(wrong.sum(axis=-1))
        # What an error costs: in its stratum, and by what all strata tell of the class that it is.
        every = wrong.sum(axis=-2)
        every = np.where(every.sum(axis=-1, keepdims=True) > 0, every, 1.0)
        every = every / every.sum(axis=-1, keepdims=True)
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
        hidden = hidden + asked.pull * (mean - w)  # pull * w is given back by the interval
        return Linear(
            plain_totals(N, labels, labels - errors),
            value,
            w,
            self.kind.lowest,
            hidden=(hidden * N / np.maximum(labels, 1.0)).sum(axis=-1),
        )

    def right(self, n: Floats, by_class: Floats) -> Floats:
        """Return how many items of those that are called each class are right, (..., K).

        Of a part's items by its own labels, with the rate of its stratum for one label more: parts
        are small, and one without labels has the stratum's rate.
        """
        known, left = self.predict(n, by_class), _POOLED * (1 - n / self.size)
        rate = known.rate[..., self.row]
        share = (known.correct + left * rate) / np.maximum(n + left, _TINY)
        return self.by_said(self.size * share)

    @property
    def starts(self) -> Ints:
        """Where the parts of each stratum that has some begin."""
        return np.flatnonzero(np.diff(self.stratum, prepend=-1))

    @property
    def row(self) -> Ints:
        """The place of each part's stratum among those that have parts."""
        return np.cumsum(np.diff(self.stratum, prepend=self.stratum[:1]) > 0)

    def by_stratum(self, values: Floats) -> Floats:
        """Return sums over the parts, (..., C), of each stratum, (..., H)."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))

    def by_said(self, values: Floats) -> Floats:
        """Return sums over the parts, (..., C), that are called each class, (..., K)."""
        found = np.zeros((*values.shape[:-1], self.said_items.size))
        np.add.at(np.moveaxis(found, -1, 0), self.said, np.moveaxis(values, -1, 0))
        return found

    def own(self, by_class: Floats) -> Ints:
        """Return where in `by_class` the class is that a part's items are called."""
        return np.broadcast_to(self.said[:, None], (*by_class.shape[:-1], 1))

    def correct(self, by_class: Floats) -> Floats:
        """Return the labels of the class that an item is called, (..., C)."""
        return np.asarray(np.take_along_axis(by_class, self.own(by_class), axis=-1)[..., 0])

    def wrong(self, by_class: Floats) -> Floats:
        """Return the labels of other classes than the one that an item is called."""
        wrong = by_class.copy()
        np.put_along_axis(wrong, self.own(by_class), 0.0, axis=-1)
        return wrong


@dataclass(frozen=True, eq=False)
class _Errors:
    """Errors that were seen; arrays of shape (E,)."""

    # number, loss: how many there are of a kind, and what one costs.
    number: Floats
    loss: Floats
    row: tuple[Ints, ...]  # the evaluation and the stratum that they are in
    shape: tuple[int, ...]  # of evaluations and strata: (..., H)

    def sum(self, values: Floats) -> Floats:
        """Return the sums of values over the errors of each stratum, (..., H)."""
        found = np.zeros(self.shape)
        np.add.at(found, self.row, self.number * values)
        return found

    def hidden(self, square: Floats, count: Floats) -> Floats:
        """Return what the allocation of labels has hidden, in labels times loss, (..., H).

        Labels of a stratum are in proportion to the root of the mean square of losses. If an error
        of loss L had not been found, that root would be smaller by a factor g, and n with it; so
        L/n falls short of what is true by L (g - 1)/n on average. An error that costs less than
        others makes the root smaller; that is the case g < 1.

        `square`, `count`, (..., H): the mean square of losses, and the number of errors that it is
        of.
        """
        square, count = square[self.row], count[self.row]
        without = np.maximum(square * count - self.loss**2, 0.0) / np.maximum(count - 1, 1.0)
        g = np.sqrt(square / np.where(without > 0, without, np.maximum(square, _TINY)))
        return self.sum(self.loss * (g - 1))


@dataclass(frozen=True, eq=False)
class Predicted:
    """The counts of a matrix, where items without a label are as their stratum's labels are."""

    matrix: Matrix
    # n, correct, (..., C): labels of each part, and those that are right.
    n: Floats
    correct: Floats
    # labels, rate, (..., H): labels of each stratum, and the share of them that is right.
    labels: Floats
    rate: Floats
    errors: Floats  # (..., H, K + 1): labels that are wrong, by the class that they name

    def value(self) -> Slopes:
        """Return the metric, estimated as this module says, and its slopes at the counts."""
        value, by_d, by_T = self.matrix.kind.slopes(self.counts)
        return value + self._beyond(by_d, by_T), by_d, by_T

    @property
    def counts(self) -> Counts:
        """The counts; exact where every item has a label."""
        matrix, K = self.matrix, self.matrix.said_items.size
        right = self.rate[..., matrix.row]
        unknown = matrix.size - self.n
        d = matrix.by_said(self.correct + unknown * right)
        missing = matrix.by_stratum(unknown * (1 - right))
        missed = (missing[..., None] * self._of_class + self.errors).sum(axis=-2)[..., :K]
        return Counts(d, missed + d, matrix.said_items, float(matrix.said_items.sum()))

    @property
    def _of_class(self) -> Floats:
        """The share of a stratum's errors that is of each class, (..., H, K + 1).

        Where a stratum has shown none, as of the errors of all strata.
        """
        seen = self.errors.sum(axis=-1, keepdims=True)
        every = self.errors.sum(axis=-2, keepdims=True)
        every = np.where(every.sum(axis=-1, keepdims=True) > 0, every, 1.0)
        every = every / every.sum(axis=-1, keepdims=True)
        return np.asarray(np.where(seen > 0, self.errors / np.maximum(seen, 1.0), every))

    @property
    def _unlabelled(self) -> Floats:
        """Items without a label for each that has one, by stratum."""
        return np.asarray(self.matrix.by_stratum(self.matrix.size) / np.maximum(self.labels, 1) - 1)

    def _beyond(self, by_d: Floats, by_T: Floats) -> Floats:
        """Return what the labels show beyond what was supposed, to first order.

        Errors are supposed to be of the classes that they are of, stratum by stratum; so the sum
        over labels of z less what was supposed is that of (labels that are right, less those that
        were supposed to be) times what one right label adds where it stands for an error.
        """
        matrix, K = self.matrix, self.matrix.said_items.size
        more = self.correct - self.n * self.rate[..., matrix.row]
        own = (by_d + by_T)[..., matrix.said]
        error = (self._of_class[..., :K] * by_T[..., None, :]).sum(axis=-1)
        gain = matrix.by_stratum(more * own) - error * matrix.by_stratum(more)
        return np.asarray((self._unlabelled * gain).sum(axis=-1))


# Differences of two classifiers' metrics of the whole confusion matrix.
#
# An item that one classifier calls c and the other b, and that is of class t, adds z = z1 - z2 to
# the difference (`core.confusion`). Items on which the classifiers agree are told from the others:
# where they disagree, the outcome is that the first is right, and z is large and positive for it,
# negative where the second is right, and small where neither is; where they agree, it is that both
# are right. Of two weeks some items are in one only: they are told apart, too, and add z1 or -z2
# alone; the outcome is that the one classifier is right that was applied to them. An outcome that
# weighs w has the variance p (1 - p) w^2, so with
#
#     w^2 = Var(z) / (p (1 - p))
#
# the difference is to first order a linear form in the outcomes (`Linear`). In each stratum one
# label more is counted than there are, half of it an outcome: where few are seen, none looks
# certain.


@dataclass(frozen=True, eq=False)
class MatrixGap:
    """The difference of a metric between two classifiers, over parts of strata."""

    # first, second: the same metric of each, over the parts that it was applied to.
    first: Matrix
    second: Matrix
    # first_at, second_at: which of the C parts these are.
    first_at: Ints
    second_at: Ints
    size: Floats  # (C,): the items of every part
    # (C,): the class that is an outcome: what the first says, or the second where the first was not
    # applied.
    reads: Ints
    # (C,): the stratum of the view that each part is in, ascending: a stratum's items on which they
    # agree, or on which they do not, or that one alone was applied to.
    row: Ints

    def linear(self, N: Floats, n: Floats, by_class: Floats) -> Linear:
        """Return the difference, to first order about what the labels tell.

        `N`, (V,): the items of each stratum of the view.
        """
        kind = MATRIX_METRICS[self.first.metric]
        values, z = [], np.zeros(by_class.shape)
        for sign, each, at in ((1, self.first, self.first_at), (-1, self.second, self.second_at)):
            theirs = by_class[..., at, :]
            value, by_d, by_T = each.predict(n[..., at], theirs).value()
            ends = np.concatenate([by_T, np.zeros_like(by_T[..., :1])], axis=-1)
            own = np.zeros(theirs.shape)
            right = by_d[..., each.said][..., None]
            np.put_along_axis(own, each.own(theirs), right, axis=-1)
            values.append(value)
            z[..., at, :] += sign * (own + ends[..., None, :])
        told = by_class + self._one_more(by_class)
        total, mean, square = (self._sum(told * power) for power in (1.0, z, z * z))
        outcome = self._read(told)
        right_z = self._read(z)
        p, both = self._sum(outcome) / total, self._sum(outcome * right_z) / total
        mean, square = mean / total, square / total
        variance = np.maximum(square - mean**2, 0.0)
        w = np.sqrt(variance / np.maximum(p * (1 - p), 1e-12))
        towards = np.where(both - p * mean < 0, -1.0, 1.0)
        labels, x = self._sum(n[..., None]), self._sum(self._read(by_class))
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
        """How far a mean over classes may move by classes of which labels do not show both sides.

        No label is of such a class, or of the items that one of the classifiers calls so. Its
        difference may be anything.
        """
        if not MATRIX_METRICS[self.first.metric].mean_of:
            return None
        named = by_class[..., :-1].sum(axis=-2)
        hidden = named <= 0
        for each, at in ((self.first, self.first_at), (self.second, self.second_at)):
            hidden = hidden | (each.by_said(n[..., at]) <= 0)
        counted = (self.first.said_items + self.second.said_items > 0) | (named > 0)
        known = n.sum(axis=-1) >= self.size.sum()
        share = (hidden & counted).sum(axis=-1) / np.maximum(counted.sum(axis=-1), 1)
        return np.where(known, 0.0, share)

    def _one_more(self, by_class: Floats) -> Floats:
        """Return one label for each stratum, in its parts by size: half of it an outcome.

        The other half is where the second classifier is right; where they agree, or one of them
        alone was applied, of the classes that errors are of anywhere.
        """
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        size = self.size / np.add.reduceat(self.size, starts)[self.row]
        errors = by_class.copy()
        np.put_along_axis(errors, self._reads(by_class), 0.0, axis=-1)
        wrong = errors.sum(axis=-2, keepdims=True)
        wrong = np.where(wrong.sum(axis=-1, keepdims=True) > 0, wrong, 1.0)
        other = np.broadcast_to(wrong / wrong.sum(axis=-1, keepdims=True), by_class.shape).copy()
        second = self.reads.copy()
        second[self.second_at] = self.second.said
        for number in np.flatnonzero(second != self.reads):
            other[..., number, :] = 0.0
            other[..., number, second[number]] = 1.0
        more = 0.5 * other
        np.put_along_axis(more, self._reads(by_class), self._read(more) + 0.5, axis=-1)
        return np.asarray(size[:, None] * more)

    def _reads(self, by_class: Floats) -> Ints:
        """Return where in `by_class` the outcome of each part is."""
        return np.broadcast_to(self.reads[:, None], (*by_class.shape[:-1], 1))

    def _read(self, values: Floats) -> Floats:
        """Return what there is of the outcome of each part, (..., C, 1)."""
        return np.asarray(np.take_along_axis(values, self._reads(values), axis=-1))

    def _sum(self, counts: Floats) -> Floats:
        """Return sums over classes and the parts of each stratum of the view."""
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        return np.asarray(np.add.reduceat(counts.sum(axis=-1), starts, axis=-1))
