"""State of an evaluation between two rounds, and looks at it.

Every array has shape (..., H) or (...): leading axes are independent evaluations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from assay.core.betting import Bets
from assay.core.estimate import Moments
from assay.core.rungs import Climb
from assay.core.tallies import Tallies
from assay.core.types import LARGEST_EXACT, Bools, Floats, Ints
from assay.core.weights import DistinctItems

UNLIMITED = LARGEST_EXACT  # room in a stratum that is drawn from with replacement


@dataclass(frozen=True, eq=False)
class State:
    """State of an evaluation between two rounds."""

    tallies: Tallies  # the answers so far
    dealt: Floats  # (..., H): cards dealt so far, answered or not
    room: Floats  # (..., H): cards that can still be dealt
    rounds: int  # rounds dealt so far
    streak: Ints  # (...): rounds in a row that met the goal, up to the last complete one
    # Wealth of the bettors after the last complete round, if the design bets.
    bets: Bets | None = None
    # Their wealth if every card that could not be judged had counted against the metric, and for
    # it. None: there was no such card.
    worst_bets: tuple[Bets, Bets] | None = None
    # The answers as first given, which determine the probabilities of the next round: a later
    # revision of an answer cannot change how cards were drawn. None: none was revised.
    first: Tallies | None = None
    # The items behind the cards, if a card may be dealt again (`core.weights`)
    once: DistinctItems | None = None
    # The fewest and the most outcomes that each stratum can have by the answers, if the tallies do
    # not determine them.
    possible: tuple[Floats, Floats] | None = None
    # The open cards, counted as the tallies are. No decision depends on them, but reports have them
    # at their worst (`worst`). None: there is none.
    open: Floats | None = None
    # Answers to items outside of the sample; they use up the budget, too.
    elsewhere: int = 0
    # Wealth of the bettors on thresholds, if the question is for one (`core.thresholds`)
    climb: Climb | None = None
    # The cards of complete rounds as `fold` takes them, if the procedure needs every one.
    cards: Ints | None = None
    spent: Bools | None = None  # (...): whether the budget is spent (`at_budget`). None: no.

    @classmethod
    def start(
        cls, sizes: ArrayLike, shape: tuple[int, ...] = (), *, replacement: bool = False
    ) -> Self:
        """State before the first round; `shape` for parallel evaluations."""
        tallies = Tallies.start(np.broadcast_to(sizes, (*shape, *np.shape(sizes))))
        room = np.full_like(tallies.N, UNLIMITED) if replacement else tallies.N
        streak = np.zeros(tallies.N.shape[:-1], dtype=np.int64)
        return cls(tallies, np.zeros_like(tallies.N), room, 0, streak)

    @property
    def first_given(self) -> Tallies:
        """The answers as first given."""
        return self.first or self.tallies

    def changed(self, **fields: Any) -> Self:
        """State with some fields changed: `replace`, in a fifth of the time.

        A simulation changes millions of states.
        """
        new = object.__new__(type(self))
        vars(new).update(vars(self), **fields)
        return new

    def take(self, which: Bools) -> Self:
        """State of some of the parallel evaluations."""
        if which.all():
            return self
        return self.changed(
            tallies=self.tallies.take(which),
            dealt=self.dealt[which],
            room=self.room[which],
            streak=self.streak[which],
            bets=None if self.bets is None else self.bets.take(which),
            worst_bets=self.worst_bets
            and (self.worst_bets[0].take(which), self.worst_bets[1].take(which)),
            first=None if self.first is None else self.first.take(which),
            climb=None if self.climb is None else self.climb.take(which),
            spent=None if self.spent is None else self.spent[which],
        )

    @classmethod
    def side_by_side(
        cls, states: Sequence[Self], join: Callable[[list[Any]], Any] = np.stack
    ) -> Self:
        """States with equally many strata joined into one, shape (R, H), without bets."""
        return cls(
            Tallies.joined(join, [each.tallies for each in states]),
            join([each.dealt for each in states]),
            join([each.room for each in states]),
            states[0].rounds,
            join([each.streak for each in states]),
            spent=states[0].spent,  # one budget for all
        )

    def equals(self, other: "State") -> bool:
        """Whether two evaluations have equal states; with bets, whether they are identical."""
        if self is other:
            return True
        mine, theirs = vars(self), vars(other)
        return all(_is_same(mine[name], theirs[name]) for name in mine)

    def at_budget(self, budget: int | None) -> Self:
        """State with the flag whether the budget is spent.

        The budget counts all answers; a target's view of the state only has its own.
        """
        spent = None if budget is None else np.asarray(self.tallies.answers >= budget)
        return self.changed(spent=spent)

    def deal(self, counts: Ints) -> Self:
        """State after a round of `counts` cards was dealt."""
        return self.changed(
            dealt=self.dealt + counts, room=self.room - counts, rounds=self.rounds + 1
        )


def _is_same(one: object, other: object) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, Tallies | DistinctItems) and type(one) is type(other):
        return all(map(_is_same, vars(one).values(), vars(other).values()))
    return isinstance(one, int) and one == other


@dataclass(frozen=True, eq=False)
class Look:
    """Result of a look: the moments, the interval's ends, the streak and the reason."""

    moments: Moments
    low: Floats
    high: Floats
    streak: Ints
    reason: Ints

    def of(self, row: int) -> "Look":
        """Look at one of the parallel evaluations."""
        moments = {name: np.asarray(value[row]) for name, value in vars(self.moments).items()}
        values = (self.low, self.high, self.streak, self.reason)
        return Look(Moments(**moments), *(np.asarray(each[row]) for each in values))

    @property
    def half_width(self) -> Floats:
        """Half the interval's width."""
        return np.asarray((self.high - self.low) / 2)


@dataclass(frozen=True, eq=False)
class JointLook:
    """The look at each target, and whether there is a reason to stop."""

    looks: tuple[Look, ...]
    reason: Ints
