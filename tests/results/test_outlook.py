"""What is told of labels that are still to come."""

from typing import Any

import pytest

from assay.results import Estimate
from assay.results.progress import Outlook, outlook_of


def estimate(**changed: Any) -> Estimate:
    given: dict[str, Any] = {
        "metric": "precision",
        "value": 0.8,
        "low": 0.74,
        "high": 0.86,
        "confidence": 0.95,
        "standard_error": 0.03,
        "labels": 100,
        "cannot_judge": 0,
        "worst_case": None,
        "interval": "",
        "anytime": True,
        "stopped": None,
        "within": 0.03,
    }
    return Estimate(**(given | changed))


def told(*, answers: int = 100, budget: int | None = None, **changed: Any) -> Outlook:
    return outlook_of(
        {"precision": estimate(**changed)}, answers=answers, items=10**9, budget=budget
    )


def test_a_forecast_by_the_width() -> None:
    assert told().answers == 300  # half the width takes four times the labels
    assert told(cannot_judge=50).answers == 450  # and every third item cannot be judged
    assert "forecast" in told().words


@pytest.mark.parametrize(
    ("changed", "answers", "words"),
    [
        ({"stopped": "measured to the requested width"}, 0, "none"),
        ({"within": None}, None, "unknown: it depends"),
        ({"labels": 5}, None, "too few labels"),
        ({"high": 0.79}, None, "one more round must confirm"),
    ],
)
def test_where_there_is_none(changed: dict[str, Any], answers: int | None, words: str) -> None:
    outlook = told(**changed)
    assert outlook.answers == answers
    assert outlook.words.startswith(words)


def test_a_budget_is_never_exceeded() -> None:
    assert told(budget=250) == Outlook(
        150, "until the budget is used up, before the goal is reached"
    )
    assert told(budget=5000).answers == 300
    assert told(budget=250, within=None) == Outlook(150, "until the budget is used up")
    assert told(budget=80, within=None).answers == 0


def test_of_several_metrics_the_slowest_counts() -> None:
    wide, narrow = estimate(), estimate(low=0.78, high=0.82)
    outlook = outlook_of({"a": narrow, "b": wide}, answers=100, items=10**9, budget=None)
    assert outlook.answers == 300
