"""Evaluation: one metric (`engine`), or several targets at once (`joint`), behind one protocol.

Both answer the same questions, so that rounds and campaigns need not know which it is.
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import Protocol, TypeVar

import numpy as np

from assay.core.design import Design
from assay.core.engine import State, begin, fold, follows_request, look, plan
from assay.core.goal import Goal, JointGoal
from assay.core.joint import JointLook
from assay.core.metrics import Ratio, ratio
from assay.core.standing import Standing
from assay.core.stopping import Reason
from assay.core.strata import Strata
from assay.core.stratify import joint_of
from assay.core.tallies import Tallies
from assay.core.types import Floats, Ints
from assay.core.weights import settle


@dataclass(frozen=True)
class Prior:
    """Labels of the period before, by the part that they would be in now: where to look first.

    No estimate rests on them. Both have one number a part.
    """

    labels: tuple[float, ...]
    positives: tuple[float, ...]


# At most, where draws that come again cost nothing: of a budget, and without one.
_DRAWS_AN_ANSWER = 10
_DRAWS_AN_ITEM = 100

_Key = tuple[object, ...]
_Kept = TypeVar("_Kept")
_KEPT = 2  # looks at the same time: at all answers, and at complete rounds


@dataclass(frozen=True, eq=False)
class Decision:
    """What a look at a complete round led to: the streak, the reason to stop, and what was seen."""

    streak: Ints
    reason: Reason
    standings: tuple[Standing, ...]


class Evaluation(Protocol):
    """What is asked of either kind.

    Answers are counted by *place*: for one metric that is the stratum, for several targets the part
    of a stratum that the classifiers speak alike of.
    """

    @property
    def sizes(self) -> Floats:
        """The items of each place."""

    def place(self, stratum: int, said: int, /) -> int:
        """Return where the answer to an item is counted, by what the classifiers said of it."""

    def is_outcome(self, said: int, positive: bool, /) -> bool:
        """Tell whether an answer has the outcome that is counted."""

    def by_stratum(self, counts: Floats) -> Floats:
        """Return counts by place as counts by stratum."""

    def begin(self) -> State:
        """Return the state before the first round."""

    def fold(self, before: State, after: State, kinds: Ints, /) -> State:
        """Return the state after a round with the bets on its cards settled, if there are any."""

    def decide(self, state: State) -> Decision:
        """Look at a complete round, and tell whether there is a reason to stop."""

    def plan(self, state: State, asked: int, rng: np.random.Generator, /) -> Ints:
        """Return how many cards of each stratum the next round deals."""

    def deals_ahead(self, rounds: int, /) -> bool:
        """Tell whether a round may be dealt before the last is answered."""

    def standings(self, state: State) -> tuple[Standing, ...]:
        """Return how every target stands, with the cards that wait for an answer at their worst."""


def evaluation_of(
    design: Design,
    goal: Goal | JointGoal,
    strata: Strata,
    prior: Prior | None = None,
) -> Evaluation:
    """Return what a campaign runs.

    Parameters
    ----------
    design : Design
    goal : Goal or JointGoal
    strata : Strata
        Of the same kind as the goal.
    prior : Prior, optional
        Of several targets: labels of the period before.
    """
    if isinstance(goal, JointGoal):
        return _Several(design, goal, strata, prior)
    kind = _Weighted if strata.weighted else _One
    return kind(design, goal, strata)


class _One:
    """One metric of one classifier."""

    def __init__(self, design: Design, goal: Goal, strata: Strata) -> None:
        self._design, self._goal = design, goal
        self.sizes = strata.weights.astype(np.float64)
        self._metric = ratio(goal.metric, self.sizes, strata.says_yes)
        self._judges_prediction = strata.says_yes is None

    def place(self, stratum: int, _said: int, /) -> int:
        return stratum

    def is_outcome(self, said: int, positive: bool, /) -> bool:
        return positive == bool(said) if self._judges_prediction else positive

    def by_stratum(self, counts: Floats) -> Floats:
        return counts.copy()

    def begin(self) -> State:
        return begin(self._design, self._goal, self.sizes)

    def fold(self, before: State, after: State, kinds: Ints, /) -> State:
        return fold(self._design, self._goal, self._metric, before=before, after=after, kinds=kinds)

    def decide(self, state: State) -> Decision:
        standing = self._standing(state)
        return Decision(standing.look.streak, Reason(int(standing.look.reason)), (standing,))

    def plan(self, state: State, asked: int, rng: np.random.Generator, /) -> Ints:
        return plan(self._design, self._goal, self._metric, state, rng=rng, asked=asked)

    def deals_ahead(self, rounds: int, /) -> bool:
        return follows_request(self._design, rounds) and not self._design.bets

    def standings(self, state: State) -> tuple[Standing, ...]:
        return (self._standing(state).with_open(),)

    def _standing(self, state: State) -> Standing:
        now = look(self._design, self._goal, self._metric, state)
        return Standing(self._goal.metric, self._design, self._goal, self._metric, state, now)


class _Weighted(_One):
    """One metric of one classifier, over items that count by weight.

    Sizes are impressions and cards are draws of them; an item that is drawn again has its answer
    already. A stratum whose every item was drawn deals no more, and is known when all have their
    answers. The budget is of answers that people give.
    """

    def __init__(self, design: Design, goal: Goal, strata: Strata) -> None:
        super().__init__(design, goal, strata)
        self._items = strata.sizes.astype(np.float64)

    def fold(self, before: State, after: State, kinds: Ints, /) -> State:
        start, metric = self._settled(before)
        old, new = start.tallies, after.tallies
        known = start.room <= 0
        tallies = Tallies.trusted(
            old.N,
            np.where(known, old.n, new.n),
            np.where(known, old.x, new.x),
            np.where(known, old.u, new.u),
        )
        end = replace(after, tallies=tallies)
        settled = fold(self._design, self._goal, metric, before=start, after=end, kinds=kinds)
        return replace(after, bets=settled.bets, worst_bets=settled.worst_bets)

    def plan(self, state: State, asked: int, rng: np.random.Generator, /) -> Ints:
        dealt = None if state.once is None else state.once.dealt
        goal = self._in_draws(state.dealt, dealt)
        state, metric = self._settled(state)
        draws = ceil(asked / self._share_of_new(state))
        return plan(self._design, goal, metric, state, rng=rng, asked=draws)

    def _standing(self, state: State) -> Standing:
        once, told = state.once, state.tallies
        answered = None if once is None else once.judged + once.unjudged
        goal = self._in_draws(told.n + told.u, answered)
        state, metric = self._settled(state)
        now = look(self._design, goal, metric, state)
        return Standing(self._goal.metric, self._design, self._goal, metric, state, now, once)

    def _settled(self, state: State) -> tuple[State, Ratio]:
        """Return the state, and the metric of it, with what is known in full told so.

        There is no room in strata of which every item was drawn.
        """
        if state.once is None:
            return state, self._metric
        room = np.where(state.once.dealt >= self._items, 0.0, state.room)
        if self._design.replacement:
            return replace(state, room=room), self._metric
        settled = settle(state.tallies, self._metric, state.once, self._items)
        tallies, first = settled.tallies, state.first
        if first is not None:
            first = Tallies.trusted(tallies.N, first.n, first.x, first.u)
        possible = settled.least, settled.most
        state = replace(state, tallies=tallies, first=first, room=room, possible=possible)
        return state, settled.metric

    def _share_of_new(self, state: State) -> float:
        """Return the share of draws that are likely to be of items without an answer."""
        if state.once is None:
            return 1.0
        there = np.where(state.room > 0, self.sizes, 0.0)
        answered = state.once.judged_weight + state.once.unjudged_weight
        old = np.where(state.room > 0, answered, 0.0).sum() / max(there.sum(), 1.0)
        return max(1.0 - float(old), 1 / _DRAWS_AN_ANSWER)

    def _in_draws(self, draws: Floats, items: Floats | None) -> Goal:
        """Return the goal with the budget in draws: those that came again cost nothing.

        Where almost all weight is a few items', another one may come after millions of draws.
        """
        if items is None:
            return self._goal
        budget, every = self._goal.budget, int(self._items.sum())
        if budget is None:
            return replace(self._goal, budget=_DRAWS_AN_ITEM * every)
        again = int(draws.sum() - items.sum())
        most = _DRAWS_AN_ANSWER * min(budget, every)
        return replace(self._goal, budget=min(budget + again, most))


class _Several:
    """Several targets, of one or more classifiers."""

    def __init__(
        self, design: Design, goal: JointGoal, strata: Strata, prior: Prior | None
    ) -> None:
        before = None if prior is None else (np.array(prior.labels), np.array(prior.positives))
        self._joint = joint_of(design, goal, strata, before)
        self._strata = strata
        self.sizes = self._joint.parts.size
        self._looks: dict[_Key, JointLook] = {}
        self._shown: dict[_Key, tuple[Standing, ...]] = {}

    def place(self, stratum: int, said: int, /) -> int:
        return self._strata.part_of(stratum, said)

    def is_outcome(self, _said: int, positive: bool, /) -> bool:
        return positive

    def by_stratum(self, counts: Floats) -> Floats:
        return self._joint.parts.by_stratum(counts)

    def begin(self) -> State:
        return self._joint.begin()

    def fold(self, _before: State, after: State, _kinds: Ints, /) -> State:
        return after

    def decide(self, state: State) -> Decision:
        reason = Reason(int(self._look(state).reason))
        return Decision(state.streak, reason, self._standings(state))

    def plan(self, state: State, asked: int, _rng: np.random.Generator, /) -> Ints:
        return self._joint.plan(state, self._look(state), asked=asked)

    def deals_ahead(self, _rounds: int, /) -> bool:
        return True

    def standings(self, state: State) -> tuple[Standing, ...]:
        key = (*_answers(state), None if state.open is None else state.open.tobytes())
        if key not in self._shown:
            its = tuple(each.with_open() for each in self._standings(state))
            self._shown = _latest(self._shown, key, its)
        return self._shown[key]

    def _standings(self, state: State) -> tuple[Standing, ...]:
        design = self._joint.design
        return tuple(
            Standing(view.name, design, view.goal, view.metric, view.state(state), each)
            for view, each in zip(self._joint.views, self._look(state).looks, strict=True)
        )

    def _look(self, state: State) -> JointLook:
        # The reason to stop, the next round and the report rest on the same answers, and sixty
        # intervals take a second.
        key = _answers(state)
        if key not in self._looks:
            self._looks = _latest(self._looks, key, self._joint.look(state))
        return self._looks[key]


def _answers(state: State) -> _Key:
    told = state.tallies
    return (state.rounds, *(counts.tobytes() for counts in (told.n, told.x, told.u)))


def _latest(kept: dict[_Key, _Kept], key: _Key, new: _Kept) -> dict[_Key, _Kept]:
    """Return what is kept with something new, without what was there longest."""
    return {**dict([*kept.items()][1 - _KEPT :]), key: new}
