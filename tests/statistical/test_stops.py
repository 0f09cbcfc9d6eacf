"""At the stop: the value does not lean; looks that are left out change nothing."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from assay.core.allocation import Exploration, explore
from assay.core.design import Design
from assay.core.engine import cannot_stop
from assay.core.forms import Metric, ratio
from assay.core.goal import Goal
from assay.core.state import State
from assay.core.types import Bools, Floats
from assay.simulation import Runs
from tests.replays import replayed

FOUR, EIGHT = np.full(4, 50_000.0), np.full(8, 20_000.0)
BOTH = np.array([2000.0, 2000.0, 4000.0, 36_000.0])
CELLS = {
    "four strata": ("precision", FOUR, FOUR * [0.8, 0.95, 0.99, 1.0], 0.03, 1500),
    "four alike": ("precision", FOUR, FOUR * 0.9, 0.05, 2500),
    "eight strata": (
        "precision",
        EIGHT,
        EIGHT * [0.7, 0.9, 0.97, 0.99, 0.99, 1.0, 1.0, 1.0],
        0.03,
        1500,
    ),
    "recall": ("recall", BOTH, np.array([1900.0, 1200.0, 400.0, 100.0]), 0.06, 500),
}


@pytest.mark.parametrize("cell", CELLS)
def test_the_value_leans_by_a_tenth_of_the_half_width_at_most(cell: str) -> None:
    """The mean of what is quoted at the stop, and of sum N x / n beside it, which leans by more.

    The mean of each is known to 0.02 half-widths; the seed is fixed.
    """
    name, sizes, outcomes, within, replications = CELLS[cell]
    says_yes = np.arange(len(sizes)) < 2 if name == "recall" else np.ones(len(sizes), dtype=bool)
    metric = ratio(name, sizes, says_yes)
    plain: list[Floats] = []

    def ended(_: object, state: State) -> None:
        known = state.tallies
        plain.append(metric.value(known.N * known.x / known.n))

    goal, outcomes = Goal(name, within=within), np.round(outcomes)
    runs = replayed(
        Design(), goal, sizes, outcomes, runs=replications, seed=5, says_yes=says_yes, ended=ended
    )
    truth = float(metric.value(np.round(outcomes)))
    assert abs(float(runs.value.mean()) - truth) <= 0.1 * within
    assert abs(float(np.concatenate(plain).mean()) - truth) > 0.1 * within


def test_a_budget_alone_moves_no_value() -> None:
    """Random labels that stop at their number: x/n is right as it is, and half an error is not.

    20,000 runs: the mean is known to 0.0002, and half an error in 60 would be 0.006.
    """
    sizes = np.array([1e6])
    goal = Goal("precision", budget=60)
    runs = replayed(Design.simple_random(), goal, sizes, 0.9 * sizes, runs=20_000, seed=6)
    assert abs(float(runs.value.mean()) - 0.9) < 5 * np.sqrt(0.09 / 60 / 20_000)


def without_the_factor(w: Floats, n: Floats, x: Floats, left: Floats | float = 1.0) -> Exploration:
    """As if every population were large."""
    del left
    return explore(w, n, x)


def coverage(items: int, dirty: float, rate: float, within: float) -> float:
    """Return how often the interval holds the truth; one of 16 strata has most of the errors."""
    sizes = np.full(16, float(items // 16))
    sizes[0] += items - sizes.sum()
    errors = np.round(sizes * rate)
    errors[0] = np.round(sizes[0] * dirty)
    goal = Goal("precision", within=within)
    runs = replayed(Design(), goal, sizes, sizes - errors, runs=500, seed=3)
    assert 0.8 < float(runs.labels.mean()) / items < 0.95
    truth = 1 - errors.sum() / items
    return float(np.mean((runs.low <= truth + 1e-12) & (truth - 1e-12 <= runs.high)))


@pytest.mark.parametrize(
    ("items", "dirty", "rate", "within"), [(500, 0.8, 0.04, 0.006), (1000, 0.5, 0.02, 0.004)]
)
def test_a_small_population_with_a_dirty_pocket_is_right_to_its_end(
    items: int, dirty: float, rate: float, within: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """500 runs that label 84% and 92%: at least 0.945, less two standard errors.

    An interval that is right 95 times in 100 shows less with probability 0.6%; the seed is fixed.
    """
    least = 0.945 - 2 * np.sqrt(0.945 * 0.055 / 500)
    assert coverage(items, dirty, rate, within) >= least
    for module in ("assay.core.likelihood", "assay.core.estimate", "assay.core.engine"):
        monkeypatch.setattr(f"{module}.explore", without_the_factor)
    assert coverage(items, dirty, rate, within) < least - 0.05


SIZES = np.array([400.0, 400.0, 300.0, 500.0, 4000.0])
YES = np.array([True, True, False, False, False])
OUTCOMES = np.array([390.0, 300.0, 60.0, 20.0, 10.0])
CASES = [
    ("accuracy", 0.03, Design()),
    ("recall", 0.08, Design()),
    ("f1", 0.05, Design()),
    ("recall", 0.15, Design.simple_random()),
    ("recall", 0.2, Design()),  # a first interval that what is possible cuts short
]
Skip = Callable[[Design, Goal, Metric, State, Floats], Bools]


def runs_of(metric: str, within: float, design: Design, *, every_look: bool = False) -> Runs:
    goal, watch = Goal(metric, within=within), (lambda *_: None) if every_look else None
    runs = 60 if within > 0.2 else 30
    return replayed(design, goal, SIZES, OUTCOMES, runs=runs, seed=4, says_yes=YES, watch=watch)


def check_same(one: Runs, other: Runs) -> None:
    for name in ("labels", "low", "high", "value", "reason"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


def use(skip: Skip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("assay.core.procedures"), "cannot_stop", skip)


def counted(skip: Skip, seen: list[Bools]) -> Skip:
    def also(*given: Any) -> Bools:
        seen.append(skip(*given))
        return seen[-1]

    return also


@pytest.mark.parametrize(("metric", "within", "design"), CASES)
def test_runs_are_the_same_with_every_look(
    metric: str, within: float, design: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Bools] = []
    use(counted(cannot_stop, seen), monkeypatch)
    check_same(runs_of(metric, within, design), runs_of(metric, within, design, every_look=True))
    if metric != "accuracy" and within < 0.1:
        assert float(np.concatenate(seen).mean()) > 0.5  # most looks are left out


def off_middle(design: Design, goal: Goal, metric: Metric, state: State, middle: Floats) -> Bools:
    """Ask about another place, two half-widths away: that tells less, and nothing wrong."""
    assert goal.within is not None
    return cannot_stop(design, goal, metric, state, middle + 2 * goal.within)


def test_the_middle_may_be_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    right = runs_of("f1", 0.06, Design(), every_look=True)
    use(off_middle, monkeypatch)
    check_same(runs_of("f1", 0.06, Design()), right)
