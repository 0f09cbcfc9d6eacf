"""The design's own interval, with items that have no yes or no at their worst.

    low end with all of them against the metric … high end with all of them for it

Counted so, the labels are those of a campaign in which nobody left anything out, if that is what
the missing answers are; whatever else they are, the interval of the whole counts lies within these
two ends. Where the design bets, the ends are those of bettors for whom every card that could not be
judged was lost, or won (`engine.fold`); bets are on complete rounds, in which no card is open.
"""

from dataclasses import replace

import numpy as np

from assay.core.bets import Bets
from assay.core.design import Design
from assay.core.engine import Look, State, look
from assay.core.goal import Goal
from assay.core.metrics import Metric
from assay.core.tallies import Tallies
from assay.core.types import Floats
from assay.core.unjudged import counted_at_worst, swing


def ends_at_worst(
    design: Design, goal: Goal, metric: Metric, state: State, *, now: Look, doubtful: Floats
) -> tuple[Floats, Floats]:
    """Return the interval's low end with all doubtful items against, the high end with all for.

    Parameters
    ----------
    design, goal, metric, state
        One evaluation, as in `engine.look`.
    now : Look
        What `engine.look` says of it. The ends are never within its interval.
    doubtful : array, shape (H,)
        Items of each stratum without a yes or no, of those that were dealt.
    """
    against, in_favour = state.worst_bets or (state.bets, state.bets)
    worst, best = counted_at_worst(state.tallies, metric, doubtful)
    lows = look(design, goal, metric, _counted(state, worst, against)).low
    highs = look(design, goal, metric, _counted(state, best, in_favour)).high
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


def _counted(state: State, tallies: Tallies, bets: Bets | None) -> State:
    """Return the state with other counts, several ways of counting side by side, (K, ..., H)."""
    shape = tallies.N.shape[:-1]
    if bets is not None:
        wealth = (bets.up, bets.down, bets.best_up, bets.best_down)
        points = len(bets.points)
        bets = Bets(bets.points, *(np.broadcast_to(each, (*shape, points)) for each in wealth))
    streak = np.zeros(shape, dtype=np.int64)
    return replace(state, tallies=tallies, streak=streak, bets=bets, worst_bets=None)
