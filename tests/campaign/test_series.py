"""A series: each period goes on from the one before, and says what changed."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import assay
from assay.campaign import begin as follow
from assay.campaign.campaign import Campaign
from assay.campaign.carry_over import start_beside
from assay.campaign.trends import PeriodRow
from assay.core.types import Bools, Floats, Ints
from assay.labelling.settings import Settings, find_campaign
from assay.results import Estimate
from assay.storage.store import open_storage
from tests.kinds import finish
from tests.sklearn_metrics import SKLEARN

ITEMS = 900


@dataclass(frozen=True, eq=False)
class World:
    """All items that there ever are, and which of them a week has."""

    score: Floats
    truth: Bools

    def week(self, items: Ints) -> dict[str, object]:
        return {
            "url": [f"u{item}" for item in items],
            "p": self.score[items],
            "said": self.score[items] > 0.5,
        }

    def answer(self, campaign: Campaign) -> list[str]:
        return finish(campaign, lambda url: bool(self.truth[int(url[1:])]), 20)


@pytest.fixture
def world() -> World:
    rng = np.random.default_rng(8)
    score = rng.random(2 * ITEMS)
    return World(score, rng.random(2 * ITEMS) < 0.15 + 0.8 * score)


FIRST, SECOND = np.arange(ITEMS), np.arange(ITEMS // 5, ITEMS + ITEMS // 5)
COLUMNS: dict[str, Any] = {"id": "url", "score": "p", "predicted": "said"}


def begin(world: World, storage: str, **options: Any) -> Campaign:
    given: dict[str, Any] = {**COLUMNS, "within": 0.05, "seed": 4, "period": "w1", **options}
    return assay.follow_campaign(world.week(FIRST), storage=storage, **{"series": "spam", **given})


def go_on(world: World, storage: str, items: Ints = SECOND, **options: Any) -> Campaign:
    given: dict[str, Any] = {"previous": world.week(FIRST), "period": "w2", **options}
    return assay.follow_campaign(world.week(items), storage=storage, **{"series": "spam", **given})


@pytest.mark.parametrize("metric", ["precision", "recall"])
def test_with_all_labels_the_metric_and_its_change_are_scikit_learns(
    world: World, storage: str, metric: str
) -> None:
    world.answer(begin(world, storage, metric=metric, within=0.0001))
    campaign = go_on(world, storage)
    world.answer(campaign)
    score = SKLEARN[metric]
    was, now = (
        float(score(world.truth[week], world.score[week] > 0.5)) for week in (FIRST, SECOND)
    )
    found = assay.trend("spam", storage=storage)
    assert found.rows[0].estimate.value == pytest.approx(was, abs=1e-12)
    assert found.latest.estimate.value == pytest.approx(now, abs=1e-12)
    assert found.latest.change is not None
    assert found.latest.change.value == pytest.approx(now - was, abs=1e-12)
    assert abs(now - was) > 1e-4  # so a change of the wrong sign, or of none, would be noticed
    frame = found.to_frame(backend="polars")
    assert frame["value"].to_list() == pytest.approx([was, now])
    assert frame["change_value"].to_list() == [None, pytest.approx(now - was)]
    assert frame["period"].to_list() == [row.period for row in found.rows]


def test_nobody_is_asked_again_about_an_item_that_is_still_there(
    world: World, storage: str
) -> None:
    before = world.answer(begin(world, storage))
    campaign = go_on(world, storage)
    counted_at_once = set(campaign.answers())
    assert counted_at_once  # some labels count before anybody is asked
    assert counted_at_once <= set(before)
    asked = world.answer(campaign)
    assert not set(asked) & set(before)
    row = assay.trend("spam", storage=storage).latest
    assert row.labels == len(campaign.answers())
    assert row.reused == len(campaign.answers().keys() & set(before)) == row.labels - len(asked)
    assert row.reused > row.labels / 2
    assert assay.verify_campaign("spam/w2", storage=storage).clean


def test_what_is_not_said_again_is_as_it_was(world: World, storage: str) -> None:
    world.answer(begin(world, storage, floor=0.6, question="Is it spam?", confidence=0.9))
    campaign = go_on(world, storage, change_within=0.07)
    settings = campaign.settings
    assert settings.question == "Is it spam?"
    assert settings.series is not None
    assert (settings.series.floor, settings.series.number) == (0.6, 1)
    assert settings.seed == 4
    level, change = campaign.estimates().values()
    assert (level.metric, level.within, level.confidence) == ("precision:w2", 0.05, 0.9)
    assert (change.metric, change.within) == ("precision:w2 - precision:w1", 0.07)


def settings_of(storage: str, name: str) -> Settings:
    with open_storage(storage).read() as session:
        return find_campaign(session, name)[1]


def test_last_periods_labels_tell_of_items_like_theirs(world: World, storage: str) -> None:
    first = begin(world, storage)
    world.answer(first)
    campaign = go_on(world, storage)
    settings = settings_of(storage, "spam/w2")
    prior, strata = settings.prior, settings.strata
    assert prior is not None
    new_only = [
        place for place, (_, code, _) in enumerate(strata.parts) if code == 0b1010
    ]  # precision needs no others
    assert sum(prior.labels) == sum(prior.labels[place] for place in new_only)
    assert sum(prior.labels) == 0.5 * len(first.answers())
    yes = sum(answer is assay.Answer.YES for answer in first.answers().values())
    assert sum(prior.positives) == 0.5 * yes
    assert campaign.settings == settings


def test_no_estimate_rests_on_the_labels_of_items_that_are_gone(world: World, storage: str) -> None:
    world.answer(begin(world, storage))
    campaign = go_on(world, storage)
    assert campaign.settings.prior is not None
    assert sum(campaign.settings.prior.labels) > 10
    without = replace(campaign.settings, prior=None)
    again = Campaign(campaign.desk.store, campaign.desk.labelling.key, without, None)
    assert again.estimates().to_dict() == campaign.estimates().to_dict()


def test_a_budget_is_of_every_period_and_does_not_grow(world: World, storage: str) -> None:
    world.answer(begin(world, storage, within=None, budget=60))
    second = go_on(world, storage)
    assert second.settings.goal.budget == 60 + len(second.answers())  # beyond what costs nothing
    assert 0 < len(world.answer(second)) <= 60
    items = np.arange(ITEMS // 3, ITEMS + ITEMS // 3)
    third = go_on(world, storage, items, period="w3", previous=world.week(SECOND))
    assert third.settings.goal.budget == 60 + len(third.answers())
    assert len(world.answer(third)) <= 60


def test_a_week_in_which_nothing_changed_costs_nothing(world: World, storage: str) -> None:
    world.answer(begin(world, storage))
    assert world.answer(go_on(world, storage, FIRST)) == []
    row = assay.trend("spam", storage=storage).latest
    assert row.change is not None
    assert (row.change.low, row.change.value, row.change.high) == (0.0, 0.0, 0.0)
    assert (row.moved, row.said) == (None, "no change since w1.")
    assert row.estimate.value == assay.trend("spam", storage=storage).rows[0].estimate.value


def test_another_threshold_is_of_the_new_period_alone(world: World, storage: str) -> None:
    world.answer(begin(world, storage, predicted=None, threshold=0.5))
    campaign = go_on(world, storage, threshold=0.6)
    world.answer(campaign)
    assert campaign.settings.source.columns["classifiers"]["w1"]["threshold"] == 0.5
    assert campaign.settings.source.columns["classifiers"]["w2"]["threshold"] == 0.6


def test_a_rebased_period_still_tells_what_was_used_again(world: World, storage: str) -> None:
    world.answer(begin(world, storage))
    world.answer(go_on(world, storage))
    assay.rebase_campaign(
        "spam/w2", storage=storage, predictions=[world.week(FIRST), world.week(SECOND)]
    )
    after = assay.trend("spam", storage=storage).latest
    assert after.reused == after.labels > 0  # all of them were told before the rebase


def test_two_who_begin_a_period_at_once_do_not_fork_the_series(
    world: World, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.answer(begin(world, storage))
    go_on_truly = start_beside

    def slowly(*given: Any, **named: Any) -> Campaign:
        monkeypatch.setattr(follow, "start_beside", go_on_truly)
        go_on(world, storage, period="w2b")  # somebody else, meanwhile
        return go_on_truly(*given, **named)

    monkeypatch.setattr(follow, "start_beside", slowly)
    with pytest.raises(assay.StorageError, match="started period 'w2b'"):
        go_on(world, storage)
    assert [row.period for row in assay.trend("spam", storage=storage).rows] == ["w1", "w2b"]


def estimate(low: float, value: float | None, high: float, within: float | None = 0.05) -> Estimate:
    made = Estimate("m", value, low, high, 0.95, None, 9, 0, None, "", True, None)
    return replace(made, within=within)


W2 = PeriodRow("w2", "s/w2", 9, 9, 0, True, estimate(0.8, 0.9, 1, None), None, None, before="w1")


FEW = "too few labels (9) to compare with w1."


@pytest.mark.parametrize(
    ("row", "passed", "said"),
    [
        (W2, None, FEW),
        (replace(W2, change=estimate(-1, None, 1)), None, FEW),
        (replace(W2, change=estimate(-0.02, 0.0, 0.02)), True, "no significant change since w1."),
        (
            replace(W2, change=estimate(-0.2, 0.0, 0.2)),
            None,
            "too few labels (9) to compare with w1.",
        ),
        (replace(W2, change=estimate(-0.2, -0.1, -0.01)), False, "fell since w1."),
        (replace(W2, change=estimate(0.01, 0.1, 0.2)), True, "rose since w1."),
        (
            replace(W2, change=estimate(-0.02, 0.0, 0.02), done=False),
            None,
            "no significant change since w1. Labelling is in progress.",
        ),
        (replace(W2, before=None), True, "first period."),
        (replace(W2, before=None, floor=0.7), True, "first period. Floor 0.70: met."),
        (replace(W2, before=None, floor=0.875), None, "first period. Floor 0.875: undecided."),
    ],
)
def test_a_period_passes_only_where_its_labels_decide(
    row: PeriodRow, passed: bool | None, said: str
) -> None:
    assert (row.verdict(on_fall=True), row.said) == (passed, said)
