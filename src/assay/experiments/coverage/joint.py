"""Several targets from the same labels: recall and F1 of two classifiers, and their differences.

One evaluation makes a row for each target, as each has an interval that must hold.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from assay.core.goal import Goal
from assay.core.joint import Joint, Parts
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import parse_targets
from assay.errors import DesignError
from assay.experiments.coverage.cells import Cell, design_of, task_name
from assay.experiments.coverage.extent import LeftOut, Part, Scope
from assay.experiments.coverage.pairs import Pair, rare_pairs, real_pairs
from assay.experiments.coverage.rows import Settings
from assay.simulation import JointTask, Population, named_design

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
