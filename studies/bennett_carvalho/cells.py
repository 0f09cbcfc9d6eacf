"""Cells of paper 1: one design on one category until the interval is narrow."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import hypot
from typing import Any

import numpy as np

from assay.core.design import Allocation, Design
from assay.core.goal import Goal
from assay.simulation import Row, Runs, Task, Wanted, run_tasks, summarise
from studies.data import NamedPopulation

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
    """One design on one category to one delta."""

    category: str
    items: int  # the category's predicted positives
    precision: float  # the true one
    delta: float  # the half-width to stop at
    oracle: float  # labels that an experimenter would need who knew the precision in every bin
    # What was measured; `change_pct` is against the paper's Random, the design with one bin.
    row: Row

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as plain values, those of the row among them."""
        own = {name: value for name, value in vars(self).items() if name != "row"}
        return {**own, **{name: getattr(self.row, name) for name in _OF_A_ROW}}


def measure(
    categories: Sequence[NamedPopulation],
    *,
    deltas: Sequence[float],  # half-widths
    replications: int,
    seed: int,
    workers: int | None,
    progress: Callable[[float], None] | None,
) -> list[Cell]:
    """Run every design on every category for every delta.

    Raises KeyboardInterrupt: it was interrupted; an average over some of the categories would
    mislead.
    """
    jobs = [
        (name, category, delta, _task(name, category, delta))
        for delta in deltas
        for name in DESIGNS
        for category in categories
    ]
    tasks = [task for *_, task in jobs]
    found = run_tasks(
        tasks, replications=replications, seed=seed, workers=workers, progress=progress
    )
    runs = [each for each in found if each is not None and each.labels.size == replications]
    if len(runs) < len(jobs):
        raise KeyboardInterrupt
    random = {
        (category.name, delta): float(ended.labels.mean())
        for (name, category, delta, _), ended in zip(jobs, runs, strict=True)
        if name == RANDOM
    }
    return [
        _cell(name, category, delta, ended, random[category.name, delta])
        for (name, category, delta, _), ended in zip(jobs, runs, strict=True)
    ]


def _task(design: str, category: NamedPopulation, delta: float) -> Task:
    frame = category.population.frame(DESIGNS[design], "precision")
    # The name chooses the random stream, so it must tell the tasks apart.
    name = f"{category.name} {design} {delta}"
    return Task.of_one(name, frame, DESIGNS[design], Goal("precision", within=delta))


def _cell(
    design: str, category: NamedPopulation, delta: float, runs: Runs, random_labels: float
) -> Cell:
    goal, spread = Goal("precision", within=delta), category.population.random_variance("precision")
    frame = category.population.frame(DESIGNS[design], "precision")
    wanted = Wanted("precision", frame.value, goal, spread, frame.least_variance)
    return Cell(
        category=category.name,
        items=category.population.predicted_positives,
        precision=frame.value,
        delta=delta,
        oracle=wanted.oracle or 0.0,
        row=summarise(design, runs, [wanted], baseline=random_labels),
    )


# Result of paper 1: Table 1, with the paper's figures.
#
# Averages are made as the paper's own figures show that it made them. Savings over %Change is
# 69,300 labels in every row of its Table 1, more than seven times what any one precision can take
# at delta = 0.01: so Savings is a sum over the 15 categories, and %Change the change of that sum.
# %Oracle gives one oracle for each binning in the same way. InConf is a mean over the categories.


_SIGNIFICANT = 1.96  # standard errors: the paper's alpha of 0.05


@dataclass(frozen=True)
class Published:
    """A row of the paper's Table 1."""

    in_conf: float
    change_pct: float
    oracle_pct: float
    savings: int


PAPER: dict[str, Published] = {
    "random": Published(0.94, 0.0, -0.6, 0),
    "equal-uni": Published(0.95, 133.1, 145.3, -92249),
    "equal-pps": Published(0.95, -4.2, 0.8, 2921),
    "equal-opt": Published(0.94, -13.2, -8.6, 9148),
    "perc-uni": Published(0.95, -7.6, 10.1, 5274),
    "perc-pps": Published(0.95, -7.6, 10.1, 5273),
    "perc-opt": Published(0.93, -17.3, -1.4, 11973),
}
PAPER_CORRELATION = -0.88


@dataclass(frozen=True)
class Average:
    """One design over all categories: a row of Table 1."""

    design: str
    delta: float
    # labels, savings: sums over the categories; `savings` are random sampling's labels less the
    # design's.
    labels: float
    savings: float
    # change_pct, oracle_pct: the sum against random sampling's and against the oracle's, in
    # percent.
    change_pct: float
    oracle_pct: float
    # Whether the sum differs from random sampling's by more than 1.96 standard errors.
    significant: bool
    # in_conf, coverage, bias: means over the categories: the share of runs whose estimate lies
    # within delta of the truth, the share whose interval holds the truth, and the mean error.
    in_conf: float
    coverage: float
    bias: float


@dataclass(frozen=True)
class Result:
    """Every design on every category for every delta, and what the paper makes of that."""

    replications: int
    seed: int
    cells: tuple[Cell, ...]

    @property
    def deltas(self) -> list[float]:
        """The half-widths that were run, the smallest, that of Table 1, first."""
        return sorted({cell.delta for cell in self.cells})

    def of(self, design: str, delta: float | None = None) -> list[Cell]:
        """Return the cells of a design, one a category; at the smallest delta if none is given."""
        wanted = (design, self.deltas[0] if delta is None else delta)
        return [cell for cell in self.cells if (cell.row.design, cell.delta) == wanted]

    def averages(
        self, delta: float | None = None, categories: Sequence[str] | None = None
    ) -> list[Average]:
        """Return Table 1, one row a design, over the named categories or over all."""
        chosen = self.categories if categories is None else categories
        cells = {
            design: [cell for cell in self.of(design, delta) if cell.category in chosen]
            for design in DESIGNS
        }
        return [_average(found, cells[RANDOM]) for found in cells.values()]

    @property
    def categories(self) -> list[str]:
        """The categories' names."""
        return [cell.category for cell in self.of(RANDOM)]

    @property
    def large(self) -> list[str]:
        """The categories with more items than random sampling asks labels for.

        In the others, items are drawn with replacement until they are labelled more than once
        over; the paper's categories were larger than that.
        """
        return [cell.category for cell in self.of(RANDOM) if cell.items > cell.row.labels_mean]

    @property
    def precise(self) -> list[str]:
        """The categories of a precision above 0.8, where the published rule is right less often."""
        return [cell.category for cell in self.of(RANDOM) if cell.precision > 0.8]

    def correlation(self, categories: Sequence[str] | None = None) -> float:
        """Return the correlation of a category's precision and the best design's relative cost."""
        chosen = self.categories if categories is None else categories
        cells = [cell for cell in self.of(BEST) if cell.category in chosen]
        cost = [cell.row.change_pct or 0.0 for cell in cells]
        return float(np.corrcoef([cell.precision for cell in cells], cost)[0, 1])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "replications": self.replications,
            "seed": self.seed,
            "table1": [
                {**asdict(row), "paper": asdict(PAPER[row.design])} for row in self.averages()
            ],
            "correlation": {"ours": self.correlation(), "paper": PAPER_CORRELATION},
            "large": self.large,
            "figure2b": [asdict(row) for delta in self.deltas for row in self.averages(delta)],
            "cells": [cell.to_dict() for cell in self.cells],
        }


def _average(cells: Sequence[Cell], random: Sequence[Cell]) -> Average:
    labels = sum(cell.row.labels_mean for cell in cells)
    baseline = sum(cell.row.labels_mean for cell in random)
    error = hypot(*(cell.row.labels_se for cell in (*cells, *random)))
    return Average(
        design=cells[0].row.design,
        delta=cells[0].delta,
        labels=labels,
        savings=baseline - labels,
        change_pct=100 * (labels / baseline - 1),
        oracle_pct=100 * (labels / sum(cell.oracle for cell in cells) - 1),
        significant=abs(baseline - labels) > _SIGNIFICANT * error,
        in_conf=float(np.mean([cell.row.within or 0.0 for cell in cells])),
        coverage=float(np.mean([cell.row.coverage for cell in cells])),
        bias=float(np.mean([cell.row.bias for cell in cells])),
    )
