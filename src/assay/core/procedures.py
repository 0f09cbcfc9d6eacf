"""Procedures: the steps of an evaluation from one round to the next, for any question.

One metric follows its design, several targets share the fewest labels, and the search for a
threshold climbs a ladder of thresholds. The caller knows none of this: it looks, plans a round, has
it answered, and folds the answers in. The budget is an argument of each call: if items have weights
it is in draws, and differs between a look and a plan.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from assay.core.design import Design
from assay.core.engine import begin, cannot_stop, fold, follows_request, look, plan
from assay.core.forecast import least_variance
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.joint import Joint, JointLook, Seen, View
from assay.core.state import Look, State
from assay.core.stopping import Reason
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from assay.core.thresholds import ThresholdLook, ThresholdRun


@dataclass(frozen=True, eq=False)
class Wanted:
    """Request for the next round."""

    cards: int
    budget: int | None
    rng: np.random.Generator
    look: Callable[[], JointLook]  # at the preceding state; lazy, as it may take long


@dataclass(frozen=True, eq=False)
class Decided:
    """Which of the parallel evaluations are over, and their looks."""

    reason: Ints  # (...)
    streak: Ints  # (...)
    seen: Bools  # (...): those that were looked at; the others cannot be over
    looks: tuple[Look, ...]  # one per target, of these
    middle: Floats  # (...): approximate centres of their intervals, if known

    def look(self) -> JointLook:
        """Return the look, if every evaluation was looked at."""
        return JointLook(self.looks, self.reason)


@dataclass(frozen=True, eq=False)
class Answered:
    """An answered round: the states around it, and its cards as in `engine.fold`."""

    start: State  # the state before it, as a plan sees it
    before: State
    after: State
    kinds: Ints  # by the current answers
    first: Ints  # by the first answers
    budget: int | None


@dataclass(frozen=True, eq=False)
class Procedure(ABC):
    """The steps of an evaluation; `views` are its targets' views of the labels."""

    views: Sequence[View]
    sizes: Floats  # (C,): the items of each part, or their weights

    reads_cards: ClassVar[bool] = False  # whether it needs every card of a round
    # Whether a simulation also plans the next round of finished evaluations: otherwise random plans
    # would differ, and simulated numbers would depend on more than the seed.
    plans_ended: ClassVar[bool] = True

    @property
    @abstractmethod
    def budget(self) -> int | None:
        """Maximum number of labels."""

    @abstractmethod
    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """Return the state before the first round; `shape` for parallel evaluations."""

    def decide(
        self, state: State, budget: int | None, middle: Floats, *, every: bool = False
    ) -> Decided:
        """Decide which of many evaluations are over; looks without effect may be skipped.

        `middle`: as in the last decision; `every`: whether to look at all.
        """
        del every
        now = self.look(state, budget)
        seen = np.ones(state.streak.shape, dtype=np.bool_)
        return Decided(now.reason, self.streak(state, now), seen, now.looks, middle)

    def counted(self, state: State) -> Ints:
        """Return the number of labels of each target, (..., T)."""
        own = [state.tallies.n[..., view.parts].sum(axis=-1) for view in self.views]
        return np.stack(own, axis=-1)

    @abstractmethod
    def look(self, state: State, budget: int | None) -> JointLook:
        """Estimate every target, and decide whether to stop."""

    @abstractmethod
    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Return the number of cards of each stratum in the next round."""

    def fold(self, round: Answered) -> State:
        """Return the state after a round, with the bets on its cards settled, if there are any."""
        return round.after

    def seen(self, state: State) -> tuple[Seen, ...]:
        """Return the state and metric of every target."""
        return tuple(view.seen(state) for view in self.views)

    def streak(self, _: State, now: JointLook, /) -> Ints:
        """Return the number of consecutive looks that met the goal."""
        return now.looks[0].streak

    def deals_ahead(self, _: int, /) -> bool:
        """Whether the round after this many may be dealt before the last is answered."""
        return False

    def at_once(self, _: State, /) -> int:
        """Return the number of cards that no answer affects: a simulation deals them together."""
        return 0

    def fewest(self, rate: Floats, sd: Floats) -> float:
        """Labels of the best allocation, in a unit that is the same for other strata.

        `rate`, `sd`, (H,): the share of outcomes in each stratum, and the standard deviation of
        labels there.
        """
        scale = np.abs(self.views[0].metric.gradient(rate * self.sizes)) * self.sizes
        return float(least_variance(scale, sd))

    def threshold(self, _: State, /) -> "tuple[ThresholdRun, ThresholdLook] | None":
        """Certified and supported thresholds, if the question is for one."""
        return None


@dataclass(frozen=True, eq=False)
class Single(Procedure):
    """One metric, by its design."""

    design: Design
    goal: Goal
    weighted: bool = False  # whether items have weights

    @property
    def budget(self) -> int | None:
        """Maximum number of labels."""
        return self.goal.budget

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """Return the state before the first round; `shape` for parallel evaluations."""
        sizes = np.broadcast_to(self.sizes, (*shape, self.sizes.size))
        return begin(self.design, self.goal, sizes)

    def decide(
        self, state: State, budget: int | None, middle: Floats, *, every: bool = False
    ) -> Decided:
        """Decide which of many evaluations are over.

        Looks that would certainly not stop an evaluation are skipped: they change nothing, and take
        most of the time.
        """
        mine, metric = self.views[0].seen(state)
        goal, seen = self._with_budget(budget), np.ones(state.streak.shape, dtype=np.bool_)
        if not every:
            seen = ~cannot_stop(self.design, goal, metric, mine, middle)
        reason, streak = np.full_like(state.streak, Reason.GO_ON), np.zeros_like(state.streak)
        if not seen.any():
            return Decided(reason, streak, seen, (), middle)
        now = look(self.design, goal, metric, mine.take(seen))
        reason[seen], streak[seen] = now.reason, now.streak
        where = middle.copy()
        where[seen] = (now.low + now.high) / 2
        return Decided(reason, streak, seen, (now,), where)

    def counted(self, state: State) -> Ints:
        """All answers: every one is about the metric."""
        return np.asarray(state.tallies.answers[..., None])

    def look(self, state: State, budget: int | None) -> JointLook:
        """Estimate the metric, and decide whether to stop."""
        mine, metric = self.views[0].seen(state)
        now = look(self.design, self._with_budget(budget), metric, mine)
        return JointLook((now,), now.reason)

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Return the number of cards of each stratum in the next round."""
        mine, metric = self.views[0].seen(state)
        goal, form = self._with_budget(wanted.budget), cast(Ratio, metric)
        return plan(self.design, goal, form, mine, rng=wanted.rng, asked=wanted.cards)

    def _with_budget(self, budget: int | None) -> Goal:
        return self.goal if budget == self.goal.budget else replace(self.goal, budget=budget)

    def fold(self, round: Answered) -> State:
        """Return the state after a round, with the bets on its cards settled, if there are any."""
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
        """Whether the next round depends only on the request, and no bet is on it."""
        return follows_request(self.design, rounds) and not self.design.bets


@dataclass(frozen=True, eq=False)
class Several(Procedure):
    """Several targets, from one set of labels."""

    joint: Joint

    @property
    def budget(self) -> int | None:
        """Maximum number of labels."""
        return self.joint.budget

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """Return the state before the first round; `shape` for parallel evaluations."""
        return self.joint.begin(shape)

    def look(self, state: State, budget: int | None) -> JointLook:
        """Estimate every target, and decide whether to stop."""
        return self.joint.with_budget(budget).look(state)

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Return the number of cards of each stratum in the next round."""
        joint = self.joint.with_budget(wanted.budget)
        return joint.plan(state, wanted.look(), asked=wanted.cards)

    def seen(self, state: State) -> tuple[Seen, ...]:
        """Return the state and metric of every target."""
        return self.joint.seen(state)

    def streak(self, state: State, _: JointLook, /) -> Ints:
        """Return the unchanged streak: one look decides."""
        return state.streak

    def deals_ahead(self, _: int, /) -> bool:
        """Return the true: a round may always be dealt before the last is answered."""
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
        """Maximum number of labels."""
        return self.run.budget

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """Return the state before the first round; `shape` for parallel evaluations."""
        return self.run.begin(shape)

    def decide(
        self, state: State, budget: int | None, middle: Floats, *, every: bool = False
    ) -> Decided:
        """Decide which of many evaluations are over: that alone needs no interval."""
        del every
        seen, run = np.ones(state.streak.shape, dtype=np.bool_), self.run.with_budget(budget)
        return Decided(run.reasons(state), state.streak, seen, (), middle)

    def counted(self, state: State) -> Ints:
        """Return all answers: every one is about the threshold."""
        return np.asarray(state.tallies.answers[..., None])

    def look(self, state: State, budget: int | None) -> JointLook:
        """Look at the first floor's metric, and decide whether to stop."""
        now, _ = self.run.with_budget(budget).look(state)
        return JointLook((now,), now.reason)

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Return the number of cards of each stratum in the next round."""
        run = self.run.with_budget(wanted.budget)
        return run.plan(state, rng=wanted.rng, asked=wanted.cards)

    def fold(self, round: Answered) -> State:
        """Return the state after a round with the bets on its cards settled."""
        run, cards = self.run.with_budget(round.budget), (round.kinds, round.first)
        return run.fold(before=round.before, after=round.after, kinds=cards[0], first=cards[1])

    def threshold(self, state: State, /) -> "tuple[ThresholdRun, ThresholdLook]":
        """Certified and supported thresholds."""
        return self.run, self.run.look(state)[1]
