"""Evaluation: the targets of a goal over strata, as a campaign asks for them round by round.

Answers are counted by *part*: a stratum and a code of predicted labels. Each target sees the parts
through a view (`core.views`); that of a single metric is the identity. Behaviour that depends on
the goal, such as where the next labels go, is in its procedure (`core.procedures`).

If items have weights, sizes are impressions and cards are draws of them; an item that is drawn
again already has its answer. A stratum whose items were all drawn deals no more, and is known when
all have their answers. The budget is of answers that people give.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import TypeVar

import numpy as np

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.outcomes import Coding
from assay.core.procedures import Answered, Procedure, Single, Wanted
from assay.core.standing import Standing
from assay.core.state import JointLook, State
from assay.core.stopping import Reason
from assay.core.strata import Strata
from assay.core.stratify import joint_of, parts_of
from assay.core.types import Floats, Ints
from assay.core.views import whole_view


@dataclass(frozen=True)
class Prior:
    """Labels of the previous period, by the part that they would be in now: where to look first.

    No estimate depends on them. Both fields have one number per part.
    """

    labels: tuple[float, ...]
    positives: tuple[float, ...]


# Upper bounds, as repeated draws cost nothing: with a budget, and without one.
_DRAWS_AN_ANSWER = 10
_DRAWS_AN_ITEM = 100

_Key = tuple[object, ...]
_Kept = TypeVar("_Kept")
_KEPT = 2  # simultaneous looks: at all answers, and at complete rounds


@dataclass(frozen=True, eq=False)
class Decision:
    """Result of a look at a complete round: the streak, the reason to stop, and the estimates."""

    streak: Ints
    reason: Reason
    standings: tuple[Standing, ...]


class Evaluation:
    """Evaluation of a campaign.

    `strata`: cut for the goal: of one unnamed classifier, or of those named by its targets;
    `prior`: for named targets: labels of the previous period.
    """

    def __init__(
        self, design: Design, goal: Goal, strata: Strata, prior: Prior | None = None, seed: int = 0
    ) -> None:
        self._design, self._goal, self._strata = design, goal, strata
        self._parts = parts_of(strata)
        self._items = strata.part_size.astype(np.float64)
        self.coding = Coding(strata, goal.targets)
        before = None if prior is None else (np.array(prior.labels), np.array(prior.positives))
        self.procedure = procedure_of(design, goal, strata, before, seed)
        self._looks: dict[_Key, JointLook] = {}
        self._shown: dict[_Key, tuple[Standing, ...]] = {}

    @property
    def sizes(self) -> Floats:
        """The items of each part, or their weights."""
        return self._parts.size

    def place(self, stratum: int, predicted: int) -> int:
        """Part in which an item's answer is counted, by its code of predicted labels."""
        return self._strata.part_of(stratum, predicted)

    def by_stratum(self, counts: Floats) -> Floats:
        """Add up counts by part to counts by stratum."""
        return self._parts.by_stratum(counts)

    @property
    def reads_cards(self) -> bool:
        """Whether every card of a round matters, not only the number of each kind."""
        return self._design.bets or self.procedure.reads_cards

    def fold(self, before: State, after: State, kinds: Ints, first: Ints) -> State:
        """State after a round, with the bets on its cards settled, if there are any."""
        does = self.procedure.with_budget(self._in_draws(before.dealt, None, before.elsewhere))
        return does.fold(Answered(self._at(before), before, after, kinds, first))

    def decide(self, state: State) -> Decision:
        """Look at a complete round, and decide whether to stop."""
        now = self._look(state)
        streak = self.procedure.streak(state, now)
        return Decision(streak, Reason(int(now.reason)), self._standings(state))

    def plan(self, state: State, asked: int, rng: np.random.Generator) -> Ints:
        """Plan the next round: the number of cards of each stratum."""
        there = self._at(state)
        dealt = None if state.once is None else state.once.dealt
        does = self.procedure.with_budget(self._in_draws(state.dealt, dealt, state.elsewhere))
        draws = ceil(asked / self._share_of_new(there))
        return does.plan(there, Wanted(draws, rng, lambda: self._look(state)))

    def standings(self, state: State) -> tuple[Standing, ...]:
        """Standing of every target, with the intervals that are shown."""
        key = self._key(state)
        if key is None:
            return tuple(each.shown() for each in self._standings(state))
        key = (*key, None if state.open is None else state.open.tobytes())
        if key not in self._shown:
            shown = tuple(each.shown() for each in self._standings(state))
            self._shown = _latest(self._shown, key, shown)
        return self._shown[key]

    def _standings(self, state: State) -> tuple[Standing, ...]:
        looks, seen = self._look(state).looks, self.procedure.seen(self._at(state))
        every = zip(self.procedure.views, looks, seen, self._about, strict=True)
        return tuple(
            Standing(view.name, self._design, view.goal, metric, mine, now, size, items)
            for view, now, (mine, metric), (size, items) in every
        )

    @cached_property
    def _about(self) -> list[tuple[float, int]]:
        """The size of each target's population, and its number of items."""
        return [
            (float(view.gather(self.sizes).sum()), int(view.gather(self._items).sum()))
            for view in self.procedure.views
        ]

    def _look(self, state: State) -> JointLook:
        # The reason to stop, the next round and the report use the same answers, and sixty
        # intervals take a second.
        key = self._key(state)
        if key is None:
            return self._looked(state)
        if key not in self._looks:
            self._looks = _latest(self._looks, key, self._looked(state))
        return self._looks[key]

    def _looked(self, state: State) -> JointLook:
        return self.procedure.with_budget(self._budget_now(state)).look(self._at(state))

    def _key(self, state: State) -> _Key | None:
        """Everything that a look depends on; None if that is too much to compare."""
        if state.bets is not None:
            return None
        counts = (state.tallies.n, state.tallies.x, state.tallies.u, state.dealt, state.streak)
        once = vars(state.once).values() if state.once else ()
        climb = () if state.climb is None else (chain.best_up for chain in state.climb.now)
        named: tuple[Floats | Ints, ...] = ()
        if (by_class := state.tallies.by_class) is not None:  # nearly all of it is 0
            there = np.flatnonzero(by_class)
            named = (there, by_class.ravel()[there])
        cards = () if state.cards is None else (state.cards,)
        every = (*counts, *climb, *once, *named, *cards)
        return (state.rounds, state.elsewhere, *(each.tobytes() for each in every))

    # Where items have weights.

    def _at(self, state: State) -> State:
        """State with its budget applied.

        If items have weights, strata whose items were all drawn have no room.
        """
        state = state.at_budget(self._budget_now(state))
        if state.once is None:
            return state
        drawn = self.by_stratum(state.once.dealt) >= self._strata.sizes
        return replace(state, room=np.where(drawn, 0.0, state.room))

    def _share_of_new(self, state: State) -> float:
        """Compute the expected share of draws of items without an answer."""
        if state.once is None:
            return 1.0
        open_ = state.room > 0
        answered = self.by_stratum(state.once.judged_weight + state.once.unjudged_weight)
        there = np.where(open_, self.by_stratum(self.sizes), 0.0)
        old = np.where(open_, answered, 0.0).sum() / max(there.sum(), 1.0)
        return max(1.0 - float(old), 1 / _DRAWS_AN_ANSWER)

    def _budget_now(self, state: State) -> int | None:
        """Budget in draws, by those that have their answers."""
        tallies, once = state.tallies, state.once
        answered = None if once is None else once.judged + once.unjudged
        return self._in_draws(tallies.n + tallies.u, answered, state.elsewhere)

    def _in_draws(self, draws: Floats, items: Floats | None, elsewhere: int) -> int | None:
        """Budget in draws: repeated draws cost nothing; answers elsewhere do.

        If a few items have almost all weight, the next new item may come after millions of draws.
        """
        budget, every = self._goal.budget, int(self._strata.sizes.sum())
        if budget is not None:
            budget = max(budget - elsewhere, 1)
        if items is None:
            return budget
        if budget is None:
            return _DRAWS_AN_ITEM * every
        again = int(draws.sum() - items.sum())
        return min(budget + again, _DRAWS_AN_ANSWER * min(budget, every))


def _latest(kept: dict[_Key, _Kept], key: _Key, new: _Kept) -> dict[_Key, _Kept]:
    """Cache with a new entry, without its oldest one."""
    return {**dict([*kept.items()][1 - _KEPT :]), key: new}


def procedure_of(
    design: Design,
    goal: Goal,
    strata: Strata,
    prior: tuple[Floats, Floats] | None,  # labels of the previous period, and positives among them
    seed: int,
) -> Procedure:
    """Procedure for a goal over strata."""
    parts = parts_of(strata)
    if design.recycles:
        from assay.core.recycling.procedure import recycle_of  # few need it

        return recycle_of(design, goal, strata, seed)
    joint = None if goal.single else joint_of(design, goal, strata, prior)
    views = [whole_view(goal, strata.says_yes, parts)] if joint is None else joint.views
    if design.replacement:  # no stratum is ever fully known
        views = [replace(view, items=None) for view in views]
    if joint is not None:
        return joint if views is joint.views else replace(joint, views=views)
    if goal.threshold_for is None:
        return Single(views, parts.size, design, goal, strata.weighted)
    from assay.core.thresholds import ThresholdRun  # takes long to load, and few need it

    return ThresholdRun(goal, parts.size, views)
