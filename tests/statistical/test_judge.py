"""A judge's figures where labels were drawn for a classifier's recall, in adaptive campaigns."""

import numpy as np

from assay.core.design import Design
from assay.core.goal import Goal
from benchmarks.judge import NAMES, known, population, quantity_of, unweighted
from benchmarks.slices import covers, simulate

RUNS = 200


def test_intervals_hold_in_adaptive_campaigns() -> None:
    """At 95%, 200 runs: coverage below 0.9 has a chance of 1 in 800 for each of five figures.

    The judge makes the classifier's mistakes, where most labels are: these as they are, without the
    strata's weights, are wrong nearly always.
    """
    rng, goal = np.random.default_rng(20), Goal("recall", within=0.05)
    cut = population("rare", "like the classifier", goal.metric, Design(), rng)
    labels = simulate(cut, goal, Design(), RUNS, rng)
    for name in NAMES:
        quantity = quantity_of(cut, name, goal.metric)
        found, whole = (known(cut, quantity, each) for each in (labels, cut.items[None]))
        assert covers(found.low, found.high, whole.value).mean() >= 0.9, name
    assert unweighted(cut, labels).mean() < 0.3
