"""Oracles: who answers in a simulation, as the truth is known.

The number of outcomes among m cards of a stratum is one hypergeometric variate (binomial with
replacement), so a run costs the same for a thousand items and for a billion. Where every card
counts, a round's are put into a random order: given the counts, every order is equally likely. Of
several targets, a stratum's cards fall into its parts by chance.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assay.core.design import Design
from assay.core.engine import State
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.joint import Joint, Parts, View
from assay.core.procedures import Procedure, Several, Single
from assay.core.types import Bools, Floats, Ints

_Told = tuple[Ints, dict[str, Floats]]
NO_CARDS = np.zeros(0, dtype=np.int64)


class Oracle(Protocol):
    """Who deals and answers rounds of many evaluations side by side."""

    def label(
        self, state: State, counts: Ints, running: Ints, rng: np.random.Generator
    ) -> tuple[State, Ints]:
        """Return the state after a round, and its cards as `engine.fold` takes them.

        `counts`, (..., H): cards of each stratum; `running`: the evaluations' numbers.
        """


@dataclass(frozen=True, eq=False)
class StrataOracle:
    """Answers by stratum, for one metric."""

    # (H,): the items in each stratum that have the outcome, and can be judged; each replication may
    # have a truth of its own.
    outcomes: Floats
    unjudged: Floats | None = None  # (H,): those that nobody can judge; otherwise there are none
    replacement: bool = False
    reads_cards: bool = False  # whether their order is asked for

    def label(
        self, state: State, counts: Ints, running: Ints, rng: np.random.Generator
    ) -> tuple[State, Ints]:
        """Return the state after a round, and its cards as `engine.fold` takes them."""
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
            found = rng.binomial(judged, outcomes / np.maximum(judgeable, 1.0))
        else:
            good = outcomes - tallies.x
            found = _drawn(good, judgeable - tallies.n - good, judged, rng)
        after = state.deal(counts).changed(tallies=tallies.add(judged, found, counts - judged))
        kinds = shuffled_kinds(counts, judged, found, rng) if self.reads_cards else NO_CARDS
        return after, kinds


@dataclass(frozen=True, eq=False)
class SetCounts:
    """The truth where a label is counted by more than one class: how many items have which set."""

    # (U,): what is right to say of each set's items: the number of a class, or of a set of them.
    numbers: Ints
    counts: Floats  # (C, U): the items of each part that have each set
    # (U, K + 1): what an item of each set is counted by: its classes, or last that of none.
    members: Floats
    in_top: Floats  # (U, M): the outcomes of top-k accuracy that it has (`core.ranking`)

    def right(self, drawn: Ints, said: Ints) -> Ints:
        """Return how many of the drawn items (..., C, U) have the very set that is said of them."""
        return np.asarray((drawn * (self.numbers == said[:, None])).sum(axis=-1))


class PartsOracle:
    """Answers by part, for several targets.

    `outcomes`: (C,): the positives of each part; or, where there are more classes than yes and no,
    its items of each class, and last those of none; or, where an item may have several, or top-k
    accuracy is a target, of each set.
    """

    def __init__(self, parts: Parts, outcomes: Floats | SetCounts) -> None:
        self._parts = parts
        self._sets = outcomes if isinstance(outcomes, SetCounts) else None
        self._truth = outcomes.counts if isinstance(outcomes, SetCounts) else outcomes
        self._drawn: dict[int, Floats] = {}  # the sets that were drawn, by evaluation

    def label(
        self, state: State, counts: Ints, running: Ints, rng: np.random.Generator
    ) -> tuple[State, Ints]:
        """Return the state after a round, and no cards: no target is of every one."""
        left = state.tallies.N - state.tallies.n
        drawn = _fall(self._parts, left, counts, rng)
        found, told = self._told(state, drawn, left, running, rng)
        after = state.deal(counts).changed(tallies=state.tallies.add(drawn, found), **told)
        return after, NO_CARDS

    def _told(
        self, state: State, drawn: Ints, left: Floats, running: Ints, rng: np.random.Generator
    ) -> _Told:
        """Return the outcomes that are found, and what else is counted of labels, by its name."""
        if self._sets is not None:
            return self._told_of_sets(self._sets, state, drawn, running, rng)
        if state.by_class is None:
            good = self._truth - state.tallies.x
            return _drawn(good, left - good, drawn, rng), {}
        named = _classes_of(self._truth - state.by_class, drawn, rng)
        own = np.broadcast_to(self._parts.says(0)[:, None], (*drawn.shape, 1))
        found = np.take_along_axis(named, own, axis=-1)[..., 0]
        return found, {"by_class": state.by_class + named}

    def _told_of_sets(
        self,
        sets: SetCounts,
        state: State,
        drawn: Ints,
        running: Ints,
        rng: np.random.Generator,
    ) -> _Told:
        if state.rounds == 0:
            self._drawn = {}
        none = np.zeros(self._truth.shape)
        before = np.stack([self._drawn.get(run, none) for run in running.tolist()])
        new = _classes_of(self._truth - before, drawn, rng)
        every = before + new
        self._drawn = dict(zip(running.tolist(), every, strict=True))
        told = {"by_class": every @ sets.members}
        if state.in_top is not None:
            told["in_top"] = every @ sets.in_top
        return sets.right(new, self._parts.says(0)), told


def of_one(
    design: Design,
    goal: Goal,
    metric: Ratio,
    sizes: Floats,  # (H,): stratum sizes
    outcomes: Floats,
    *,
    unjudged: Floats | None = None,
) -> tuple[Procedure, Oracle]:
    """Return one metric's procedure, and who answers; `outcomes` are those of `StrataOracle`."""
    every = np.arange(sizes.size)
    view = View(goal.metric, goal, metric, every, every, every, np.ones(sizes.size), is_whole=True)
    oracle = StrataOracle(outcomes, unjudged, design.replacement, design.bets)
    return Single([view], sizes, design, goal), oracle


def of_several(joint: Joint, outcomes: Floats | SetCounts) -> tuple[Procedure, Oracle]:
    """Return several targets' procedure, and who answers; `outcomes` are those of `PartsOracle`."""
    return Several(joint.views, joint.parts.size, joint), PartsOracle(joint.parts, outcomes)


def _classes_of(left: Floats, drawn: Ints, rng: np.random.Generator) -> Ints:
    """Return of which classes drawn cards are, given what is left of each, one after another.

    Most parts have no card in a round: only the others are looked at.
    """
    named = np.zeros(left.shape, dtype=np.int64)
    dealt = np.nonzero(drawn)
    missing, each = drawn[dealt], left[dealt].astype(np.int64)
    beyond, found = each.sum(axis=-1), np.zeros_like(each)
    of_parts: Bools = np.any((left > 0).reshape(-1, *left.shape[-2:]), axis=0)
    present = of_parts[dealt[-1]]
    for number in range(left.shape[-1]):
        beyond -= each[:, number]
        there = np.flatnonzero(present[:, number])
        if there.size:
            some = rng.hypergeometric(each[there, number], beyond[there], missing[there])
            found[there, number] = some
            missing[there] -= some
    named[dealt] = found
    return named


def _fall(parts: Parts, left: Floats, counts: Ints, rng: np.random.Generator) -> Ints:
    """Return into which parts the cards of each stratum fall, given what is left of each part.

    One part of every stratum after the other: the first of each, then the second of those that
    have two, and so on; the last one gets the rest.
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


def shuffled_kinds(counts: Ints, judged: Ints, found: Ints, rng: np.random.Generator) -> Ints:
    """Return every run's cards in a random order, as `fold` takes them, of shape (..., cards).

    `counts`, `judged`, `found`, (..., H): cards of each stratum, those that could be judged, and
    those with the outcome.
    """
    ends = counts.cumsum(axis=-1)
    place = np.arange(ends[..., -1].max())
    stratum = (place >= ends[..., None]).sum(axis=-2)  # past the last card: one more than there are
    dealt = stratum < counts.shape[-1]
    stratum = np.where(dealt, stratum, 0)
    rank = place - np.take_along_axis(ends - counts, stratum, axis=-1)
    outcome = rank < np.take_along_axis(found, stratum, axis=-1)
    told = rank < np.take_along_axis(judged, stratum, axis=-1)
    kinds = np.where(told, 2 * stratum + outcome, -2 - stratum)
    return rng.permuted(np.where(dealt, kinds, -1), axis=-1)
