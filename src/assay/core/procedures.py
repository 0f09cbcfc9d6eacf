"""Procedures: the steps of an evaluation from one round to the next, for any question.

One metric follows its design, several targets share the fewest labels, and the search for a
threshold climbs a ladder of thresholds. The caller knows none of this: it looks, plans a round, has
it answered, and folds the answers in. If items have weights, the budget is in draws, and differs
between a look and a plan: `with_budget`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, cast

import numpy as np

from assay.core.design import Design
from assay.core.engine import begin, cannot_stop, fold, follows_request, look, plan
from assay.core.forecast import least_variance
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.parts import Seen, View
from assay.core.state import JointLook, Look, State
from assay.core.stopping import Reason
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Wanted:
    """Request for the next round."""

    cards: int
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
        """Look, if every evaluation was looked at."""
        return JointLook(self.looks, self.reason)


@dataclass(frozen=True, eq=False)
class Answered:
    """An answered round: the states around it, and its cards as in `engine.fold`."""

    start: State  # the state before it, as a plan sees it
    before: State
    after: State
    kinds: Ints  # by the current answers
    first: Ints  # by the first answers


class Procedure(ABC):
    """The steps of an evaluation."""

    views: Sequence[View]  # the targets' views of the labels
    sizes: Floats  # (C,): the items of each part, or their weights
    budget: int | None  # maximum number of labels

    reads_cards: ClassVar[bool] = False  # whether it needs every card of a round
    # Whether a simulation also plans the next round of finished evaluations: otherwise random plans
    # would differ, and simulated numbers would depend on more than the seed.
    plans_ended: ClassVar[bool] = True
    runs_alone: ClassVar[bool] = False  # whether each evaluation has draws of its own

    def drawn_by(self, _: np.random.Generator, /) -> Self:
        """Copy of the procedure with new draws, if it has draws of its own."""
        return self

    def with_budget(self, budget: int | None) -> Self:
        """Copy of the procedure with another budget."""
        if budget == self.budget:
            return self
        other = copy(self)
        object.__setattr__(other, "budget", budget)
        return other

    @abstractmethod
    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """State before the first round; `shape` for parallel evaluations."""

    def decide(self, state: State, middle: Floats, *, every: bool = False) -> Decided:
        """Decide which of many evaluations are over; looks without effect may be skipped.

        `middle`: as in the last decision; `every`: whether to look at all.
        """
        del every
        now = self.look(state)
        seen = np.ones(state.streak.shape, dtype=np.bool_)
        return Decided(now.reason, self.streak(state, now), seen, now.looks, middle)

    def counted(self, state: State) -> Ints:
        """Count the labels of each target, (..., T)."""
        own = [state.tallies.n[..., view.parts].sum(axis=-1) for view in self.views]
        return np.stack(own, axis=-1)

    @abstractmethod
    def look(self, state: State) -> JointLook:
        """Estimate every target, and decide whether to stop."""

    @abstractmethod
    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Plan the next round: the number of cards of each stratum."""

    def fold(self, round: Answered) -> State:
        """State after a round, with the bets on its cards settled, if there are any."""
        return round.after

    def seen(self, state: State) -> tuple[Seen, ...]:
        """State and metric of every target."""
        return tuple(view.seen(state) for view in self.views)

    def streak(self, state: State, _: JointLook, /) -> Ints:
        """Count the consecutive looks that met the goal: unchanged if one decides."""
        return state.streak

    def deals_ahead(self, _: int, /) -> bool:
        """Whether the round after this many may be dealt before the last is answered."""
        return False

    def at_once(self, _: State, /) -> int:
        """Count the cards that no answer affects: a simulation deals them together."""
        return 0

    def fewest(self, rate: Floats, sd: Floats) -> float:
        """Labels of the best allocation, in a unit that is the same for other strata.

        `rate`, `sd`, (H,): the share of outcomes in each stratum, and the standard deviation of
        labels there.
        """
        scale = np.abs(self.views[0].metric.gradient(rate * self.sizes)) * self.sizes
        return float(least_variance(scale, sd))


@dataclass(frozen=True, eq=False)
class Single(Procedure):
    """One metric, by its design."""

    views: Sequence[View]
    sizes: Floats
    design: Design
    goal: Goal
    weighted: bool = False  # whether items have weights
    budget: int | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", self.goal.budget)

    def with_budget(self, budget: int | None) -> Self:
        """Copy of the procedure with another budget."""
        if budget == self.budget:
            return self
        return replace(self, goal=replace(self.goal, budget=budget))

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """State before the first round; `shape` for parallel evaluations."""
        return begin(self.design, self.goal, self.sizes, shape)

    def decide(self, state: State, middle: Floats, *, every: bool = False) -> Decided:
        """Decide which of many evaluations are over.

        Looks that would certainly not stop an evaluation are skipped: they change nothing, and take
        most of the time.
        """
        mine, metric = self.views[0].seen(state)
        seen = np.ones(state.streak.shape, dtype=np.bool_)
        if not every:
            seen = ~cannot_stop(self.design, self.goal, metric, mine, middle)
        reason, streak = np.full_like(state.streak, Reason.GO_ON), np.zeros_like(state.streak)
        if not seen.any():
            return Decided(reason, streak, seen, (), middle)
        now = look(self.design, self.goal, metric, mine.take(seen))
        reason[seen], streak[seen] = now.reason, now.streak
        where = middle.copy()
        where[seen] = (now.low + now.high) / 2
        return Decided(reason, streak, seen, (now,), where)

    def counted(self, state: State) -> Ints:
        """All answers: every one is about the metric."""
        return np.asarray(state.tallies.answers[..., None])

    def look(self, state: State) -> JointLook:
        """Estimate the metric, and decide whether to stop."""
        mine, metric = self.views[0].seen(state)
        now = look(self.design, self.goal, metric, mine)
        return JointLook((now,), now.reason)

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Plan the next round: the number of cards of each stratum."""
        mine, metric = self.views[0].seen(state)
        form = cast(Ratio, metric)
        return plan(self.design, self.goal, form, mine, rng=wanted.rng, asked=wanted.cards)

    def fold(self, round: Answered) -> State:
        """State after a round, with the bets on its cards settled, if there are any."""
        after = round.after
        if round.before.bets is None:
            return after
        mine, metric = self.views[0].seen(round.start)
        end = after
        if self.weighted:
            old, new, known = mine.tallies, after.tallies, mine.room <= 0
            counts = ((old.n, new.n), (old.x, new.x), (old.u, new.u))
            settled_counts = (np.where(known, one, other) for one, other in counts)
            end = replace(after, tallies=Tallies.trusted(old.N, *settled_counts))
        form = cast(Ratio, metric)
        settled = fold(self.design, self.goal, form, before=mine, after=end, kinds=round.kinds)
        return replace(after, bets=settled.bets, worst_bets=settled.worst_bets)

    def streak(self, _: State, now: JointLook, /) -> Ints:
        """Count the consecutive looks that met the goal."""
        return now.looks[0].streak

    def deals_ahead(self, rounds: int, /) -> bool:
        """Whether the next round depends only on the request, and no bet is on it."""
        return follows_request(self.design, rounds) and not self.design.bets
