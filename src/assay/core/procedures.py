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
from assay.core.engine import State, begin, fold, follows_request, look, plan
from assay.core.forecast import least_variance
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.joint import Joint, JointLook, Seen, View
from assay.core.strata import Strata
from assay.core.stratify import joint_of, parts_of
from assay.core.tallies import Tallies
from assay.core.types import Floats, Ints
from assay.core.views import whole_view

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

    @abstractmethod
    def begin(self) -> State:
        """Return the state before the first round."""

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

    def begin(self) -> State:
        """Return the state before the first round."""
        return begin(self.design, self.goal, self.sizes)

    def look(self, state: State, budget: int | None) -> JointLook:
        """Estimate the metric, and decide whether there is a reason to stop."""
        mine, metric = self.views[0].seen(state)
        now = look(self.design, replace(self.goal, budget=budget), metric, mine)
        return JointLook((now,), now.reason)

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Return how many cards of each stratum the next round deals."""
        mine, metric = self.views[0].seen(state)
        goal, form = replace(self.goal, budget=wanted.budget), cast(Ratio, metric)
        return plan(self.design, goal, form, mine, rng=wanted.rng, asked=wanted.cards)

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

    def begin(self) -> State:
        """Return the state before the first round."""
        return self.joint.begin()

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

    def begin(self) -> State:
        """Return the state before the first round."""
        return self.run.begin()

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


def procedure_of(
    design: Design,
    goal: Goal,
    strata: Strata,
    prior: tuple[Floats, Floats] | None,  # labels of the period before, and positives among them
    seed: int,
) -> Procedure:
    """Return what a goal asks for over strata."""
    parts = parts_of(strata)
    if design.recycles:
        from assay.core.recycling.procedure import recycle_of  # few need it

        return recycle_of(design, goal, strata, seed)
    joint = None if goal.single else joint_of(design, goal, strata, prior)
    views = [whole_view(goal, strata.says_yes, parts)] if joint is None else joint.views
    if design.replacement:  # nothing is ever known in full
        views = [replace(view, items=None) for view in views]
    if joint is not None:
        return Several(views, parts.size, joint)
    if goal.question is None:
        return Single(views, parts.size, design, goal, strata.weighted)
    from assay.core.thresholds import ThresholdRun  # takes long to load, and few need it

    run = ThresholdRun(
        goal.question, parts.size, confidence=goal.confidence, budget=goal.budget, gain=goal.gain
    )
    return ThresholdSearch(views, parts.size, run)
