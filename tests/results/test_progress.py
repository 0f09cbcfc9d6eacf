"""The history of an interval, labels that are still to come, and how fast people label."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

import assay
from assay import Campaign, Design
from assay.labelling import history_in
from assay.results import Estimate, Estimates
from assay.results.progress import HistoryPoint, Outlook, Pace, outlook_of, pace_of, thinned

ITEMS = 400
RNG = np.random.default_rng(11)
SCORE = np.round(RNG.beta(4, 1.5, ITEMS), 4)
TRUTH = RNG.random(ITEMS) < SCORE

Trail = dict[str, list[HistoryPoint]]


def make(**goal: Any) -> Campaign:
    return assay.create_campaign({"p": SCORE}, score="p", threshold=0.5, seed=4, **goal)


def write_down(trail: Trail, estimates: Estimates) -> None:
    for name, each in estimates.items():
        point = HistoryPoint(each.labels, each.value, each.low, each.high)
        trail.setdefault(name, []).append(point)


def answer(item: Any, *, wrong: frozenset[Any] = frozenset()) -> object:
    return "cannot judge" if item % 17 == 0 else bool(TRUTH[item]) != (item in wrong)


def run(campaign: Campaign, wrong: frozenset[Any] = frozenset()) -> Trail:
    """Answer round after round, and write down what the campaign says after each."""
    trail: Trail = {}
    whole = ITEMS if campaign.settings.design.round_size else 10  # what makes a whole round
    while batch := campaign.ask(whole):
        campaign.tell({item.id: answer(item.id, wrong=wrong) for item in batch})
        write_down(trail, campaign.estimates())
    return trail


def same(history: Mapping[str, Any], trail: Trail) -> bool:
    return {name: list(points) for name, points in history.items()} == trail


@pytest.mark.parametrize(
    "goal",
    [
        {"budget": 90},
        {"within": 0.06},
        {"at_least": 0.6},
        {"budget": 90, "design": Design.kumar_raj()},
        {"budget": 90, "metrics": ["precision", "recall"]},
    ],
    ids=["budget", "width", "bets", "paper", "several"],
)
def test_the_history_is_what_was_told_on_the_way(goal: dict[str, Any]) -> None:
    campaign = make(**goal)
    trail = run(campaign)
    assert min(map(len, trail.values())) > 1
    assert same(history_in(campaign.desk.current()), trail)
    # The wrong variant: one answer off, a round late.
    off = {name: [*points[1:], points[-1]] for name, points in trail.items()}
    assert not same(history_in(campaign.desk.current()), off)


def test_it_is_the_same_when_read_from_the_storage(storage: str) -> None:
    trail = run(make(budget=90, name="kept", storage=storage))
    assert same(history_in(assay.load_campaign("kept", storage=storage).desk.current()), trail)


def test_a_revised_answer_changes_the_past() -> None:
    # Proportional allocation: what is drawn does not depend on what was said.
    proportional = Design(allocation="pro", interval="wilson", stop="budget")
    slip = make(budget=90, design=proportional)
    wrong = frozenset(item.id for item in slip.ask(10))
    before = run(slip, wrong)
    slip.tell({item: answer(item) for item in wrong}, revise=True)
    never = make(budget=90, design=proportional)
    after = run(never)
    assert same(history_in(slip.desk.current()), after)
    assert not same(
        history_in(slip.desk.current()), before
    )  # as it would be if it kept what it had seen


def test_unfinished_rounds_are_looked_at_by_what_is_there() -> None:
    campaign = make(budget=90)
    told: list[Any] = []
    for size in (10, 11, 11, 11):
        told += [item.id for item in campaign.ask(size) if item.id not in told]
        # The first item of all is left open: no round is ever complete.
        campaign.tell({item: answer(item) for item in told[1:]})
    assert history_in(campaign.desk.current()) == {}
    ((_, points),) = history_in(campaign.desk.current(), unfinished=30).items()
    judged = [item % 17 != 0 for item in told]
    assert [point.labels for point in points] == [sum(judged[1 : 10 * k]) for k in (1, 2, 3)]
    assert len(history_in(campaign.desk.current(), unfinished=2)["precision"]) == 2
    campaign.tell({told[0]: answer(told[0])})
    assert len(history_in(campaign.desk.current())["precision"]) == 4
    assert history_in(campaign.desk.current(), unfinished=30) == history_in(campaign.desk.current())


def test_looking_costs_no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = make(budget=90)
    run(campaign)

    def looked(*_args: object, **_named: object) -> None:
        raise AssertionError("the history looked again")

    monkeypatch.setattr("assay.core.procedures.look", looked)
    assert len(history_in(campaign.desk.current())["precision"]) == 9


def test_thinning_keeps_the_end_and_the_spacing() -> None:
    points = [HistoryPoint(n, 0.5, 0.4, 0.6) for n in range(0, 1001, 5)]
    few = thinned(points, 10)
    assert [point.labels for point in few] == list(range(100, 1001, 100))
    assert thinned(few, 10) == few
    assert thinned([], 5) == []


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
