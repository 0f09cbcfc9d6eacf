"""Campaigns by paper 3 where the truth is known: the procedure of a live one, run after run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from zlib import crc32

import numpy as np

from assay.core.engine import State
from assay.core.joint import JointLook
from assay.core.procedures import Answered, Wanted
from assay.core.recycling.procedure import Recycle
from assay.core.stopping import Reason
from assay.core.types import Floats
from assay.simulation.oracle import shuffled_kinds
from assay.simulation.runs import Runs

_BLOCK = 50  # replications


@dataclass(frozen=True, eq=False)
class RecycleTask:
    """Paper 3 for one goal on one population; `name` chooses the random stream."""

    name: str
    procedure: Recycle
    positives: Floats  # (H,): of each cell
    asked: int = 20
    block: int = _BLOCK

    def replay(self, replications: int, *, key: Sequence[int]) -> Runs:
        """Run the task so many times on the random stream of `key` and its own."""
        seed, *rest = key
        stream = [seed, crc32(self.name.encode()), *rest]
        runs = Runs.start(replications, len(self.procedure.views))
        for number in range(replications):
            rng = np.random.default_rng([*stream, number])
            state, now = self._run(replace(self.procedure, seed=int(rng.integers(2**62))), rng)
            runs.labels[number], runs.reason[number] = state.tallies.answers, now.reason
            runs.counted[number] = self.procedure.counted(state)
            for t, look in enumerate(now.looks):
                runs.value[number, t] = look.moments.value
                runs.variance[number, t] = look.moments.variance
                runs.low[number, t], runs.high[number, t] = look.low, look.high
        return runs

    def _run(self, recycled: Recycle, rng: np.random.Generator) -> tuple[State, JointLook]:
        state, budget = recycled.begin(), recycled.budget
        while True:
            now = recycled.look(state, budget)
            if now.reason != Reason.GO_ON:
                return state, now
            # What is drawn for hits does not depend on answers: it is one round.
            cards = max(recycled.queue(0).hits - int(state.dealt.sum()), self.asked)
            counts = recycled.plan(state, Wanted(cards, budget, rng, partial(_same, now)))
            told = state.tallies
            good = self.positives - told.x
            bad = (told.N - told.n - good).astype(np.int64)
            found = rng.hypergeometric(good.astype(np.int64), bad, counts)
            kinds = shuffled_kinds(counts[None], counts[None], found[None], rng)[0]
            after = state.deal(counts).changed(tallies=told.add(counts, found))
            state = recycled.fold(Answered(state, state, after, kinds, kinds, budget))


def _same(now: JointLook) -> JointLook:
    return now
