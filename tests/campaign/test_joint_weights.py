"""Weights in joint designs: several metrics of several classifiers over weighted items."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.strata import Strata
from assay.labelling import history_in
from tests.kinds import finish
from tests.sklearn_metrics import SKLEARN

RNG = np.random.default_rng(17)
SIZE = 120
LATENT = RNG.random(SIZE)
TRUTH = RNG.random(SIZE) < LATENT
WEIGHT = np.round(np.exp(RNG.standard_normal(SIZE)) * np.where(TRUTH, 1, 4), 2)
WEIGHT[::17] = 0  # these are not there
CNN = np.clip(LATENT + 0.15 * RNG.standard_normal(SIZE), 0, 1)
MVE = np.clip(LATENT + 0.3 * RNG.standard_normal(SIZE), 0, 1)
SAYS = {"cnn": CNN >= 0.6, "mve": MVE >= 0.5}
TABLE = {"id": np.arange(SIZE), "cnn": CNN, "mve": MVE, "views": WEIGHT}
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "cnn": {"score": "cnn", "threshold": 0.6},
    "mve": {"score": "mve", "threshold": 0.5},
}
METRICS = [
    *("precision:cnn", "recall:cnn", "f1:mve", "accuracy:mve", "false_omission_rate:cnn"),
    *("prevalence", "precision:cnn - precision:mve", "f1:cnn - f1:mve"),
    *("balanced_accuracy:cnn", "matthews_correlation:mve"),
]


def create(table: Any = TABLE, **more: Any) -> assay.Campaign:
    given = {"id": "id", "classifiers": CLASSIFIERS, "metrics": METRICS, "sample_weight": "views"}
    return assay.create_campaign(table, **{**given, **more})


def label(campaign: assay.Campaign, batch: int = 30) -> assay.Estimates:
    finish(campaign, TRUTH, batch)
    return campaign.estimates()


def exact(name: str, weight: Any = WEIGHT) -> float:
    """Return a metric by scikit-learn, over all items with their weights."""
    first, *others = name.split(" - ")
    metric, _, whose = first.partition(":")
    predicted = SAYS[whose or "cnn"]
    value = float(SKLEARN[metric](TRUTH, predicted, sample_weight=weight))
    return value - exact(others[0], weight) if others else value


def test_with_all_labels_every_metric_is_scikit_learns() -> None:
    estimates = label(create(within=1e-7))
    assert list(estimates) == METRICS
    for name, estimate in estimates.items():
        right = exact(name)
        assert estimate.value == pytest.approx(right, abs=1e-9)
        assert estimate.low == pytest.approx(right, abs=1e-9)
        assert estimate.high == pytest.approx(right, abs=1e-9)
        assert estimate.open == 0
    # The wrong variant, items that count alike, is far off.
    alike = [abs(exact(name) - exact(name, np.ones(SIZE))) for name in METRICS]
    assert np.median(alike) > 0.03


def test_a_part_of_the_labels_is_stored_reported_bundled_and_verified(
    tmp_path: Path, storage: str
) -> None:
    campaign = create(within=0.3, budget=90, storage=storage, slices=["id"])
    estimates = label(campaign)
    assert len(campaign.answers()) <= 90
    assert any("drawn in proportion" in note for note in estimates["f1:mve"].notes)
    again = assay.load_campaign(storage=storage)
    assert again.estimates().to_dict() == estimates.to_dict()
    strata = again.settings.strata
    assert strata.weighted
    assert Strata.from_dict(strata.to_dict()) == campaign.settings.strata
    assert again.settings.items == strata.sizes.sum() == np.count_nonzero(WEIGHT)
    facts = campaign.report().facts
    assert facts.population.weight_column == "views"
    about_cnn = np.count_nonzero(SAYS["cnn"] & (WEIGHT > 0))
    assert next(m for m in facts.metrics if m.estimate.metric == "precision:cnn").items == about_cnn
    assert campaign.slices("id", metric="recall:cnn").rows
    checked = assay.verify_campaign(storage=storage)
    assert checked.clean, checked.findings
    bundle = campaign.bundle(tmp_path / "audit.zip")
    verified = assay.verify_bundle(bundle.path)
    assert verified.clean, verified.findings


def test_where_a_few_items_are_most_of_the_weight_it_still_ends() -> None:
    """They come again and again at no cost; rounds sized by what is missing would be thousands."""
    heavy = {**TABLE, "views": WEIGHT**2}
    campaign = create(heavy, metrics=["precision", "recall"], within=0.001)
    estimates = label(campaign)
    for name, estimate in estimates.items():
        assert estimate.low - 0.001 <= exact(name, WEIGHT**2) <= estimate.high + 0.001
    assert len(history_in(campaign.desk.current())["recall:cnn"]) < 100


def test_labels_from_before_serve_several_metrics() -> None:
    drawn = np.random.default_rng(5).choice(SIZE, 40, replace=False)
    labels = {int(item): bool(TRUTH[item]) for item in drawn}
    wanted = ["precision", "recall:cnn - recall:mve"]
    campaign = create(metrics=wanted, within=1e-7, sample_weight=None, labels=labels)
    assert set(map(int, campaign.answers())) <= set(labels)
    asked = {item.id for item in campaign.ask(500)}
    assert not asked & set(labels)
    estimates = label(campaign)
    for name, estimate in estimates.items():
        assert estimate.value == pytest.approx(exact(name, np.ones(SIZE)), abs=1e-9)
    # Of items that both call no, precision needs none.
    said_yes = SAYS["cnn"] | SAYS["mve"]
    kept = create(metrics=["precision"], within=0.1, sample_weight=None, labels=labels)
    assert len(kept.answers()) == said_yes[drawn].sum()
