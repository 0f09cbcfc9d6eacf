"""The loop as people drive it: ask, tell, estimate, done; and what must be refused."""

import re
from math import sqrt
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.metrics import METRICS
from assay.core.types import Bools, Floats
from tests.kinds import finish
from tests.sklearn_metrics import SKLEARN

Columns = dict[str, Floats | Bools]


def population(size: int = 3000, seed: int = 0) -> tuple[Columns, Bools]:
    """Return predictions whose score is informative, and the truth."""
    rng = np.random.default_rng(seed)
    score = rng.beta(2, 2, size)
    truth = rng.random(size) < 1 / (1 + np.exp(-8 * (score - 0.5)))
    return {"p": score, "yes": score >= 0.5}, truth


@pytest.mark.parametrize("metric", METRICS)
def test_labelling_everything_gives_scikit_learns_value(metric: str) -> None:
    columns, truth = population(400)
    predicted = columns["yes"]
    campaign = assay.create_campaign(
        columns, score="p", predicted="yes", metric=metric, budget=10_000
    )
    finish(campaign, truth, 150)
    estimate = campaign.estimate()
    assert estimate.stopped == "every item has been reviewed"
    expected = SKLEARN[metric](truth, predicted.astype(bool))
    assert estimate.value == pytest.approx(expected, rel=1e-15)
    assert estimate.low == estimate.high == estimate.value


def small(**more: Any) -> assay.Campaign:
    columns, _ = population(500)
    values: dict[str, Any] = {"score": "p", "predicted": "yes", "within": 0.1, **more}
    return assay.create_campaign(columns, **values)


def test_asking_again_gives_the_unanswered_first() -> None:
    campaign = small()
    first = campaign.ask(10)
    assert campaign.ask(10) == first
    campaign.tell({item.id: True for item in first[:4]})
    again = campaign.ask(10)
    assert again[:6] == first[4:]
    assert len(again) == 10
    assert len({item.id for item in [*first, *again]}) == 14


def test_another_answer_is_refused_unless_it_is_a_revision() -> None:
    campaign = small()
    first, second = campaign.ask(2)
    once = campaign.tell({first.id: True})
    assert campaign.tell({first.id: "yes"}) == once  # the same again
    with pytest.raises(assay.LabelConflictError, match="'yes', now 'no'"):
        campaign.tell({second.id: True, first.id: False})
    assert campaign.answers() == {first.id: assay.Answer.YES}  # all or nothing
    campaign.tell({first.id: False}, revise=True)
    assert campaign.answers() == {first.id: assay.Answer.NO}
    assert [event.answer for event in campaign.events()] == ["yes", "no"]


def test_a_revision_reopens_a_campaign_that_it_makes_uncertain() -> None:
    columns, _ = population(2000)
    campaign = assay.create_campaign(columns, score="p", predicted="yes", within=0.04)
    asked = finish(campaign, lambda _: True, 20)
    campaign.tell(dict.fromkeys(asked[::2], False), revise=True)
    assert not campaign.done
    assert campaign.ask(5)


def test_cannot_judge_counts_as_no_answer_and_its_worst_case_is_told() -> None:
    columns = {"p": np.linspace(0.5, 1, 100), "yes": np.ones(100, dtype=bool)}
    campaign = assay.create_campaign(
        columns, score="p", predicted="yes", budget=50, design=assay.Design.simple_random()
    )
    items = campaign.ask(50)
    answers = ["yes"] * 30 + ["no"] * 10 + ["cannot judge"] * 10
    estimate = campaign.tell(dict(zip((item.id for item in items), answers, strict=True)))
    assert estimate.labels == 40
    assert estimate.cannot_judge == 10
    assert estimate.value == pytest.approx(30 / 40)
    low, high = estimate.worst_case or (0.0, 0.0)
    # 30 of 50, and 40 of 50, with their sampling error: Wilson's, of 100 items, is near enough.
    assert low == pytest.approx(0.6 - 1.96 * np.sqrt(0.6 * 0.4 / 50 / 2), abs=0.02)
    assert high == pytest.approx(0.8 + 1.96 * np.sqrt(0.8 * 0.2 / 50 / 2), abs=0.02)
    assert estimate.could_move == pytest.approx(0.75 - 30 / 50)
    assert campaign.done  # the budget is a person's time: those ten were looked at too
    assert "could not be judged" in str(estimate)


def test_the_order_of_a_batch_tells_nothing_about_the_strata() -> None:
    """Rank correlation of place and score over 1,000 items; beyond 0.15 once in a million."""
    columns, _ = population(20_000)
    campaign = assay.create_campaign(columns, score="p", predicted="yes", budget=1000)
    scores = np.array([columns["p"][int(item.id)] for item in campaign.ask(1000)])
    ranks = scores.argsort().argsort()
    assert abs(np.corrcoef(np.arange(1000), ranks)[0, 1]) < 0.15
    by_deck = np.sort(ranks)  # a batch in the order of the strata would be caught
    assert abs(np.corrcoef(np.arange(1000), by_deck)[0, 1]) > 0.15


def test_a_stored_campaign_that_outruns_its_reserve_says_how_to_go_on(storage: str) -> None:
    columns, truth = population(4000)
    design = assay.Design(rounds_in_a_row=10**6)
    values: dict[str, Any] = {"score": "p", "predicted": "yes", "within": 0.2, "design": design}
    assay.create_campaign(columns, storage=storage, **values)
    campaign = assay.load_campaign(storage=storage)
    with pytest.raises(assay.PredictionsError, match="predictions are not available"):
        campaign.ask(1500)
    labelled = campaign.ask(50)
    campaign.tell({item.id: truth[int(item.id)] for item in labelled})
    with pytest.raises(assay.PredictionsError, match="differs from the predictions of campaign"):
        other, _ = population(4000, seed=9)
        assay.load_campaign(storage=storage, predictions=other)
    campaign = assay.load_campaign(storage=storage, predictions=columns)
    assert len(campaign.ask(1500)) == 1500
    assert campaign.estimate().labels == 50


def test_before_there_are_labels_nothing_is_claimed() -> None:
    campaign = small()
    estimate = campaign.estimate()
    assert (estimate.value, estimate.low, estimate.high) == (None, 0.0, 1.0)
    assert "unknown" in str(estimate)
    assert "<b>" in estimate._repr_html_()
    estimate = campaign.tell({campaign.ask(1)[0].id: True})
    assert any("too few labels in strata" in note for note in estimate.notes)


def test_a_campaign_that_waits_for_one_answer_deals_no_more_than_it_needs() -> None:
    rng = np.random.default_rng(5)
    score = rng.uniform(0.5, 1.0, 4000)
    truth = rng.random(4000) < score
    campaign = assay.create_campaign(
        {"p": score}, score="p", threshold=0.5, metric="precision", within=0.05, seed=5
    )
    (left,) = campaign.ask(1)
    judged = 0
    while judged < 400 and (batch := [item for item in campaign.ask(21) if item.id != left.id]):
        campaign.tell({item.id: truth[int(item.id)] for item in batch})
        judged += len(batch)
    assert not campaign.done  # the first round is not complete, and only complete rounds count
    told = campaign.estimate()
    assert told.open == 1
    assert 0.05 < told.half_width < 0.051  # with the one that waits at its worst
    assert judged < 400
    campaign.tell({left.id: True})
    assert campaign.done


TABLE = {
    "id": np.arange(3_000),
    "p": np.random.default_rng(4).random(3_000),
    "judge": np.random.default_rng(5).random(3_000),
}
TRUTH = np.random.default_rng(6).random(3_000) < TABLE["p"]


def campaign(**options: Any) -> assay.Campaign:
    """Return a campaign of accuracy."""
    given = {"within": 0.04, **options}
    return assay.create_campaign(
        TABLE, id="id", score="p", threshold=0.5, metric="accuracy", seed=1, **given
    )


def labelled(made: assay.Campaign) -> assay.Campaign:
    finish(made, TRUTH, 20)
    return made


def test_the_interval_is_for_all_items() -> None:
    alone, sampled = labelled(campaign()), labelled(campaign(sample_of=60_000))
    found = sampled.estimate()
    assert found.half_width <= 0.04
    assert found.labels > alone.estimate().labels  # what the part leaves open, labels make up for
    value = found.value or 0.0
    first = 1.96 * sqrt(value * (1 - value) * (1 / 3_000 - 1 / 60_000))
    (note,) = (each for each in found.notes if "random sample of 60,000" in each)
    (told,) = re.findall("±(0[.][0-9]+) of it is the sample's own", note)
    assert float(told) == pytest.approx(first, rel=0.05)
    assert "random sample" not in " ".join(alone.estimate().notes)


def test_strata_that_are_cut_anew_and_a_stored_campaign_keep_it(storage: str) -> None:
    made = labelled(campaign(sample_of=60_000, aux=["judge"], storage=storage, name="part"))
    again = assay.load_campaign("part", storage=storage)
    assert again.settings.goal.sample_size == 3_000
    assert again.estimate().half_width == made.estimate().half_width <= 0.04


def test_a_part_that_is_too_small_says_so() -> None:
    made = campaign(sample_of=10**7, within=0.015)
    finish(made, TRUTH, 20, most=60)
    assert "the sample of items alone contributes" in made.outlook().text
