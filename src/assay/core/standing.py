"""Standing of one target: its answers, its interval, and what open or unjudged items may change."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from assay.core.betting import Bets
from assay.core.design import Design
from assay.core.double_sampling import part_variance
from assay.core.engine import Look, State, look
from assay.core.forms import Metric, Ratio
from assay.core.goal import Goal
from assay.core.special import z_of
from assay.core.stopping import Reason
from assay.core.tallies import Tallies, plain_totals
from assay.core.types import Floats
from assay.core.unjudged import counted_at_worst, least_to_settle, movement, swing
from assay.core.weights import DistinctItems

# The design's own interval, with items that have no yes or no at their worst.
#
#     low end with all of them against the metric … high end with all of them for it
#
# Counted so, the labels are those of a campaign in which nobody left anything out, if that is what
# the missing answers are; whatever else they are, the interval of the whole counts lies within
# these two ends. Where the design bets, the ends are those of bettors for whom every card that
# could not be judged was lost, or won (`engine.fold`); bets are on complete rounds, in which no
# card is open.


def ends_at_worst(
    design: Design, goal: Goal, metric: Metric, state: State, *, now: Look, doubtful: Floats
) -> tuple[Floats, Floats]:
    """Return the interval's low end with all doubtful items against, the high end with all for.

    `doubtful`, (H,): items of each stratum without a yes or no, of those that were dealt.
    """
    worst, best = counted_at_worst(state.tallies, metric, doubtful)
    # One look at all of them takes half as long as two.
    ends = look(design, goal, metric, _counted(state, worst, best))
    lows, highs = ends.low[: len(worst.N)], ends.high[len(worst.N) :]
    told = state.tallies
    least, most = swing(Tallies.trusted(told.N, told.n, told.x, doubtful), metric)
    low = np.minimum(np.minimum(now.low, least), lows.min(axis=0))
    return low, np.maximum(np.maximum(now.high, most), highs.max(axis=0))


def with_open(design: Design, goal: Goal, metric: Metric, state: State, now: Look) -> Look:
    """Return a look with the cards that wait for an answer at their worst; the rest stays.

    Bets are on complete rounds alone, and know nothing of the others.
    """
    if state.open is None or not state.open.any() or design.bets:
        return now
    low, high = ends_at_worst(design, goal, metric, state, now=now, doubtful=state.open)
    return replace(now, low=low, high=high)


def with_unjudged(design: Design, goal: Goal, metric: Metric, state: State, now: Look) -> Look:
    """Return a look with unjudged items at their worst, where they could undo what it says.

    That is where they alone could move the value by more than the goal's half-width; without one,
    by more than half the interval's width. More labels do not make that smaller.
    """
    unjudged = state.tallies.u
    if not unjudged.any() or state.climb is not None:  # a climb takes them at their worst itself
        return now
    allowed = now.half_width if goal.within is None else goal.within
    undone = movement(state.tallies, metric) > allowed
    if not undone.any():
        return now
    low, high = ends_at_worst(
        design, goal, metric, state, now=now, doubtful=unjudged + _waiting(design, state)
    )
    return replace(now, low=np.where(undone, low, now.low), high=np.where(undone, high, now.high))


def shown_look(design: Design, goal: Goal, metric: Metric, state: State) -> Look:
    """Look, with the interval that is shown: what has no yes or no is at its worst."""
    now = with_open(design, goal, metric, state, look(design, goal, metric, state))
    return with_unjudged(design, goal, metric, state, now)


def _waiting(design: Design, state: State) -> Floats:
    """Return the cards that wait for an answer; none where the design bets."""
    none = state.open is None or design.bets
    return np.zeros_like(state.tallies.u) if none or state.open is None else state.open


def _counted(state: State, worst: Tallies, best: Tallies) -> State:
    """Return the state with other counts, several ways of counting side by side, (2 K, ..., H)."""
    shape = worst.N.shape[:-1]
    counts = ([each.N, each.n, each.x, each.u] for each in (worst, best))
    tallies = Tallies.trusted(*map(np.concatenate, zip(*counts, strict=True)))
    bets = state.bets
    if bets is not None:
        wealth = (
            [
                np.broadcast_to(part, (*shape, len(each.points)))
                for part in (each.up, each.down, each.best_up, each.best_down)
            ]
            for each in state.worst_bets or (bets, bets)
        )
        bets = Bets(bets.points, *map(np.concatenate, zip(*wealth, strict=True)))
    streak = np.zeros((2 * shape[0], *shape[1:]), dtype=np.int64)
    return replace(state, tallies=tallies, streak=streak, bets=bets, worst_bets=None)


@dataclass(frozen=True, eq=False)
class Standing:
    """How one target stands: its design, goal and metric, the answers, and a look.

    `size` is what it is about, in items or, where these have weights, impressions; `items` are the
    items. `once` are those behind the answers, where an item's answer may count again. `before` is
    how it stood after the last complete round, where cards of later ones wait for an answer.
    `like_rest` is the interval if unjudged items were like the rest of their stratum, where the
    look's takes them at their worst.
    """

    name: str
    design: Design
    goal: Goal
    metric: Metric
    state: State
    look: Look
    size: float
    items: int
    once: DistinctItems | None = None
    before: "Standing | None" = None
    like_rest: tuple[float, float] | None = None

    @property
    def tallies(self) -> Tallies:
        """The answers as the target counts them."""
        return self.state.tallies

    @property
    def labels(self) -> int:
        """Items with a yes or no."""
        return int((self.tallies.n if self.once is None else self.once.judged).sum())

    @property
    def unjudged(self) -> int:
        """Items that could not be judged."""
        return int((self.tallies.u if self.once is None else self.once.unjudged).sum())

    @property
    def open(self) -> int:
        """Items that were dealt and wait for an answer."""
        if self.once is not None:
            return int((self.once.dealt - self.once.judged - self.once.unjudged).sum())
        return 0 if self.state.open is None else int(self.state.open.sum())

    @property
    def could_move(self) -> float:
        """How far the items that could not be judged could alone move the value."""
        return float(movement(self.tallies, self.metric))

    @property
    def of_sample(self) -> float:
        """The half-width that the items' own drawing has in the interval; 0 where they are all."""
        if self.goal.sampled is None or not isinstance(self.metric, Ratio):
            return 0.0
        told = self.tallies
        T = plain_totals(told.N, told.n, told.x)
        variance = part_variance(self.goal.metric, self.metric, told.N, T, self.goal.sampled)
        return float(z_of(self.goal.confidence) * np.sqrt(variance))

    @property
    def worst_case(self) -> tuple[float, float]:
        """The interval's low end with all unjudged items against, its high end with all for.

        Cards that wait for an answer are at their worst, too.
        """
        state = self.state
        if state.climb is not None:  # its interval takes such items at their worst
            return float(self.look.low), float(self.look.high)
        doubtful = self.tallies.u + _waiting(self.design, state)
        found = ends_at_worst(
            self.design, self.goal, self.metric, state, now=self.look, doubtful=doubtful
        )
        low, high = map(float, found)
        if self.before is not None:
            less, more = self.before.worst_case
            if more - less < high - low:
                low, high = min(less, float(self.look.low)), max(more, float(self.look.high))
        return low, high

    def shown(self) -> Self:
        """Return the same with the interval that is shown (`shown_look`)."""
        what = (self.design, self.goal, self.metric, self.state)
        rest = with_open(*what, self.look)
        now = with_unjudged(*what, rest)
        like_rest = None if now is rest else (float(rest.low), float(rest.high))
        return replace(self, look=now, like_rest=like_rest)

    def or_before(self, before: "Standing") -> Self:
        """Return the same with the interval of the last complete round, where that is narrower.

        The value stays that of all answers, and the interval holds it.
        """
        now, then = self.look, before.look
        if then.high - then.low >= now.high - now.low:
            return replace(self, before=before)
        value = now.moments.value if now.moments.defined else then.low
        low, high = np.minimum(then.low, value), np.maximum(then.high, value)
        shown = replace(now, low=low, high=high)
        return replace(self, look=shown, before=before, like_rest=before.like_rest)


# Why an evaluation is over, in words, with what it would take where unjudged items are why.


def told(reason: Reason, standings: Sequence[Standing]) -> str:
    """Return why an evaluation is over, by how its targets stood when it ended."""
    if reason is not Reason.UNJUDGED:
        return reason.told(standings[0].goal.at_least)
    each = max(standings, key=_excess)
    allowed, could_move = _allowed(each), _could_move(each)
    settling = least_to_settle(each.unjudged, could_move, allowed)
    what = "it" if len(standings) == 1 else each.name
    items = "1 item that" if each.unjudged == 1 else f"{each.unjudged:,} items that"
    near = "narrow enough, but"
    does = f"could move {what} by {could_move:.3f}"
    if each.goal.at_least is not None:
        near = f"cannot say whether it is at least {each.goal.at_least}, as"
        does = "could turn the answer"
    number = "it" if each.unjudged == 1 else f"about {settling:,} of them"
    return f"{near} {items} could not be judged {does}: judging {number} would settle it"


def _allowed(standing: Standing) -> float:
    """Return how far unjudged items may move a target without undoing its goal."""
    if standing.goal.at_least is not None:
        return abs(float(standing.look.moments.value) - standing.goal.at_least)
    return standing.goal.within or 1.0


def _could_move(standing: Standing) -> float:
    """Return how far unjudged items could move a target; towards the limit, if there is one."""
    if standing.goal.at_least is None:
        return standing.could_move
    value = float(standing.look.moments.value)
    least, most = map(float, swing(standing.tallies, standing.metric))
    return value - least if value >= standing.goal.at_least else most - value


def _excess(standing: Standing) -> float:
    """Return how many times as far as they may unjudged items could move a target."""
    return _could_move(standing) / max(_allowed(standing), 1e-12)
