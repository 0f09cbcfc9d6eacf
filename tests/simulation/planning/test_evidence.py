"""A period of a series and a comparison tell as much about the next period as any campaign.

Seeds are fixed. What is compared rests on the same labels but for a few, and on 30 evaluations
each, whose mean has a standard error of 3%.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.goal import Goal
from assay.core.types import Bools, Floats
from assay.errors import InputError
from assay.simulation.planning.advice import about_judge, judge_cautions, prices_of
from assay.simulation.planning.assumed import Supposed
from assay.simulation.planning.evidence import RankEvidence

N, RUNS, WITHIN, NEAR = 8_000, 30, 0.07, 0.10
COLUMNS: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.4}
SCORE = np.random.default_rng(1).beta(2, 1, 2 * N)


def rate_at(score: Floats) -> Floats:
    """Scores are far too low: at 0.4, eight in ten are positive."""
    return np.asarray(np.where(score < 0.4, 0.3, 0.8 + 0.2 * (score - 0.4) / 0.6))


TRUTH: Bools = np.random.default_rng(2).random(2 * N) < rate_at(SCORE)


def week(first: int, shift: float = 0.0) -> dict[str, object]:
    ids = np.arange(first, first + N)
    return {"id": ids, "p": np.clip(SCORE[ids] + shift, 0, 1)}


def answered(campaign: assay.Campaign) -> assay.Campaign:
    while not campaign.done:
        campaign.tell({item.id: bool(TRUTH[int(item.id)]) for item in campaign.ask(40)})
    return campaign


def planned(like: assay.Campaign | None) -> float:
    found = assay.plan(week(N), **COLUMNS, within=WITHIN, like=like, replications=RUNS)
    assert found.labels is not None
    return found.labels.mean


def precision_of(evidence: RankEvidence) -> float:
    """Return what the evidence makes of the precision on next week's items."""
    supposed = Supposed.of(assay.from_arrays(y_score=SCORE[N:], threshold=0.4), "probability")
    rates = evidence.draw(True, supposed, 200, np.random.default_rng(0))
    return float((rates @ supposed.profiles[True].count).mean() / supposed.predicted(True))


@pytest.fixture(scope="module")
def periods(tmp_path_factory: pytest.TempPathFactory) -> list[assay.Campaign]:
    storage = f"sqlite:///{tmp_path_factory.mktemp('series') / 'labels.db'}"
    same: dict[str, Any] = {"series": "spam", "storage": storage}
    first = assay.follow_campaign(week(0), period="w1", within=0.03, **COLUMNS, **same)
    answered(first)
    second = assay.follow_campaign(week(N // 2), period="w2", previous=week(0), **same)
    return [first, answered(second)]


def test_a_period_tells_what_a_plain_campaign_tells(periods: list[assay.Campaign]) -> None:
    plain = assay.create_campaign(week(0), **COLUMNS, within=0.03, design=assay.Design(bins=8))
    expected = planned(answered(plain))
    for period in periods:
        assert abs(planned(period) / expected - 1) < 2 * NEAR, period.name
    assert abs(planned(periods[0]) / expected - 1) < NEAR
    assert planned(None) / expected - 1 > 3 * NEAR  # the scores alone say something else


def test_strata_count_by_their_items_and_not_by_their_labels() -> None:
    """Most labels of a comparison are of what the two say differently, where errors are."""
    compared = assay.compare_campaign(
        week(0, shift=-0.1), week(0), **COLUMNS, within=0.02, level_within=0.03
    )
    strata = answered(compared).settings.strata
    evidence = RankEvidence.from_campaign(compared, strata)
    truth = float(TRUTH[N:][SCORE[N:] >= 0.4].mean())
    assert abs(precision_of(evidence) - truth) < 0.03
    side = evidence.sides[True]
    alike = replace(side, items=side.items / side.items.sum(axis=1, keepdims=True))
    assert abs(precision_of(replace(evidence, sides={True: alike})) - truth) > 0.03


def test_labels_of_what_differs_alone_make_no_plan(storage: str) -> None:
    compared = assay.compare_campaign(
        week(0, shift=-0.1), week(0), metric="accuracy", budget=60, storage=storage, **COLUMNS
    )
    with pytest.raises(assay.InputError, match="of too few of its items to plan with"):
        planned(answered(compared))


GOAL = Goal("accuracy", within=0.03)


def judged(labels: float, at_random: float, items: int, **given: Any) -> Any:
    given = {"judge_cost": 0.02, "label_cost": 1.5, "rho": None, **given}
    prices = prices_of(["judge"], **given, within=0.03)
    assert prices is not None
    return prices.judging(GOAL, labels, at_random, items)


def test_few_items_are_judged_all() -> None:
    found = judged(1_500, 1_600, 4_000, rho=0.9)
    assert [(row.campaign, row.judgements, row.within) for row in found.rows[1:]] == [
        ("all items", 4_000, 0.03)
    ]
    [line] = about_judge(found)
    assert "judge with rho 0.9 pays: have 4,000 of 4,000 items judged, and continue" in line
    assert len(judge_cautions(found)) == 2


def test_it_says_where_a_judge_is_not_worth_its_money() -> None:
    dear = judged(150, 160, 1_000_000, judge_cost=1.0, rho=0.7)
    [line] = about_judge(dear)
    assert line.startswith("judge with rho 0.7 does not pay: 150 labels without it")
    [good] = about_judge(judged(600, 800, 1_000_000, rho=0.9))
    assert "random items judged, and make the campaign of these alone, as a sample of" in good
    [none] = about_judge(judged(400, 400, 400))
    assert none == "judge is of no use: all 400 items are labelled anyway"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"judge_cost": 0.02}, "judge_cost=0.02 needs label_cost="),
        ({"rho": 0.5}, "rho=0.5 needs judge_cost= and label_cost="),
        ({"aux": ["j"]}, r"aux=\['j'\] needs judge_cost= and label_cost="),
        ({"judge_cost": 0, "label_cost": 1}, "judge_cost=0 is no price"),
        ({"judge_cost": 1, "label_cost": float("nan")}, "label_cost=nan is no price"),
        ({"judge_cost": 1, "label_cost": 1, "rho": 1.0}, "rho=1.0 is not a correlation"),
    ],
)
def test_what_cannot_be_planned_is_refused(given: dict[str, Any], problem: str) -> None:
    columns: dict[str, Any] = {"score": "p", "threshold": 0.5}
    with pytest.raises(InputError, match=problem):
        assay.plan({"p": [0.2, 0.9]}, **columns, within=0.1, **given)


def test_a_budget_alone_has_no_labels_to_save() -> None:
    with pytest.raises(InputError, match=r"judge_cost=1 needs within="):
        assay.plan({"p": [0.2, 0.9]}, score="p", threshold=0.5, budget=9,
                   judge_cost=1, label_cost=2)  # fmt: skip
