"""Simulation of campaigns for a threshold: how often one is certified, and how good it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.core.design import Design, check_together
from assay.core.goal import Goal, ThresholdQuestion
from assay.core.thresholds import ThresholdRun
from assay.errors import DesignError, did_you_mean
from assay.simulation.named_designs import names_of
from assay.simulation.population import Population
from assay.simulation.rows import Simulation, summarise_thresholds
from assay.simulation.thresholds import RandomRun, ThresholdRuns, Thresholds, ThresholdTask
from assay.simulation.workers import run_tasks

_DEFAULT, _RANDOM = THRESHOLD_DESIGNS = ("default", "random")
"""For a threshold: a campaign's design, and the same bets on items drawn at random."""


def simulate_thresholds(
    # Predictions with scores and the truth; predicted labels are ignored.
    population: Population,
    threshold_for: str,
    *,
    budgets: Sequence[int | None],  # each gives a row per design
    designs: Sequence[str] | Mapping[str, Design] | None = None,
    bins: int | None = None,
    confidence: float = 0.95,
    gain: float = 0.05,
    replications: int = 1000,
    seed: int = 0,
    batch: int = 20,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Replay campaigns for a threshold: `simulate` with `threshold_for`."""
    question = ThresholdQuestion.parse(threshold_for)
    goals = [
        Goal(None, None, _needed(budget), confidence, threshold_for=threshold_for, gain=gain)
        for budget in budgets
    ]
    best, tasks = population.thresholds().best(question), []
    for name, design in _designs(designs, bins).items():
        frame = population.ladder(design)
        truth = Thresholds(frame.sizes[::-1].copy(), frame.outcomes[::-1].copy())
        for goal in goals:
            check_together(design, goal, frame.strata.n_strata)
            run = (RandomRun if name == _RANDOM else ThresholdRun)(
                question, frame.sizes, confidence=confidence, budget=goal.budget, gain=gain
            )
            tasks.append(ThresholdTask(name, run, question, truth, _needed(goal.budget), batch))
    tasks.sort(key=lambda task: task.budget)
    found = run_tasks(
        tasks, replications=replications, seed=seed, workers=workers, progress=progress
    )
    labels: dict[int, float] = {}
    rows = []
    for task, runs in zip(tasks, found, strict=True):
        if isinstance(runs, ThresholdRuns):
            baseline = labels.setdefault(task.budget, float(runs.labels.mean()))
            rows.append(
                summarise_thresholds(
                    task.name, runs, budget=task.budget, best=best, baseline=baseline
                )
            )
    complete = all(runs is not None and runs.labels.size == replications for runs in found)
    facts: dict[str, Any] = {
        "rows": population.size,
        "positives": population.positives,
        "best": best,
        "wanted": question.most,
    }
    return Simulation(facts, goals[0], tuple(rows), interrupted=not complete)


def _needed(budget: int | None) -> int:
    if budget is None:
        raise DesignError(
            "a simulation of threshold_for= needs a budget",
            details="an evaluation that is settled earlier ends earlier",
            hint="budget=1000",
        )
    return budget


def _designs(
    designs: Sequence[str] | Mapping[str, Design] | None, bins: int | None
) -> dict[str, Design]:
    """Designs by name, random sampling first."""
    ladder = Design.ladder() if bins is None else replace(Design.ladder(), bins=bins)
    if isinstance(designs, Mapping):
        return {_RANDOM: ladder, **designs}
    names = [_DEFAULT] if designs is None else names_of(designs)
    for name in names:
        if name not in THRESHOLD_DESIGNS:
            raise DesignError(
                f"there is no design {name!r} for a threshold",
                details=f"designs: {', '.join(THRESHOLD_DESIGNS)}",
                hint=did_you_mean(name, THRESHOLD_DESIGNS) or "what a campaign does is 'default'",
            )
    return dict.fromkeys([_RANDOM, *names], ladder)
