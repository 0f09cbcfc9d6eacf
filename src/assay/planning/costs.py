"""What designs cost on a supposed population: whole evaluations, replayed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from assay.core.types import Floats, Ints
from assay.design import Design, Goal
from assay.planning.result import Cost
from assay.planning.supposed import Supposed
from assay.simulation import Frame, Runs, Task

__all__ = ["Costs", "at_one_half"]

_BAND = (5, 95)  # per cent: nine evaluations in ten lie between
_LABELS_IN_ALL = 100_000  # of a design that bets, which replays card by card
_FEWEST = 20  # replications
_ROUND, _ROUNDS = 20, 80  # labels a round, or more where it would take more rounds than this


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
            About how many. With more than a few thousand, rounds are larger, which adds half a
            round to the labels (at most 1%), and fewer evaluations of a design that bets are
            replayed, which then differ less.
        """
        runs = self.replications
        if design.bets and expected * runs > _LABELS_IN_ALL:
            runs = min(runs, max(_FEWEST, int(_LABELS_IN_ALL / expected)))
        frame = supposed.frame(design, goal.metric)
        return cost_of(self._replay(frame, design, goal, runs, expected).labels)

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
        found = Task("plan", frame, design, goal, asked, thin=True).replay(runs, key=[self.seed])
        self._done += 1
        if self.progress is not None:
            self.progress(min(self._done / self.steps, 1.0))
        return found


def cost_of(values: Floats | Ints) -> Cost:
    """Return the mean, and where nine evaluations in ten lie."""
    low, high = np.percentile(values, _BAND)
    return Cost(float(values.mean()), float(low), float(high))


def at_one_half(frame: Frame) -> Frame:
    """Return the frame with the truth at which a share is hardest to tell."""
    return replace(frame, outcomes=np.floor(frame.sizes / 2))
