"""A cell of the coverage study: one simulation.

Most are read once, and make one row; several targets of the same labels, or an interval and its
worst case, make a row each.
"""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from assay.core.design import Design, fitted
from assay.core.forecast import labels_needed
from assay.core.goal import Goal
from assay.simulation import Frame, Replayed, Task, named_design
from studies.coverage.rows import Costs, Settings

RANDOM = "random"
BESIDE = "beside"  # the part that random sampling's cells are told as: all parts share them
_RUNS_BESIDE = 1000  # its mean labels are then known to a tenth of a percent
_MOST_BESIDE = 30_000  # labels: for recall of rare classes it takes half of the population


class Subject(Protocol):
    """What is evaluated: a classifier's metric, or the difference of two."""

    @property
    def name(self) -> str:
        """What tables call the population."""

    @property
    def metric(self) -> str:
        """The metric, or that of which it is a difference."""

    @property
    def value(self) -> float:
        """The true value."""

    @property
    def items(self) -> int:
        """Items that it is about."""

    @property
    def random_variance(self) -> float:
        """The variance under simple random sampling, times the labels."""

    @property
    def limit(self) -> float:
        """The share of random sampling's labels that a design by score must spend."""

    @property
    def twin(self) -> str:
        """The name of a subject on which random sampling, blind to the score, fares the same."""

    def frame(self, design: Design) -> Frame:
        """Cut it as the design does."""


def needed(subject: Subject, delta: float, confidence: float = 0.95) -> Costs:
    """Return what others take to know a subject within delta.

    Examples
    --------
    >>> from studies.coverage.populations import of_shape
    >>> costs = needed(of_shape("no signal", 0.9, 2000), 0.02)
    >>> round(costs.n_w), round(costs.at_random)
    (864, 604)
    """
    n_w = float(labels_needed(np.array(subject.random_variance), delta, confidence))
    return Costs(n_w, n_w * subject.limit, subject.items)


class Cell(Protocol):
    """What is run once, and makes a row for each thing that is read off it."""

    @property
    def rows(self) -> tuple[Settings, ...]:
        """The settings of each row; the first fix the cell's random numbers."""

    @property
    def costs(self) -> Costs | None:
        """What others take to the same goal, where that can be told."""

    @property
    def looks(self) -> float:
        """About how often an evaluation is looked at, by which cells are put in order."""

    def beside(self) -> "Cell | None":
        """Return random sampling to the same goal, where that is run beside the cell."""

    def task(self) -> Replayed:
        """Return what is to be replayed."""


@dataclass(frozen=True, eq=False)
class Single:
    """One metric of one subject."""

    settings: Settings
    subject: Subject

    @property
    def rows(self) -> tuple[Settings, ...]:
        """The one row."""
        return (self.settings,)

    @cached_property
    def costs(self) -> Costs:
        """What others take to the same goal."""
        return needed(self.subject, self.settings.delta, self.settings.confidence)

    @property
    def looks(self) -> float:
        """About how often an evaluation is looked at."""
        return self.costs.at_least / self.settings.batch

    def beside(self) -> "Single | None":
        """Return random sampling to the same goal, unless it takes too many labels to be run."""
        if self.costs.at_random > _MOST_BESIDE:
            return None
        settings = replace(
            self.settings,
            part=BESIDE,
            design=RANDOM,
            population=self.subject.twin,
            replications=min(self.settings.replications, _RUNS_BESIDE),
        )
        return replace(self, settings=settings)

    def task(self) -> Task:
        """Return what is to be replayed."""
        wanted, goal = self.settings, goal_of(self.settings)
        design = fitted(design_of(wanted), goal)
        return Task.of_one(
            task_name(wanted), self.subject.frame(design), design, goal, wanted.batch
        )


def task_name(settings: Settings) -> str:
    """Return what chooses a cell's random stream, so that it must tell the cells apart."""
    return " ".join(str(value) for value in asdict(settings).values())


def design_of(settings: Settings) -> Design:
    """Return the design that settings name."""
    named = named_design(settings.design)
    return replace(named, replacement=named.replacement or settings.replacement)


def goal_of(settings: Settings) -> Goal:
    """Return the goal of one metric."""
    return Goal(settings.metric, within=settings.delta, confidence=settings.confidence)
