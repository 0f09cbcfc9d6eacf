"""What a plan says of a judge that costs money."""

from typing import Any

import pytest

import assay
from assay.core.goal import Goal
from assay.errors import InputError
from assay.simulation.planning.advice import about_judge, judge_cautions, prices_of

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
    assert "judge with rho 0.9 pays: have 4,000 of 4,000 items judged, and go on" in line
    assert len(judge_cautions(found)) == 2


def test_it_says_where_a_judge_is_not_worth_its_money() -> None:
    dear = judged(150, 160, 1_000_000, judge_cost=1.0, rho=0.7)
    [line] = about_judge(dear)
    assert line.startswith("judge with rho 0.7 is not worth its money: 150 labels without it")
    [good] = about_judge(judged(600, 800, 1_000_000, rho=0.9))
    assert "random items judged, and make the campaign of these alone, as a sample of" in good
    [none] = about_judge(judged(400, 400, 400))
    assert none == "judge is of no use: all 400 items are labelled anyway"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"judge_cost": 0.02}, "judge_cost=0.02 is given without label_cost="),
        ({"rho": 0.5}, "rho=0.5 is given without judge_cost= and label_cost="),
        ({"aux": ["j"]}, r"aux=\['j'\] is given without judge_cost= and label_cost="),
        ({"judge_cost": 0, "label_cost": 1}, "judge_cost=0 is no price"),
        ({"judge_cost": 1, "label_cost": float("nan")}, "label_cost=nan is no price"),
        ({"judge_cost": 1, "label_cost": 1, "rho": 1.0}, "rho=1.0 cannot be planned with"),
    ],
)
def test_what_cannot_be_planned_is_refused(given: dict[str, Any], problem: str) -> None:
    columns: dict[str, Any] = {"score": "p", "threshold": 0.5}
    with pytest.raises(InputError, match=problem):
        assay.plan({"p": [0.2, 0.9]}, **columns, within=0.1, **given)


def test_a_budget_alone_has_no_labels_to_save() -> None:
    with pytest.raises(InputError, match=r"judge_cost=1 is given without within="):
        assay.plan({"p": [0.2, 0.9]}, score="p", threshold=0.5, budget=9,
                   judge_cost=1, label_cost=2)  # fmt: skip
