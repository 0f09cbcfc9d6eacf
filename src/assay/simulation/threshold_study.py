"""Simulation of campaigns for a threshold: how often one is certified, and how good it is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.core.design import Design, check_together
from assay.core.goal import Goal, ThresholdQuestion
from assay.core.thresholds import ThresholdRun
from assay.errors import DesignError, did_you_mean
from assay.simulation.named_designs import Designs, designs_by_name
from assay.simulation.population import Population
from assay.simulation.rows import Entry, Wanted
from assay.simulation.thresholds import RandomRun, ThresholdTask

_DEFAULT, _RANDOM = THRESHOLD_DESIGNS = ("default", "random")
"""For a threshold: a campaign's design, and the same bets on items drawn at random."""


def of_thresholds(
    # Predictions with scores and the truth; predicted labels are ignored.
    population: Population,
    goals: Sequence[Goal],  # the same question with each budget
    designs: Designs | None,
    bins: int | None,
    batch: int,
) -> tuple[dict[str, Any], list[Entry]]:
    """Facts about the population, and the designs of each budget, the smallest first."""
    goals = sorted(goals, key=_needed)
    question = ThresholdQuestion.parse(goals[0].threshold_for)
    best = population.thresholds().best(question)
    chosen = _designs(designs, bins)
    frames = [population.ladder(design) for design in chosen.values()]
    entries: list[Entry] = []
    for goal in goals:
        for (name, design), frame in zip(chosen.items(), frames, strict=True):
            check_together(design, goal, frame.strata.n_strata)
            kind = RandomRun if name == _RANDOM else ThresholdRun
            task = ThresholdTask.of_frame(name, frame, goal, _needed(goal), batch, kind=kind)
            entries.append(Entry(name, task, (Wanted(question.most, best or 0.0, goal),), _RANDOM))
    return {"best": best, "wanted": question.most}, entries


def _needed(goal: Goal) -> int:
    """Budget of a goal."""
    if goal.budget is None:
        raise DesignError(
            "a simulation of threshold_for= needs a budget",
            details="an evaluation that is settled earlier ends earlier",
            hint="budget=1000",
        )
    return goal.budget


def _designs(designs: Designs | None, bins: int | None) -> dict[str, Design]:
    """Designs by name, random sampling first."""
    ladder = Design.ladder() if bins is None else replace(Design.ladder(), bins=bins)

    def make(name: str) -> Design:
        if name in THRESHOLD_DESIGNS:
            return ladder
        raise DesignError(
            f"there is no design {name!r} for a threshold",
            details=f"designs: {', '.join(THRESHOLD_DESIGNS)}",
            hint=did_you_mean(name, THRESHOLD_DESIGNS) or "what a campaign does is 'default'",
        )

    return {_RANDOM: ladder, **designs_by_name([_DEFAULT] if designs is None else designs, make)}
