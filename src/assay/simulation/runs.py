"""Runs of an evaluation, replayed many times on a population whose truth is known.

The loop is the campaign's own (`engine.step`); only the people are replaced: the number of
outcomes among m cards of a stratum is one hypergeometric variate (binomial with replacement).
A run therefore costs the same for a thousand items and for a billion. Where the design bets, a
round's cards are put into a random order: given the counts, every order is equally likely.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from assay.core.design import Design
from assay.core.engine import Look, State, begin, cannot_stop, fold, look, plan
from assay.core.goal import Goal
from assay.core.metrics import Ratio
from assay.core.stopping import Reason
from assay.core.types import Bools, Floats, Ints

Watch = Callable[[State, Look], None]
Ended = Callable[[Ints, State], None]


@dataclass(frozen=True, eq=False)
class Runs:
    """How each replication ended; arrays of shape (replications,).

    Where several things are read off the same labels, value, variance and ends have a further axis.
    """

    labels: Ints
    value: Floats
    variance: Floats
    low: Floats
    high: Floats
    reason: Ints

    @classmethod
    def start(cls, replications: int) -> "Runs":
        """Return runs that have not ended."""
        none = np.zeros(replications)
        whole = np.zeros(replications, dtype=np.int64)
        return cls(whole, none, none.copy(), none.copy(), none.copy(), whole.copy())

    def end(self, which: Ints, state: State, now: Look, over: Bools) -> None:
        """Write down how some of them ended: at the states and looks that are over.

        Parameters
        ----------
        which : array of int
            Their places among all runs.
        state, now : State, Look
            Where they stand.
        over : array of bool
            Those that are over.
        """
        self.labels[which] = state.tallies.answers
        self.value[which] = now.moments.value[over]
        self.variance[which] = now.moments.variance[over]
        self.low[which], self.high[which] = now.low[over], now.high[over]
        self.reason[which] = now.reason[over]

    @classmethod
    def joined(cls, parts: Sequence["Runs"]) -> "Runs":
        """Return the runs of several replays, one after the other."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in names})


def replay(
    design: Design,
    goal: Goal,
    metric: Ratio,
    *,
    sizes: Floats,
    outcomes: Floats,
    replications: int,
    rng: np.random.Generator,
    asked: int = 20,
    unjudged: Floats | None = None,
    watch: Watch | None = None,
    ended: Ended | None = None,
) -> Runs:
    """Run an evaluation to its stop, `replications` times.

    Parameters
    ----------
    design, goal, metric
        As in a campaign.
    sizes : array, shape (H,)
        Stratum sizes.
    outcomes : array, shape (H,) or (replications, H)
        The items in each stratum that have the outcome, and can be judged; each replication may
        have a truth of its own.
    replications : int
        Independent evaluations; they run side by side as the leading axis of every array.
    rng : numpy.random.Generator
        Where all randomness comes from.
    asked : int
        Cards asked for at a time, where the design leaves it open.
    unjudged : array, shape (H,), optional
        The items in each stratum that nobody can judge; otherwise there are none.
    watch : callable, optional
        Called at every look with the state and the look of the evaluations that still run.
    ended : callable, optional
        Called where evaluations end, with their numbers and states.

    Examples
    --------
    >>> from assay.core.metrics import ratio
    >>> sizes, positives = np.array([5000.0, 5000.0]), np.array([4950.0, 4000.0])
    >>> precision = ratio("precision", sizes, np.array([True, True]))
    >>> runs = replay(Design(), Goal("precision", within=0.03), precision, sizes=sizes,
    ...               outcomes=positives, replications=100, rng=np.random.default_rng(0))
    >>> bool(abs(runs.value.mean() - 0.895) < 0.01), {Reason(r).name for r in runs.reason}
    (True, {'GOAL_MET'})
    """
    runs = Runs.start(replications)
    state = begin(design, goal, np.broadcast_to(sizes, (replications, len(sizes))))
    running = np.arange(replications)
    truths = np.broadcast_to(outcomes, (replications, len(sizes)))
    middle = np.full(replications, np.nan)
    while running.size:
        # Looks that would not stop an evaluation are left out where that is known for certain,
        # unless somebody watches: they change nothing, and take most of the time.
        seen = np.ones(running.size, dtype=np.bool_)
        if watch is None:
            seen = ~cannot_stop(design, goal, metric, state, middle)
        now = look(design, goal, metric, state.take(seen))
        counts = plan(design, goal, metric, state, rng=rng, asked=asked)
        streak = np.zeros_like(state.streak)
        streak[seen] = now.streak
        state, middle[seen] = replace(state, streak=streak), (now.low + now.high) / 2
        if watch is not None:
            watch(state, now)
        over = np.zeros(running.size, dtype=np.bool_)
        over[seen] = now.reason != Reason.GO_ON
        if over.any():
            runs.end(running[over], state.take(over), now, over[seen])
            if ended is not None:
                ended(running[over], state.take(over))
            running, state, counts = running[~over], state.take(~over), counts[~over]
            middle = middle[~over]
        after, judged, found = _label(
            state, counts, truths[running], unjudged, rng, replacement=design.replacement
        )
        if design.bets and running.size:
            kinds = _shuffled_kinds(counts, judged, found, rng)
            after = fold(design, goal, metric, before=state, after=after, kinds=kinds)
        state = after
    return runs


def _label(
    state: State,
    counts: Ints,
    outcomes: Floats,
    unjudged: Floats | None,
    rng: np.random.Generator,
    *,
    replacement: bool,
) -> tuple[State, Ints, Ints]:
    """Deal `counts` cards and answer them from the truth; return those judged and found, too."""
    tallies = state.tallies
    judgeable = tallies.N if unjudged is None else tallies.N - unjudged
    judged = counts
    if unjudged is not None:
        judged = (
            rng.binomial(counts, judgeable / tallies.N)
            if replacement
            else _drawn(judgeable - tallies.n, unjudged - tallies.u, counts, rng)
        )
    if replacement:
        found = rng.binomial(judged, outcomes / np.maximum(judgeable, 1.0))
    else:
        good = outcomes - tallies.x
        found = _drawn(good, judgeable - tallies.n - good, judged, rng)
    after = replace(state.deal(counts), tallies=tallies.add(judged, found, counts - judged))
    return after, judged, found


def _drawn(good: Floats, bad: Floats, cards: Ints, rng: np.random.Generator) -> Ints:
    return rng.hypergeometric(good.astype(np.int64), bad.astype(np.int64), cards)


def _shuffled_kinds(counts: Ints, judged: Ints, found: Ints, rng: np.random.Generator) -> Ints:
    """Return every run's cards in a random order, as `fold` takes them, of shape (runs, cards)."""
    ends = counts.cumsum(axis=-1)
    place = np.arange(ends[:, -1].max())
    stratum = (place >= ends[..., None]).sum(axis=1)  # past the last card: one more than there are
    dealt = stratum < counts.shape[-1]
    stratum = np.where(dealt, stratum, 0)
    rank = place - np.take_along_axis(ends - counts, stratum, axis=-1)
    outcome = rank < np.take_along_axis(found, stratum, axis=-1)
    told = rank < np.take_along_axis(judged, stratum, axis=-1)
    kinds = np.where(told, 2 * stratum + outcome, -2 - stratum)
    return rng.permuted(np.where(dealt, kinds, -1), axis=-1)
