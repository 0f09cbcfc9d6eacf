"""How an interval narrows while labels come in."""

from dataclasses import dataclass

import numpy as np

from assay.core.engine import Look, State
from assay.core.types import Floats
from assay.simulation.workers import Task

_BAND = (5, 95)  # per cent: nine runs in ten lie between


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The interval's half-width after each round: the mean, and the band of 90% of the runs.

    Attributes
    ----------
    labels, mean, low, high : array, shape (rounds,)
    """

    labels: Floats
    mean: Floats
    low: Floats
    high: Floats


def half_widths(task: Task, *, replications: int, seed: int) -> Trajectory:
    """Follow the half-width from the first round to the budget.

    Parameters
    ----------
    task : Task
        Its goal is a budget alone: evaluations that end when they are narrow would leave the wide
        ones behind, and those would pass for the mean.
    replications, seed
        How many runs, and what fixes them.

    Examples
    --------
    >>> from assay.core.design import Design
    >>> from assay.core.goal import Goal
    >>> from assay.simulation import Population
    >>> rng = np.random.default_rng(0)
    >>> score = rng.beta(4, 1, 5000)
    >>> population = Population(y_true=rng.random(5000) < score, y_score=score, threshold=0.5)
    >>> frame = population.frame(Design(), "precision")
    >>> task = Task("default", frame, Design(), Goal("precision", budget=100))
    >>> path = half_widths(task, replications=50, seed=1)
    >>> path.labels, bool((np.diff(path.mean) < 0).all())
    (array([ 20.,  40.,  60.,  80., 100.]), True)
    """
    labels: list[float] = []
    widths: list[Floats] = []

    def watch(state: State, look: Look) -> None:
        answers = float(state.tallies.answers[0])  # the same in every run
        if answers > 0:
            labels.append(answers)
            widths.append(look.half_width)

    task.replay(replications, key=[seed], watch=watch)
    low, high = np.percentile(widths, _BAND, axis=1)
    return Trajectory(np.array(labels), np.mean(widths, axis=1), low, high)
