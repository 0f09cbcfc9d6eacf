"""Differences of two classifiers' metrics of the whole confusion matrix.

An item that one classifier calls c and the other b, and that is of class t, adds z = z1 - z2 to the
difference (`core.confusion`). Items on which the classifiers agree are told from the others: where
they disagree, the outcome is that the first is right, and z is large and positive for it, negative
where the second is right, and small where neither is; where they agree, it is that both are right.
Of two weeks some items are in one only: they are told apart, too, and add z1 or -z2 alone; the
outcome is that the one classifier is right that was applied to them.
An outcome that weighs w has the variance p (1 - p) w^2, so with

    w^2 = Var(z) / (p (1 - p))

the difference is to first order a linear form in the outcomes (`Linear`). In each stratum one label
more is counted than there are, half of it an outcome: where few are seen, none looks certain.
"""

from dataclasses import dataclass

import numpy as np

from assay.core.confusion import MATRIX_METRICS, Linear
from assay.core.matrix import Matrix
from assay.core.tallies import plain_totals
from assay.core.types import Floats, Ints


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
