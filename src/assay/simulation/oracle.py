"""Oracles: the source of answers in a simulation, from the known truth.

The number of outcomes among m cards of a stratum is one hypergeometric variate (binomial with
replacement), so a run costs the same for a thousand items and for a billion. If every card counts,
a round's cards are put into a random order: given the counts, every order is equally likely. With
several targets, a stratum's cards fall into its parts at random.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from assay.core.design import Design
from assay.core.evaluation import procedure_of
from assay.core.forms import Metric, Ratio
from assay.core.goal import Goal
from assay.core.joint import Joint
from assay.core.parts import Parts, View
from assay.core.procedures import Procedure, Single
from assay.core.state import State
from assay.core.strata import Strata
from assay.core.stratify import parts_of
from assay.core.tallies import Tallies, at_columns
from assay.core.types import Bools, Floats, Ints

_Outcomes = tuple[Ints, Floats | int]
NO_CARDS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class StrataOracle:
    """Answers by stratum, for one metric."""

    # (H,): judgeable items in each stratum that have the outcome; each replication may have its own
    # truth.
    outcomes: Floats
    unjudged: Floats | None = None  # (H,): unjudgeable items; default: none
    replacement: bool = False
    reads_cards: bool = False  # whether their order is needed

    def label(
        self, state: State, counts: Ints, running: Ints, rng: np.random.Generator
    ) -> tuple[State, Ints]:
        """State after a round, and its cards as in `engine.fold`.

        `counts`, (..., H): cards of each stratum; `running`: the evaluations' numbers.
        """
        outcomes = self.outcomes if self.outcomes.ndim == 1 else self.outcomes[running]
        tallies, unjudged, judged = state.tallies, self.unjudged, counts
        judgeable = tallies.N if unjudged is None else tallies.N - unjudged
        if unjudged is not None:
            judged = (
                rng.binomial(counts, judgeable / tallies.N)
                if self.replacement
                else _drawn(judgeable - tallies.n, unjudged - tallies.u, counts, rng)
            )
        if self.replacement:
            yes = rng.binomial(judged, outcomes / np.maximum(judgeable, 1.0))
        else:
            good = outcomes - tallies.x
            yes = _drawn(good, judgeable - tallies.n - good, judged, rng)
        after = state.deal(counts).changed(tallies=tallies.add(judged, yes, counts - judged))
        kinds = shuffled_kinds(counts, judged, yes, rng) if self.reads_cards else NO_CARDS
        return after, kinds


@dataclass(frozen=True, eq=False)
class SetCounts:
    """The truth if several classes count a label: number of items with each set."""

    # (U,): the correct label for each set's items: the number of a class, or of a set of classes.
    numbers: Ints
    counts: Floats  # (C, U): the items of each part that have each set
    outcomes: Floats  # (U, K + 1 + M): columns that count an item of each: see `Tallies`

    @property
    def totals(self) -> Floats:
        """Items of each part by these columns, (C, K + 1 + M)."""
        return np.asarray(self.counts @ self.outcomes)

    def right(self, drawn: Ints, predicted: Ints) -> Ints:
        """Count the drawn items whose set is exactly the predicted one."""
        return np.asarray((drawn * (self.numbers == predicted[:, None])).sum(axis=-1))


class PartsOracle:
    """Answers by part, for several targets.

    `outcomes`: (C,): the positives of each part; with more than two classes, its items of each
    class, and last those of none; with several classes per item, or a target of top-k accuracy, its
    items of each set.
    """

    def __init__(self, parts: Parts, outcomes: Floats | SetCounts) -> None:
        self._parts = parts
        self._sets = outcomes if isinstance(outcomes, SetCounts) else None
        self._truth = outcomes.counts if isinstance(outcomes, SetCounts) else outcomes
        self._drawn: dict[int, Floats] = {}  # the sets that were drawn, by evaluation

    def label(
        self, state: State, counts: Ints, running: Ints, rng: np.random.Generator
    ) -> tuple[State, Ints]:
        """State after a round, and no cards: no target needs every card."""
        left = state.tallies.N - state.tallies.n
        drawn = _fall(self._parts, left, counts, rng)
        outcomes, named = self._outcomes(state, drawn, left, running, rng)
        tallies = state.tallies.add(drawn, outcomes, 0, named)
        return state.deal(counts).changed(tallies=tallies), NO_CARDS

    def _outcomes(
        self, state: State, drawn: Ints, left: Floats, running: Ints, rng: np.random.Generator
    ) -> _Outcomes:
        """Outcomes that are found, and the labels by class if these count."""
        if self._sets is not None:
            return self._outcomes_of_sets(self._sets, state, drawn, running, rng)
        if state.tallies.by_class is None:
            good = self._truth - state.tallies.x
            return _drawn(good, left - good, drawn, rng), 0
        named = _classes_of(self._truth - state.tallies.by_class, drawn, rng)
        return at_columns(named, self._parts.says(0)), named.astype(np.float64)

    def _outcomes_of_sets(
        self, sets: SetCounts, state: State, drawn: Ints, running: Ints, rng: np.random.Generator
    ) -> _Outcomes:
        if state.rounds == 0:
            self._drawn = {}
        none = np.zeros(self._truth.shape)
        before = np.stack([self._drawn.get(run, none) for run in running.tolist()])
        new = _classes_of(self._truth - before, drawn, rng)
        self._drawn = dict(zip(running.tolist(), before + new, strict=True))
        return sets.right(new, self._parts.says(0)), new @ sets.outcomes


Oracle: TypeAlias = StrataOracle | PartsOracle
"""Deals and answers rounds of many parallel evaluations."""


def of_one(
    design: Design,
    goal: Goal,
    metric: Ratio,
    sizes: Floats,  # (H,): stratum sizes
    outcomes: Floats,
    *,
    unjudged: Floats | None = None,
) -> tuple[Procedure, Oracle]:
    """One metric's procedure, and its oracle; `outcomes` as in `StrataOracle`."""
    every = np.arange(sizes.size)
    view = View(goal.metric, goal, metric, every, every, every, np.ones(sizes.size), is_whole=True)
    oracle = StrataOracle(outcomes, unjudged, design.replacement, design.bets)
    return Single([view], sizes, design, goal), oracle


def of_several(joint: Joint, outcomes: Floats | SetCounts) -> tuple[Procedure, Oracle]:
    """Several targets' procedure, and its oracle; `outcomes` as in `PartsOracle`."""
    return joint, PartsOracle(joint.parts, outcomes)


def of_strata(
    design: Design, goal: Goal, strata: Strata, outcomes: Floats | SetCounts
) -> tuple[Procedure, Oracle]:
    """Procedure for a goal over strata, and its oracle.

    `outcomes` as in `StrataOracle` for one metric, and as in `PartsOracle` for several targets.
    """
    procedure = procedure_of(design, goal, strata, None, 0)
    if design.recycles and not isinstance(outcomes, SetCounts):
        return procedure, StrataOracle(outcomes, reads_cards=True)
    if isinstance(outcomes, SetCounts) or not goal.single:
        return procedure, PartsOracle(parts_of(strata), outcomes)
    return procedure, StrataOracle(outcomes, None, design.replacement, design.bets)


def all_labelled(procedure: Procedure, outcomes: Floats | SetCounts) -> tuple[Tallies, Metric]:
    """Tallies of the first target with every item labelled, and its metric.

    `outcomes`: as in `StrataOracle` or `PartsOracle`.
    """
    labels = outcomes.totals if isinstance(outcomes, SetCounts) else outcomes
    start, size = procedure.begin(), procedure.sizes
    if start.tallies.by_class is None:
        whole = start.changed(tallies=Tallies(size, size, labels))
    else:
        whole = start.changed(tallies=Tallies(size, size, 0, by_class=labels))
    mine, metric = procedure.views[0].seen(whole)
    return mine.tallies, metric


def _classes_of(left: Floats, drawn: Ints, rng: np.random.Generator) -> Ints:
    """Classes of drawn cards, given the remaining items of each class.

    Most parts have no card in a round: only the others are processed.
    """
    named = np.zeros(left.shape, dtype=np.int64)
    dealt = np.nonzero(drawn)
    missing, each = drawn[dealt], left[dealt].astype(np.int64)
    beyond, labels = each.sum(axis=-1), np.zeros_like(each)
    of_parts: Bools = np.any((left > 0).reshape(-1, *left.shape[-2:]), axis=0)
    present = of_parts[dealt[-1]]
    for number in range(left.shape[-1]):
        beyond -= each[:, number]
        there = np.flatnonzero(present[:, number])
        if there.size:
            some = rng.hypergeometric(each[there, number], beyond[there], missing[there])
            labels[there, number] = some
            missing[there] -= some
    named[dealt] = labels
    return named


def _fall(parts: Parts, left: Floats, counts: Ints, rng: np.random.Generator) -> Ints:
    """Parts of the cards drawn from each stratum, given the remaining items of each part.

    Parts are processed by their position in the stratum: the first of each, then the second of
    those that have two, and so on; the last one gets the rest.
    """
    begin = parts.starts
    length = np.diff(begin, append=parts.stratum.size)
    drawn = np.zeros(left.shape, dtype=np.int64)
    missing, beyond = counts.copy(), parts.by_stratum(left)
    for place in range(int(length.max())):
        strata = np.flatnonzero(length > place)
        part = begin[strata] + place
        here, wanted = left[..., part].astype(np.int64), missing[..., strata]
        beyond[..., strata] -= here
        fallen = rng.hypergeometric(here, beyond[..., strata].astype(np.int64), wanted)
        drawn[..., part] = fallen
        missing[..., strata] -= fallen
    return drawn


def _drawn(good: Floats, bad: Floats, cards: Ints, rng: np.random.Generator) -> Ints:
    return rng.hypergeometric(good.astype(np.int64), bad.astype(np.int64), cards)


def shuffled_kinds(counts: Ints, judged: Ints, outcomes: Ints, rng: np.random.Generator) -> Ints:
    """Every run's cards in a random order, as input of `fold`, shape (..., cards).

    `counts`, `judged`, `outcomes`, (..., H): cards of each stratum, judgeable ones, and those with
    the outcome.
    """
    ends = counts.cumsum(axis=-1)
    place = np.arange(ends[..., -1].max())
    stratum = (place >= ends[..., None]).sum(axis=-2)  # past the last card: one more than there are
    dealt = stratum < counts.shape[-1]
    stratum = np.where(dealt, stratum, 0)
    rank = place - np.take_along_axis(ends - counts, stratum, axis=-1)
    outcome = rank < np.take_along_axis(outcomes, stratum, axis=-1)
    is_judged = rank < np.take_along_axis(judged, stratum, axis=-1)
    kinds = np.where(is_judged, 2 * stratum + outcome, -2 - stratum)
    return rng.permuted(np.where(dealt, kinds, -1), axis=-1)
