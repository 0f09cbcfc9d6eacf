"""Replay an evaluation many times on a population whose truth is known.

The loop is the campaign's own (`engine.step`); only the people are replaced: the number of
outcomes among m cards of a stratum is one hypergeometric variate (binomial with replacement).
A run therefore costs the same for a thousand items and for a billion.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from assay.core.metrics import Ratio
from assay.core.stop import Reason
from assay.core.types import Floats, Ints
from assay.design import Design, Goal
from assay.engine import Look, State, step

Watch = Callable[[State, Look], None]

__all__ = ["Runs", "Watch", "replay"]


@dataclass(frozen=True, eq=False)
class Runs:
    """How each replication ended; arrays of shape (replications,)."""

    labels: Ints
    value: Floats
    variance: Floats
    low: Floats
    high: Floats
    reason: Ints

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
    watch: Watch | None = None,
) -> Runs:
    """Run an evaluation to its stop, `replications` times.

    Parameters
    ----------
    design, goal, metric
        As in a campaign.
    sizes, outcomes : array, shape (H,)
        Stratum sizes, and the items in each that have the outcome.
    replications : int
        Independent evaluations; they run side by side as the leading axis of every array.
    rng : numpy.random.Generator
        Where all randomness comes from.
    asked : int
        Cards asked for at a time, where the design leaves it open.
    watch : callable, optional
        Called at every look with the state and the look of the evaluations that still run.

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
    runs = Runs(
        labels=np.zeros(replications, dtype=np.int64),
        value=np.zeros(replications),
        variance=np.zeros(replications),
        low=np.zeros(replications),
        high=np.zeros(replications),
        reason=np.zeros(replications, dtype=np.int64),
    )
    state = State.start(
        np.broadcast_to(sizes, (replications, len(sizes))), replacement=design.replacement
    )
    running = np.arange(replications)
    while running.size:
        now, counts = step(design, goal, metric, state, rng=rng, asked=asked)
        if watch is not None:
            watch(state, now)
        over = now.reason != Reason.GO_ON
        ended = running[over]
        runs.labels[ended] = state.tallies.answers[over]
        runs.value[ended] = now.moments.value[over]
        runs.variance[ended] = now.moments.variance[over]
        runs.low[ended], runs.high[ended] = now.low[over], now.high[over]
        runs.reason[ended] = now.reason[over]
        state = replace(state, streak=now.streak)
        if ended.size:
            running, state, counts = running[~over], state.take(~over), counts[~over]
        state = _label(state, counts, outcomes, rng, replacement=design.replacement)
    return runs


def _label(
    state: State, counts: Ints, outcomes: Floats, rng: np.random.Generator, *, replacement: bool
) -> State:
    """Deal `counts` cards and answer them from the truth."""
    tallies = state.tallies
    if replacement:
        found = rng.binomial(counts, outcomes / tallies.N)
    else:
        good = outcomes - tallies.x
        bad = tallies.N - tallies.n - good
        found = rng.hypergeometric(good.astype(np.int64), bad.astype(np.int64), counts)
    return replace(state.deal(counts), tallies=tallies.add(counts, found))
