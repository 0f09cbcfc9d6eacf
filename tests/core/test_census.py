"""What is known in full is told so, in other units, and everything else stays as it was."""

import numpy as np

from assay.core.estimate import estimate
from assay.core.forms import ratio
from assay.core.metrics import METRICS
from assay.core.tallies import Tallies
from assay.core.unjudged import swing
from assay.core.weights import DistinctItems, settle

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
