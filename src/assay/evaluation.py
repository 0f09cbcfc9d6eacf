"""What a campaign runs: one metric (`engine`), or several targets at once (`joint`).

Both answer the same questions, so that the ledger and the campaign need not know which it is.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assay.cell_strata import joint_of
from assay.core.metrics import Metric, ratio
from assay.core.stop import Reason
from assay.core.strata import Strata
from assay.core.tallies import Tallies
from assay.core.types import Floats, Ints
from assay.core.venn import CellStrata
from assay.design import Design, Goal
from assay.engine import Look, State, begin, fold, follows_request, look, plan
from assay.joint import JointLook
from assay.settings import Settings
from assay.store import CardRow
from assay.targets import JointGoal

__all__ = ["Decision", "Evaluation", "Standing", "evaluation_of"]


@dataclass(frozen=True, eq=False)
class Standing:
    """How one target stands: its goal, its metric, the answers as it counts them, and a look."""

    name: str
    goal: Goal
    metric: Metric
    tallies: Tallies
    look: Look


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

    def place(self, card: CardRow) -> int:
        """Return where a card's answer is counted."""

    def is_outcome(self, card: CardRow, positive: bool, /) -> bool:
        """Tell whether an answer to a card has the outcome that is counted."""

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
        """Return how every target stands."""


def evaluation_of(settings: Settings) -> Evaluation:
    """Return what a campaign with these settings runs."""
    goal, strata = settings.goal, settings.strata
    if isinstance(goal, JointGoal) and isinstance(strata, CellStrata):
        return _Several(settings.design, goal, strata)
    if isinstance(goal, Goal) and isinstance(strata, Strata):
        return _One(settings.design, goal, strata)
    raise TypeError(f"a {type(goal).__name__} with {type(strata).__name__}")


class _One:
    """One metric of one classifier."""

    def __init__(self, design: Design, goal: Goal, strata: Strata) -> None:
        self._design, self._goal = design, goal
        self.sizes = strata.sizes.astype(np.float64)
        self._metric = ratio(goal.metric, self.sizes, strata.says_yes)
        self._judges_prediction = strata.says_yes is None

    def place(self, card: CardRow) -> int:
        return card.stratum

    def is_outcome(self, card: CardRow, positive: bool, /) -> bool:
        return positive == bool(card.predicted) if self._judges_prediction else positive

    def by_stratum(self, counts: Floats) -> Floats:
        return counts.copy()

    def begin(self) -> State:
        return begin(self._design, self._goal, self.sizes)

    def fold(self, before: State, after: State, kinds: Ints, /) -> State:
        return fold(self._design, self._goal, self._metric, before=before, after=after, kinds=kinds)

    def decide(self, state: State) -> Decision:
        (standing,) = self.standings(state)
        return Decision(standing.look.streak, Reason(int(standing.look.reason)), (standing,))

    def plan(self, state: State, asked: int, rng: np.random.Generator, /) -> Ints:
        return plan(self._design, self._goal, self._metric, state, rng=rng, asked=asked)

    def deals_ahead(self, rounds: int, /) -> bool:
        return follows_request(self._design, rounds) and not self._design.bets

    def standings(self, state: State) -> tuple[Standing, ...]:
        now = look(self._design, self._goal, self._metric, state)
        return (Standing(self._goal.metric, self._goal, self._metric, state.tallies, now),)


class _Several:
    """Several targets, of one or more classifiers."""

    def __init__(self, design: Design, goal: JointGoal, strata: CellStrata) -> None:
        self._joint = joint_of(design, goal, strata)
        self._strata = strata
        self.sizes = self._joint.parts.size
        self._looks: dict[tuple[object, ...], JointLook] = {}

    def place(self, card: CardRow) -> int:
        return self._strata.part_of(card.stratum, card.predicted)

    def is_outcome(self, _card: CardRow, positive: bool, /) -> bool:
        return positive

    def by_stratum(self, counts: Floats) -> Floats:
        return self._joint.parts.by_stratum(counts)

    def begin(self) -> State:
        return self._joint.begin()

    def fold(self, _before: State, after: State, _kinds: Ints, /) -> State:
        return after

    def decide(self, state: State) -> Decision:
        reason = Reason(int(self._look(state).reason))
        return Decision(state.streak, reason, self.standings(state))

    def plan(self, state: State, asked: int, _rng: np.random.Generator, /) -> Ints:
        return self._joint.plan(state, self._look(state), asked=asked)

    def deals_ahead(self, _rounds: int, /) -> bool:
        return True

    def standings(self, state: State) -> tuple[Standing, ...]:
        return tuple(
            Standing(view.name, view.goal, view.metric, view.state(state).tallies, each)
            for view, each in zip(self._joint.views, self._look(state).looks, strict=True)
        )

    def _look(self, state: State) -> JointLook:
        # The reason to stop, the next round and the report rest on the same answers, and sixty
        # intervals take a second.
        told = state.tallies
        answers = (state.rounds, *(counts.tobytes() for counts in (told.n, told.x, told.u)))
        if answers not in self._looks:
            self._looks = {answers: self._joint.look(state)}  # the last one only
        return self._looks[answers]
