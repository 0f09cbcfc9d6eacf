"""A rare class labelled at random: 1,100 of 469,240 items are called yes, and recall is 0.88."""

import numpy as np
import pytest

import assay
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.intervals import INTERVALS
from assay.core.types import Bools, Floats
from assay.simulation import Runs
from tests.replays import replayed

ITEMS, CALLED, FOUND, MISSED = 469_240, 1100, 880, 120
SIZES = np.array([float(CALLED), float(ITEMS - CALLED)])
YES = np.array([True, False])
TRUTH = FOUND / (FOUND + MISSED)


def population() -> tuple[dict[str, Floats], Bools]:
    """Scores of all items, those called yes first, and what they are."""
    rng = np.random.default_rng(0)
    score = np.concatenate([rng.uniform(0.5, 1, CALLED), rng.uniform(0, 0.5, ITEMS - CALLED)])
    truth = np.zeros(ITEMS, dtype=bool)
    truth[rng.choice(CALLED, FOUND, replace=False)] = True
    truth[CALLED + rng.choice(ITEMS - CALLED, MISSED, replace=False)] = True
    return {"p": score}, truth


def test_a_campaign_does_not_stop_because_nothing_has_been_missed_yet() -> None:
    """Forty labels at random, one of them a positive that was found: recall was [1, 1].

    Six campaigns of sixty labels. Every interval on the way is as wide as it must be: some
    sixty labels cannot tell 120 missed positives in 468,140 items from none.
    """
    columns, truth = population()
    for seed in range(6):
        campaign = assay.create_campaign(
            columns,
            score="p",
            threshold=0.5,
            metric="recall",
            within=0.1,
            design=Design.simple_random(),
            seed=seed,
        )
        for _ in range(3):
            campaign.tell({item.id: truth[int(item.id)] for item in campaign.ask(20)})
            assert not campaign.done
            told = campaign.estimate()
            assert told.low <= TRUTH <= told.high
            assert told.high - told.low > 0.5


def run(runs: int, asked: int, *, every_look: bool = False) -> Runs:
    design, goal = Design.simple_random(), Goal("recall", within=0.1)
    outcomes, watch = np.array([FOUND, MISSED]), (lambda *_: None) if every_look else None
    return replayed(
        design, goal, SIZES, outcomes, runs=runs, seed=7, says_yes=YES, asked=asked, watch=watch
    )


def check_coverage(runs: Runs) -> None:
    """Check that 94% of the intervals or more hold the truth, less two standard errors.

    An interval that is right 95 times in 100 fails once in 1,000 seeds; the seed is fixed.
    """
    right = (runs.low <= TRUTH) & (runs.high >= TRUTH)
    assert float(right.mean()) >= 0.94 - 2 * np.sqrt(0.94 * 0.06 / len(right))


def test_random_labels_of_a_rare_class_are_right_when_they_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_coverage(run(400, asked=1000))
    check_coverage(run(60, asked=400))
    monkeypatch.setitem(INTERVALS, "stratified", INTERVALS["normal"])
    with pytest.raises(AssertionError):
        check_coverage(run(60, asked=400, every_look=True))
