"""What designs cost on a supposed population: whole evaluations, replayed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from assay.core.betting import grid
from assay.core.design import Design, fitted
from assay.core.goal import Goal
from assay.core.types import Floats, Ints
from assay.errors import DesignError
from assay.simulation import Frame, Runs, Task
from assay.simulation.planning.assumed import Supposed
from assay.simulation.planning.result import Cost

_BAND = (5, 95)  # per cent: nine evaluations in ten lie between
_FEWEST = 20  # replications
# Of a design that bets: each card of each replication is a bet against each point of a grid.
_BETS_IN_ALL, _FEWEST_BETTORS = 5e7, 5
_ROUND, _ROUNDS = 20, 40  # labels a round, or more where it would take more rounds than this
_SMALL_ROUNDS = 200  # of a design that says how many labels a round has


@dataclass(eq=False)
class Costs:
    """Replays evaluations, and tells how much of the work is done.

    Parameters
    ----------
    replications, seed
        Evaluations a design, and what fixes them.
    progress : callable, optional
        Told the share that is done.
    steps : int
        How many replays there will be.
    """

    replications: int
    seed: int
    progress: Callable[[float], None] | None = None
    steps: int = 1
    _done: int = field(default=0, init=False)

    def labels(self, supposed: Supposed, design: Design, goal: Goal, expected: float) -> Cost:
        """Return the labels until the stop.

        Parameters
        ----------
        expected : float
            About how many. With more than 800, rounds are larger, which adds half a
            round to the labels (about 1%), and fewer evaluations of a design that bets are
            replayed, which then differ less.

        Raises
        ------
        DesignError
            Where the replay would take minutes.
        """
        runs, design = self.replications, fitted(design, goal)
        frame = supposed.frame(design, goal.metric)
        there = int(frame.sizes.sum())
        expected = min(expected, there)
        if design.round_size is not None:
            design = replace(
                design, round_size=max(design.round_size, int(expected) // _SMALL_ROUNDS)
            )
        if design.bets:
            runs = min(runs, _bettors(goal, expected))
        # Where items are drawn again and again, it need never end; nobody would label so much.
        most = there if design.replacement else None
        found = self._replay(frame, design, replace(goal, budget=most), runs, expected)
        return cost_of(found.labels, most)

    def half_width(self, supposed: Supposed, design: Design, goal: Goal) -> Cost:
        """Return the half-width at the end of the budget."""
        frame = supposed.frame(design, goal.metric)
        runs = self._replay(frame, design, goal, self.replications, goal.worst_case)
        return cost_of((runs.high - runs.low) / 2)

    def most_labels(self, frame: Frame, design: Design, goal: Goal) -> int:
        """Return the most labels that any evaluation took."""
        runs = self._replay(frame, design, goal, min(self.replications, _FEWEST), goal.worst_case)
        return int(runs.labels.max())

    def _replay(self, frame: Frame, design: Design, goal: Goal, runs: int, expected: float) -> Runs:
        if frame.outcomes.ndim > 1:  # a truth for each replication
            frame = replace(frame, outcomes=frame.outcomes[:runs])
        asked = max(_ROUND, round(expected / _ROUNDS))
        # One random stream for all: designs and half-widths are compared on the same luck.
        found = Task("plan", frame, design, goal, asked).replay(runs, key=[self.seed])
        self._done += 1
        if self.progress is not None:
            self.progress(min(self._done / self.steps, 1.0))
        return found


def _bettors(goal: Goal, expected: float) -> int:
    """Return how many evaluations of a design that bets can be replayed in a few seconds."""
    runs = int(_BETS_IN_ALL / (expected * grid(goal.within).size))
    if runs < _FEWEST_BETTORS:
        raise DesignError(
            f"to replay its bets at ±{goal.within:g} would take minutes",
            details=f"about {expected:,.0f} labels, each a bet against many possible values",
        )
    return runs


def cost_of(values: Floats | Ints, most: int | None = None) -> Cost:
    """Return the mean, and where nine evaluations in ten lie; no value was followed past `most`."""
    low, high = np.percentile(values, _BAND)
    beyond = 0.0 if most is None else float(np.mean(values >= most))
    return Cost(float(values.mean()), float(low), float(high), beyond)


def at_one_half(frame: Frame) -> Frame:
    """Return the frame with the truth at which a share is hardest to tell."""
    return replace(frame, outcomes=np.floor(frame.sizes / 2))
