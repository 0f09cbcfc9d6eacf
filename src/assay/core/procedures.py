"""Procedures: how an evaluation goes from one round to the next, whatever it is for.

One metric goes by its design, several targets go where all together need the fewest labels, and
the search for a threshold climbs a ladder of them. Whoever runs an evaluation knows none of this:
it looks, plans a round, has it answered, and folds the answers in.

The budget comes with each question: where items have weights it is in draws, and another one for a
look than for a plan.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from assay.core.design import Design
from assay.core.engine import (
    Look,
    State,
    begin,
    cannot_stop,
    fold,
    follows_request,
    look,
    plan,
)
from assay.core.forecast import least_variance
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.joint import Joint, JointLook, Seen, View
from assay.core.stopping import Reason
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from assay.core.thresholds import ThresholdLook, ThresholdRun


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is asked of the next round."""

    cards: int
    budget: int | None
    rng: np.random.Generator
    look: Callable[[], JointLook]  # at the state that it follows: it may take long, and few need it


@dataclass(frozen=True, eq=False)
class Decided:
    """Which of several evaluations side by side are over, and what was seen of them."""

    reason: Ints  # (...)
    streak: Ints  # (...)
    seen: Bools  # (...): those that were looked at; the others cannot be over
    looks: tuple[Look, ...]  # one a target, of these
    middle: Floats  # (...): about where the middles of their intervals are, if that is known

    def look(self) -> JointLook:
        """Return what was seen, where every one was looked at."""
        return JointLook(self.looks, self.reason)


@dataclass(frozen=True, eq=False)
class Answered:
    """A round that was answered: the states around it, and its cards as in `engine.fold`."""

    start: State  # before it, as a plan sees it
    before: State
    after: State
    kinds: Ints  # by the answers that count
    first: Ints  # by those that were given first
    budget: int | None


@dataclass(frozen=True, eq=False)
class Procedure(ABC):
    """What an evaluation does, round by round; `views` are how its targets see the labels."""

    views: Sequence[View]
    sizes: Floats  # (C,): the items of each part, or what they count for

    reads_cards: ClassVar[bool] = False  # whether it wants to know every card of a round
    # Whether a simulation plans the next round of evaluations that are over, too: plans by chance
    # would be others otherwise, and simulated numbers are the same by seed.
    plans_ended: ClassVar[bool] = True

    @property
    @abstractmethod
    def budget(self) -> int | None:
        """The labels that there can be."""

    @abstractmethod
    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """Return the state before the first round; `shape` for evaluations side by side."""

    def decide(self, state: State, middle: Floats, *, every: bool = False) -> Decided:
        """Tell which of many evaluations are over; it may leave out looks that tell nothing.

        `middle`: as the last decision has it; `every`: whether all are to be looked at.
        """
        del every
        now = self.look(state, self.budget)
        seen = np.ones(state.streak.shape, dtype=np.bool_)
        return Decided(now.reason, self.streak(state, now), seen, now.looks, middle)

    def counted(self, state: State) -> Ints:
        """Return the labels that each target is read off, (..., T)."""
        own = [state.tallies.n[..., view.parts].sum(axis=-1) for view in self.views]
        return np.stack(own, axis=-1)

    @abstractmethod
    def look(self, state: State, budget: int | None) -> JointLook:
        """Estimate every target, and decide whether there is a reason to stop."""

    @abstractmethod
    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Return how many cards of each stratum the next round deals."""

    def fold(self, round: Answered) -> State:
        """Return the state after a round with the bets on its cards settled, if there are any."""
        return round.after

    def seen(self, state: State) -> tuple[Seen, ...]:
        """Return the evaluation as every target sees it."""
        return tuple(view.seen(state) for view in self.views)

    def streak(self, _: State, now: JointLook, /) -> Ints:
        """Return how many looks in a row have met the goal."""
        return now.looks[0].streak

    def deals_ahead(self, _: int, /) -> bool:
        """Tell whether a round may be dealt before the last is answered, after so many."""
        return False

    def fewest(self, rate: Floats, sd: Floats) -> float:
        """Return the labels of the best allocation, in a unit that is the same for other strata.

        `rate`, `sd`, (H,): the share of outcomes in each stratum, and the standard deviation of
        labels there.
        """
        scale = np.abs(self.views[0].metric.gradient(rate * self.sizes)) * self.sizes
        return float(least_variance(scale, sd))

    def threshold(self, _: State, /) -> "tuple[ThresholdRun, ThresholdLook] | None":
        """Return what is known of thresholds, where the question is for one."""
        return None


@dataclass(frozen=True, eq=False)
class Single(Procedure):
    """One metric, by its design."""

    design: Design
    goal: Goal
    weighted: bool = False  # whether items have weights

    @property
    def budget(self) -> int | None:
        """The labels that there can be."""
        return self.goal.budget

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """Return the state before the first round; `shape` for evaluations side by side."""
        sizes = np.broadcast_to(self.sizes, (*shape, self.sizes.size))
        return begin(self.design, self.goal, sizes)

    def decide(self, state: State, middle: Floats, *, every: bool = False) -> Decided:
        """Tell which of many evaluations are over.

        Looks that would not stop an evaluation are left out where that is known for certain: they
        change nothing, and take most of the time.
        """
        mine, metric = self.views[0].seen(state)
        seen = np.ones(state.streak.shape, dtype=np.bool_)
        if not every:
            seen = ~cannot_stop(self.design, self.goal, metric, mine, middle)
        now = look(self.design, self.goal, metric, mine.take(seen))
        reason, streak = np.full_like(state.streak, Reason.GO_ON), np.zeros_like(state.streak)
        reason[seen], streak[seen] = now.reason, now.streak
        where = middle.copy()
        where[seen] = (now.low + now.high) / 2
        return Decided(reason, streak, seen, (now,), where)

    def counted(self, state: State) -> Ints:
        """Return all answers: every one is about the metric."""
        return np.asarray(state.tallies.answers[..., None])

    def look(self, state: State, budget: int | None) -> JointLook:
        """Estimate the metric, and decide whether there is a reason to stop."""
        mine, metric = self.views[0].seen(state)
        now = look(self.design, self._with_budget(budget), metric, mine)
        return JointLook((now,), now.reason)

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Return how many cards of each stratum the next round deals."""
        mine, metric = self.views[0].seen(state)
        goal, form = self._with_budget(wanted.budget), cast(Ratio, metric)
        return plan(self.design, goal, form, mine, rng=wanted.rng, asked=wanted.cards)

    def _with_budget(self, budget: int | None) -> Goal:
        return self.goal if budget == self.goal.budget else replace(self.goal, budget=budget)

    def fold(self, round: Answered) -> State:
        """Return the state after a round with the bets on its cards settled, if there are any."""
        after = round.after
        if round.before.bets is None:
            return after
        mine, metric = self.views[0].seen(round.start)
        end = after
        if self.weighted:
            old, new, known = mine.tallies, after.tallies, mine.room <= 0
            counts = ((old.n, new.n), (old.x, new.x), (old.u, new.u))
            told = (np.where(known, one, other) for one, other in counts)
            end = replace(after, tallies=Tallies.trusted(old.N, *told))
        form = cast(Ratio, metric)
        settled = fold(self.design, self.goal, form, before=mine, after=end, kinds=round.kinds)
        return replace(after, bets=settled.bets, worst_bets=settled.worst_bets)

    def deals_ahead(self, rounds: int, /) -> bool:
        """Tell whether the next round follows from the request alone, and no bet is on it."""
        return follows_request(self.design, rounds) and not self.design.bets


@dataclass(frozen=True, eq=False)
class Several(Procedure):
    """Several targets, from one set of labels."""

    joint: Joint

    @property
    def budget(self) -> int | None:
        """The labels that there can be."""
        return self.joint.budget

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """Return the state before the first round; `shape` for evaluations side by side."""
        return self.joint.begin(shape)

    def look(self, state: State, budget: int | None) -> JointLook:
        """Estimate every target, and decide whether there is a reason to stop."""
        return self.joint.with_budget(budget).look(state)

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Return how many cards of each stratum the next round deals."""
        joint = self.joint.with_budget(wanted.budget)
        return joint.plan(state, wanted.look(), asked=wanted.cards)

    def seen(self, state: State) -> tuple[Seen, ...]:
        """Return the evaluation as every target sees it."""
        return self.joint.seen(state)

    def streak(self, state: State, _: JointLook, /) -> Ints:
        """Return the streak as it was: one look decides."""
        return state.streak

    def deals_ahead(self, _: int, /) -> bool:
        """Tell that a round may always be dealt before the last is answered."""
        return True

    def fewest(self, rate: Floats, sd: Floats) -> float:
        """Return the fewest labels that serve every target."""
        return self.joint.fewest(rate, sd)


@dataclass(frozen=True, eq=False)
class ThresholdSearch(Procedure):
    """The search for a threshold that keeps floors."""

    run: "ThresholdRun"

    reads_cards = True
    plans_ended = False

    @property
    def budget(self) -> int | None:
        """The labels that there can be."""
        return self.run.budget

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """Return the state before the first round; `shape` for evaluations side by side."""
        return self.run.begin(shape)

    def decide(self, state: State, middle: Floats, *, every: bool = False) -> Decided:
        """Tell which of many evaluations are over: for that alone no interval is needed."""
        del every
        seen = np.ones(state.streak.shape, dtype=np.bool_)
        return Decided(self.run.reasons(state), state.streak, seen, (), middle)

    def counted(self, state: State) -> Ints:
        """Return all answers: every one is about the threshold."""
        return np.asarray(state.tallies.answers[..., None])

    def look(self, state: State, budget: int | None) -> JointLook:
        """Look at the first floor's metric, and decide whether there is a reason to stop."""
        now, _ = self.run.with_budget(budget).look(state)
        return JointLook((now,), now.reason)

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Return how many cards of each stratum the next round deals."""
        run = self.run.with_budget(wanted.budget)
        return run.plan(state, rng=wanted.rng, asked=wanted.cards)

    def fold(self, round: Answered) -> State:
        """Return the state after a round with the bets on its cards settled."""
        run, cards = self.run.with_budget(round.budget), (round.kinds, round.first)
        return run.fold(before=round.before, after=round.after, kinds=cards[0], first=cards[1])

    def threshold(self, state: State, /) -> "tuple[ThresholdRun, ThresholdLook]":
        """Return what is known of thresholds."""
        return self.run, self.run.look(state)[1]
