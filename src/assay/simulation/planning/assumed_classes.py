"""Assumed populations of more classes than yes and no: scores known, the class of items supposed.

An item that is called c with a score of s is supposed to be of c with the chance s, and otherwise
of another class: as the probabilities of all classes say, or, where only the score of the called
class is known, as often as each of the others is called.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from assay.core.bins import Scale
from assay.core.cells import Heap, assign_strata
from assay.core.cuts import rank
from assay.core.design import Design
from assay.core.forecast import labels_needed
from assay.core.goal import Goal
from assay.core.joint import Joint
from assay.core.profile import ScoreCells
from assay.core.special import expit
from assay.core.strata import Strata
from assay.core.stratify import cell_strata, joint_of, random_strata
from assay.core.types import Floats, Ints
from assay.predictions import ClassScores, Predictions
from assay.simulation.planning.assumed import PLAN
from assay.simulation.population import all_labelled
from assay.simulation.workers import Task

_DOUBT = 0.1  # the share of items that have nothing to do with what is said of them
_DIGITS = 9  # of shares: engines add in another order
_TRUTH = 2  # the random stream of the classes that errors are of
RANDOM_DESIGN = Design(bins=1)
"""Of items that are drawn at random: all are one stratum."""


@dataclass(frozen=True, eq=False)
class OfClasses:
    """A `Trial` of more classes than yes and no."""

    strata: Strata
    outcomes: Floats  # (C, K + 1): the items of each class in each part, and last those of none
    goal: Goal  # of one target

    @property
    def items(self) -> int:
        """Those that labels are drawn from."""
        return int(self.strata.part_size.sum())

    @property
    def value(self) -> Floats:
        """The metric's supposed value."""
        known, metric = all_labelled(self._joint(Design(), self.goal), self.outcomes)
        return np.atleast_1d(metric.value(known.x))

    @property
    def random_variance(self) -> float:
        """About n times the metric's variance where a sample is shared out as the items are."""
        known, metric = all_labelled(self._joint(Design(), self.goal), self.outcomes)
        spread = metric.gradient(known.x) ** 2 * known.x * (known.N - known.x) / known.N
        return float(spread.sum() * self.items)

    def task(self, design: Design, goal: Goal, asked: int, runs: int) -> Task:
        """Return what is replayed."""
        del runs
        return Task.of_several(PLAN, self._joint(design, goal), self.outcomes, asked)

    def _joint(self, design: Design, goal: Goal) -> Joint:
        return joint_of(design, goal, self.strata)

    def at_one_half(self) -> Self:
        """Return it with half of the items called rightly in every part."""
        own = self.strata.part_code
        half = np.floor(self.strata.part_size / 2)
        outcomes = np.zeros_like(self.outcomes)
        outcomes[np.arange(own.size), own] = half
        outcomes[:, -1] = self.strata.part_size - half
        return replace(self, outcomes=outcomes)


@dataclass(frozen=True, eq=False)
class SupposedClasses:
    """Predictions of several classes, and of which class items are thought to be.

    >>> from assay.predictions import from_arrays
    >>> found = from_arrays(y_pred=list("aaab" * 50 + "c"), y_score=[0.9, 0.9, 0.9, 0.5] * 50 + [1])
    >>> supposed = SupposedClasses(found, found.class_scores(), "probability")
    >>> supposed.expected.round(1)
    array([[135. ,  14.7,   0.3],
           [ 24.8,  25. ,   0.2],
           [  0. ,   0. ,   1. ]])
    """

    found: Predictions  # of one classifier
    scores: ClassScores  # what it thinks of them
    scale: Scale  # what the scores are
    seed: int = 0  # fixes which class each error is of
    # The share of items that are of any class as often as all items are, whatever is said.
    doubt: float = 0.0

    @property
    def source(self) -> str:
        """Where the predictions come from, for people."""
        return self.found.source

    @property
    def size(self) -> int:
        """The number of items."""
        return self.found.size

    def doubted(self) -> Self:
        """Return it if one item in ten had nothing to do with what is said of it.

        These are of every class as often as all items are, so that no class has more or fewer items
        for it. Of two classes it is what `assumed.doubtful` supposes.
        """
        return replace(self, doubt=_DOUBT)

    @property
    def by_probabilities(self) -> bool:
        """Whether the probabilities of all classes say of which an error is."""
        return self.scores.probabilities is not None and self.scale == "probability"

    @cached_property
    def called(self) -> Floats:
        """The items that are called each class, (K,)."""
        return _sums(self._said, self._cells.count, len(self.found.classes))

    @cached_property
    def shares(self) -> Floats:
        """Of what errors are, by what they are called, (K, K): rows add up to 1, but for a 0."""
        others = np.broadcast_to(self.called, (self.called.size, self.called.size))
        known = self.scores.probabilities if self.by_probabilities else None
        found = np.zeros(others.shape) if known is None else known.copy()
        np.fill_diagonal(found, 0.0)
        nothing = found.sum(axis=1, keepdims=True) <= 0  # where all are sure of what they say
        found = np.where(nothing & ~np.eye(len(found), dtype=np.bool_), others, found)
        total = found.sum(axis=1, keepdims=True)
        return np.round(found / np.where(total > 0, total, 1.0), _DIGITS)

    @cached_property
    def expected(self) -> Floats:
        """The items that are called each class, by what they are taken to be, (K, K)."""
        right = _sums(self._said, self._right, self.called.size)
        return np.diag(right) + (self.called - right)[:, None] * self.shares

    @cached_property
    def mix(self) -> Floats:
        """The share of all items that are of each class, (K,)."""
        total = self.expected.sum(axis=0)
        return np.asarray(total / total.sum())

    def fitted(self, design: Design, goal: Goal) -> Design:
        """Return the design as it is: so does a campaign of classes."""
        del goal
        return design

    def trial(self, design: Design, goal: Goal) -> OfClasses:
        """Cut the population as the design does, and suppose the class of each item, once.

        How many items of a part are called rightly is what is expected, rounded so that sums over
        neighbours are right; of which classes the others are is drawn. Accuracy asks of an item
        only whether it is called rightly, and a metric of one class whether it is of that: then
        nothing is drawn, and it takes no longer for many classes than for two.
        """
        alone = design.bins == RANDOM_DESIGN.bins
        strata = random_strata(self.found) if alone else cell_strata(self.found, goal, design)
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
        whole = np.where(total > 0, whole, size)  # there is no other class to be of
        wrong[total == 0, 0], total[total == 0] = 1.0, 1.0
        rng = np.random.default_rng([self.seed, _TRUTH])
        outcomes = np.zeros((own.size, len(self.found.classes) + 1))
        errors = (size - whole).astype(np.int64)
        outcomes[:, :-1] = rng.multinomial(errors, wrong / total[:, None])
        outcomes[place, own] += whole
        return OfClasses(strata, outcomes, goal)

    def _of_two(self, strata: Strata, goal: Goal) -> OfClasses:
        """Count the items of which it is asked, against all others, as two classes.

        All items are then called right, and are that or not; or are called the class or not.
        """
        target, own = goal.targets[0], strata.part_code
        size, right = strata.part_size.astype(np.float64), self._in_parts(strata, self._right)
        others = np.zeros_like(own)
        names, number, asked = ("right", "wrong"), own, right
        if target.label:
            only = self.found.classes.index(target.label)
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
            classes=names,
        )
        whole = _rounded(expected, sizes)
        return OfClasses(two, np.column_stack([whole, sizes - whole, np.zeros_like(sizes)]), goal)

    def at_random(self, goal: Goal) -> float:
        """Return about how many labels of a random sample the goal takes."""
        variance = np.array(self.trial(RANDOM_DESIGN, goal).random_variance)
        return float(labels_needed(variance, goal.within or 1.0, goal.confidence))

    @property
    def _cells(self) -> ScoreCells:
        return self.scores.cells

    @cached_property
    def _said(self) -> Ints:
        return self._cells.said.astype(np.int64)

    @cached_property
    def _right(self) -> Floats:
        """How many items of each cell are called rightly, if scores are true."""
        score = self._cells.middle
        return self._cells.count * (score if self.scale == "probability" else expit(score))

    def _in_parts(self, strata: Strata, amount: Floats) -> Floats:
        """Return an amount of each cell as sums over the parts of strata, which are by rank."""
        ranks = rank(self._cells.low, self._cells.profile(None))
        stratum = assign_strata(ranks, self._said, strata.heaps)
        inside = stratum >= 0
        key = stratum[inside] * len(self.found.classes) + self._said[inside]
        parts = strata.part_stratum * len(self.found.classes) + strata.part_code
        return _sums(np.searchsorted(parts, key), amount[inside], parts.size)


def _rounded(expected: Floats, size: Floats) -> Floats:
    """Return whole numbers, none above the size, whose sums from the first on are nearest."""
    return np.clip(np.diff(np.floor(np.cumsum(expected) + 0.5), prepend=0.0), 0.0, size)


def _sums(place: Ints, amount: Floats | Ints, size: int) -> Floats:
    """Return the sums of amounts by their places."""
    return np.asarray(np.bincount(place, amount, minlength=size), dtype=np.float64)
