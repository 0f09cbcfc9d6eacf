"""A budget without a width: at its end the interval for one look, before it the protected one.

Bounds leave two standard errors of 1,000 runs, so a test that should hold fails with a chance
below 3% a cell; seeds are fixed.
"""

from typing import Any

import numpy as np
import pytest

import assay
from assay.core.design import Design
from assay.core.engine import look
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.state import State
from assay.core.types import Bools, Floats, Ints
from assay.labelling import history_in
from assay.simulation import of_several, replay
from tests.joint_population import make as population
from tests.replays import replayed

RUNS = 1_000
AT_LEAST = 0.95 - 2 * np.sqrt(0.95 * 0.05 / RUNS)
YES = np.arange(16) >= 10
EQUAL, UNEVEN = np.full(16, 3_000.0), np.round(np.geomspace(20_000, 400, 16))
RARE = np.where(YES, np.linspace(0.5, 0.99, 16), np.geomspace(0.0005, 0.08, 16))
ALL = np.ones(16, dtype=np.bool_)
CELLS: dict[str, tuple[Floats, Bools, Floats, int, float]] = {
    # sizes, what is called yes, rates of positives, budget, width of the old interval at least
    "precision": (EQUAL, ALL, np.linspace(0.4, 0.95, 16), 500, 1.015),
    "recall": (UNEVEN, YES, RARE, 500, 1.15),
    "accuracy": (UNEVEN, YES, RARE, 300, 1.15),
}


@pytest.mark.parametrize("metric", CELLS)
def test_at_the_end_it_is_right_and_narrower_than_it_was(metric: str) -> None:
    sizes, yes, rates, budget, wider = CELLS[metric]
    form, positives, goal = (
        ratio(metric, sizes, yes),
        np.round(sizes * rates),
        Goal(metric, budget=budget),
    )
    before = np.zeros(RUNS)

    def ended(which: Ints, state: State) -> None:
        early = look(Design(), goal, form, state.changed(spent=None))
        before[which] = early.high - early.low

    runs = replayed(Design(), goal, sizes, positives, runs=RUNS, seed=5, says_yes=yes, ended=ended)
    low, high, truth = runs.low[:, 0], runs.high[:, 0], form.value(positives)
    assert np.mean((low <= truth) & (truth <= high)) >= AT_LEAST
    assert before.mean() > wider * np.mean(high - low)  # the wrong variant


SIZE = 2_000
SCORE = np.random.default_rng(1).random(SIZE).round(3)
TRUTH = np.random.default_rng(2).random(SIZE) < SCORE
TOPIC = np.array(["a", "b", "c"])[np.random.default_rng(3).choice(3, SIZE, p=[0.6, 0.3, 0.1])]
COLUMNS = {"p": SCORE, "views": 1 + np.arange(SIZE) % 5, "said": np.where(SCORE < 0.8, TOPIC, "a")}
ONE: dict[str, Any] = {"score": "p", "threshold": 0.5}


@pytest.mark.parametrize(
    ("kind", "answers"),
    [
        ({**ONE, "metric": "precision"}, TRUTH),
        ({**ONE, "metric": "f1"}, TRUTH),
        ({**ONE, "metric": "recall", "sample_weight": "views"}, TRUTH),
        ({**ONE, "metrics": ["precision", "recall", "accuracy"]}, TRUTH),
        ({"predicted": "said", "metrics": ["accuracy", "recall:b"]}, TOPIC),
    ],
)
def test_campaigns_of_every_kind_end_with_the_interval_for_one_look(
    kind: dict[str, Any], answers: Any
) -> None:
    """Default and fixed campaigns with one seed draw the same items."""
    ours, fixed = (
        assay.create_campaign(COLUMNS, **kind, budget=120, seed=4, design=design)
        for design in (None, Design.fixed())
    )
    while not ours.done:
        early, unprotected = ours.estimates(), fixed.estimates()
        for campaign in (ours, fixed):
            campaign.tell({item.id: answers[int(item.id)].item() for item in campaign.ask(30)})
    for name, last in ours.estimates().items():
        once = fixed.estimates()[name]
        assert (last.value, last.low, last.high) == (once.value, once.low, once.high)
        assert last.holds == "95% at the budget of 120"
        assert (early[name].low, early[name].high) != (
            unprotected[name].low,
            unprotected[name].high,
        )
        assert early[name].half_width > unprotected[name].half_width
        assert early[name].holds == "95% if you stop now; at the budget of 120 it is narrower"
        assert early[name].holds in early[name].notes
        assert history_in(ours.desk.current())[name][-1].high == last.high


def test_simulated_runs_of_several_targets_end_so_too() -> None:
    made = population(3, size=8_000, classifiers=2, heaps=None)
    metrics, protected = ["precision:a", "recall:b", "f1:a - f1:b"], np.zeros((100, 3))
    default, fixed = (
        made.joint(metrics, budget=200, design=design) for design in (Design(), Design.fixed())
    )

    def ended(which: Ints, state: State) -> None:
        looks = default.look(state).looks  # which does not know that the budget is used up
        protected[which] = np.stack([now.high - now.low for now in looks], axis=-1)

    ours, once = (
        replay(
            *of_several(joint, made.outcomes),
            replications=100,
            rng=np.random.default_rng(7),
            ended=told,
        )
        for joint, told in ((default, ended), (fixed, None))
    )
    assert np.array_equal(ours.low, once.low)
    assert np.array_equal(ours.high, once.high)
    assert (protected > ours.high - ours.low).mean() > 0.99  # the wrong variant
