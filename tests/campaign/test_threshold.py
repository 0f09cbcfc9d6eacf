"""Campaigns for the threshold that keeps a floor."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score

import assay
from assay import Campaign
from assay.audit import verify_campaign
from assay.core.goal import ThresholdQuestion
from assay.core.types import Bools, Floats
from tests.kinds import finish

SIZE = 6_000


def population(seed: int = 5, size: int = SIZE) -> tuple[Floats, Bools]:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=size)
    truth = rng.random(size) < 1 / (1 + np.exp(-3 * quality))
    return 1 / (1 + np.exp(-quality - 0.3 * rng.normal(size=size))), truth


def run(campaign: Campaign, truth: Any, batch: int = 20) -> Campaign:
    finish(campaign, truth, batch)
    return campaign


def make(question: str = "precision >= 0.8", budget: int | None = 400, **more: Any) -> Campaign:
    score, _ = population()
    return assay.create_campaign(
        {"p": score}, score="p", threshold_for=question, budget=budget, seed=2, **more
    )


@pytest.mark.parametrize(
    "question", ["precision >= 0.8", "specificity >= 90%", "precision >= 0.75 and recall >= 0.4"]
)
def test_what_is_certified_is_true(question: str) -> None:
    # The chance that a campaign certifies what is false is at most 5%; these three do not.
    score, truth = population()
    campaign = run(make(question, 600), truth)
    found = campaign.threshold()
    assert found.certified
    assert found.threshold is not None
    says = score >= found.threshold
    assert found.yes == says.sum()
    value = {
        "precision": precision_score(truth, says),
        "recall": recall_score(truth, says),
        "specificity": recall_score(~truth, ~says),
    }
    for metric, floor in ThresholdQuestion.parse(question).floors:
        assert value[metric] >= floor
    for each in found.metrics:  # intervals are rough, and these are not far off
        assert each.low - 0.03 <= value[each.metric] <= each.high + 0.03
    assert "is certified at 95% confidence" in str(found)
    floor = float(question.split()[2].rstrip("%"))
    assert campaign.estimate().low >= (floor / 100 if floor > 1 else floor)


def test_exact_where_all_are_labelled() -> None:
    score, truth = population(size=300)
    cuts = np.sort(score)[::-1][[39, 79, 119, 159, 199, 239]]
    precisions = np.array([precision_score(truth, score >= cut) for cut in cuts])
    floor = float(precisions[2]) - 1e-4  # no bet could tell it from the floor
    campaign = assay.create_campaign(
        {"p": score}, score="p", threshold_for=f"precision >= {floor:.6f}", gain=1e-6
    )
    found = run(campaign, truth, batch=60).threshold()
    # All items above it were labelled, and what is below it was shown to be too much.
    assert found.certified
    assert found.settled
    assert found.yes == 120
    assert found.threshold is not None
    says = score >= found.threshold
    assert found.metrics[0].value == pytest.approx(precision_score(truth, says), abs=1e-12)
    assert found.metrics[0].low == pytest.approx(found.metrics[0].high, abs=1e-12)


def test_before_and_early() -> None:
    campaign = make()
    assert "No labels yet, so no threshold" in campaign.threshold().words
    _, truth = population()
    finish(campaign, truth, 20, most=80)
    found = campaign.threshold()
    assert not found.certified  # the first 60 labels choose where to begin, and are not bet on
    assert "No threshold is certified yet" in found.words
    assert campaign.estimate().low < 0.1  # nothing is certain yet


@pytest.mark.parametrize("backwards", [False, True])
def test_nothing_is_certified_that_nobody_could(*, backwards: bool) -> None:
    """The scores tell nothing, or they are those of the other class."""
    score, truth = population()
    if not backwards:
        truth = np.random.default_rng(1).random(SIZE) < 0.5
    campaign = assay.create_campaign(
        {"p": 1 - score}, score="p", threshold_for="precision >= 0.9", budget=400, seed=1
    )
    found = run(campaign, truth).threshold()
    assert not found.certified
    assert ("scores do not separate yes from no" in str(found)) >= backwards


def test_resumed_and_revised(storage: str) -> None:
    _, truth = population()
    campaign = run(
        make(storage=storage), lambda id: "cannot judge" if id % 40 == 3 else bool(truth[id])
    )
    found = campaign.threshold()
    again = assay.load_campaign(storage=storage)
    assert again.threshold() == found
    assert verify_campaign("campaign", storage=storage).clean
    # An answer that is revised changes what is known, and not how cards were drawn.
    revised = [item for item, label in again.answers().items() if label.value == "yes"][:40]
    again.tell(dict.fromkeys(revised, False), revise=True)
    after = again.threshold()
    assert after.labels == found.labels
    assert after.yes <= found.yes
    assert assay.load_campaign(storage=storage).threshold() == after
