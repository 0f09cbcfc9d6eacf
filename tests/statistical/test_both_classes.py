"""Balanced accuracy and Matthews correlation are right when they stop, by simulation."""

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.types import Floats
from tests.replays import replayed

RUNS = 700
SIZES = np.array([1500.0, 1500.0, 1500.0, 500.0, 1500.0, 8000.0, 25_000.0])
SAYS_YES = np.arange(7) < 3
COMMON = np.array([0.97, 0.9, 0.6, 0.35, 0.2, 0.05, 0.01])
RARE = np.array([0.6, 0.3, 0.08, 0.05, 0.03, 0.01, 0.001])
CELLS = [
    ("balanced_accuracy", COMMON, 0.05),
    ("balanced_accuracy", RARE, 0.1),
    ("matthews_correlation", COMMON, 0.08),
    ("matthews_correlation", RARE, 0.1),
]


@pytest.mark.parametrize(("name", "rates", "within"), CELLS)
def test_the_interval_holds_the_truth_at_the_stop(name: str, rates: Floats, within: float) -> None:
    """Below 646 of 700 there is a chance of 1 in 1,200 at 95%.

    An interval two thirds as wide about the same middle is found out.
    """
    metric, positives = ratio(name, SIZES, SAYS_YES), np.round(SIZES * rates)
    truth = float(metric.value(positives))
    goal = Goal(name, within=within)
    runs = replayed(Design(), goal, SIZES, positives, runs=RUNS, seed=17, says_yes=SAYS_YES)
    middle, half = (runs.low + runs.high) / 2, (runs.high - runs.low) / 2
    assert (half <= within).all()
    assert int((np.abs(middle - truth) <= half).sum()) >= 646
    assert int((np.abs(middle - truth) <= half * 2 / 3).sum()) < 646
