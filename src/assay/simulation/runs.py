"""Runs of an evaluation, replayed many times on a population whose truth is known.

The procedure is the campaign's own (`core.procedures`); an oracle replaces the reviewers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Self
from zlib import crc32

import numpy as np

from assay.core.procedures import Answered, Procedure, Wanted
from assay.core.state import Look, State
from assay.core.stopping import Reason
from assay.core.types import Bools, Floats, Ints
from assay.simulation.oracle import Oracle

Watch = Callable[[State, Look], None]
Ended = Callable[[Ints, State], None]


@dataclass(frozen=True, eq=False)
class Runs:
    """Result of each replication."""

    labels: Ints  # (runs,): distinct labelled items
    reason: Ints  # (runs,): why it stopped
    # value, variance, low, high, (runs, targets): the estimates, and the ends of their intervals;
    # NaN if a design has none.
    value: Floats
    variance: Floats
    low: Floats
    high: Floats
    counted: Floats  # (runs, targets): the labelled items behind each target's estimate

    @classmethod
    def start(cls, replications: int, targets: int = 1) -> Self:
        """Begin runs, none of which has ended."""
        whole = np.zeros(replications, dtype=np.int64)
        none = [np.full((replications, targets), np.nan) for _ in range(5)]
        return cls(whole, whole.copy(), *none)

    def end(self, which: Ints, state: State, looks: Sequence[Look], over: Bools) -> None:
        """Record how some of them ended: the states and looks that are over.

        `looks`: one per target, of the evaluations in `over`.
        """
        self.labels[which] = state.tallies.answers
        self.counted[which] = state.tallies.answers[:, None]
        for t, now in enumerate(looks):
            self.value[which, t] = now.moments.value[over]
            self.variance[which, t] = now.moments.variance[over]
            self.low[which, t], self.high[which, t] = now.low[over], now.high[over]

    @classmethod
    def joined(cls, parts: Sequence["Runs"]) -> Self:
        """Concatenate the runs of several replays."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in names})


def stream_of(name: str, key: Sequence[int], *more: int) -> list[int]:
    """Random stream of a task: `key` is a seed and what is replayed, such as a block."""
    seed, *rest = key
    return [seed, crc32(name.encode()), *more, *rest]


def replay(
    procedure: Procedure,
    oracle: Oracle,
    *,
    # Independent evaluations, in parallel along the leading axis of every array.
    replications: int,
    rng: np.random.Generator,  # source of all randomness
    asked: int = 20,  # cards per request, if the procedure leaves it open
    # Called at every look with the state and the look of the running evaluations.
    watch: Watch | None = None,
    ended: Ended | None = None,  # called where evaluations end, with their numbers and states
    until: int | None = None,  # labels after which replications are cut off
) -> Runs:
    """Run an evaluation to its stop, `replications` times."""
    runs, running = Runs.start(replications, len(procedure.views)), np.arange(replications)
    state, middle = procedure.begin((replications,)), np.full(replications, np.nan)
    while running.size:
        there = state.at_budget(procedure.budget)
        now = procedure.decide(there, middle, every=watch is not None)
        over = now.reason != Reason.GO_ON
        if until is not None:
            over |= state.tallies.answers >= until
        cards = max(asked, procedure.at_once(state))
        wanted = Wanted(cards, rng, now.look)
        counts = None
        if procedure.plans_ended and not over.all():
            counts = procedure.plan(there, wanted)
        state, middle = state.changed(streak=now.streak), now.middle
        if watch is not None:
            watch(state, now.looks[0])
        if over.any():
            last, which = state.take(over), running[over]
            runs.end(which, last, now.looks, over[now.seen])
            runs.reason[which], runs.counted[which] = now.reason[over], procedure.counted(last)
            if ended is not None:
                ended(which, last)
            running, state, middle = running[~over], state.take(~over), middle[~over]
            counts = None if counts is None else counts[~over]
        if running.size:
            counts = procedure.plan(state, wanted) if counts is None else counts
            after, kinds = oracle.label(state, counts, running, rng)
            state = procedure.fold(Answered(state, state, after, kinds, kinds))
    return runs
