"""One cell of the coverage study: what was run, and how often it was right at what cost."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import sqrt
from typing import Any, Protocol

import numpy as np

from assay.core.forecast import labels_needed
from assay.design import Design, Goal
from assay.simulation import Frame, Runs, Task, named_design

__all__ = ["Cell", "Row", "Settings", "Subject", "measured", "share_error"]

_SLACK = 0.005  # below the confidence: the study's own target, 0.945 at 95%
_ERRORS = 2.0  # standard errors


@dataclass(frozen=True)
class Settings:
    """What fixes a cell's numbers; a cell with the same settings need not be run again.

    Attributes
    ----------
    part : str
    population, metric : str
    value : float
        The metric's true value.
    items : int
    design : str
    replacement : bool
    delta, confidence : float
    batch : int
        Labels between two looks.
    thin : bool
        Whether looks thin out to one each 1% of the labels.
    replications, seed : int
    """

    part: str
    population: str
    metric: str
    value: float
    items: int
    design: str
    replacement: bool
    delta: float
    confidence: float
    batch: int
    thin: bool
    replications: int
    seed: int


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


@dataclass(frozen=True, eq=False)
class Cell:
    """Settings, and the population that they name."""

    settings: Settings
    subject: Subject

    @property
    def design(self) -> Design:
        """The design by that name."""
        named = named_design(self.settings.design)
        return replace(named, replacement=named.replacement or self.settings.replacement)

    def task(self) -> Task:
        """Return what is to be replayed."""
        wanted, design = self.settings, self.design
        # The name chooses the random stream, so it must tell the cells apart.
        name = " ".join(str(value) for value in asdict(wanted).values())
        goal = Goal(wanted.metric, within=wanted.delta, confidence=wanted.confidence)
        return Task(name, self.subject.frame(design), design, goal, wanted.batch, thin=wanted.thin)


@dataclass(frozen=True)
class Row(Settings):
    """A cell's settings and what was found.

    Attributes
    ----------
    coverage, coverage_se : float
        The share of runs whose interval holds the truth, and its Monte Carlo error.
    within, within_se : float
        The share of runs whose value is within delta of the truth.
    labels, labels_se : float
        Labels at the stop: their mean, and its Monte Carlo error.
    n_w : float
        Labels that random sampling takes when the answer is known: z^2 p (1 - p) / delta^2.
    limit_labels : float
        Labels that a design by score takes at least: the limit's share of n_W.
    random_labels : float
        Labels that random sampling takes with the same interval.
    """

    coverage: float
    coverage_se: float
    within: float
    within_se: float
    labels: float
    labels_se: float
    n_w: float
    limit_labels: float
    random_labels: float

    @property
    def settings(self) -> Settings:
        """What was run."""
        return Settings(**{each.name: getattr(self, each.name) for each in fields(Settings)})

    @property
    def target(self) -> float:
        """The least share of runs that must be right."""
        return self.confidence - _SLACK

    @property
    def right(self) -> float:
        """The share of runs in which the design's own promise held."""
        return self.within if self.design == "centred" else self.coverage

    @property
    def right_se(self) -> float:
        """The Monte Carlo error of that share."""
        return self.within_se if self.design == "centred" else self.coverage_se

    @property
    def fails(self) -> bool:
        """Whether it is right too seldom, by more than chance explains: share + 2 se < target."""
        return self.right + _ERRORS * self.right_se < self.target

    @property
    def against_n_w(self) -> float:
        """Labels over n_W."""
        return self.labels / self.n_w

    @property
    def against_limit(self) -> float:
        """Labels over the limit."""
        return self.labels / self.limit_labels

    @property
    def against_random(self) -> float:
        """Labels over those of random sampling with the same interval."""
        return self.labels / self.random_labels

    @classmethod
    def from_texts(cls, texts: Mapping[str, str]) -> "Row":
        """Return the row that was written as text.

        Raises
        ------
        KeyError, ValueError
            The texts are not those of a row.
        """
        return cls(**{each.name: _READ[each.type](texts[each.name]) for each in fields(cls)})


# How a column of each type is read again.
_READ: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: {"True": True, "False": False}.__getitem__,
}


def measured(cell: Cell, runs: Runs, random_labels: float) -> Row:
    """Return a cell's row from its runs, and random sampling's labels to the same goal."""
    truth, wanted = cell.subject.value, cell.settings
    covered = (runs.low <= truth) & (truth <= runs.high)
    near = np.abs(runs.value - truth) <= wanted.delta
    variance = np.array(cell.subject.random_variance)
    n_w = float(labels_needed(variance, wanted.delta, wanted.confidence))
    number = runs.labels.size
    return Row(
        **asdict(wanted),
        coverage=float(covered.mean()),
        coverage_se=share_error(int(covered.sum()), number),
        within=float(near.mean()),
        within_se=share_error(int(near.sum()), number),
        labels=float(runs.labels.mean()),
        labels_se=float(runs.labels.std() / sqrt(max(number - 1, 1))),
        n_w=n_w,
        limit_labels=n_w * cell.subject.limit,
        random_labels=random_labels,
    )


def share_error(count: int, number: int) -> float:
    """Return the standard error of a share; two more of either outcome keep it above 0 at 1.

    Examples
    --------
    >>> round(share_error(3800, 4000), 4), round(share_error(4000, 4000), 4)
    (0.0035, 0.0004)
    """
    share = (count + 2) / (number + 4)
    return sqrt(share * (1 - share) / number)
