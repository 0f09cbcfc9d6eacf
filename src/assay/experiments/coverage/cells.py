"""A cell of the coverage study: one simulation.

Most are read once, and make one row; several targets of the same labels, or an interval and its
worst case, make a row each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from assay.core.design import Design, fitted
from assay.core.forecast import labels_needed
from assay.core.goal import Goal
from assay.core.joint import Joint, Parts
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import parse_targets
from assay.errors import DesignError
from assay.experiments.coverage.extent import LeftOut, Part, Scope
from assay.experiments.coverage.pairs import Pair, rare_pairs, real_pairs
from assay.experiments.coverage.rows import Costs, Settings
from assay.simulation import Frame, JointTask, Population, Replayed, Task, named_design

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
    >>> from assay.experiments.coverage.populations import of_shape
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
        return Task(task_name(wanted), self.subject.frame(design), design, goal, wanted.batch)


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


# Several targets from the same labels: recall and F1 of two classifiers, and their differences.
#
# One evaluation makes a row for each target, as each has an interval that must hold.


NAMES = ("one", "other")
_METRICS = (("recall",), ("f1",), ("recall", "f1"))
_MOST = 6000  # labels; a look at several targets takes long


@dataclass(frozen=True, eq=False)
class Several:
    """A cell of several targets; `rows` has one for each."""

    rows: tuple[Settings, ...]
    population: Population
    goal: Goal

    @property
    def costs(self) -> None:
        """Nothing: the labels serve all targets, and none of them alone."""

    @property
    def looks(self) -> float:
        """About how often an evaluation is looked at, up to a factor, at so many targets."""
        return len(self.rows) * self.labels / self.rows[0].batch

    @property
    def labels(self) -> float:
        """About what it takes: the positives that tell a recall, over their share."""
        return 1 / (self.rows[0].delta ** 2 * float(self.population.truth.mean()))

    def beside(self) -> None:
        """Return nothing: one random sample for several targets has no size of its own."""

    def task(self) -> JointTask:
        """Return what is to be replayed."""
        first = self.rows[0]
        design = design_of(first)
        strata = cell_strata(self.population, self.goal, design)
        joint = joint_of(design, self.goal, strata)
        return JointTask(task_name(first), joint, self.population.outcomes(strata), first.batch)


def joint_cells(scope: Scope) -> Iterator[Cell | LeftOut]:
    """Yield the cells of two classifiers; none for a design that several targets cannot have."""
    real = [] if scope.data is None else real_pairs(scope.data)
    # A pair is there once for each metric of a difference.
    pairs = {pair.name: pair for pair in (*rare_pairs(scope.seed), *real)}
    if not _able(scope):
        return
    for pair in pairs.values():
        for metrics in _METRICS:
            for delta in scope.extent.joint_goals:
                cell = _several(scope, pair, metrics, delta)
                if cell.labels > _MOST:
                    why = f"two classifiers take more than {_MOST:,} labels"
                    metric = " and ".join(metrics)
                    yield LeftOut(Part.JOINT.value, pair.name, metric, delta, why)
                else:
                    yield cell


def _able(scope: Scope) -> bool:
    """Tell whether several targets can have the design."""
    parts = Parts(np.arange(1), np.ones(1, dtype=np.int64), np.ones(1))
    try:
        Joint(named_design(scope.design), parts, ())
    except DesignError:
        return False
    return True


def _several(scope: Scope, pair: Pair, metrics: Sequence[str], delta: float) -> Several:
    one, other = NAMES
    wanted = [
        name
        for metric in metrics
        for name in (f"{metric}:{one}", f"{metric}:{other}", f"{metric}:{one} - {metric}:{other}")
    ]
    goal = Goal(targets=parse_targets(wanted, NAMES, within=delta))
    population = _population(pair)
    rows = tuple(
        scope.settings(
            Part.JOINT,
            population=f"{pair.name}, {' and '.join(metrics)}",
            metric=target.name,
            value=population.value(target),
            items=int(population.truth.size),
            delta=delta,
        )
        for target in goal.targets
    )
    return Several(rows, population, goal)


@lru_cache(maxsize=32)
def _population(pair: Pair) -> Population:
    return Population(
        y_true=pair.truth,
        y_pred=dict(zip(NAMES, pair.predicted, strict=True)),
        y_score=dict(zip(NAMES, pair.scores, strict=True)),
    )
