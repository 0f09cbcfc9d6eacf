"""Standing of one target: its answers, its interval, and the effect of open or unjudged items."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from assay.core.design import Design
from assay.core.double_sampling import part_variance
from assay.core.engine import look
from assay.core.forms import Metric, Ratio
from assay.core.goal import Goal
from assay.core.special import z_of
from assay.core.state import Look, State
from assay.core.stopping import Reason
from assay.core.tallies import Tallies, plain_totals
from assay.core.types import Floats
from assay.core.unjudged import counted_at_worst, least_to_settle, movement, swing

# The design's own interval, with items that have no yes or no at their worst.
#
#     low end with all of them against the metric … high end with all of them for it
#
# If the missing answers are all at their worst, or at their best, these are the counts of a
# campaign without missing answers; otherwise the interval of the complete counts lies within these
# two ends. If the design bets, the ends are those of bettors who lost, or won, every card that
# could not be judged (`engine.fold`); bets are on complete rounds, in which no card is open.


def _counted(state: State, worst: Tallies, best: Tallies) -> State:
    """State with several alternative counts in parallel, (2 K, ..., H)."""
    shape = worst.N.shape[:-1]
    tallies = Tallies.joined(np.concatenate, [worst, best])
    bets = state.bets
    if bets is not None:
        both = state.worst_bets or (bets, bets)
        wealth = {
            name: np.concatenate(
                [np.broadcast_to(each.owned[name], (*shape, len(each.points))) for each in both]
            )
            for name in bets.owned
        }
        bets = replace(bets, **wealth)
    streak = np.zeros((2 * shape[0], *shape[1:]), dtype=np.int64)
    return replace(state, tallies=tallies, streak=streak, bets=bets, worst_bets=None)


@dataclass(frozen=True, eq=False)
class Standing:
    """Standing of one target: its design, goal and metric, the answers, and a look.

    `size` is the size of its population, in items or, if these have weights, impressions; `items`
    is the number of items. `before` is its standing after the last complete round, if cards of
    later ones wait for an answer. `like_rest` is the interval if unjudged items were like the rest
    of their stratum, while the look has them at their worst.
    """

    name: str
    design: Design
    goal: Goal
    metric: Metric
    state: State
    look: Look
    size: float
    items: int
    before: "Standing | None" = None
    like_rest: tuple[float, float] | None = None

    @property
    def tallies(self) -> Tallies:
        """The answers as the target counts them."""
        return self.state.tallies

    @property
    def labels(self) -> int:
        """Items with a yes or no."""
        return int((self.tallies.n if self.state.once is None else self.state.once.judged).sum())

    @property
    def unjudged(self) -> int:
        """Items that could not be judged."""
        return int((self.tallies.u if self.state.once is None else self.state.once.unjudged).sum())

    @property
    def open(self) -> int:
        """Items that were dealt and wait for an answer."""
        waiting, once = self.state.open, self.state.once
        if once is not None:
            waiting = once.dealt - once.judged - once.unjudged
        return 0 if waiting is None else int(waiting.sum())

    @property
    def could_move(self) -> float:
        """How far the unjudged items alone could move the value."""
        return float(movement(self.tallies, self.metric))

    @property
    def of_sample(self) -> float:
        """Half-width due to the sampling of the items themselves; 0 if they are all."""
        if self.goal.sampled is None or not isinstance(self.metric, Ratio):
            return 0.0
        tallies = self.tallies
        T = plain_totals(tallies.N, tallies.n, tallies.x)
        variance = part_variance(self.goal.metric, self.metric, tallies.N, T, self.goal.sampled)
        return float(z_of(self.goal.confidence) * np.sqrt(variance))

    def ends_at_worst(self, doubtful: Floats) -> tuple[Floats, Floats]:
        """Find the ends with all doubtful items against the metric, and with all for it.

        `doubtful`, (H,): items of each stratum that were dealt and have no yes or no.
        """
        tallies, now = self.tallies, self.look
        worst, best = counted_at_worst(tallies, self.metric, doubtful)
        # One look at all of them takes half as long as two.
        ends = look(self.design, self.goal, self.metric, _counted(self.state, worst, best))
        lows, highs = ends.low[: len(worst.N)], ends.high[len(worst.N) :]
        known = Tallies.trusted(tallies.N, tallies.n, tallies.x, doubtful)
        least, most = swing(known, self.metric)
        low = np.minimum(np.minimum(now.low, least), lows.min(axis=0))
        return low, np.maximum(np.maximum(now.high, most), highs.max(axis=0))

    def with_open(self) -> Look:
        """Look with open cards at their worst; the rest is unchanged."""
        waiting = self._waiting
        if not waiting.any():
            return self.look
        low, high = self.ends_at_worst(waiting)
        return replace(self.look, low=low, high=high)

    def with_unjudged(self) -> Look:
        """Look with unjudged items at their worst, if they could undo its result.

        That is if they alone could move the value by more than the goal's half-width; without one,
        by more than half the interval's width. More labels do not reduce that.
        """
        now, unjudged, within = self.look, self.tallies.u, self.goal.within
        if not unjudged.any() or self.state.climb is not None:  # a climb has them at their worst
            return now
        allowed = now.half_width if within is None else within
        undone = movement(self.tallies, self.metric) > allowed
        if not undone.any():
            return now
        low, high = self.ends_at_worst(unjudged + self._waiting)
        low, high = np.where(undone, low, now.low), np.where(undone, high, now.high)
        return replace(now, low=low, high=high)

    @property
    def _waiting(self) -> Floats:
        """Cards that wait for an answer; none if the design bets: that is on complete rounds."""
        waiting = None if self.design.bets else self.state.open
        return np.zeros_like(self.tallies.u) if waiting is None else waiting

    @property
    def worst_case(self) -> tuple[float, float]:
        """Ends of the interval with all unjudged items against the metric, and with all for it.

        Open cards are at their worst, too.
        """
        if self.state.climb is not None:  # its interval has such items at their worst
            return float(self.look.low), float(self.look.high)
        low, high = map(float, self.ends_at_worst(self.tallies.u + self._waiting))
        if self.before is not None:
            less, more = self.before.worst_case
            if more - less < high - low:
                low, high = min(less, float(self.look.low)), max(more, float(self.look.high))
        return low, high

    def shown(self) -> Self:
        """Standing with the interval that is shown (`shown_look`)."""
        rest = self.with_open()
        now = replace(self, look=rest).with_unjudged()
        like_rest = None if now is rest else (float(rest.low), float(rest.high))
        return replace(self, look=now, like_rest=like_rest)

    def or_before(self, before: "Standing") -> Self:
        """Standing with the interval of the last complete round, if that is narrower.

        The value remains that of all answers, and the interval includes it.
        """
        now, then = self.look, before.look
        if then.high - then.low >= now.high - now.low:
            return replace(self, before=before)
        value = now.moments.value if now.moments.defined else then.low
        low, high = np.minimum(then.low, value), np.maximum(then.high, value)
        shown = replace(now, low=low, high=high)
        return replace(self, look=shown, before=before, like_rest=before.like_rest)


def shown_look(design: Design, goal: Goal, metric: Metric, state: State) -> Look:
    """Look with the interval that is shown: items without yes or no at their worst."""
    standing = Standing("", design, goal, metric, state, look(design, goal, metric, state), 0.0, 0)
    return replace(standing, look=standing.with_open()).with_unjudged()


# Why an evaluation is over, as text, with the remedy if unjudged items are the reason.


def reason_in_words(reason: Reason, standings: Sequence[Standing]) -> str:
    """Why an evaluation is over, by its targets' final standings."""
    if reason is not Reason.UNJUDGED:
        return reason.in_words(standings[0].goal.at_least)
    # The target whose possible shift exceeds the allowed one most.
    each = max(standings, key=lambda one: _could_move(one) / max(_allowed(one), 1e-12))
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
    """How far unjudged items may move a target without undoing its goal."""
    if standing.goal.at_least is not None:
        return abs(float(standing.look.moments.value) - standing.goal.at_least)
    return standing.goal.within or 1.0


def _could_move(standing: Standing) -> float:
    """How far unjudged items could move a target; towards the limit, if there is one."""
    if standing.goal.at_least is None:
        return standing.could_move
    value = float(standing.look.moments.value)
    least, most = map(float, swing(standing.tallies, standing.metric))
    return value - least if value >= standing.goal.at_least else most - value
