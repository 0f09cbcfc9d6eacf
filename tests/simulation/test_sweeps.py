"""What the pictures show, as numbers."""

from dataclasses import replace

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.goal import Goal
from assay.simulation import Population, Task, simulate
from assay.simulation.sweeps import (
    FLOOR,
    LIMIT,
    Question,
    budget_grid,
    half_widths,
    labels_by_value,
    share_of_limit,
    variance_by_bins,
    variance_by_labels,
)

_rng = np.random.default_rng(3)
SCORE = _rng.beta(3, 1.5, 20_000)
TRUTH = _rng.random(20_000) < SCORE


def at_threshold(threshold: float) -> Population:
    return Population(y_true=TRUTH, y_score=SCORE, threshold=threshold)


QUESTION = Question(
    population=at_threshold(0.5),
    names=("random", "perc-opt", "eqsz-opt-a1"),
    bins=None,
    metrics=("precision",),
    within=0.05,
    budgets=None,
    confidence=0.95,
    replications=100,
    seed=1,
)
BY_WIDTH = replace(QUESTION, names=("perc-opt",))
RESULT = simulate(
    QUESTION.population, designs=BY_WIDTH.designs, within=0.05, replications=100, seed=1, workers=1
)


def test_labels_fall_as_the_precision_rises_and_none_falls_below_the_limit() -> None:
    curves = labels_by_value(BY_WIDTH, at_threshold)
    assert set(curves.y) == {"random", "perc-opt", LIMIT, FLOOR}
    assert (np.diff(curves.x) > 0).all()
    assert curves.x[-1] - curves.x[0] > 0.15
    # Neighbours' values are at most twice as far apart as if they were evenly spaced.
    assert np.diff(curves.x).max() < 2 * (curves.x[-1] - curves.x[0]) / (curves.x.size - 1)
    for name in ("random", "perc-opt", LIMIT):
        assert curves.y[name][-1] < curves.y[name][0]
    assert (np.maximum(curves.y[LIMIT], curves.y[FLOOR]) < curves.y["random"]).all()


def test_budgets_are_those_given_or_reach_random_samplings_labels() -> None:
    given = replace(QUESTION, within=None, budgets=(30, 60, 90))
    assert budget_grid(given, RESULT) == [30, 60, 90]
    grid = budget_grid(QUESTION, RESULT)
    assert grid == sorted(set(grid))
    assert abs(grid[-1] - RESULT.rows[0].labels_mean) <= 1
    few = at_threshold(float(np.sort(SCORE)[-25]))
    assert budget_grid(replace(given, population=few, budgets=(1000,)), RESULT)[-1] == 25


def test_a_design_is_left_out_where_the_budget_does_not_cover_its_first_round() -> None:
    curves = variance_by_labels(QUESTION, [20, 200])
    assert np.isnan(curves.y["eqsz-opt-a1"]).tolist() == [True, False]
    assert not np.isnan(curves.y["perc-opt"]).any()
    by_bins = variance_by_bins(QUESTION, 40)
    assert by_bins.x.tolist() == list(range(2, 11))
    assert np.isnan(by_bins.y["eqsz-opt-a1"]).tolist() == [bins > 8 for bins in range(2, 11)]


def test_the_band_holds_nine_runs_in_ten() -> None:
    """Against the normal interval of simple random samples, whose labels are binomial."""
    items = QUESTION.population
    design = replace(Design.simple_random(), replacement=True, interval="normal")
    task = Task.of_one("x", items.frame(design, "precision"), design, Goal("precision", budget=200))
    path = half_widths(task, replications=4000, seed=1)
    p = np.random.default_rng(2).binomial(200, items.value("precision"), 4000) / 200
    widths = 1.959964 * np.sqrt(p * (1 - p) / 199)
    low, high = np.percentile(widths, (5, 95))
    # 4,000 runs know these percentiles to less than 0.5%.
    assert path.low[-1] == pytest.approx(low, rel=0.03)
    assert path.high[-1] == pytest.approx(high, rel=0.03)
    assert path.mean[-1] == pytest.approx(widths.mean(), rel=0.005)


def test_the_share_of_the_limit_is_by_the_error_that_was_made() -> None:
    shares = share_of_limit(BY_WIDTH, RESULT)
    row = RESULT.rows[1]
    random = BY_WIDTH.population.random_variance("precision")
    spent = row.labels_mean * row.rmse**2 / random
    assert shares == {"perc-opt": pytest.approx((1 - spent) / (1 - RESULT.population["limit"]))}
