"""Slices of campaigns of more classes: accuracy and a class's metrics, slice by slice."""

from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

import assay
from assay import Campaign
from assay.errors import DesignError

NAMES = np.array(["bio", "cs", "math", "physics"])
N = 400


def made() -> tuple[dict[str, Any], Any]:
    """Return predictions of 400 items of four classes, with a slice each, and what they are."""
    rng = np.random.default_rng(3)
    truth = rng.choice(4, N, p=[0.1, 0.2, 0.4, 0.3])
    score = rng.uniform(0.3, 1, N)
    said = np.where(rng.random(N) < score, truth, rng.integers(0, 4, N))
    lang = np.where(rng.random(N) < 0.3, "de", "en")
    return {"id": np.arange(N), "topic": NAMES[said], "p": score, "lang": lang}, NAMES[truth]


def labelled(table: dict[str, Any], truth: Any, metrics: list[str], budget: int = N) -> Campaign:
    campaign = assay.create_campaign(
        table,
        id="id",
        predicted="topic",
        score="p",
        metrics=metrics,
        budget=budget,
        slices=["lang"],
    )
    while not campaign.done:
        campaign.tell({item.id: truth[item.id] for item in campaign.ask(100)})
    return campaign


def test_at_full_labelling_they_are_those_of_scikit_learn() -> None:
    table, truth = made()
    metrics = ["macro_f1", "accuracy", "precision:cs", "recall:bio", "f1:physics"]
    campaign = labelled(table, truth, metrics)
    said = table["topic"]
    right = {
        None: sk.accuracy_score,
        "accuracy": sk.accuracy_score,
        "precision:cs": lambda y, p: sk.precision_score(y == "cs", p == "cs"),
        "recall:bio": lambda y, p: sk.recall_score(y == "bio", p == "bio"),
        "f1:physics": lambda y, p: sk.f1_score(y == "physics", p == "physics"),
    }
    for name, metric in right.items():
        rows = {row.slice: row.value for row in campaign.slices("lang", metric=name).rows}
        for lang in ("de", "en"):
            its = table["lang"] == lang
            assert rows[lang] == pytest.approx(metric(truth[its], said[its]), abs=1e-9), name
            # The wrong variant: numbers of classes read as yes and no.
            wrong = np.mean((said[its] != "bio") == (truth[its] == "yes"))
            assert rows[lang] != pytest.approx(wrong, abs=1e-3)


def test_none_of_these_is_wrong_and_what_nobody_can_judge_is_left_out() -> None:
    table, truth = made()
    told = truth.astype(object)
    told[table["lang"] == "de"] = "none of these"
    campaign = labelled(table, told, ["accuracy"])
    rows = {row.slice: row for row in campaign.slices("lang").rows}
    assert rows["de"].value == 0.0
    told[table["lang"] == "de"] = "cannot judge"
    campaign = labelled(table, told, ["accuracy"])
    rows = {row.slice: row for row in campaign.slices("lang").rows}
    assert (rows["de"].labels, rows["de"].cannot_judge) == (0, (table["lang"] == "de").sum())


def test_a_metric_of_all_classes_is_accuracy_in_slices_or_refused() -> None:
    table, truth = made()
    campaign = labelled(table, truth, ["macro_f1"], budget=100)
    assert campaign.slices("lang").metric == "accuracy"
    with pytest.raises(DesignError, match="macro_f1 is of all classes"):
        campaign.slices("lang", metric="macro_f1")
    with pytest.raises(DesignError, match="4 classes, and no threshold"):
        campaign.curve()
