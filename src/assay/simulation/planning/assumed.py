"""Assumed populations: known scores, and an assumed truth.

With more than two classes, an item predicted as c with a score of s is assumed to be of c with
probability s, and otherwise of another class: by the probabilities of all classes, or, if only the
score of the predicted class is known, in proportion to the frequencies of the other predicted
classes.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from assay.core.bins import Scale
from assay.core.cells import Heap, assign_strata
from assay.core.cuts import rank
from assay.core.design import Design
from assay.core.evaluation import procedure_of
from assay.core.forecast import labels_needed, random_variance
from assay.core.forms import Metric, ratio
from assay.core.goal import Goal
from assay.core.limits import LabelLimit, honest_limit
from assay.core.metrics import canonical_metric
from assay.core.metrics import sides as sides_of
from assay.core.profile import Profile
from assay.core.special import expit
from assay.core.strata import Side, Strata
from assay.core.stratify import cell_strata, random_strata, sides_to_cut
from assay.core.tallies import Tallies
from assay.core.types import Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.predictions import ClassScores, Predictions
from assay.simulation.frames import Frame, Truth, frame_of
from assay.simulation.oracle import all_labelled
from assay.simulation.workers import Task

PLAN = "plan"
"""Random stream of all replays of plans: they are compared on the same luck."""
RANDOM_DESIGN = Design(bins=1)
"""With classes: a random sample of items is one stratum."""
_DOUBT = 0.1  # share of items that are independent of their predicted label
_DIGITS = 9  # of shares: engines add in another order
_TRUTH = 2  # the random stream of the classes of errors


@dataclass(frozen=True, eq=False)
class Trial:
    """A population cut by a design, with the assumed truth in each part."""

    strata: Strata
    # (..., C): the items of each part that have the outcome, with a row for each possible truth;
    # or, with classes, (C, K + 1): those of each class, and last those of none.
    outcomes: Floats
    goal: Goal  # of one target

    @property
    def items(self) -> int:
        """Number of items that labels are drawn from."""
        return int(self.strata.part_size.sum())

    @property
    def value(self) -> Floats:
        """The metric's assumed value; one for each possible truth."""
        known, metric = self._labelled()
        return np.atleast_1d(metric.value(known.x))

    @property
    def random_variance(self) -> float:
        """About n times the metric's variance under proportional allocation."""
        known, metric = self._labelled()
        spread = metric.gradient(known.x) ** 2 * known.x * (known.N - known.x) / known.N
        return float(spread.sum() * self.items)

    def _labelled(self) -> tuple[Tallies, Metric]:
        procedure = procedure_of(Design(), self.goal, self.strata, None, 0)
        return all_labelled(procedure, self.outcomes)

    def task(self, design: Design, goal: Goal, asked: int, runs: int) -> Task:
        """Task to replay."""
        rows = None if self.strata.of_classes else runs  # there may be a truth for each replication
        outcomes = self.outcomes if self.outcomes.ndim == 1 else self.outcomes[:rows]
        return Task.of_strata(PLAN, design, goal, self.strata, outcomes, asked=asked)

    def at_one_half(self) -> Self:
        """Trial with half of the items of every part positive, or predicted right."""
        half, own = np.floor(self.strata.part_size / 2), self.strata.part_code
        if not self.strata.of_classes:
            return replace(self, outcomes=half)
        outcomes = np.zeros_like(self.outcomes)
        outcomes[np.arange(own.size), own] = half
        outcomes[:, -1] = self.strata.part_size - half
        return replace(self, outcomes=outcomes)


@dataclass(frozen=True, eq=False)
class Assumed(ABC):
    """Known scores, and an assumed truth: of yes and no, or of more classes."""

    source: str  # where the predictions come from, for people
    scale: Scale  # what the scores are

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of items."""

    @abstractmethod
    def trial(self, design: Design, goal: Goal) -> Trial:
        """Cut the population as the design does, and count the assumed truth in each part."""

    @abstractmethod
    def doubted(self) -> Self:
        """Assume that one item in ten is independent of its predicted label."""

    @abstractmethod
    def at_random(self, goal: Goal) -> float:
        """Approximate labels of a random sample for the goal, by a formula."""

    def likely(self, score: Floats) -> Floats:
        """Probabilities by score; a margin is read as log-odds, 1/(1 + exp(-score))."""
        return score if self.scale == "probability" else np.asarray(expit(score))


@dataclass(frozen=True, eq=False)
class Supposed(Assumed):
    """Profiles of the scores, and the assumed share of positives at each.

    >>> from assay.predictions import from_arrays
    >>> predictions = from_arrays(y_score=[0.9, 0.8, 0.2], threshold=0.5)
    >>> supposed = Supposed.of(predictions, "probability")
    >>> supposed = supposed.with_rates({True: np.array([1.0, 1.0]), False: np.array([0.0])})
    >>> supposed.frame(Design(bins=1), "precision").outcomes
    array([2.])
    """

    # The scores of the items with each predicted label that occurs.
    profiles: Mapping[bool, Profile]
    # (M,): the share of positives in each cell of a profile; a row for each possible truth.
    rates: Mapping[bool, Floats]

    @classmethod
    def of(cls, predictions: Predictions, scale: Scale) -> Self:
        """Profile predictions, without any assumption yet."""
        there = {True: predictions.positives > 0, False: predictions.positives < predictions.size}
        sides: list[Side] = [side for side, any_ in there.items() if any_]
        profiles = predictions.profile("score", scale, sides)
        known = {side: profile for side, profile in profiles.items() if side is not None}
        none = {side: np.zeros(profile.count.size) for side, profile in known.items()}
        return cls(predictions.source, scale, known, none)

    def with_rates(self, rates: Mapping[bool, Floats]) -> Self:
        """Copy of the population with another assumed truth."""
        return replace(self, rates=rates)

    @property
    def size(self) -> int:
        """The number of items."""
        return sum(profile.total for profile in self.profiles.values())

    @property
    def predicted_positives(self) -> int:
        """Number of items that the classifier predicts yes."""
        return self.predicted(True)

    def predicted(self, side: bool) -> int:
        """Count the items with a predicted label."""
        return self.profiles[side].total if side in self.profiles else 0

    def positives(self, side: bool) -> float:
        """Mean number of positives with a predicted label, over the truths."""
        if side not in self.profiles:
            return 0.0
        return float(np.mean(self.rates[side] @ self.profiles[side].count))

    def frame(self, design: Design, metric: str) -> Frame:
        """Cut the population as the design does, and count the assumed truth in each stratum."""
        name, counts = canonical_metric(metric), (self.predicted_positives, self.size)
        sides = sides_to_cut(design, name, *counts, self.source)
        frame = frame_of({side: self._truth(side) for side in sides}, design, metric)
        return replace(frame, outcomes=np.rint(frame.outcomes))

    def calibrated(self) -> Self:
        """Assume calibrated scores: of items at 0.9, nine in ten are positive.

        >>> from assay.predictions import from_arrays
        >>> supposed = Supposed.of(from_arrays(y_score=[2.0, -2.0], threshold=0.0), "margin")
        >>> {side: rate.round(2) for side, rate in supposed.calibrated().rates.items()}
        {True: array([0.88]), False: array([0.12])}
        """
        rates = {side: self.likely(profile.mean) for side, profile in self.profiles.items()}
        return self.with_rates(rates)

    def doubted(self) -> Self:
        """Assume that one item in ten is independent of its score.

        A tenth of the way from what the scores say to the mean of all items, so that the share of
        positives in all stays the same. It matters most where a classifier is most confident: with
        half of all items positive, one in twenty of those at 0.999 is then an error. On real
        populations it compensates for overconfident scores (docs/plan.md); half of the way would
        take several times the labels.

        >>> from assay.predictions import from_arrays
        >>> predictions = from_arrays(y_score=[0.9, 0.1], threshold=0.5)
        >>> doubted = Supposed.of(predictions, "probability").calibrated().doubted()
        >>> {side: rate.round(2) for side, rate in doubted.rates.items()}
        {True: array([0.86]), False: array([0.14])}
        """
        rates = self.rates.items()
        mean = sum(float(each @ self.profiles[side].count) for side, each in rates) / self.size
        return self.with_rates(
            {side: np.asarray(each + _DOUBT * (mean - each)) for side, each in rates}
        )

    def trial(self, design: Design, goal: Goal) -> Trial:
        """Cut the population as the design does, and count the assumed truth in each stratum."""
        frame = self.frame(design, goal.metric)
        return Trial(frame.strata, frame.outcomes, goal)

    def at_random(self, goal: Goal) -> float:
        """Approximate labels of simple random sampling."""
        predicted = np.array([True, False])
        sizes = np.array([self.predicted(True), self.predicted(False)], dtype=np.float64)
        hits = np.array([self.positives(True), self.positives(False)])
        variance = np.array(random_variance(goal.metric, sizes, hits, predicted))
        return float(labels_needed(variance, goal.within or 1.0, goal.confidence))

    def honest_limit(self, goal: Goal) -> LabelLimit:
        """Minimum number of labels for the goal, averaged over the truths."""
        asked = sides_of(goal.metric)
        profiles = {side: each for side, each in self.profiles.items() if side in asked}
        rate = [np.mean(np.atleast_2d(self.rates[side]), axis=0) for side in profiles]
        count = np.concatenate([each.count for each in profiles.values()]).astype(np.float64)
        predicted = np.repeat(list(profiles), [each.count.size for each in profiles.values()])
        form, chances = ratio(goal.metric, count, predicted), np.concatenate(rate)
        within = goal.within or 1.0
        return honest_limit(form, count, chances, within=within, confidence=goal.confidence)

    @cached_property
    def by_score(self) -> Truth:
        """All items by score, for any predicted label.

        Overlapping cells of the two predicted labels become one, with their items' mean share of
        positives.
        """
        sides = list(self.profiles)
        low, high, mean, count = (
            np.concatenate([getattr(self.profiles[side], name) for side in sides])
            for name in ("low", "high", "mean", "count")
        )
        outcomes = np.concatenate([self._truth(side).outcomes for side in sides], axis=-1)
        order = np.argsort(low, kind="stable")
        low, high, mean, count = (each[order] for each in (low, high, mean, count))
        reach = np.maximum.accumulate(high)
        first = np.flatnonzero(np.concatenate([[True], low[1:] > reach[:-1]]))
        low, high = low[first], np.maximum.reduceat(high, first)
        middle = np.add.reduceat(mean * count, first) / np.add.reduceat(count, first)
        profile = Profile(
            low=low,
            high=high,
            mean=np.clip(middle, low, high),
            count=np.add.reduceat(count, first),
            scale=self.scale,
        )
        return Truth(profile, np.add.reduceat(outcomes[..., order], first, axis=-1))

    def ladder(self, design: Design) -> Frame:
        """Cut all items as a campaign for a threshold does, and count the assumed truth."""
        frame = frame_of({True: self.by_score}, design, "precision")
        return replace(frame, outcomes=np.rint(frame.outcomes))

    def _truth(self, side: Side) -> Truth:
        if side is None:
            return self._both()
        profile = self.profiles[side]
        return Truth(profile, self.rates[side] * profile.count)

    def _both(self) -> Truth:
        """All items in one cell, with this number of correct predictions.

        This is enough for designs that draw from one heap.
        """
        right = [
            (rates if side else 1 - rates) @ self.profiles[side].count
            for side, rates in self.rates.items()
        ]
        low = min(profile.low[0] for profile in self.profiles.values())
        high = max(profile.high[-1] for profile in self.profiles.values())
        cell = Profile(
            low=np.array([low]),
            high=np.array([high]),
            mean=np.array([low]),
            count=np.array([self.size]),
        )
        return Truth(cell, np.asarray(sum(right))[..., None])


@dataclass(frozen=True, eq=False)
class SupposedClasses(Assumed):
    """Predictions of several classes, and the assumed classes of items.

    >>> from assay.predictions import from_arrays
    >>> score = [0.9, 0.9, 0.9, 0.5] * 50 + [1]
    >>> predictions = from_arrays(y_pred=list("aaab" * 50 + "c"), y_score=score)
    >>> supposed = SupposedClasses("", "probability", predictions, predictions.class_scores())
    >>> supposed.expected.round(1)
    array([[135. ,  14.7,   0.3],
           [ 24.8,  25. ,   0.2],
           [  0. ,   0. ,   1. ]])
    """

    predictions: Predictions  # of one classifier
    scores: ClassScores  # its scores
    seed: int = 0  # fixes which class each error is of
    # Share of items that have the overall class frequencies, for any predicted label.
    doubt: float = 0.0

    @property
    def size(self) -> int:
        """The number of items."""
        return self.predictions.size

    def doubted(self) -> Self:
        """Assume that one item in ten is independent of its predicted label.

        These have the class frequencies of all items, so that no class gains or loses items.
        """
        return replace(self, doubt=_DOUBT)

    @property
    def by_probabilities(self) -> bool:
        """Whether the probabilities of all classes determine the classes of errors."""
        return self.scores.probabilities is not None and self.scale == "probability"

    @cached_property
    def called(self) -> Floats:
        """Number of items predicted as each class, (K,)."""
        return _sums(self._predicted, self.scores.cells.count, len(self.predictions.classes))

    @cached_property
    def shares(self) -> Floats:
        """Class shares of errors, by predicted class, (K, K): rows sum to 1, except for a 0."""
        others = np.broadcast_to(self.called, (self.called.size, self.called.size))
        known = self.scores.probabilities if self.by_probabilities else None
        errors = np.zeros(others.shape) if known is None else known.copy()
        np.fill_diagonal(errors, 0.0)
        nothing = errors.sum(axis=1, keepdims=True) <= 0  # if all predictions are certain
        errors = np.where(nothing & ~np.eye(len(errors), dtype=np.bool_), others, errors)
        total = errors.sum(axis=1, keepdims=True)
        return np.round(errors / np.where(total > 0, total, 1.0), _DIGITS)

    @cached_property
    def expected(self) -> Floats:
        """Items predicted as each class, by assumed class, (K, K)."""
        right = _sums(self._predicted, self._right, self.called.size)
        return np.diag(right) + (self.called - right)[:, None] * self.shares

    @cached_property
    def mix(self) -> Floats:
        """Share of each class among all items, (K,)."""
        total = self.expected.sum(axis=0)
        return np.asarray(total / total.sum())

    def trial(self, design: Design, goal: Goal) -> Trial:
        """Cut the population as the design does, and draw the class of each item, once.

        The number of correct predictions in a part is the expected one, rounded so that sums over
        neighbours are right; the classes of the others are drawn. Accuracy only needs correct or
        not, and a metric of one class only that class or not: then nothing is drawn, and many
        classes take no longer than two.
        """
        alone = design.bins == RANDOM_DESIGN.bins
        source = self.predictions
        strata = random_strata(source) if alone else cell_strata(source, goal, design)
        target = goal.targets[0]
        if target.label or target.metric == "accuracy":
            return self._of_two(strata, goal)
        size, own = strata.part_size.astype(np.float64), strata.part_code
        right = self._in_parts(strata, self._right)
        wrong = (size - right)[:, None] * self.shares[own]
        right = (1 - self.doubt) * right + self.doubt * size * self.mix[own]
        wrong = (1 - self.doubt) * wrong + self.doubt * size[:, None] * self.mix
        place = np.arange(own.size)
        wrong[place, own] = 0.0
        whole = _rounded(right, size)
        total = wrong.sum(axis=1)
        whole = np.where(total > 0, whole, size)  # there is no other class
        wrong[total == 0, 0], total[total == 0] = 1.0, 1.0
        rng = np.random.default_rng([self.seed, _TRUTH])
        outcomes = np.zeros((own.size, len(self.predictions.classes) + 1))
        errors = (size - whole).astype(np.int64)
        outcomes[:, :-1] = rng.multinomial(errors, wrong / total[:, None])
        outcomes[place, own] += whole
        return Trial(strata, outcomes, goal)

    def _of_two(self, strata: Strata, goal: Goal) -> Trial:
        """Reduce the items to two classes: the one in question against all others.

        For accuracy all items then have one predicted label, and are correct or not; otherwise they
        are predicted as the class or not.
        """
        target, own = goal.targets[0], strata.part_code
        size, right = strata.part_size.astype(np.float64), self._in_parts(strata, self._right)
        others = np.zeros_like(own)
        names, number, asked = ("right", "wrong"), own, right
        if target.label:
            only = self.predictions.classes.index(target.label)
            names, number = (target.label, f"not {target.label}"), np.full_like(own, only)
            others = (own != only).astype(np.int64)
            asked = np.where(others, (size - right) * self.shares[own, only], right)
        asked = (1 - self.doubt) * asked + self.doubt * size * self.mix[number]
        key, part = np.unique(2 * strata.part_stratum + others, return_inverse=True)
        sizes, expected = _sums(part, size, key.size), _sums(part, asked, key.size)
        kind = dict(zip(own.tolist(), others.tolist(), strict=True))
        rest = sum(items for _, items in strata.rest)
        two = Strata(
            strata.classifiers,
            tuple(
                Heap(tuple(sorted({kind[code] for code in heap.codes})), heap.cuts)
                for heap in strata.heaps
            ),
            tuple(zip((key // 2).tolist(), (key % 2).tolist(), map(int, sizes), strict=True)),
            items=strata.items,
            rest=((1, rest),) if rest else (),
            vocabulary=Vocabulary(names),
        )
        whole = _rounded(expected, sizes)
        return Trial(two, np.column_stack([whole, sizes - whole, np.zeros_like(sizes)]), goal)

    def at_random(self, goal: Goal) -> float:
        """Approximate labels of a random sample for the goal."""
        variance = np.array(self.trial(RANDOM_DESIGN, goal).random_variance)
        return float(labels_needed(variance, goal.within or 1.0, goal.confidence))

    @cached_property
    def _predicted(self) -> Ints:
        return self.scores.cells.predicted.astype(np.int64)

    @cached_property
    def _right(self) -> Floats:
        """Number of correct predictions in each cell, if scores are calibrated."""
        return self.scores.cells.count * self.likely(self.scores.cells.middle)

    def _in_parts(self, strata: Strata, amount: Floats) -> Floats:
        """Amount of each cell as sums over the parts of strata, which are by rank."""
        ranks = rank(self.scores.cells.low, self.scores.cells.profile(None))
        stratum = assign_strata(ranks, self._predicted, strata.heaps)
        inside = stratum >= 0
        key = stratum[inside] * len(self.predictions.classes) + self._predicted[inside]
        parts = strata.part_stratum * len(self.predictions.classes) + strata.part_code
        return _sums(np.searchsorted(parts, key), amount[inside], parts.size)


def _rounded(expected: Floats, size: Floats) -> Floats:
    """Whole numbers, at most the size, whose cumulated sums are nearest."""
    return np.clip(np.diff(np.floor(np.cumsum(expected) + 0.5), prepend=0.0), 0.0, size)


def _sums(place: Ints, amount: Floats | Ints, size: int) -> Floats:
    """Sum the amounts by their places."""
    return np.asarray(np.bincount(place, amount, minlength=size), dtype=np.float64)
