"""A plan for a threshold says what campaigns then find, where the truth is what was supposed.

Seeds are fixed. A share of 50 or 60 campaigns has a standard error of at most 0.07, and so has
what it is compared with, or a smaller one: a right plan is outside 0.25 about once in 100
seeds where half of the campaigns have a threshold, and means of the share of the best recall, which
vary less, are outside 0.15 less often.
"""

import functools
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.profile import Profile
from assay.core.thresholds import ThresholdRun
from assay.core.types import Bools, Floats
from assay.errors import AssayError
from assay.simulation import Population, simulate
from assay.simulation.planning.assumed import Supposed
from assay.simulation.planning.result import Planning, ThresholdRow
from assay.simulation.thresholds import Thresholds, ThresholdTask

N, RUNS, BUDGET = 30_000, 50, 240
NEAR_SHARE, NEAR = 0.25, 0.15
QUESTION = "precision >= 0.6"


def scores() -> Floats:
    return np.random.default_rng(1).beta(1, 3, N)


def truth_of(rate: Floats) -> Bools:
    return np.random.default_rng(2).random(rate.size) < rate


def planned(**more: Any) -> Planning:
    given: dict[str, Any] = {"score": "p", "threshold_for": QUESTION, "budget": BUDGET}
    return assay.plan({"p": scores()}, **(given | {"replications": RUNS} | more))


def row_of(planning: Planning, reading: int = 0) -> ThresholdRow:
    name = planning.readings[reading].name
    rows = [row for row in planning.thresholds if row.supposed == name]
    return next(row for row in rows if row.budget == planning.budget)


def simulated(truth: Bools, question: str = QUESTION) -> tuple[float, float]:
    """Return the share of campaigns with a threshold, and that of the best recall."""
    population = Population(y_true=truth, y_score=scores(), threshold=0.5)
    asked: dict[str, Any] = {"threshold_for": question, "budget": BUDGET, "seed": 5, "workers": 1}
    found = simulate(population, replications=60, **asked)
    told = next(row for row in found.rows if row.design == "default").threshold
    assert told is not None
    assert told.share_of_best is not None
    return told.certified, told.share_of_best


@pytest.fixture(autouse=True)
def no_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is about intervals at a threshold, which take most of the time."""
    of_frame = functools.partial(ThresholdTask.of_frame, intervals=0)
    monkeypatch.setattr(ThresholdTask, "of_frame", of_frame)


@pytest.fixture(scope="module")
def by_score() -> Planning:
    return planned()


@pytest.mark.parametrize("question", [QUESTION, "recall >= 0.8"])
def test_a_plan_from_calibrated_scores_is_what_campaigns_find(question: str) -> None:
    certified, share = simulated(truth_of(scores()), question)
    row = row_of(planned(threshold_for=question))
    assert row.share_of_best is not None
    assert row.certified == pytest.approx(certified, abs=NEAR_SHARE)
    assert row.share_of_best == pytest.approx(share, abs=NEAR)


def test_a_plan_from_scores_that_are_too_sure_is_not(by_score: Planning) -> None:
    """The wrong variant: the same plan beside another truth."""
    certified, _ = simulated(truth_of(0.65 * scores()))
    assert row_of(by_score).certified - certified > NEAR_SHARE


def test_labels_from_before_make_up_for_scores_that_are_wrong(by_score: Planning) -> None:
    truth = truth_of(0.65 * scores())
    drawn = np.random.default_rng(3).choice(N, 3000, replace=False)
    planning = planned(labels={int(item): bool(truth[item]) for item in drawn})
    assert [reading.name for reading in planning.readings] == ["3,000 labels drawn at random"]
    certified, _ = simulated(truth)
    assert row_of(planning).certified == pytest.approx(certified, abs=NEAR_SHARE)
    assert row_of(planning).certified < row_of(by_score).certified


@pytest.mark.parametrize("how", [{"threshold": 0.4}, {"threshold_for": QUESTION}])
def test_an_earlier_campaign_tells_what_the_next_one_finds(
    how: dict[str, Any], by_score: Planning
) -> None:
    """Its strata are on either side of its threshold, or a ladder; both tell of all scores."""
    truth = truth_of(0.65 * scores())
    asked: dict[str, Any] = {} if "threshold_for" in how else {"metric": "accuracy"}
    campaign = assay.create_campaign(
        {"p": scores()}, score="p", budget=600, name="last", storage="sqlite://", **how, **asked
    )
    while not campaign.done:
        campaign.tell({item.id: bool(truth[int(item.id)]) for item in campaign.ask(100)})
    planning = planned(like=campaign)
    assert "labels of campaign 'last'" in planning.readings[0].name
    assert row_of(planning).certified < row_of(by_score).certified


def test_a_campaign_of_predicted_labels_does_not_tell() -> None:
    asked: dict[str, Any] = {"score": "p", "predicted": "said", "budget": 50}
    table = {"p": scores(), "said": scores() > 0.4}
    campaign = assay.create_campaign(table, **asked, name="said", storage="sqlite://")
    with pytest.raises(AssayError, match="are not by score alone"):
        planned(like=campaign)


def test_without_a_budget_it_tells_when_it_is_settled() -> None:
    rng = np.random.default_rng(6)
    apart = np.concatenate([rng.beta(50, 1, 2000), rng.beta(1, 50, 3000)])
    planning = assay.plan({"p": apart}, score="p", threshold_for=QUESTION, replications=5)
    first = [row for row in planning.thresholds if row.supposed == planning.readings[0].name]
    assert [row.budget for row in first] == [300, 1000, 3000, None]
    assert planning.labels == first[-1].labels
    assert planning.labels is not None
    assert planning.labels.mean < 1000
    assert first[-1].settled == 1
    assert "until it is settled" in planning.headline[0]


def test_a_floor_that_holds_nowhere_is_told() -> None:
    planning = planned(threshold_for="precision >= 0.9999", budget=60, replications=5)
    assert "there is none" in planning.headline[0]
    assert all("no threshold keeps" in line for line in planning.advice)
    assert all(row.certified == 0 and row.share_of_best is None for row in planning.thresholds)


# The parts.


def test_predicted_labels_are_left_aside() -> None:
    """Cells of yes and no overlap here; together they have all items and all positives."""
    score = np.round(scores(), 3)
    said = np.random.default_rng(4).random(N) < 0.5
    supposed = Supposed.of(assay.from_arrays(y_score=score, y_pred=said), "probability")
    supposed = supposed.calibrated()
    found = supposed.by_score
    values, counts = np.unique(score, return_counts=True)
    assert found.profile.total == N
    where = np.searchsorted(found.profile.low, values, side="right") - 1
    assert (np.bincount(where, counts) == found.profile.count).all()
    assert found.outcomes.sum() == pytest.approx(score.sum(), rel=1e-3)
    frame = supposed.ladder(Design.ladder())
    assert frame.sizes.sum() == N
    alone = assay.plan(
        assay.from_arrays(y_score=score, y_pred=said),
        threshold_for=QUESTION,
        budget=100,
        replications=5,
    )
    assert alone.thresholds


def task_of_two_truths() -> ThresholdTask:
    """Return a task whose even replications have a floor that holds everywhere, and odd nowhere."""
    sizes = np.full(20, 500.0)
    positives = np.stack([0.95 * sizes, 0.2 * sizes] * 10)
    goal = Goal(None, budget=200, threshold_for="precision >= 0.6")
    run = ThresholdRun(goal, sizes)
    return ThresholdTask("two", run, Thresholds(sizes, positives), 200, intervals=4)


def test_every_replication_has_its_own_truth() -> None:
    found = task_of_two_truths().replay(20, key=[1])
    assert found.certified[::2].all()
    assert not found.certified[1::2].any()
    assert not found.wrong.any()
    assert (found.place[1::2] == -1).all()
    assert found.worth[::2] == pytest.approx((found.place[::2] + 1) / 20)
    assert found.truth[2, 0] == pytest.approx(0.95)


def test_profiles_of_one_label_stay_as_they_are() -> None:
    cells = np.array([0.1, 0.5, 0.9])
    profile = Profile(low=cells, high=cells, mean=cells, count=np.array([2, 1, 4]))
    supposed = Supposed("here", "probability", {True: profile}, {True: cells})
    assert supposed.by_score.profile.low == pytest.approx(cells)
    assert supposed.by_score.outcomes == pytest.approx(cells * profile.count)
