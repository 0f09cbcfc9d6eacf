"""Cells of paper 1: one design on one category until the interval is narrow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.design import Allocation, Design
from assay.core.goal import Goal
from assay.experiments.data import NamedPopulation
from assay.simulation import Row, Runs, Task, Wanted, run_tasks, summarise

RANDOM, BEST = "random", "perc-opt"
_ALLOCATIONS: tuple[Allocation, ...] = ("uni", "pps", "opt")

DESIGNS: dict[str, Design] = {
    RANDOM: Design.bennett_carvalho(bins=1),
    **{
        f"{strata}-{allocation}": Design.bennett_carvalho(strata=strata, allocation=allocation)
        for strata in ("equal", "perc")
        for allocation in _ALLOCATIONS
    },
}
DELTAS = (0.01, 0.02, 0.03, 0.05)  # Table 1 has the smallest
_OF_A_ROW = (
    *("design", "labels_mean", "labels_se", "change_pct", "oracle_pct", "within", "coverage"),
    *("bias", "rmse", "mvr", "mae", "yes", "no"),
)


@dataclass(frozen=True)
class Cell:
    """One design on one category to one delta.

    Attributes
    ----------
    category : str
    items : int
        The category's predicted positives.
    precision : float
        The true one.
    delta : float
        The half-width to stop at.
    oracle : float
        Labels that an experimenter would need who knew the precision in every bin.
    row : Row
        What was measured; `change_pct` is against the paper's Random, the design with one bin.
    """

    category: str
    items: int
    precision: float
    delta: float
    oracle: float
    row: Row

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as plain values, those of the row among them."""
        own = {name: value for name, value in vars(self).items() if name != "row"}
        return {**own, **{name: getattr(self.row, name) for name in _OF_A_ROW}}


def measure(
    categories: Sequence[NamedPopulation],
    *,
    deltas: Sequence[float],
    replications: int,
    seed: int,
    workers: int | None,
    progress: Callable[[float], None] | None,
) -> list[Cell]:
    """Run every design on every category for every delta.

    Parameters
    ----------
    categories : sequence of NamedPopulation
    deltas : sequence of float
        Half-widths.
    replications, seed, workers, progress
        As in `simulate`.

    Raises
    ------
    KeyboardInterrupt
        It was interrupted; an average over some of the categories would mislead.
    """
    jobs = [
        (name, category, _task(name, category, delta))
        for delta in deltas
        for name in DESIGNS
        for category in categories
    ]
    tasks = [task for _, _, task in jobs]
    found = run_tasks(
        tasks, replications=replications, seed=seed, workers=workers, progress=progress
    )
    runs = [each for each in found if each is not None and each.labels.size == replications]
    if len(runs) < len(jobs):
        raise KeyboardInterrupt
    random = {
        (category.name, task.goal.within): float(ended.labels.mean())
        for (name, category, task), ended in zip(jobs, runs, strict=True)
        if name == RANDOM
    }
    return [
        _cell(name, category, task, ended, random[category.name, task.goal.within])
        for (name, category, task), ended in zip(jobs, runs, strict=True)
    ]


def _task(design: str, category: NamedPopulation, delta: float) -> Task:
    frame = category.population.frame(DESIGNS[design], "precision")
    # The name chooses the random stream, so it must tell the tasks apart.
    name = f"{category.name} {design} {delta}"
    return Task(name, frame, DESIGNS[design], Goal("precision", within=delta))


def _cell(
    design: str, category: NamedPopulation, task: Task, runs: Runs, random_labels: float
) -> Cell:
    frame, spread = task.frame, category.population.random_variance("precision")
    wanted = Wanted("precision", frame.value, task.goal, spread, frame.least_variance)
    return Cell(
        category=category.name,
        items=category.population.predicted_positives,
        precision=frame.value,
        delta=task.goal.within or 0.0,
        oracle=wanted.oracle or 0.0,
        row=summarise(design, runs, [wanted], baseline=random_labels),
    )
