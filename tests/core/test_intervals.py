"""Intervals against published figures, scipy and exact coverage; the honest limit."""

from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

import assay
from assay.core.betting import Bets, grid
from assay.core.design import Design
from assay.core.engine import look
from assay.core.estimate import estimate
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.intervals import (
    INTERVALS,
    Evidence,
    effective_size,
    jeffreys,
    normal,
    of_difference,
    wilson,
)
from assay.core.limits import clean_floor, honest_limit
from assay.core.metrics import METRICS
from assay.core.state import State
from assay.core.tallies import Tallies
from assay.core.types import Floats
from assay.core.unjudged import swing
from assay.core.weights import DistinctItems, settle
from assay.errors import InputError


def of_random_sample(x: float, n: float) -> tuple[Floats, Floats, Floats]:
    """Return the estimate, its unbiased variance and the size of a simple random sample."""
    p = x / n
    return np.array(p), np.array(p * (1 - p) / (n - 1)), np.array(float(n))


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize(("x", "n"), [(0, 7), (3, 7), (7, 7), (93, 100), (1, 1000)])
def test_wilson_is_scipys(x: int, n: int, confidence: float) -> None:
    ours = wilson(*of_random_sample(x, n), confidence)
    scipys = stats.binomtest(x, n).proportion_ci(confidence, method="wilson")
    np.testing.assert_allclose([float(end) for end in ours], [scipys.low, scipys.high], atol=1e-12)


@pytest.mark.parametrize(("x", "n"), [(0, 7), (3, 7), (7, 7), (93, 100)])
def test_jeffreys_is_the_beta_posterior(x: int, n: int) -> None:
    low, high = jeffreys(*of_random_sample(x, n), 0.95)
    posterior = stats.beta(x + 0.5, n - x + 0.5)
    assert float(low) == (0 if x == 0 else pytest.approx(posterior.ppf(0.025)))
    assert float(high) == (1 if x == n else pytest.approx(posterior.ppf(0.975)))


def test_normal_is_the_textbook_one_within_0_and_1() -> None:
    low, high = normal(np.array(0.9), np.array(0.01), np.array(50.0), 0.9)
    reach = NormalDist().inv_cdf(0.95) * 0.1
    assert (float(low), float(high)) == pytest.approx((0.9 - reach, 1.0))


@pytest.mark.parametrize("name", INTERVALS)
def test_without_labels_the_interval_is_everything(name: str) -> None:
    tallies = Tallies.start([10, 20])
    metric = ratio("precision", tallies.N, np.array([True, True]))
    moments = estimate(tallies, metric, "unbiased", replacement=False)
    bets = Bets.start(grid(0.02), ())
    evidence = Evidence(tallies, metric, moments, False, bets=bets)
    low, high = INTERVALS[name].ends(evidence, 0.95)
    assert (float(low), float(high)) == (0.0, 1.0)


def test_without_bets_there_is_no_betting_interval() -> None:
    tallies = Tallies.start([10])
    metric = ratio("precision", tallies.N, np.array([True]))
    moments = estimate(tallies, metric, "unbiased", replacement=False)
    with pytest.raises(InputError, match="needs the bets on every card"):
        INTERVALS["betting"].ends(Evidence(tallies, metric, moments, False), 0.95)


def test_effective_size_is_the_gain_of_the_design() -> None:
    # Halving the variance is worth twice the labels.
    size = effective_size(np.array(0.8), np.array(0.16 / 99 / 2), np.array(100.0))
    assert float(size) == pytest.approx(200)


def test_no_gain_is_claimed_where_no_variation_was_seen() -> None:
    # Half the population all right, half all wrong: Eq. 6 says the variance is 0.
    assert float(effective_size(np.array(0.5), np.array(0.0), np.array(10.0))) == 10


def test_a_bounded_stratum_widens_even_a_perfect_sample() -> None:
    value, n = np.array(1.0), np.array(20.0)
    certain = wilson(value, np.array(0.0), n, 0.95)[0]
    bounded = wilson(value, np.array(0.01), n, 0.95)[0]
    assert float(bounded) < float(certain)


def test_two_are_made_for_a_stop_and_one_of_them_for_every_look() -> None:
    assert [name for name, each in INTERVALS.items() if each.may_stop] == ["stratified", "betting"]
    assert [name for name, each in INTERVALS.items() if each.anytime] == ["betting"]
    assert all(each.reference for each in INTERVALS.values())


def test_the_interval_of_a_difference_is_newcombes() -> None:
    """56 of 70 less 48 of 80 is 0.2 [0.0524, 0.3339] by his tenth method (1998, table II).

    Distances from the wrong ends give another interval.
    """
    parts = []
    for x, n in ((56, 70), (48, 80)):
        low, high = wilson(*of_random_sample(x, n), 0.95)
        parts.append((x / n, float(low), float(high)))
    first, second = parts
    assert of_difference(first, second) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    turned = [(value, 2 * value - high, 2 * value - low) for value, low, high in parts]
    assert of_difference(*turned) != pytest.approx((0.0524, 0.3339), abs=5e-3)


YES = np.array([True, False, True])
N = np.array([4.0e9, 6.0e9, 5.0e9])
TALLIES = Tallies(N=N, n=[7, 5, 9], x=[6, 1, 4], u=[1, 0, 0])
ITEMS = np.array([3.0, 2.0, 50.0])
ONCE = DistinctItems(
    dealt=np.array([3.0, 2.0, 8.0]),
    judged=np.array([2.0, 2.0, 8.0]),
    unjudged=np.array([1.0, 0.0, 0.0]),
    judged_weight=np.array([3.0e9, 6.0e9, 2.0e9]),
    outcome_weight=np.array([2.5e9, 0.5e9, 1.0e9]),
    unjudged_weight=np.array([1.0e9, 0.0, 0.0]),
)


def test_every_metric_has_the_known_rates_and_the_others_as_drawn() -> None:
    totals = N * np.array([2.5 / 3.0, 0.5 / 6.0, 4 / 9])
    for name in METRICS:
        metric = ratio(name, N, YES)
        settled = settle(TALLIES, metric, ONCE, ITEMS)
        moments = estimate(settled.tallies, settled.metric, "unbiased", replacement=False)
        assert abs(float(moments.value) - float(metric.value(totals))) < 1e-12
        plain = estimate(TALLIES, metric, "unbiased", replacement=False)
        assert abs(float(plain.value) - float(metric.value(totals))) > 1e-3  # the draws' own rates


def test_what_is_judged_and_what_is_not_add_up_to_the_last_bit() -> None:
    tallies = settle(TALLIES, ratio("precision", N, YES), ONCE, ITEMS).tallies
    assert tallies.answers == TALLIES.answers
    assert (tallies.n + tallies.u == tallies.N).tolist() == [True, True, False]


def test_a_census_has_no_variance_but_for_what_could_not_be_judged() -> None:
    full = DistinctItems(
        dealt=ITEMS,
        judged=ITEMS,
        unjudged=0 * ITEMS,
        judged_weight=N,
        outcome_weight=0.3 * N,
        unjudged_weight=0 * N,
    )
    known = settle(TALLIES, ratio("accuracy", N, YES), full, ITEMS)
    assert float(estimate(known.tallies, known.metric, "unbiased", replacement=False).variance) == 0
    known = settle(TALLIES, ratio("prevalence", N, YES), ONCE, ITEMS)
    low, high = swing(known.tallies, known.metric)
    # A quarter of the first stratum is unknown, and the third is as it was drawn.
    third = 4 / 9 * 5e9
    assert abs(float(low) - (2.5e9 + 0.5e9 + third) / N.sum()) < 1e-6
    assert abs(float(high) - (3.5e9 + 0.5e9 + third) / N.sum()) < 1e-6


def test_what_was_found_leaves_only_so_much_possible() -> None:
    known = settle(TALLIES, ratio("prevalence", N, YES), ONCE, ITEMS)
    low, high = known.metric.extremes(known.least, known.most)
    # In the first a quarter is open, in the second nothing, in the third all but two fifths.
    assert abs(float(low) - (2.5e9 + 0.5e9 + 1e9) / N.sum()) < 1e-6
    assert abs(float(high) - (3.5e9 + 0.5e9 + 4e9) / N.sum()) < 1e-6


SAYS_YES = np.arange(8) >= 5
SIZES = np.array([40_000.0, 30_000, 20_000, 20_000, 10_000, 3_000, 3_000, 2_000])
CLEAN = SAYS_YES.astype(np.float64)  # no error anywhere


def fewest(metric: str, within: float, design: Design) -> int:
    """Return the fewest labels that find nothing and leave an interval that is narrow enough."""
    form, goal = ratio(metric, SIZES, SAYS_YES), Goal(metric, within=within)
    if design.stop == "budget":
        goal = Goal(metric, budget=1)
    c, _ = form.plane(np.asarray(1 - 2 * within), SIZES * CLEAN)
    share = np.abs(c) * SIZES / (np.abs(c) * SIZES).sum()
    least, most = 1, 100_000
    while most - least > 1:
        labels = (least + most) // 2
        n = np.minimum(labels * share, SIZES)
        state = State.start(SIZES, replacement=False)
        told = Tallies.trusted(SIZES, n, n * SAYS_YES, 0 * SIZES)
        now = look(design, goal, form, state.changed(tallies=told, dealt=np.maximum(n, 3)))
        least, most = (least, labels) if now.half_width <= within else (labels, most)
    return most


@pytest.mark.parametrize("within", [0.01, 0.03])
@pytest.mark.parametrize("metric", ["precision", "accuracy", "recall", "f1"])
def test_the_floor_is_what_an_interval_without_finds_takes(metric: str, within: float) -> None:
    """The likelihood takes 3.37 W / n for one look, the exact interval 3.69, the default 4.40."""
    floor = clean_floor(
        ratio(metric, SIZES, SAYS_YES), SIZES, CLEAN, within=within, confidence=0.95
    )
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
    few = SIZES / 100
    floor = clean_floor(ratio("recall", few, SAYS_YES), few, CLEAN, within=0.01, confidence=0.95)
    assert 0.5 * few[~SAYS_YES].sum() < floor < few[~SAYS_YES].sum()


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
