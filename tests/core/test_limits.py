"""The honest limit against direct computation, and where it is told."""

import numpy as np
import pytest

import assay
from assay.core.design import Design
from assay.core.engine import look
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.limits import clean_floor, honest_limit
from assay.core.state import State
from assay.core.tallies import Tallies

YES = np.arange(8) >= 5
N = np.array([40_000.0, 30_000, 20_000, 20_000, 10_000, 3_000, 3_000, 2_000])
CLEAN = YES.astype(np.float64)  # no error anywhere


def fewest(metric: str, within: float, design: Design) -> int:
    """Return the fewest labels that find nothing and leave an interval that is narrow enough."""
    form, goal = ratio(metric, N, YES), Goal(metric, within=within)
    if design.stop == "budget":
        goal = Goal(metric, budget=1)
    c, _ = form.plane(np.asarray(1 - 2 * within), N * CLEAN)
    share = np.abs(c) * N / (np.abs(c) * N).sum()
    least, most = 1, 100_000
    while most - least > 1:
        labels = (least + most) // 2
        n = np.minimum(labels * share, N)
        state = State.start(N, replacement=False)
        told = Tallies.trusted(N, n, n * YES, 0 * N)
        now = look(design, goal, form, state.changed(tallies=told, dealt=np.maximum(n, 3)))
        least, most = (least, labels) if now.half_width <= within else (labels, most)
    return most


@pytest.mark.parametrize("within", [0.01, 0.03])
@pytest.mark.parametrize("metric", ["precision", "accuracy", "recall", "f1"])
def test_the_floor_is_what_an_interval_without_finds_takes(metric: str, within: float) -> None:
    """The likelihood takes 3.37 W / n for one look, the exact interval 3.69, the default 4.40."""
    floor = clean_floor(ratio(metric, N, YES), N, CLEAN, within=within, confidence=0.95)
    assert fewest(metric, within, Design.fixed()) / floor == pytest.approx(3.37 / 3.69, abs=0.05)
    ours = fewest(metric, within, Design()) / floor
    if metric == "recall":  # which allows for a stop where the positives came out too many, too
        assert 1.5 < ours < 1.7
    else:
        assert ours == pytest.approx(4.4 / 3.69, abs=0.06)
    # The wrong variant: the width of both sides, where one end stays at the value.
    assert not 0.8 < fewest(metric, within, Design.fixed()) / (2 * floor) < 1.2


def test_of_precision_it_is_the_clean_share() -> None:
    sizes, rate = np.array([6e6, 4e6]), np.array([1.0, 0.7])
    form = ratio("precision", sizes, np.array([True, True]))
    found = honest_limit(form, sizes, rate, within=0.01, confidence=0.95)
    # Of the dirty part so much is taken as may show nothing: 0.3 of it weigh ln 2 / 3.69 of 0.02.
    share = 0.6 + np.log(2) / -np.log(0.025) * 0.02 / 0.3
    assert found.clean == pytest.approx(-np.log(0.025) * share / 0.02, rel=1e-3)
    assert found.design == pytest.approx(1.96**2 * (0.4**2 * 0.21) / 0.01**2, rel=1e-3)
    assert found.labels == found.design > found.clean


def test_a_finite_mass_takes_no_more_than_its_items() -> None:
    few = N / 100
    floor = clean_floor(ratio("recall", few, YES), few, CLEAN, within=0.01, confidence=0.95)
    assert 0.5 * few[~YES].sum() < floor < few[~YES].sum()


def test_simulations_and_plans_tell_it_where_the_old_limit_is_out_of_reach() -> None:
    rng = np.random.default_rng(5)
    score = rng.beta(0.01, 0.01, 40_000).round(4)
    population = assay.Population(y_true=rng.random(40_000) < score, y_score=score, threshold=0.5)
    result = assay.simulate(
        population,
        designs=["default"],
        metric="accuracy",
        within=0.01,
        replications=100,
        seed=1,
        workers=1,
    )
    told, row = result.to_dict()["population"], result.rows[1]
    limit = population.honest_limit("accuracy", 0.01)
    assert (told["limit_labels"], told["floor_labels"]) == (limit.design, limit.clean)
    assert limit.labels == limit.clean > 2 * limit.design
    assert row.labels_mean / limit.design > 4  # the wrong variant: nobody can reach it
    assert row.of_limit == row.labels_mean / limit.labels
    assert 1 < row.of_limit < 2.5
    plan = assay.plan(
        {"p": score}, score="p", threshold=0.5, metric="accuracy", within=0.01, replications=20
    )
    assert plan.limit is not None
    assert plan.limit.clean == pytest.approx(limit.clean, rel=0.25)
    assert "confirming that clean strata are clean needs" in str(plan)
    assert plan.to_dict()["limit"] == {"design": plan.limit.design, "clean": plan.limit.clean}
