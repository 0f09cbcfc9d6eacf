"""Metrics of each class: scikit-learn's at full labelling, and reasons where there is none."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support

import assay
from assay import Campaign
from assay.errors import DesignError
from tests.kinds import BY_TOPIC, finish, topics
from tests.sklearn_metrics import value_of

Texts = NDArray[np.str_]
NAMES = ["cat", "dog", "emu"]


def labelled(truth: Texts, said: Texts, **more: Any) -> assay.Campaign:
    """Return a campaign that is labelled to its end; without more, that is every item."""
    asked: dict[str, Any] = {"metric": "accuracy", "budget": len(said), "seed": 1, **more}
    campaign = assay.create_campaign({"said": said}, predicted="said", **asked)
    finish(campaign, lambda id: str(truth[id]), 100)
    return campaign


def test_all_labels_make_it_scikit_learns() -> None:
    rng = np.random.default_rng(2)
    truth = rng.choice(NAMES, 120, p=[0.6, 0.35, 0.05])
    said = np.where(rng.random(120) < 0.7, truth, rng.choice(NAMES, 120))
    table = labelled(truth, said).by_class()
    expected = precision_recall_fscore_support(truth, said, labels=NAMES)
    for row, precision, recall, f1, support in zip(table, *expected, strict=True):
        assert (row.precision, row.recall, row.f1) == pytest.approx((precision, recall, f1))
        assert (row.recall_low, row.recall_high) == pytest.approx((recall, recall))
        assert row.items == pytest.approx(support)
        assert row.predicted == (said == row.name).sum()
        assert row.labels == ((said == row.name) | (truth == row.name)).sum()


def test_classes_without_an_estimate_have_a_reason() -> None:
    truth = np.array(["cat", "emu"] * 30)
    said = np.array(["cat", "dog"] * 30)
    campaign = labelled(truth, said, classes=[*NAMES, "fox"])
    table = campaign.by_class()
    assert table["dog"].precision == 0
    assert table["dog"].doubt == ("no label names this class yet, so its recall is unknown")
    assert table["emu"].doubt == "no item is predicted as this class, so it has no precision"
    assert table["fox"].doubt == "no label names this class yet"
    assert "fox: no label names this class yet" in str(table)
    assert [row.name for row in campaign.by_class(classes=["emu"])] == ["emu"]
    with pytest.raises(DesignError, match="did you mean 'emu'"):
        campaign.by_class(classes=["emus"])
    with pytest.raises(KeyError):
        table["gnu"]
    assert list(table.to_frame()["name"]) == [*NAMES, "fox"]
    assert table.to_dict()["rows"][0]["name"] == "cat"
    assert "Classes" in campaign.report().markdown
    assert campaign.report().to_dict()["classes"][0]["rows"][2]["doubt"]


def test_a_class_with_30_items_in_a_hundred_thousand_has_an_interval_or_a_reason() -> None:
    rng = np.random.default_rng(1)
    truth = rng.choice(["cat", "dog"], 100_000)
    truth[:30] = "emu"
    said = np.where(rng.random(100_000) < 0.9, truth, "cat")
    for metric, known in (("accuracy", False), ("macro_f1", True)):
        campaign = labelled(truth, said, metric=metric, budget=200)
        row = campaign.by_class()["emu"]
        assert row.predicted == (said == "emu").sum()
        assert (row.precision is not None) == (row.recall is not None) == known
        assert bool(row.doubt) != known
        assert row.recall_low <= (said[:30] == "emu").mean() <= row.recall_high
        assert row.items_low <= 30 <= row.items_high


def test_many_classes_are_told_of_by_their_labels() -> None:
    names = np.array([f"class {k}" for k in range(70)])
    said = np.concatenate([np.repeat(names[:60], 2), names[60:]])
    table = labelled(said, said).by_class()
    assert (len(table), table.left_out) == (60, 10)
    assert "10 classes with fewer labels are not shown" in table.remarks


def test_items_with_several_classes_have_a_table_too() -> None:
    rng = np.random.default_rng(5)
    truth, said = (rng.random((80, 2)) < 0.4 for _ in range(2))
    campaign = assay.create_campaign(
        {"fraud": said[:, 0], "spam": said[:, 1]},
        classifiers={"fraud": {"predicted": "fraud"}, "spam": {"predicted": "spam"}},
        multilabel=True,
        metric="f1",
        budget=80,
    )
    names = np.array(["fraud", "spam"])
    finish(campaign, lambda id: names[truth[id]].tolist(), 40)
    precision, recall, f1, support = precision_recall_fscore_support(truth, said)
    for place, row in enumerate(campaign.by_class()):
        assert (row.precision, row.recall) == pytest.approx((precision[place], recall[place]))
        assert (row.f1, row.items) == pytest.approx((f1[place], support[place]))


def test_a_class_that_was_a_target_has_the_targets_interval() -> None:
    # Of a class that was none, labels did not follow the errors, which makes another interval.
    rng = np.random.default_rng(9)
    truth = rng.choice(NAMES, 3_000, p=[0.5, 0.3, 0.2])
    said = np.where(rng.random(3_000) < 0.8, truth, rng.choice(NAMES, 3_000))
    campaign = labelled(truth, said, metric=None, metrics=["recall:emu", "accuracy"], budget=300)
    estimate, row = campaign.estimate("recall:emu"), campaign.by_class()["emu"]
    assert (row.recall, row.recall_low, row.recall_high) == pytest.approx(
        (estimate.value, estimate.low, estimate.high)
    )
    design = campaign.settings.design
    assert design.beside.allocation != design.allocation == "explore"
    assert design.beside.beside == design.beside


# Slices of classes.


def sliced(table: dict[str, Any], truth: Any, metrics: list[str], budget: int = 400) -> Campaign:
    options: dict[str, Any] = {**BY_TOPIC, "slices": ["lang"], "budget": budget}
    campaign = assay.create_campaign(table, metrics=metrics, **options)
    finish(campaign, truth, 100)
    return campaign


def test_at_full_labelling_they_are_those_of_scikit_learn() -> None:
    table, truth = topics()
    metrics = ["macro_f1", "accuracy", "precision:cs", "recall:bio", "f1:physics"]
    campaign = sliced(table, truth, metrics)
    said = table["topic"]
    for name in (None, *metrics[1:]):
        rows = {row.slice: row.value for row in campaign.slices("lang", metric=name).rows}
        for lang in ("de", "en"):
            its = table["lang"] == lang
            right = value_of(name or "accuracy", truth[its], said[its])
            assert rows[lang] == pytest.approx(right, abs=1e-9), name


def test_none_of_these_is_wrong_and_what_nobody_can_judge_is_left_out() -> None:
    table, truth = topics()
    told = truth.astype(object)
    told[table["lang"] == "de"] = "none of these"
    campaign = sliced(table, told, ["accuracy"])
    rows = {row.slice: row for row in campaign.slices("lang").rows}
    assert rows["de"].value == 0.0
    told[table["lang"] == "de"] = "cannot judge"
    campaign = sliced(table, told, ["accuracy"])
    rows = {row.slice: row for row in campaign.slices("lang").rows}
    assert (rows["de"].labels, rows["de"].cannot_judge) == (0, (table["lang"] == "de").sum())


def test_a_metric_of_all_classes_is_accuracy_in_slices_or_refused() -> None:
    table, truth = topics()
    campaign = sliced(table, truth, ["macro_f1"], budget=100)
    assert campaign.slices("lang").metric == "accuracy"
    with pytest.raises(DesignError, match="macro_f1 is of all classes"):
        campaign.slices("lang", metric="macro_f1")
    with pytest.raises(DesignError, match="4 classes, so there is no threshold"):
        campaign.curve()
