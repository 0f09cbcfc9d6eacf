"""Campaigns over items that count by weight: what they estimate, and that nothing is lost."""

from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from scipy.stats import binom

import assay
from assay.core.types import Bools, Floats
from assay.errors import LabelConflictError
from assay.labelling import history_in
from assay.predictions import from_arrays
from assay.storage import Label
from tests.kinds import finish, shallow
from tests.sklearn_metrics import SKLEARN

SIZE = 600
RNG = np.random.default_rng(5)
SCORE = np.sqrt(RNG.random(SIZE))
WEIGHT = RNG.lognormal(0.0, 1.5, SIZE)
TRUTH = RNG.random(SIZE) < np.clip(SCORE - 0.07 * np.log(WEIGHT), 0.02, 0.98)


def create(size: int = SIZE, weight: Floats = WEIGHT, **more: Any) -> assay.Campaign:
    data = {"id": np.arange(size), "p": SCORE[:size], "views": weight[:size]}
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "seed": 3}
    return assay.create_campaign(data, sample_weight="views", **{**columns, **more})


def label(campaign: assay.Campaign, truth: Bools = TRUTH, batch: int = 30) -> assay.Estimate:
    finish(campaign, truth, batch)
    return campaign.estimate()


@pytest.mark.parametrize("metric", ["precision", "recall", "f1", "accuracy"])
def test_all_items_labelled_give_what_scikit_learn_gives(metric: str) -> None:
    size, score = 25, SKLEARN[metric]
    weight = 1 + WEIGHT  # so that all of them come soon
    estimate = label(create(size, weight, metric=metric, within=0.0001))
    true, predicted = TRUTH[:size], SCORE[:size] >= 0.5
    right = score(true, predicted, sample_weight=weight[:size])
    asked = SCORE[:size] >= (0.5 if metric == "precision" else 0.0)
    assert estimate.labels == asked.sum()
    assert estimate.stopped is not None
    assert estimate.value == pytest.approx(right, abs=1e-9)
    assert estimate.high - estimate.low < 1e-9
    assert abs(score(true, predicted) - right) > 1e-3  # without weights it is something else


def value(truth: Bools, predicted: Bools, weight: Floats) -> float:
    return float((weight * (truth & predicted)).sum() / (weight * predicted).sum())


def test_intervals_hold_the_weighted_metric_and_not_the_plain_one() -> None:
    """Of 30 campaigns at 95%, fewer than 23 hold in 2 of 10,000 trials; the seeds are fixed."""
    times, least = 30, 23
    assert binom.cdf(least - 1, times, 0.95) < 2e-4
    held = plain_held = 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        score, weight = np.sqrt(rng.random(SIZE)), rng.lognormal(0.0, 1.5, SIZE)
        truth = rng.random(SIZE) < np.clip(score - 0.1 * np.log(weight), 0.02, 0.98)
        campaign = assay.create_campaign(
            from_arrays(y_score=score, threshold=0.5, sample_weight=weight),
            within=0.12,
            design=assay.Design(bins=6),
            seed=seed,
        )
        estimate = label(campaign, truth, batch=50)
        low, high = estimate.low - 1e-9, estimate.high + 1e-9
        held += low <= value(truth, score >= 0.5, weight) <= high
        plain_held += low <= value(truth, score >= 0.5, np.ones(SIZE)) <= high
    assert held >= least
    assert plain_held < least  # what an estimate without weights would aim at


def test_equal_weights_draw_the_items_that_no_weights_draw() -> None:
    data = {"id": np.arange(SIZE), "p": SCORE, "views": np.full(SIZE, 17.0)}
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "budget": 40}
    plain = {item.id for item in assay.create_campaign(data, **columns).ask(16)}
    weighted = assay.create_campaign(data, sample_weight="views", **columns)
    assert {item.id for item in weighted.ask(16)} == plain
    assert {item.id for item in create(budget=40, seed=0).ask(16)} != plain


def test_a_budget_is_of_answers_and_draws_that_come_again_are_free() -> None:
    campaign = create(budget=60)
    estimate = label(campaign)
    assert estimate.stopped == "the budget is used up"
    assert estimate.labels == len(campaign.answers()) == len(campaign.events()) == 60
    draws = campaign.desk.labelling.rounds.state.tallies.answers
    assert draws > 60
    assert f"{draws:,.0f} draws met 60 items" in str(estimate)
    assert sum(row.labels for row in campaign.strata()) == 60
    assert sum(row.weight or 0 for row in campaign.strata()) == pytest.approx(1)


def test_a_budget_ends_where_the_rest_weighs_next_to_nothing() -> None:
    weight = np.where(np.arange(40) == 39, 1e12, 1.0)
    one = assay.Design(bins=1)
    estimate = label(create(40, weight, budget=30, metric="prevalence", design=one))
    assert estimate.stopped == "the budget is used up"
    assert estimate.labels < 30


def test_items_that_are_most_of_the_weight_settle_it() -> None:
    """Draws alone would have to be a hundred thousand, and others would still not be met."""
    weight = np.where(np.arange(40) % 4 == 0, 1e6, 1.0)
    campaign = create(40, weight, within=0.002, design=assay.Design(bins=2))
    estimate = label(campaign)
    right = value(TRUTH[:40], SCORE[:40] >= 0.5, weight)
    assert estimate.stopped == "measured to the requested width"
    assert estimate.low <= right <= estimate.high
    assert estimate.labels < (SCORE[:40] >= 0.5).sum()
    assert campaign.desk.labelling.rounds.state.tallies.answers < 2000
    heavy = np.where(np.arange(40) == 39, 1e12, 1.0)
    campaign = create(40, heavy, within=0.002, metric="prevalence", design=assay.Design(bins=1))
    while items := campaign.ask(50):  # the one that is nearly all cannot be judged
        campaign.tell({item.id: "cannot judge" if item.id == 39 else True for item in items})
    assert "weigh too little to draw more" in str(campaign.estimate())


@pytest.mark.parametrize("design", [assay.Design(), assay.Design.guaranteed()])
def test_resumed_revised_and_withdrawn_answers_count_every_time(
    storage_url: str, design: assay.Design
) -> None:
    campaign = create(120, budget=50, storage=storage_url, design=design)
    for _ in range(3):
        batch = campaign.ask(10, reviewer="ann")
        campaign.tell({item.id: bool(TRUTH[int(item.id)]) for item in batch}, reviewer="ann")
    rounds = campaign.desk.labelling.rounds
    often = max(rounds._dealt_in, key=lambda item_id: len(rounds._dealt_in[item_id]))
    assert len(rounds._dealt_in[often]) > 1
    assert assay.load_campaign(storage=storage_url).estimate() == campaign.estimate()

    before = campaign.estimate()
    other = not TRUTH[int(often)]
    with pytest.raises(LabelConflictError):
        campaign.tell({int(often): other}, reviewer="ann")
    assert campaign.tell({int(often): other}, reviewer="ann", revise=True) != before
    assert assay.load_campaign(storage=storage_url).estimate() == campaign.estimate()
    assert campaign.tell({int(often): not other}, reviewer="ann", revise=True) == before

    labels = before.labels
    own = Label(str(int(often)), "withdrawn", key="k1")
    campaign.rule(int(often), other, reviewer="eve", key="k0")
    assert campaign.estimate().labels == labels
    campaign.rule(int(often), "withdrawn", reviewer="eve", key="k2")
    assert campaign.estimate().value == before.value
    assert campaign.review([own], reviewer="ann").receipts[0].status == "saved"
    assert campaign.estimate().labels == labels - 1
    again = assay.load_campaign(storage=storage_url)
    assert again.estimate() == campaign.estimate()
    assert often in {str(item.id) for item in again.ask(50, reviewer="ann")}
    again.tell({int(often): bool(TRUTH[int(often)])}, reviewer="ann")
    done = label(again)
    assert assay.load_campaign(storage=storage_url).estimate() == done
    loaded = assay.load_campaign(storage=storage_url)
    assert history_in(loaded.desk.current()) == history_in(again.desk.current())
    assert assay.verify_campaign(storage=storage_url).findings == ()


def test_verify_finds_a_weight_that_was_changed(storage: str) -> None:
    label(create(100, budget=40, storage=storage))
    assert assay.verify_campaign(storage=storage).clean
    engine = sa.create_engine(storage)
    for change, told in (
        ("weight = 3 * weight", "comes after its turn|weigh"),
        ("weight = NULL", "has no weight"),
    ):
        with engine.begin() as connection:
            kept = connection.exec_driver_sql("SELECT item_id, weight FROM item").all()
            connection.exec_driver_sql(f"UPDATE item SET {change} WHERE position = 0")
        found = " ".join(assay.verify_campaign(storage=storage).findings)
        assert any(words in found for words in told.split("|"))
        with engine.begin() as connection:
            for item_id, weight in kept:
                row = (weight, item_id)
                connection.exec_driver_sql("UPDATE item SET weight = ? WHERE item_id = ?", row)
    engine.dispose()
    assert assay.verify_campaign(storage=storage).clean


def test_a_reserve_that_runs_out_grows(monkeypatch: pytest.MonkeyPatch, storage: str) -> None:
    whole = label(create(budget=60))
    shallow(monkeypatch, 2)
    campaign = create(budget=60, storage=storage)
    with campaign.desk.store.read() as session:
        laid = session.reserve(1, len(campaign.strata()))
    assert label(campaign) == whole
    with campaign.desk.store.read() as session:
        assert session.reserve(1, len(laid)) > laid
    assert assay.verify_campaign(storage=storage).clean


def test_a_campaign_does_not_stop_where_draws_contradict_what_is_known() -> None:
    items = 120
    for seed in (1, 4, 6):  # with each the draws' interval once lay outside of what is possible
        rng = np.random.default_rng([8, seed])
        weight, score = rng.lognormal(0, 1.5, items), rng.random(items)
        truth = rng.random(items) < 0.1 + 0.8 * score
        campaign = assay.create_campaign(
            from_arrays(y_score=score, threshold=0.5, sample_weight=weight),
            metric="accuracy",
            within=0.0001,
            seed=seed,
        )
        estimate = label(campaign, truth, 20)
        right = float((weight * ((score >= 0.5) == truth)).sum() / weight.sum())
        assert estimate.low - 1e-9 <= right <= estimate.high + 1e-9
