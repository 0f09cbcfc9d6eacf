"""Means of the classes' recalls, precisions or F1s, with intervals for rare unseen errors.

In such a mean an item of a rare class may weigh as much as a hundred items of a common one. Missed
items of that class lie in large strata, where a sample shows few of them. An interval from observed
rates alone ignores them. So each class has two uncertain counts; the number of items predicted as
c, P_c, is known:

    B_c   items that are called c and are not of class c
    M_c   items of class c that are called something else

The metric of a class depends on both, with A = P - B: the recall A/(A + M), the F1
2A/(P + A + M), the precision A/P. Each count has Fay and Feuer's interval for a sum of weighted
counts [1]_, which holds for a count of 0 (`core.class_counts`). The lower end of the mean is the
nearer of two bounds: the classes' distances combined by their squares (MOVER [2]_), which follow
the curve of each metric; and the upper end of the loss 1 - mean, as one sum of weighted counts with
an allowance for an error of the costliest kind. The upper end of the mean is the farther of both:
where errors are few, distances that stop at a count of 0 are too short.

Five corrections:

- An error is seen from two sides, as an item called c and as an item missed, so distances grow by
  the square root of Var(all)/sum Var(each) where that is above 1.
- Recall and F1 are convex in M. The mean of estimated values lies above the mean by half the second
  slope times the variance; less where misses are few, and found in large steps. These leans add up
  over classes, so they are subtracted.
- The variance at the rates seen is of the first order, and the lean that is subtracted moves with
  the value: it grows with few labels of a class (`second_order`).
- Labels follow the errors of strata, so that errors count for less where many were found. The
  difference is subtracted (`Linear.hidden`).
- A class that no label has shown may have any value from 0 to 1. Several such classes may err
  in the same direction, so their distances are added, not their squares.

Labels are allocated by a model with few parameters (`core.class_counts`).

References
----------
.. [1] Fay and Feuer (1997). Confidence intervals for directly standardized rates: a method based on
   the gamma distribution. Statistics in Medicine 16.
.. [2] Zou and Donner (2008). Construction of confidence limits about effect measures: a general
   approach. Statistics in Medicine 27.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.class_counts import STEADY, ClassCounts, ErrorModel, gamma_end, over, upper_end
from assay.core.confusion import ClassScore, MatrixKind, class_score
from assay.core.linear import Linear
from assay.core.special import z_of
from assay.core.tallies import Tallies, at_columns, plain_totals, sums_at
from assay.core.types import Bools, Floats, Ints

# Share of the labels that goes by the largest possible loss, whatever was found.
_BY_LOSS = 0.1
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class ClassSample:
    """Labels for a mean over classes."""

    kind: MatrixKind  # the metric, with `mean_of`
    wrong: ClassCounts
    missed: ClassCounts

    @cached_property
    def model(self) -> ErrorModel:
        """Error rates."""
        return ErrorModel(self.wrong, self.missed)

    @property
    def _called(self) -> Floats:
        return self.wrong.items

    @cached_property
    def _right(self) -> Floats:
        return np.asarray(self._called - self.wrong.total)

    @property
    def _missing(self) -> Floats:
        return self.missed.total

    def _score(self, A: Floats, M: Floats) -> ClassScore:
        return class_score(self.kind.mean_of, A, M, self._called)

    @cached_property
    def _now(self) -> ClassScore:
        return self._score(self._right, self._missing)

    @cached_property
    def _counted(self) -> Bools:
        """Classes that count, as far as known: not those that can have no items."""
        missed = self.missed.items - (self.missed.n - self.missed.x).sum(axis=-2) > 0
        called = np.broadcast_to(self._called > 0, missed.shape)
        if self.kind.only_true:
            called = self._called - self.wrong.x.sum(axis=-2) > 0
        return np.asarray(missed | called)

    @cached_property
    def _unknown(self) -> Bools:
        """Classes that count but whose metric has no label yet."""
        none = np.where(self._called > 0, self.wrong.labels <= 0, self._missing <= 0)
        if self.kind.mean_of == "recall":
            none = none | (self._right + self._missing <= 0)
        # With every item labelled, a class that is predicted but does not exist has the value 0.
        left = np.asarray((self.wrong.n < self.wrong.N).any(axis=(-2, -1)))
        return np.asarray(none & self._counted & left[..., None])

    @property
    def _known(self) -> Bools:
        return self._counted & ~self._unknown

    @cached_property
    def _number(self) -> Floats:
        return np.asarray(np.maximum(self._counted.sum(axis=-1), 1.0))

    @cached_property
    def _values(self) -> Floats:
        """Value of each class, (..., K); classes without labels get the mean of the others."""
        mean = over((self._now.value * self._known).sum(axis=-1), self._known.sum(axis=-1) + 0.0)
        return np.where(self._unknown, mean[..., None], self._now.value * self._counted)

    @cached_property
    def _plain(self) -> Floats:
        return np.asarray(self._values.sum(axis=-1) / self._number)

    @cached_property
    def value(self) -> Floats:
        """The mean over classes, corrected for its bias; (...)."""
        return np.asarray(self._plain - self._lean)

    @cached_property
    def _lean(self) -> Floats:
        of_A = self.wrong.variance_at(self.model.errors, STEADY)
        return self._lean_at(of_A, self.missed.variance_at(self.model.misses, STEADY))

    def _lean_at(self, of_A: Floats, of_M: Floats) -> Floats:
        """Bias: half the second slopes times the variances; per class at most a third of its value.

        Beyond that the second order is meaningless. Misses are found in steps of the items that a
        label stands for: over a step, 1/T bends by m/(m + 1) of its second slope.
        """
        by_right, by_missed = self._now.bends
        by_missed = by_missed / (1 + 1 / self._labels)
        most = self._values / 3
        each = np.clip((by_right * of_A + by_missed * of_M) / 2, -most, most)
        return np.asarray((each * self._known).sum(axis=-1) / self._number)

    def ends(self, z: float, b: float) -> tuple[Floats, Floats]:
        """Confidence limits of the mean, (...)."""
        down, up = self._apart(z, b)
        fewer, more = self._together(z, b)
        low, high = np.minimum(down, more), np.maximum(up, fewer)
        # A class that is never predicted has the value 0, or no items at all.
        absent = np.where(self._called > 0, 1 - self._values, 0.0)
        below, above = (
            (each * self._unknown).sum(axis=-1) / self._number for each in (self._values, absent)
        )
        plain = self._lean_at(self.wrong.variance, self.missed.variance)
        lean = np.minimum(self._lean, plain)
        return self._plain - low - below - self._lean, self._plain + high + above - lean

    def _apart(self, z: float, b: float) -> tuple[Floats, Floats]:
        """Distances to both ends from the intervals of the classes' counts (MOVER)."""
        B_low, B_high = self.wrong.ends(z, b)
        M_low, M_high = self.missed.ends(z, b)
        M_low = np.where(self._right + M_low > 0, M_low, self._missing)
        distances = []
        for M, B in ((M_high, B_high), (M_low, B_low)):
            by_missed = self._values - self._score(self._right, M).value
            by_B = self._values - self._score(self._called - B, self._missing).value
            squares = ((by_missed**2 + by_B**2) * self._known).sum(axis=-1)
            distances.append(self._both_sides * np.sqrt(squares) / self._number)
        return distances[0], distances[1]

    def _together(self, z: float, b: float) -> tuple[Floats, Floats]:
        """How much lower and higher the loss of all classes may be: one weighted count."""
        variance = self.variance
        costliest = np.maximum(
            self._now.by_right * self.wrong.unseen, self._now.by_missed * self.missed.unseen
        )
        unseen = (costliest * self._known).max(axis=-1) / self._number
        loss = 1 - self._plain
        one = np.where(variance > 0, over(variance, loss), unseen)
        less = gamma_end(np.maximum(loss - b * one, 0.0), variance, -z)
        return loss - less, upper_end(loss, variance, one=one, unseen=unseen, z=z, b=b) - loss

    @cached_property
    def variance(self) -> Floats:
        """First-order variance of the mean at the observed counts, (...)."""
        each = self._now.by_right**2 * self.wrong.variance
        each = each + self._now.by_missed**2 * self.missed.variance * self.second_order
        return np.asarray(
            (each * self._known).sum(axis=-1) * (self._both_sides / self._number) ** 2
        )

    @cached_property
    def second_order(self) -> Floats:
        """Variance of a class's value over the first order's, (..., K).

        With m labels of the class the first order at the observed rates is too small by about 1/m.
        Subtracting the bias, which moves with the value, adds 2/m.
        """
        return np.asarray(1 + np.minimum(3 / self._labels, 1.0))

    @cached_property
    def _labels(self) -> Floats:
        """Labels of each class, m: the items of its metric over those that a label stands for."""
        return np.maximum(over(self._now.under, self.missed.one), _TINY)

    @cached_property
    def _both_sides(self) -> Floats:
        return np.sqrt(self.model.both_sides(self._now.by_right, self._now.by_missed))

    # Allocation.

    @cached_property
    def _expected(self) -> tuple[Floats, Floats]:
        """Losses by A and by M at the model's rates, which vary less than the observed ones."""
        A = (self.wrong.N * (1 - self.model.errors)).sum(axis=-2)
        M = (self.missed.N * self.model.misses).sum(axis=-2)
        score, number = self._score(A, M), self._number[..., None]
        return score.by_right / number, score.by_missed / number

    @cached_property
    def loss(self) -> Floats:
        """Root mean square of the loss of an error in each cell, (..., G, K)."""
        _, square = self.model.loss(*self._expected)
        return np.asarray(np.sqrt(np.broadcast_to(square, self.wrong.n.shape)))

    @cached_property
    def shares(self) -> Floats:
        """Share of all labels that each cell should have, (..., G, K)."""
        by_right, by_missed = self._expected
        mean, square = self.model.loss(by_right, by_missed)
        p = self.model.errors
        spread = self.wrong.N * np.sqrt(np.maximum(p * square - (p * mean) ** 2, 0.0))
        ordered = np.sort(by_missed, axis=-1)
        other = np.where(by_missed == ordered[..., -1:], ordered[..., -2:-1], ordered[..., -1:])
        largest = self.wrong.N * (by_right + other)[..., None, :]
        by_spread, by_loss = (
            each / np.maximum(each.sum(axis=(-2, -1), keepdims=True), _TINY)
            for each in (spread, largest)
        )
        return np.asarray((1 - _BY_LOSS) * by_spread + _BY_LOSS * by_loss)

    @cached_property
    def hidden(self) -> Floats:
        """Loss hidden by an allocation that follows the errors of strata, (...).

        A stratum's labels grow as the square root of its error rate, in which its own x errors
        count against `STEADY` labels of the others. Where n grows as x^eta, x/n is too small by
        about eta/n.
        """
        mean, _ = self.model.loss(*self._expected)
        expected = self.wrong.N * self.model.errors
        mean = over((expected * mean).sum(axis=-1), expected.sum(axis=-1))
        N, n, x = (each.sum(axis=-1) for each in (self.wrong.N, self.wrong.n, self.wrong.x))
        own = over(x, x + STEADY * self.model.overall[..., 0])
        others = 1 - n / np.maximum(n.sum(axis=-1, keepdims=True), 1.0)
        follows = (1 - _BY_LOSS) * own * others / 2 * (n < N)
        return np.asarray((follows * mean * N / np.maximum(n, 1.0)).sum(axis=-1))


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassMean(Linear):
    """A mean over classes, with the interval and the allocation of `ClassSample`.

    Its linear form gives the effect of items without an answer.
    """

    sample: ClassSample
    shares: Floats  # (..., H): share of all labels that each part should have

    def ends(self, tallies: Tallies, confidence: float, b: float) -> tuple[Floats, Floats]:
        """Confidence limits, shifted by the effect of tallies other than its own."""
        there = plain_totals(tallies.N, tallies.n, tallies.x)
        shift = self.value_at - self.sample.value + (self.w * (there - self.at)).sum(axis=-1)
        low, high = self.sample.ends(z_of(confidence), b)
        return (
            np.clip(low + shift, self.lowest, self.highest),
            np.clip(high + shift, self.lowest, self.highest),
        )


def class_mean(
    kind: MatrixKind, stratum: Ints, predicted: Ints, size: Floats, *, n: Floats, by_class: Floats
) -> ClassMean:
    """Mean over classes from the labels of parts.

    `stratum`, `predicted`, `size`, (C,): each part's stratum (from 0, ascending), predicted class
    and number of items; `n`, (..., C): labels; `by_class`, (..., C, K + 1): labels by class, those
    of no class last.
    """
    K, strata = by_class.shape[-1] - 1, int(stratum.max()) + 1
    cell = stratum * K + predicted

    def in_cells(values: Floats) -> Floats:
        return sums_at(values, cell, strata * K).reshape(*values.shape[:-1], strata, K)

    def of_others(values: Floats) -> Floats:
        return np.asarray(values.sum(axis=-1, keepdims=True) - values)

    right = at_columns(by_class, predicted)
    N, labels, correct = in_cells(size), in_cells(n), in_cells(right)
    whole = over(N.sum(axis=-1, keepdims=True) + 0 * labels[..., :1], labels.sum(-1, keepdims=True))
    starts = np.flatnonzero(np.diff(stratum, prepend=-1))
    named = np.add.reduceat(by_class, starts, axis=-2)[..., :K]
    sample = ClassSample(
        kind,
        ClassCounts(N, labels, labels - correct, whole),
        ClassCounts(of_others(N), of_others(labels), named - correct, whole),
    )
    loss, shares = (
        each.reshape(*each.shape[:-2], -1)[..., cell] for each in (sample.loss, sample.shares)
    )
    return ClassMean(
        plain_totals(size, n, right),
        sample.value,
        loss,
        hidden=sample.hidden,
        sample=sample,
        shares=shares * size / N.ravel()[cell],
    )
