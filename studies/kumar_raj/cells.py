"""Points of the figures of paper 2: a design, a population, a number of labels.

The paper's mean variance ratio (MVR) is made of *estimated* variances. A stratum whose labels all
agree is estimated not to vary, and the adaptive allocations give it nothing more, so that ratio
flatters them; the errors that were really made stand beside it in every row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from assay.core.design import Allocation, Design
from assay.core.estimate import Estimator
from assay.core.goal import Goal
from assay.core.types import Floats
from assay.simulation import Frame, Population, Runs, Task, run_tasks


@dataclass(frozen=True)
class Facts:
    """A population: its items, true accuracy, and the least ratio that its scores allow."""

    name: str
    items: int
    accuracy: float
    limit: float

    @classmethod
    def of(cls, name: str, population: Population) -> Self:
        """Return the facts of a population."""
        return cls(
            name, population.size, population.value("accuracy"), population.limit("accuracy")
        )


class Setting(NamedTuple):
    """All of a design but its strata; as in `Design.kumar_raj`.

    `first_per_stratum` is the paper's n_ini, `round_size` its n_step; None where the allocation
    has none. The estimator ``unbiased`` is the paper's; with ``smoothed``, paper 1's, no stratum
    is ever taken to be without errors.
    """

    allocation: Allocation
    bins: int
    first_per_stratum: int | None = None
    round_size: int | None = None
    estimator: Estimator = "unbiased"

    @property
    def name(self) -> str:
        """What tables call it."""
        extra = " smoothed" if self.estimator == "smoothed" else ""
        return self.allocation.upper() + extra


@dataclass(frozen=True)
class Cell:
    """One design of paper 2 on one population with a budget of `labels`, the paper's n."""

    population: str
    strata: str
    allocation: Allocation
    bins: int
    first_per_stratum: int | None
    round_size: int | None
    estimator: Estimator
    labels: int

    @property
    def setting(self) -> Setting:
        """All of the design but its strata."""
        return Setting(
            self.allocation, self.bins, self.first_per_stratum, self.round_size, self.estimator
        )

    @property
    def design(self) -> Design:
        """The design."""
        given = {"first_per_stratum": self.first_per_stratum, "round_size": self.round_size}
        published = Design.kumar_raj(
            strata=self.strata,
            allocation=self.allocation,
            bins=self.bins,
            **{name: value for name, value in given.items() if value is not None},
        )
        return replace(published, estimator=self.estimator)


@dataclass(frozen=True)
class Row(Cell):
    """What was measured in a cell; ratios are to random sampling's A(1 - A)/n."""

    mvr: float  # the mean of the estimated variances: the paper's mean variance ratio
    variance_ratio: float  # the variance of the estimates over the runs
    error_ratio: float  # their mean squared error; it differs from `variance_ratio` by the bias
    # The variance that the best allocation to these strata has (Eq. 10); no estimate without bias
    # varies less.
    least_ratio: float
    # bias, mae: mean error, and mean absolute error (the paper's MAE)
    bias: float
    mae: float


def measure(
    populations: Mapping[str, Population],
    cells: Sequence[Cell],  # points of the figures
    *,
    replications: int,
    seed: int,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Row, ...]:
    """Run every cell.

    Raises KeyboardInterrupt: it was interrupted; curves with holes would mislead.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(10_000)
    >>> population = Population(y_true=rng.random(10_000) < score, y_score=score, threshold=0.5)
    >>> cell = Cell("easy", "eqsz", *Setting("pro", bins=5), labels=100)
    >>> (row,) = measure({"easy": population}, [cell], replications=2000, seed=1, workers=1)
    >>> row.least_ratio < row.variance_ratio < 1
    True
    """
    frames: dict[tuple[str, str, int], Frame] = {}
    tasks = []
    for cell in cells:
        key = (cell.population, cell.strata, cell.bins)
        if key not in frames:
            frames[key] = populations[cell.population].frame(cell.design, "accuracy")
        name = f"{cell.population} {cell.strata} {cell.setting}"
        goal = Goal("accuracy", budget=cell.labels)
        tasks.append(Task.of_one(name, frames[key], cell.design, goal, asked=cell.labels))
    found = run_tasks(
        tasks, replications=replications, seed=seed, workers=workers, progress=progress
    )
    rows = [
        _row(cell, frames[cell.population, cell.strata, cell.bins], runs)
        for cell, runs in zip(cells, found, strict=True)
        if runs is not None and runs.labels.size == replications
    ]
    if len(rows) < len(cells):
        raise KeyboardInterrupt
    return tuple(rows)


def _row(cell: Cell, frame: Frame, runs: Runs) -> Row:
    accuracy = frame.value
    error = runs.value - accuracy
    spread = accuracy * (1 - accuracy)
    random = spread / cell.labels
    return Row(
        **asdict(cell),
        mvr=float(runs.variance.mean() / random),
        variance_ratio=float(error.var() / random),
        error_ratio=float(np.mean(error**2) / random),
        least_ratio=frame.least_variance / spread,
        bias=float(error.mean()),
        mae=float(np.abs(error).mean()),
    )


def random_mae(accuracy: float, labels: Floats) -> Floats:
    """Return the mean absolute error of random sampling with replacement, exactly.

    De Moivre's mean deviation of a binomial: E|X - nA| = 2 m (1 - A) P(X = m), m = floor(nA) + 1.

    Examples
    --------
    >>> random_mae(0.5, np.array([1.0, 2.0]))  # one label is 1/2 off; of two, half the pairs are
    array([0.5 , 0.25])
    """
    from scipy.stats import binom  # takes long to load, and few commands need it

    above = np.floor(labels * accuracy) + 1
    return np.asarray(2 * above * (1 - accuracy) * binom.pmf(above, labels, accuracy) / labels)


def labels_at(target: float, labels: Floats, mae: Floats) -> float | None:
    """Return the labels at which the mean absolute error first comes down to `target`.

    Between two budgets the logarithms are joined by a straight line, which is what errors that
    fall like 1/sqrt(n) do. The smallest budget where that is enough already; None where none is.

    Examples
    --------
    >>> round(labels_at(0.01, np.array([100.0, 400.0]), np.array([0.016, 0.008])))
    256
    >>> labels_at(0.01, np.array([100.0, 400.0]), np.array([0.03, 0.02])) is None
    True
    """
    enough = np.flatnonzero(mae <= target)
    if not enough.size:
        return None
    end = int(enough[0])
    if end == 0:
        return float(labels[0])
    pair = [end, end - 1]  # errors must rise for numpy.interp
    return float(np.exp(np.interp(np.log(target), np.log(mae[pair]), np.log(labels[pair]))))


# What paper 2's figures are made of: which designs, with how many strata and labels.

STRATA = ("sqrt", "cbrt", "wtmn", "km", "gmm", "eqsz", "eqwd")
BUDGETS = (60, 100, 150, 200, 300, 400, 500, 700, 1000)

# Figures 2, 4 and 6, and the same of OPT-A2. For the latter two the paper has K "6 or 7".
OPTIMAL = (Setting("opt-a1", 6, 10), Setting("opt-a2", 6, 5, 10))


def smoothed(settings: Sequence[Setting]) -> tuple[Setting, ...]:
    """Return the settings with rates that are never taken to be 0 or 1."""
    return tuple(each._replace(estimator="smoothed") for each in settings)


ALLOCATIONS = (Setting("pro", 10), Setting("equ", 10), *OPTIMAL, *smoothed(OPTIMAL))
# Figures 3 and 5; the paper does not say with how many labels.
ALLOCATIONS_BY_BINS = tuple(Setting(how, bins) for how in ("pro", "equ") for bins in range(2, 11))
EXAMPLE_LABELS = 200
# Figures 7 to 9 have one stratification each; the paper names it only in the last.
EXAMPLE_STRATA = "eqsz"
EXAMPLE_SETTING = OPTIMAL[-1]
FIRST_ROUNDS = tuple(Setting("opt-a1", 6, first) for first in (5, 10, 20))
ADAPTIVE = (
    *(Setting("opt-a1", 6, first) for first in (5, 10)),
    *(Setting("opt-a2", 6, first, step) for first in (5, 10) for step in (10, 20)),
)


def cells(populations: Sequence[str], classifiers: Sequence[str]) -> list[Cell]:
    """Return every cell of Figures 2 to 8 for the populations and of Figure 9 for the classifiers.

    A cell that several figures show is there once.
    """
    example = [EXAMPLE_STRATA]
    adaptive = (*FIRST_ROUNDS, *ADAPTIVE)
    compared = (EXAMPLE_SETTING, *smoothed([EXAMPLE_SETTING]))
    wanted = [
        *_by_labels(populations, STRATA, ALLOCATIONS),
        *_by_labels(populations, example, (*adaptive, *smoothed(adaptive))),
        *_by_labels(classifiers, example, compared),
        *(
            Cell(name, strata, *setting, labels=EXAMPLE_LABELS)
            for name in populations
            for strata in STRATA
            for setting in ALLOCATIONS_BY_BINS
        ),
    ]
    return list(dict.fromkeys(wanted))


def _by_labels(
    populations: Sequence[str], methods: Sequence[str], settings: Sequence[Setting]
) -> Iterator[Cell]:
    """Yield cells of every budget that covers the setting's first round."""
    for name in populations:
        for strata in methods:
            for setting in settings:
                first = setting.bins * (setting.first_per_stratum or 0)
                for labels in BUDGETS:
                    if labels >= first:
                        yield Cell(name, strata, *setting, labels=labels)
