"""Paper 3's designs for several classifiers, drawn item by item: samples of a fixed size [1]_.

- ``independent``: a random sample of each classifier's yes-set, with replacement, for itself.
- ``recycle-sample``, ``recycle-shuffle``: one of the parent's yes-set, used again for every other
  classifier (Algorithm 1 with ``UniformSample`` or ``UniformShuffle``).
- ``coordinated``: the first cards of one deck, restricted to each yes-set; without replacement.

Metrics other than precision need a random sample of the parent's no-set besides (`route`).

References
----------
.. [1] RecycleSamplesForPrecision (``papers/recycle-samples-for-precision.txt``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from zlib import crc32

import numpy as np

from assay.core.engine import State
from assay.core.joint import JointLook
from assay.core.procedures import Answered, Wanted
from assay.core.recycling.procedure import Recycle
from assay.core.recycling.route import Route
from assay.core.recycling.samples import (
    Option,
    Overlap,
    coordinated_sample,
    overlap,
    recycle,
    uniform_sample,
)
from assay.core.recycling.sizes import Sizes
from assay.core.stopping import Reason
from assay.core.types import Ints
from assay.simulation.oracle import StrataOracle
from assay.simulation.population import Population
from assay.simulation.runs import Runs

FIXED = ("independent", "recycle-sample", "recycle-shuffle", "coordinated")

_OPTIONS: dict[str, Option] = {
    "recycle-sample": "UniformSample",
    "recycle-shuffle": "UniformShuffle",
}
_WORD = 2**64


class SharedSamples:
    """A design, ready to be drawn many times.

    `design`: one of `FIXED`.

    >>> from assay.core.goal import Goal
    >>> from assay.core.targets import Target
    >>> y_true, said = [1, 1, 0, 0], {"new": [1, 1, 1, 0], "old": [1, 0, 1, 0]}
    >>> population = Population(y_true=y_true, y_pred=said)
    >>> goal = Goal(targets=(Target("precision", "new"), Target("precision", "old")), budget=1)
    >>> route, sizes = Route.of(population.by_cell, goal, "new"), Sizes({"new": 3, "old": 1}, 0)
    >>> design = SharedSamples(population, route, "coordinated", sizes)
    >>> runs = design.replay(2, key=[1])
    >>> runs.labels, runs.counted.tolist(), runs.value[:, 0]
    (array([3, 3]), [[3.0, 1.0], [3.0, 1.0]], array([0.66666667, 0.66666667]))
    """

    block = 200  # replications: few enough to tell how far the work is

    def __init__(self, population: Population, route: Route, design: str, sizes: Sizes) -> None:
        self._truth = population.truth
        self._route = route
        self._design = design
        self._n = [*sizes.samples.values(), sizes.omission]
        self._sets = [np.flatnonzero(population.says_yes(name)) for name in sizes.samples]
        self._sets.append(np.flatnonzero(~population.says_yes(route.names[0])))
        # Where in x the samples stand: the no-set's last.
        self._places = [*(route.names.index(name) for name in sizes.samples), len(route.names)]
        self._overlaps: list[Overlap] = []
        if design in _OPTIONS and sizes.samples:
            self._overlaps = [overlap(self._sets[0], each) for each in self._sets[1:-1]]

    def draw(self, rng: np.random.Generator) -> list[Ints]:
        """Return the rows of each sample, in the order of the sizes, the no-set's last."""
        if self._design == "coordinated":
            number = rng.integers(_WORD, size=self._truth.size, dtype=np.uint64)
            return [
                coordinated_sample(rows, number[rows], n)
                for rows, n in zip(self._sets, self._n, strict=True)
            ]
        if self._design in _OPTIONS and self._overlaps:
            option = _OPTIONS[self._design]
            parent, *_, rejected = self._fresh([0, -1], rng)
            children = [
                recycle(parent, sets, n, option=option, rng=rng).sample
                for sets, n in zip(self._overlaps, self._n[1:-1], strict=True)
            ]
            return [parent, *children, rejected]
        return self._fresh(range(len(self._n)), rng)

    def _fresh(self, which: Sequence[int], rng: np.random.Generator) -> list[Ints]:
        return [uniform_sample(self._sets[place], self._n[place], rng) for place in which]

    def replay(self, replications: int, *, key: Sequence[int]) -> Runs:
        """Draw and label the samples so many times on the random stream of `key` and its own."""
        seed, *rest = key
        rng = np.random.default_rng([seed, crc32(self._design.encode()), *rest])
        needs = self._route.needs
        runs = Runs.start(replications, len(needs))
        x = np.zeros((replications, len(self._route.names) + 1))
        scale = np.append(self._route.yes, self._route.no)
        for run in range(replications):
            samples = self.draw(rng)
            runs.labels[run] = _distinct(samples)
            for place, rows in zip(self._places, samples, strict=True):
                if rows.size:
                    x[run, place] = scale[place] * self._truth[rows].mean()
            for t, needed in enumerate(needs):
                mine = [
                    rows for place, rows in zip(self._places, samples, strict=True) if needed[place]
                ]
                runs.counted[run, t] = _distinct(mine)
        return replace(runs, value=self._route.values(x))


def _distinct(samples: Sequence[Ints]) -> int:
    return np.unique(np.concatenate(samples)).size if samples else 0


# Campaigns by paper 3 where the truth is known: the procedure of a live one, run after run.

_BLOCK = 50  # replications
_ONE = np.zeros(1, dtype=np.int64)  # evaluations have their draws, so each runs alone


@dataclass(frozen=True, eq=False)
class RecycleTask:
    """Paper 3 for one goal on one population; `name` chooses the random stream."""

    name: str
    procedure: Recycle
    oracle: StrataOracle
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
            wanted = Wanted(cards, budget, rng, partial(recycled.look, state, budget))
            counts = recycled.plan(state, wanted)
            after, kinds = self.oracle.label(state, counts, _ONE, rng)
            state = recycled.fold(Answered(state, state, after, kinds, kinds, budget))
