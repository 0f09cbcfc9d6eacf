"""Slices where items count by weight: an item is one label, however often it was drawn."""

from typing import Any

import numpy as np
import pytest

import assay
from tests.kinds import finish
from tests.sklearn_metrics import SKLEARN

SIZE = 120
RNG = np.random.default_rng(3)
SCORE = RNG.random(SIZE).round(6)
TRUTH = RNG.random(SIZE) < SCORE
WEIGHT = RNG.lognormal(0, 1, SIZE)
LANG = np.where(RNG.random(SIZE) < 0.4, "de", "en")
SAYS = SCORE >= 0.5


def labelled(unjudged: int = -1, **more: Any) -> assay.Campaign:
    """Ask and answer to the end; one item cannot be judged."""
    table = {"id": np.arange(SIZE), "p": SCORE, "w": WEIGHT, "lang": LANG}
    given: dict[str, Any] = {
        "id": "id",
        "score": "p",
        "threshold": 0.5,
        "sample_weight": "w",
        "slices": ["lang"],
    }
    campaign = assay.create_campaign(table, **given, design=assay.Design(bins=2), seed=5, **more)
    finish(campaign, lambda id: "cannot judge" if id == unjudged else TRUTH[id], 20)
    return campaign


def draws(campaign: assay.Campaign, which: np.ndarray[Any, Any]) -> dict[int, int]:
    """Return how often each of these items was drawn, for the variants that count that."""
    rounds = campaign.desk.labelling.rounds
    return {int(item): rounds.times(item) for item in rounds.answers if which[int(item)]}


@pytest.mark.parametrize("metric", ["precision", "recall", "f1", "accuracy"])
def test_with_all_labels_a_slice_has_scikit_learns_weighted_metric(metric: str) -> None:
    """To the last digit, with no doubt."""
    campaign = labelled(metric=metric, within=0.0001)
    slices = campaign.slices("lang")
    for name in ("de", "en"):
        its, row = np.asarray(name == LANG), slices[name]
        value = SKLEARN[metric](TRUTH[its], SAYS[its], sample_weight=WEIGHT[its])
        assert (row.value, row.low, row.high) == pytest.approx((value, value, value), abs=1e-9)
        assert (row.effective, row.standard_error, row.verdict) == (None, 0, "")
        about = SAYS if metric == "precision" else np.ones(SIZE, dtype=np.bool_)
        assert row.labels == (its & about).sum()
        assert row.share == pytest.approx(WEIGHT[its & about].sum() / WEIGHT[about].sum())


def test_labels_and_their_worth_are_items_and_not_draws() -> None:
    """The wrong variant, draws as labels, would call a slice of under thirty items enough."""
    campaign = labelled(budget=50)
    assert all(row.labels < row.size for row in campaign.strata())  # none is known
    row, times = campaign.slices("lang")["de"], draws(campaign, np.asarray(LANG == "de"))
    assert row.counted == row.labels == len(times) < 30
    assert row.doubt == f"{len(times)} of 30 labels"
    assert row.effective is not None
    assert row.effective <= len(times)
    assert sum(times.values()) > 30


def test_an_item_that_cannot_be_judged_leaves_its_weight_open() -> None:
    heaviest = int(np.where(SAYS & (LANG == "de"), WEIGHT, 0).argmax())
    campaign = labelled(within=0.0001, unjudged=heaviest)
    its = SAYS & (LANG == "de") & (np.arange(SIZE) != heaviest)
    row = campaign.slices("lang")["de"]
    assert row.low < np.average(TRUTH[its], weights=WEIGHT[its]) < row.high
    assert (row.cannot_judge, row.effective is None) == (1, False)
