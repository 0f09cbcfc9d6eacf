"""Looks that are left out change nothing: runs with and without them are the same."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.engine import cannot_stop
from assay.core.forms import Metric, ratio
from assay.core.goal import Goal
from assay.core.state import State
from assay.core.types import Bools, Floats
from assay.simulation import Runs, of_one, replay

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
    return replay(
        *of_one(design, Goal(metric, within=within), ratio(metric, SIZES, YES), SIZES, OUTCOMES),
        replications=60 if within > 0.2 else 30,
        rng=np.random.default_rng(4),
        asked=20,
        watch=(lambda *_: None) if every_look else None,
    )


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


def too_soon(design: Design, goal: Goal, metric: Metric, state: State, middle: Floats) -> Bools:
    """Ask whether the interval is wider than a smaller goal."""
    assert goal.within is not None
    return cannot_stop(
        design,
        Goal(goal.metric, 0.9 * goal.within, goal.budget, goal.confidence),
        metric,
        state,
        middle,
    )


def test_the_middle_may_be_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    right = runs_of("f1", 0.06, Design(), every_look=True)
    use(off_middle, monkeypatch)
    check_same(runs_of("f1", 0.06, Design()), right)


@pytest.mark.parametrize(
    ("wrong", "metric", "within", "design"),
    [(too_soon, "recall", 0.1, Design()), (too_soon, "f1", 0.05, Design())],
)
def test_a_rule_that_leaves_out_too_much_is_caught(
    wrong: Skip, metric: str, within: float, design: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = runs_of(metric, within, design, every_look=True)
    use(wrong, monkeypatch)
    with pytest.raises(AssertionError):
        check_same(runs_of(metric, within, design), right)
