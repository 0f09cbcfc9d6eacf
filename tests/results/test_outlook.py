"""What is told of labels that are still to come, and how fast people label."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assay.results import Estimate
from assay.results.progress import Outlook, Pace, outlook_of, pace_of


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


NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def at(*minutes: float) -> list[str]:
    return [(NOON + timedelta(minutes=minute)).isoformat() for minute in minutes]


def test_the_last_hour_before_the_last_label_counts() -> None:
    slow, fast = range(-240, 0, 20), [minute / 2 for minute in range(121)]
    assert pace_of(at(*slow, *fast)) == Pace(an_hour=120, minutes=60)


def test_a_pause_is_no_labelling() -> None:
    before, after = range(10), range(45, 56)
    assert pace_of(at(*before, *after)) == Pace(an_hour=60, minutes=10)
    assert pace_of(at(*range(10), *range(38, 49))) == Pace(an_hour=25, minutes=48)  # 29 minutes


def test_a_file_is_no_labelling() -> None:
    assert pace_of(at(*[3.5] * 500)) is None
    assert pace_of(at(*range(7), *[6.5] * 21, *range(7, 11))) == Pace(an_hour=60, minutes=10)
    assert pace_of(at(*range(7), *[6.5] * 20, *range(7, 11))) == Pace(an_hour=180, minutes=10)


def test_few_labels_have_no_pace() -> None:
    assert pace_of([]) is None
    assert pace_of(at(0, 1, 2, 3)) is None  # four
    assert pace_of(at(0, 0.1, 0.2, 0.3, 0.9)) is None  # within a minute
    assert pace_of(at(0, 0.1, 0.2, 0.3, 1)) == Pace(an_hour=240, minutes=1)


def test_a_time_that_is_none_is_left_out() -> None:
    assert pace_of(["yesterday", "2026-11-16T12:00:00", *at(*range(6))]) == Pace(60, 5)
