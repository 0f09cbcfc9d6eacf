"""A plan says what campaigns then take, where the truth is what it was supposed to be.

Seeds are fixed. The labels of 60 evaluations have a mean with a standard error of 1 to 2%, and so
has what they are compared with: a right plan is outside 10% less than once in 10,000 seeds.
"""

import json
from time import process_time
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import assay
from assay.core.types import Bools, Floats
from assay.simulation import Population, Simulation, simulate
from assay.simulation.planning.result import Planning
from tests.kinds import finish

N = 40_000
RUNS = 60
WITHIN = 0.06
NEAR = 0.10
COLUMNS: dict[str, Any] = {"score": "p", "threshold": 0.5}


def scores() -> Floats:
    return np.random.default_rng(1).beta(3, 1, N)


def truth_of(rate: Floats) -> Bools:
    return np.random.default_rng(2).random(rate.size) < rate


def simulated(truth: Bools, metric: str = "precision") -> dict[str, float]:
    population = Population(y_true=truth, y_score=scores(), threshold=0.5)
    found: Simulation = simulate(
        population,
        designs=["default"],
        metric=metric,
        within=WITHIN,
        replications=RUNS,
        workers=1,
        seed=5,
    )
    return {row.design: row.labels_mean for row in found.rows}


def planned(score: ArrayLike | None = None, **changed: Any) -> Planning:
    """Return the plan for these scores, or for those above."""
    given = {**COLUMNS, "within": WITHIN, "replications": RUNS, **changed}
    return assay.plan({"p": scores() if score is None else score}, **given)


@pytest.fixture(scope="module")
def by_score() -> Planning:
    return planned(budget=300)


def labels_of(planning: Planning, design: str = "default") -> float:
    return next(row.labels.mean for row in planning.designs if row.design == design)


def test_a_plan_from_calibrated_scores_is_what_campaigns_take(by_score: Planning) -> None:
    found = simulated(truth_of(scores()))
    for design, labels in found.items():
        assert abs(labels_of(by_score, design) / labels - 1) < NEAR, design


def test_a_plan_from_scores_that_are_too_sure_is_not(by_score: Planning) -> None:
    found = simulated(truth_of(0.7 * scores()))
    assert abs(labels_of(by_score) / found["default"] - 1) > 2 * NEAR
    # The reading that doubts them says that it costs more.
    doubted = by_score.readings[1].labels
    assert doubted is not None
    assert doubted.mean > labels_of(by_score)


def test_labels_from_before_make_up_for_scores_that_are_wrong() -> None:
    truth = truth_of(0.7 * scores())
    drawn = np.random.default_rng(3).choice(N, 1500, replace=False)
    planning = planned(labels={int(item): bool(truth[item]) for item in drawn})
    assert len(planning.readings) == 1
    assert "1,500 labels drawn at random" in planning.readings[0].name
    # What the labels themselves leave open is about 3% here.
    assert abs(labels_of(planning) / simulated(truth)["default"] - 1) < 2 * NEAR


@pytest.fixture(scope="module")
def earlier() -> assay.Campaign:
    truth = truth_of(0.7 * scores())
    campaign = assay.create_campaign(
        {"p": scores()}, **COLUMNS, within=WITHIN, name="<b>last week</b>", storage="sqlite://"
    )
    finish(campaign, truth, 100)
    return campaign


def test_an_earlier_campaign_tells_what_the_next_one_takes(earlier: assay.Campaign) -> None:
    planning = planned(np.random.default_rng(9).beta(3, 1, N // 2), like=earlier)
    assert abs(labels_of(planning) / earlier.estimate().labels - 1) < 2 * NEAR
    assert "<b>" in str(planning)
    assert "<b>last" not in planning._repr_html_()
    json.dumps(planning.to_dict(), allow_nan=False)


def test_a_side_without_labels_is_taken_from_the_scores(earlier: assay.Campaign) -> None:
    planning = planned(within=None, budget=50, like=earlier, metric="recall", replications=5)
    assert any("these say nothing about items predicted no" in each for each in planning.cautions)


def test_a_budget_of_random_labels_gives_what_the_formula_says(by_score: Planning) -> None:
    yes = scores()[scores() >= 0.5]
    rate, share = yes.mean(), 300 / yes.size
    (random,) = (row.half_width.mean for row in by_score.budgets if row.design == "random")
    formula = 1.96 * np.sqrt(rate * (1 - rate) / 300 * (1 - share))
    assert abs(random / formula - 1) < 0.05
    assert abs(random / (formula * np.sqrt(300 / 250)) - 1) > 0.05  # of 250 labels it is not


def test_nothing_takes_more_than_the_worst_case_and_nothing_more_than_all(
    by_score: Planning,
) -> None:
    most = by_score.worst_case
    assert most is not None
    assert labels_of(by_score) < labels_of(by_score, "random") < most
    assert (
        abs(most / assay.Goal("precision", within=WITHIN).worst_case - 1) < 0.15
    )  # in rounds of 20
    few = planned(np.linspace(0.5, 1, 90), within=0.05, replications=5)
    assert few.worst_case is not None
    assert few.worst_case <= 90


def test_it_says_when_stratifying_pays_and_when_not(by_score: Planning) -> None:
    assert "pays" in by_score.advice[0]
    assert "does not pay" not in by_score.advice[0]
    flat = 0.5 + 0.01 * scores()  # hardly tell anything apart
    planning = planned(flat, within=0.1, replications=20)
    assert "does not pay" in planning.advice[0]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"within": None}, "no goal"),
        ({"within": 0.7}, "within must be a number between 0 and 0.5"),
        ({"budget": 0}, "budget must be a whole number of at least 1"),
        ({"metric": "presicion"}, "unknown metric 'presicion'"),
        ({"score": "q"}, "column 'q' not found"),
        ({"score": None, "predicted": "said", "threshold": None}, "there are no scores"),
        ({"scale": "per mille"}, "unknown scale 'per mille'"),
        ({"replications": 0}, "replications must be a whole number of at least 1"),
        ({"labels": {}}, "there are no labels"),
        ({"labels": {99: True}}, "1 of 1 labels in the mapping are of items that are not among"),
        ({"labels": {0: "perhaps"}}, "perhaps"),
        ({"labels": "missing.csv"}, "missing.csv"),
        ({"metric": "recall", "threshold": 0.95}, "no row of"),
    ],
)
def test_what_cannot_be_planned_is_refused(changed: dict[str, object], problem: str) -> None:
    columns = {"p": [0.9, 0.8, 0.2], "said": [True, True, False]}
    given: dict[str, Any] = {**COLUMNS, "within": 0.1, "replications": 5, **changed}
    with pytest.raises(assay.InputError, match=problem):
        assay.plan(columns, **given)


def test_no_half_width_is_too_narrow_for_a_plan_in_seconds() -> None:
    score = np.random.default_rng(1).beta(3, 1, 900)
    before = process_time()
    found = planned(score, within=1e-5, replications=10)
    assert process_time() - before < 30  # it would not end, if it were not capped
    labels = {row.design: row.labels for row in found.designs}
    items = int((score >= 0.5).sum())
    assert labels["default"].as_labels == (f"{items:,}", f"{items:,} to {items:,}")
    assert labels["bennett-carvalho"].as_labels == (f"more than {items:,}", f"{items:,} or more")
    assert any(each.startswith("guaranteed is omitted") for each in found.cautions)


def test_campaigns_that_tell_nothing_about_one_metric_are_refused(earlier: assay.Campaign) -> None:
    table = {"p": scores()[:200]}
    goal: dict[str, Any] = {**COLUMNS, "budget": 10}
    several = assay.create_campaign(
        table, classifiers={"cnn": COLUMNS, "mve": COLUMNS}, metrics=["precision"], budget=10
    )
    random = assay.Design.simple_random()
    mixed = assay.create_campaign(table, metric="accuracy", design=random, **goal)
    for campaign, problem in (
        (several, "is of 2 classifiers, and a plan is for one"),
        (mixed, "mix both"),
    ):
        with pytest.raises(assay.InputError, match=problem):
            assay.plan(table, like=campaign, **goal)
    with pytest.raises(assay.InputError, match="probability scores"):
        assay.plan({"p": [-2.0, 3.0]}, score="p", threshold=0.0, budget=2, like=earlier)
    with pytest.raises(assay.InputError, match="labels or an earlier campaign"):
        assay.plan(table, like=earlier, labels={0: True}, **goal)


def test_a_budget_alone_gives_the_interval_for_one_look_and_one_beside_a_width_does_not() -> None:
    def widths(within: float | None) -> dict[str, float]:
        plan = planned(within=within, budget=120, replications=20, seed=1)
        return {row.design: row.half_width.mean for row in plan.budgets}

    alone, beside = widths(None), widths(0.05)
    assert list(alone) == ["default", "random"]
    assert alone["default"] == pytest.approx(beside["fixed"])
    assert beside["default"] > 1.01 * beside["fixed"]
