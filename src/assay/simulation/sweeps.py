"""Repeated simulations with other thresholds, budgets, or numbers of strata."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np

from assay.core.design import Design
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.state import Look, State
from assay.core.targets import parse_targets
from assay.core.types import Floats
from assay.errors import PredictionsError
from assay.simulation.named_designs import designs_by_name, named_design, usual_designs
from assay.simulation.population import Population
from assay.simulation.rows import Row, Simulation
from assay.simulation.study import simulate
from assay.simulation.workers import Task

# Narrowing of an interval with the number of labels.

_BAND = (5, 95)  # percent: nine runs in ten lie between


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The interval's half-width after each round: the mean, and the band of 90% of the runs."""

    # labels, mean, low, high: (rounds,)
    labels: Floats
    mean: Floats
    low: Floats
    high: Floats


def half_widths(task: Task, *, replications: int, seed: int, goes_on: bool = False) -> Trajectory:
    """Half-widths from the first round to the budget."""
    labels: list[float] = []
    widths: list[Floats] = []

    def watch(state: State, now: Look) -> None:
        answers = float(state.tallies.answers[0])  # the same in every run
        if goes_on and answers >= (task.procedure.budget or 0):
            (now,) = task.procedure.look(state).looks
        if answers > 0:
            labels.append(answers)
            widths.append(now.half_width)

    task.replay(replications, key=[seed], watch=watch)
    low, high = np.percentile(widths, _BAND, axis=1)
    return Trajectory(np.array(labels), np.mean(widths, axis=1), low, high)


LIMIT, FLOOR = "limit", "floor"  # of designs, and for clean mass
_RUNS = 300  # a point of a curve needs fewer than a row of the table
_THRESHOLDS = 8
_GRID = 6
_BINS = range(2, 11)  # paper 2, Figures 3 and 5

AtThreshold = Callable[[float], Population]


@dataclass(frozen=True, eq=False)
class Curves:
    """A line for each name over the same `x`; NaN where a design does not fit."""

    x: Floats
    y: Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class Question:
    """Arguments of a simulation."""

    population: Population
    names: tuple[str, ...] | None  # the designs, as in `simulate`
    bins: int | None
    metrics: tuple[str, ...]
    budgets: tuple[int, ...] | None  # ascending
    replications: int
    seed: int
    within: float | None = None
    confidence: float = 0.95
    at_least: float | None = None
    simultaneous: bool = False
    parent: str | None = None
    assume: float = 0.5
    threshold_for: str | None = None
    gain: float = 0.05

    def answer(
        self, *, workers: int | None, progress: Callable[[float], None] | None
    ) -> Simulation:
        """Run the simulation."""
        options = vars(self) | {"metrics": None if self.threshold_for else self.metrics}
        designs, budget = options.pop("names"), options.pop("budgets")
        return simulate(
            **options, designs=designs, budget=budget, workers=workers, progress=progress
        )

    # Of one metric.

    @property
    def metric(self) -> str:
        """The name of the first metric."""
        population = self.population
        return parse_targets(self.metrics, population.classifiers, classes=population.vocabulary)[
            0
        ].metric

    @property
    def designs(self) -> dict[str, Design]:
        """The designs by name, without simple random sampling."""
        return self.designs_of(self.bins)

    @property
    def runs(self) -> int:
        """Number of replications for a point of a curve."""
        return min(self.replications, _RUNS)

    def designs_of(self, bins: int | None) -> dict[str, Design]:
        """Designs with another number of strata."""
        usual = usual_designs(budget=bool(self.budgets), at_least=self.at_least is not None)
        names = usual if self.names is None else self.names
        return designs_by_name(names, partial(named_design, bins=bins), ["random"])

    def ask(
        self,
        population: Population,
        designs: Mapping[str, Design],
        *,
        within: float | None = None,
        budget: Sequence[int] | None = None,
    ) -> tuple[Row, ...]:
        """Simulate; re-raise Ctrl-C, as half a curve is useless."""
        simulation = simulate(
            population,
            designs=designs,
            metric=self.metric,
            within=within,
            budget=budget,
            confidence=self.confidence,
            replications=self.runs,
            seed=self.seed,
            workers=1,
        )
        if simulation.interrupted:
            raise KeyboardInterrupt
        return simulation.rows

    def fits(self, design: Design, budget: int) -> bool:
        """Whether the budget covers the design's first round."""
        strata = self.population.frame(design, self.metric).strata.n_strata
        return (design.first_per_stratum or 0) * strata <= budget


def labels_by_value(question: Question, at_threshold: AtThreshold) -> Curves:
    """Mean labels against the metric's true value, with those of the limit and the floor.

    The value is varied by the threshold, over the same items and scores.
    """
    within = question.within or 0.0
    points = []
    for threshold in _thresholds(question):
        population = at_threshold(threshold)
        try:
            value = population.value(question.metric)
        except PredictionsError:  # all items on one side, and the metric is undefined
            continue
        if population.random_variance(question.metric) > 0:
            rows = question.ask(population, question.designs, within=within)
            labels = {row.design: row.labels_mean for row in rows}
            limit = population.honest_limit(question.metric, within, question.confidence)
            labels |= {LIMIT: limit.design, FLOOR: limit.clean}
            points.append((value, labels))
    points.sort(key=lambda point: point[0])
    names = points[0][1] if points else {}
    return Curves(
        np.array([value for value, _ in points]),
        {name: np.array([labels[name] for _, labels in points]) for name in names},
    )


def _thresholds(question: Question) -> list[float]:
    """Thresholds at which the metric's values are about evenly spaced."""
    frame = question.population.frame(Design(bins=40), "prevalence")
    points = {heap.side: list(heap.cuts.points) for heap in frame.strata.heaps}
    beginning = max(points.get(False, []), default=-np.inf)  # of the items predicted yes
    lower = np.concatenate(
        [[beginning if side else -np.inf, *cuts] for side, cuts in points.items()]
    )
    values = {
        threshold: float(
            ratio(question.metric, frame.sizes, lower >= threshold).value(frame.outcomes)
        )
        for threshold in lower[np.isfinite(lower)].tolist()
    }
    if not values:
        return []
    wanted = np.linspace(min(values.values()), max(values.values()), _THRESHOLDS)
    return sorted({min(values, key=lambda at: abs(values[at] - value)) for value in wanted})


def budget_grid(question: Question, result: Simulation) -> list[int]:
    """Budgets for the curves: those given, or up to random sampling's labels."""
    if question.budgets is not None and len(question.budgets) >= 3:
        return list(question.budgets)
    most = question.budgets[-1] if question.budgets else ceil(result.rows[0].labels_mean)
    frame = question.population.frame(Design.simple_random(), question.metric)
    most = min(most, int(frame.sizes.sum()))
    least = min(max(most // 16, 20), most)
    return sorted({round(budget) for budget in np.geomspace(least, most, _GRID)})


def variance_by_labels(question: Question, grid: Sequence[int]) -> Curves:
    """Paper 2's mean variance ratio of each design against the budget."""
    return _variances(question, grid, [(question.designs, budget) for budget in grid])


def variance_by_bins(question: Question, budget: int) -> Curves:
    """Paper 2's mean variance ratio of each design against the strata per predicted label."""
    return _variances(question, _BINS, [(question.designs_of(bins), budget) for bins in _BINS])


def _variances(
    question: Question, x: Sequence[int], asked: Sequence[tuple[Mapping[str, Design], int]]
) -> Curves:
    """Ratios of each design at every x, which is run with the designs and the budget."""
    curves: dict[str, list[float]] = {name: [] for name in question.designs}
    for designs, budget in asked:
        fitting = {name: each for name, each in designs.items() if question.fits(each, budget)}
        rows = question.ask(question.population, fitting, budget=[budget])
        ratios = {row.design: row.metrics[0].mvr for row in rows}
        for name, values in curves.items():
            ratio = ratios.get(name)
            values.append(np.nan if ratio is None else ratio)
    return Curves(
        np.array(x, dtype=np.float64), {name: np.array(each) for name, each in curves.items()}
    )


def widths_by_labels(question: Question, budget: int) -> dict[str, Trajectory]:
    """Half-widths by number of labels.

    Without OPT-A1, which looks twice and is another design for every budget.
    """
    goal = Goal(question.metric, budget=budget, confidence=question.confidence)
    paths = {}
    for name, design in {"random": Design.simple_random(), **question.designs}.items():
        if design.allocation != "opt-a1" and question.fits(design, budget):
            task = Task.of_one(
                name, question.population.frame(design, question.metric), design, goal
            )
            runs, seed, to_width = question.runs, question.seed, question.within is not None
            paths[name] = half_widths(task, replications=runs, seed=seed, goes_on=to_width)
    return paths


def share_of_limit(question: Question, result: Simulation) -> dict[str, float]:
    """Each design's share of the possible gain over random sampling.

    0 is simple random sampling, 1 the limit of designs by score. The measure is the actual error,
    labels * rmse^2 against random sampling's variance: a design that stops too early looks cheap
    and gains nothing. With several budgets, the last one is used.
    """
    random = question.population.random_variance(question.metric)
    room = 1 - float(result.population["limit"])
    last = {row.design: row for row in result.rows}
    shares = {}
    for name, design in question.designs.items():
        if name not in last or random == 0 or room <= 0:
            continue
        row = last[name]
        items = question.population.frame(design, question.metric).sizes.sum()
        left_open = 1.0 if design.replacement else 1 - row.labels_mean / items
        if left_open > 0:
            spent = row.labels_mean * row.rmse**2 / (random * left_open)
            shares[name] = float((1 - spent) / room)
    return shares
