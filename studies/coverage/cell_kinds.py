"""Cells that make several rows: items that nobody can judge, and several targets.

A share of the positives, or of the negatives, is never judged: the hard ones of one kind, say. The
truth is about all items. The interval takes the unjudged ones to be like the others of their
stratum, which here they are not; what must hold is the stated worst case.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from zlib import crc32

import numpy as np

from assay.core.design import Design, fitted
from assay.core.engine import look
from assay.core.forms import Metric
from assay.core.goal import Goal
from assay.core.joint import Joint
from assay.core.parts import Parts
from assay.core.standing import Standing
from assay.core.state import State
from assay.core.stratify import cell_strata
from assay.core.targets import parse_targets
from assay.core.types import Floats, Ints
from assay.errors import DesignError
from assay.simulation import BLOCK, Frame, Population, Runs, Task, named_design, of_one, replay
from studies.coverage.cells import Cell, Subject, design_of, goal_of, needed, task_name
from studies.coverage.extent import LeftOut, Part, Scope
from studies.coverage.pairs import Pair, rare_pairs, real_pairs
from studies.coverage.populations import classifiers, of_classifier
from studies.coverage.rows import WORST_CASE, Settings

_METRICS = ("precision", "accuracy", "recall", "f1")
_DELTA = 0.05
# Where hardly anything can be judged, a width alone would have all items looked at.
_BUDGET = 5000


def stated_worst_case(
    design: Design, goal: Goal, metric: Metric, state: State
) -> tuple[Floats, Floats]:
    """Return the worst case stated when evaluations end; all that the part asks of Assay."""
    now = look(design, goal, metric, state)
    standing = Standing(goal.metric, design, goal, metric, state, now, 0.0, 0)
    return standing.ends_at_worst(state.tallies.u)


@dataclass(frozen=True, eq=False)
class UnjudgedTask:
    """An evaluation in which some items are never judged, that can be run many times."""

    name: str
    frame: Frame  # of all items
    design: Design
    goal: Goal
    asked: int
    # yes, no: the shares of the positives, and of the negatives, that cannot be judged; so in every
    # stratum, but for fractions of an item.
    yes: float
    no: float
    block: int = BLOCK

    def replay(self, replications: int, *, key: Sequence[int]) -> Runs:
        """Run it so many times; the ends have two places: the interval and the worst case."""
        seed, *rest = key
        frame = self.frame
        hidden = np.round(self.yes * frame.outcomes)
        negatives = frame.sizes - frame.outcomes
        low, high = np.zeros((2, replications, 1))

        def ended(which: Ints, state: State) -> None:
            worst = stated_worst_case(self.design, self.goal, frame.metric, state)
            low[which, 0], high[which, 0] = worst

        runs = replay(
            *of_one(
                self.design,
                self.goal,
                frame.metric,
                frame.sizes,
                frame.outcomes - hidden,
                unjudged=hidden + np.round(self.no * negatives),
            ),
            replications=replications,
            rng=np.random.default_rng([seed, crc32(self.name.encode()), *rest]),
            asked=self.asked,
            ended=ended,
        )
        return replace(
            runs,
            value=np.hstack([runs.value, runs.value]),
            low=np.hstack([runs.low, low]),
            high=np.hstack([runs.high, high]),
        )


@dataclass(frozen=True, eq=False)
class Unjudged:
    """A cell with items that cannot be judged: a row for the interval, one for the worst case."""

    settings: Settings
    subject: Subject

    @property
    def rows(self) -> tuple[Settings, Settings]:
        """The interval's row, and the worst case's."""
        return self.settings, replace(self.settings, reading=WORST_CASE)

    @property
    def costs(self) -> None:
        """Nothing: the others would have to do without these items, too."""

    @property
    def looks(self) -> float:
        """About how often an evaluation is looked at."""
        return needed(self.subject, self.settings.delta).at_least / self.settings.batch

    def beside(self) -> None:
        """Return nothing, as for the costs."""

    def task(self) -> UnjudgedTask:
        """Return what is to be replayed."""
        wanted, goal = self.settings, goal_of(self.settings)
        design = fitted(design_of(wanted), goal)
        return UnjudgedTask(
            task_name(wanted),
            self.subject.frame(design),
            design,
            replace(goal, budget=_BUDGET),
            wanted.batch,
            wanted.unjudged_yes,
            wanted.unjudged_no,
        )


def unjudged_cells(scope: Scope) -> Iterator[Cell | LeftOut]:
    """Yield the cells: generated classifiers, and one of each file, with shares of either kind."""
    chosen = list(classifiers(None))
    if scope.data is not None:
        chosen += scope.one_of_each_file
    for each in chosen:
        for metric in _METRICS:
            subject = of_classifier(each, metric)
            cell = scope.some(Part.UNJUDGED, subject, _DELTA)
            if isinstance(cell, LeftOut):
                yield cell
                continue
            for share in scope.extent.unjudged:
                yield Unjudged(replace(cell.settings, unjudged_no=share), subject)
                if share == 1 and metric == "recall":
                    why = "no positive can be judged, so there is no value"
                    yield LeftOut(Part.UNJUDGED.value, each.name, metric, _DELTA, why)
                    continue
                yield Unjudged(replace(cell.settings, unjudged_yes=share), subject)


# Several targets from the same labels: recall and F1 of two classifiers, and their differences.
#
# One evaluation makes a row for each target, as each has an interval that must hold.

NAMES = ("one", "other")
_OF_TWO = (("recall",), ("f1",), ("recall", "f1"))
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

    def task(self) -> Task:
        """Return what is to be replayed."""
        first = self.rows[0]
        design = design_of(first)
        strata = cell_strata(self.population, self.goal, design)
        outcomes = self.population.outcomes(strata)
        name = task_name(first)
        return Task.of_strata(name, design, self.goal, strata, outcomes, asked=first.batch)


def joint_cells(scope: Scope) -> Iterator[Cell | LeftOut]:
    """Yield the cells of two classifiers; none for a design that several targets cannot have."""
    real = [] if scope.data is None else real_pairs(scope.data)
    # A pair is there once for each metric of a difference.
    pairs = {pair.name: pair for pair in (*rare_pairs(scope.seed), *real)}
    if not _able(scope):
        return
    for pair in pairs.values():
        for metrics in _OF_TWO:
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
