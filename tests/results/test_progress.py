"""The history of an interval, against estimates that were written down on the way."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import assay
from assay import Campaign, Design
from assay.labelling import history_in
from assay.results import Estimates
from assay.results.progress import HistoryPoint, thinned

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


def test_it_is_the_same_when_read_from_the_storage(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'labels.db'}"
    trail = run(make(budget=90, name="kept", storage=url))
    assert same(history_in(assay.load_campaign("kept", storage=url).desk.current()), trail)


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
