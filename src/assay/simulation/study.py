"""Simulation of designs on one metric: their labels, and how often they are right: `simulate`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np

from assay.core import forecast
from assay.core.cut_methods import METHODS
from assay.core.design import MODES, Allocation, Design, check_together, fitted
from assay.core.goal import Goal
from assay.core.metrics import canonical_metric
from assay.core.stopping import Reason
from assay.errors import DesignError, InputError, did_you_mean
from assay.results import html_block, html_headline, html_remarks, html_table
from assay.simulation.population import Population
from assay.simulation.runs import Runs
from assay.simulation.workers import Task, run_tasks

# Designs by the names that papers and people call them.

_PAPER_1 = [f"{strata}-{how}" for strata in ("equal", "perc") for how in ("uni", "pps", "opt")]
_PAPER_2 = [
    f"{strata}-{how}"
    for strata in ("sqrt", "cbrt", "wtmn", "km", "gmm", "eqsz", "eqwd")
    for how in ("pro", "equ", "opt-a1", "opt-a2")
]

DESIGN_NAMES: tuple[str, ...] = (*MODES, "random", *_PAPER_1, *_PAPER_2)


def named_design(name: str, *, bins: int | None = None) -> Design:
    """Return the design of a name.

    ``default`` is ``Design()``; ``centred``, ``guaranteed`` and ``fixed`` are its other modes;
    ``random`` is simple random sampling; paper 1's are ``perc-opt`` and the like; paper 2's are
    STRATA-ALLOCATION, ``km-opt-a2`` and the like.

    Parameters
    ----------
    name : str
        One of `DESIGN_NAMES`, in any case.
    bins : int, optional
        Strata for each predicted label; otherwise as the design has them. ``random`` has one.

    Examples
    --------
    >>> named_design("perc-opt", bins=4) == Design.bennett_carvalho(bins=4)
    True
    >>> named_design("km-opt-a2").strata
    'km'
    """
    known = str(name).strip().lower()
    if known not in DESIGN_NAMES:
        raise DesignError(
            f"unknown design {name!r}",
            details=f"designs: {', '.join(MODES)}, random, {', '.join(_PAPER_1)}, and paper 2's "
            f"STRATA-ALLOCATION such as km-opt-a2 (strata {', '.join(METHODS)}, eqsz, eqwd; "
            "allocation pro, equ, opt-a1, opt-a2)",
            hint=did_you_mean(known, DESIGN_NAMES),
        )
    if known == "random":
        return Design.simple_random()
    if known in MODES:
        return MODES[known] if bins is None else replace(MODES[known], bins=bins)
    strata, _, how = known.partition("-")
    allocation = cast(Allocation, how)
    if known in _PAPER_1:
        count = 4 if bins is None else bins
        return Design.bennett_carvalho(strata=strata, allocation=allocation, bins=count)
    count = 6 if bins is None else bins
    return Design.kumar_raj(strata=strata, allocation=allocation, bins=count)


# Designs that leave out the finite population correction, as the papers' do, are compared with
# random sampling that does so too; that row is not shown.
_RANDOM, _WITH_REPLACEMENT = _BASELINES = ("random", "random, with replacement")


@dataclass(frozen=True)
class Row:
    """How one design fared.

    Attributes
    ----------
    design : str
    labels_mean, labels_se : float
        Labels until the stop: their mean, and its standard error.
    change_pct : float
        Labels against simple random sampling to the same goal, with or without replacement as
        the design is, in percent; below 0 is a saving.
    oracle_pct : float or None
        Labels against those of an experimenter who knew every stratum's rate beforehand (paper 1).
    within : float or None
        The share of runs whose estimate lies within delta of the truth (paper 1's InConf).
    yes, no : float or None
        The share of runs that ended sure that the metric is at least what was asked about, and
        sure that it is below.
    coverage : float
        The share of runs whose interval holds the truth.
    bias, rmse, mae : float
        Of the estimates.
    mvr : float
        The mean estimated variance over that of simple random sampling at the same number of
        labels (paper 2's mean variance ratio).
    """

    design: str
    labels_mean: float
    labels_se: float
    change_pct: float
    oracle_pct: float | None
    within: float | None
    coverage: float
    bias: float
    rmse: float
    mvr: float | None
    mae: float
    yes: float | None = None
    no: float | None = None


@dataclass(frozen=True)
class Simulation:
    """What `simulate` found: facts about the population, and one row a design and budget.

    `interrupted` tells that Ctrl-C ended it; the rows are those that were finished.
    """

    population: Mapping[str, Any]
    rows: tuple[Row, ...]
    interrupted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the population and the rows as plain values."""
        return {"population": dict(self.population), "rows": [asdict(row) for row in self.rows]}

    def _repr_html_(self) -> str:
        facts = self.population
        rows = [
            (
                row.design,
                f"{row.labels_mean:,.0f} ±{row.labels_se:.2g}",
                f"{row.change_pct:+.1f}%",
                f"{row.coverage:.3f}",
                f"{row.rmse:.4f}",
            )
            for row in self.rows
        ]
        headings = ("design", "labels", "against random", "interval covers", "error (rms)")
        return html_block(
            html_headline(
                f"{facts['metric'].replace('_', ' ')} {facts['value']:.4f}",
                f"of {facts['rows']:,} items whose truth is known",
            ),
            html_table(headings, rows),
            html_remarks(["interrupted: rows are missing"] if self.interrupted else []),
        )


def simulate(
    population: Population,
    *,
    designs: Sequence[str] | Mapping[str, Design],
    metric: str = "precision",
    within: float | None = None,
    budget: int | Sequence[int] | None = None,
    confidence: float = 0.95,
    at_least: float | None = None,
    replications: int = 1000,
    seed: int = 0,
    batch: int = 20,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Replay evaluations of a population whose truth is known, thousands at a time.

    Parameters
    ----------
    population : Population
        Predictions with the truth.
    designs : sequence of names, or mapping of names to designs
        Names as `named_design` has them. Simple random sampling, ``random``, is always run beside
        them, with `at_least` by bets, too; for recall and F1 it is estimated by predicted label.
    metric, within, budget, confidence, at_least
        The goal, as in `create_campaign`; several budgets give a row each.
    replications : int
        Evaluations a row.
    seed : int
        Fixes all numbers, whatever the number of workers.
    batch : int
        Labels a round, where the design leaves that open.
    workers : int, optional
        Processes; otherwise one a core.
    progress : callable, optional
        Told the share that is done.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> score = rng.beta(4, 1, 50_000)
    >>> population = Population(y_true=rng.random(50_000) < score, y_score=score, threshold=0.5)
    >>> result = simulate(population, designs=["perc-opt"], within=0.03, replications=200,
    ...                   seed=1, workers=1)
    >>> [row.design for row in result.rows], result.rows[1].change_pct < 0
    (['random', 'perc-opt'], True)
    """
    name = canonical_metric(metric)
    chosen = _designs(designs, bets=at_least is not None)
    budgets = list(budget) if isinstance(budget, Sequence) else [budget]
    if not budgets:
        raise InputError("budget is an empty list", hint="budget=[100, 200, 500]")
    goals = [Goal(name, within, each, confidence, at_least) for each in budgets]
    chosen = {label: fitted(design, goals[0]) for label, design in chosen.items()}
    frames = {label: population.frame(design, name) for label, design in chosen.items()}
    for label, design in chosen.items():
        for goal in goals:
            check_together(design, goal, frames[label].strata.n_strata)
    tasks = [
        Task(label, frames[label], design, goal, batch)
        for goal in goals
        for label, design in chosen.items()
    ]
    runs = run_tasks(
        tasks, replications=replications, seed=seed, workers=workers, progress=progress
    )
    spread = population.random_variance(name)
    finished = [(task, found) for task, found in zip(tasks, runs, strict=True) if found is not None]
    random_labels = {
        (task.goal, task.design.replacement): float(found.labels.mean())
        for task, found in finished
        if task.name in _BASELINES
    }
    rows = [
        summarise(task, found, random_labels[task.goal, task.design.replacement], spread)
        for task, found in finished
        if task.name != _WITH_REPLACEMENT and (task.goal, task.design.replacement) in random_labels
    ]
    complete = all(found is not None and found.labels.size == replications for found in runs)
    return Simulation(_facts(population, name), tuple(rows), interrupted=not complete)


def summarise(task: Task, runs: Runs, random_labels: float, random_variance: float) -> Row:
    """Return a row from the runs of a task.

    Parameters
    ----------
    task, runs
        What was run, and how each replication ended.
    random_labels : float
        Labels that simple random sampling takes to the same goal, on average.
    random_variance : float
        n times the variance of simple random sampling.
    """
    truth, within, asks = task.frame.value, task.goal.within, task.goal.at_least
    labels = float(runs.labels.mean())
    error = runs.value - truth
    spread = np.sqrt(max(runs.labels.size - 1, 1))
    random = float(np.mean(random_variance / runs.labels))
    oracle = None
    if within is not None:
        best = np.array(task.frame.least_variance)
        oracle = float(forecast.labels_needed(best, within, task.goal.confidence))
    return Row(
        design=task.name,
        labels_mean=labels,
        labels_se=float(runs.labels.std() / spread),
        change_pct=100 * (labels / random_labels - 1),
        oracle_pct=100 * (labels / oracle - 1) if oracle else None,
        within=None if within is None else float(np.mean(np.abs(error) <= within)),
        coverage=float(np.mean((runs.low <= truth) & (truth <= runs.high))),
        bias=float(error.mean()),
        rmse=float(np.sqrt(np.mean(error**2))),
        mvr=float(runs.variance.mean() / random) if random > 0 else None,
        mae=float(np.abs(error).mean()),
        yes=None if asks is None else float(np.mean(runs.reason == Reason.AT_LEAST)),
        no=None if asks is None else float(np.mean(runs.reason == Reason.BELOW)),
    )


def _designs(designs: Sequence[str] | Mapping[str, Design], *, bets: bool) -> dict[str, Design]:
    """Return the designs by name, simple random sampling first."""
    if isinstance(designs, str):
        raise InputError(f"designs must be several names, got {designs!r}", hint=f"[{designs!r}]")
    if not isinstance(designs, Mapping):
        designs = {name.strip().lower(): named_design(name) for name in designs}
    designs = {name: design for name, design in designs.items() if name not in _BASELINES}
    random = Design.simple_random()
    if bets:
        random = replace(Design.guaranteed(), bins=1, variable=random.variable)
        return {_RANDOM: random, **designs}
    baselines = {_RANDOM: random}
    if any(design.replacement for design in designs.values()):
        baselines[_WITH_REPLACEMENT] = replace(random, replacement=True)
    return {**baselines, **designs}


def _facts(population: Population, metric: str) -> dict[str, Any]:
    return {
        "rows": population.size,
        "predicted_positives": population.predicted_positives,
        "positives": population.positives,
        "metric": metric,
        "value": population.value(metric),
        "limit": population.limit(metric),
        "scale": population.scale,
    }
