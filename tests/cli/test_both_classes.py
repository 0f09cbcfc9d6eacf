"""Balanced accuracy and Matthews correlation on the way of a user: every command knows them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.web.dashboard import dashboard_of
from tests.sklearn_metrics import SKLEARN

Fixture = Callable[..., Any]
METRICS = ("balanced_accuracy", "matthews_correlation")
ITEMS = 240
COLUMNS = ("--id", "id", "--score", "p", "--predicted", "said")
SCORE = np.round((np.arange(ITEMS) * 0.6180339887) % 1, 4)
TRUTH = (np.arange(ITEMS) * 0.7548776662 % 1) < 0.1 + 0.8 * SCORE
SAID = SCORE >= 0.4


@pytest.fixture
def files(folder: Path) -> Path:
    """Write predictions with the truth into the folder."""
    rows = [
        f"u{at},{SCORE[at]},{SAID[at]},{'de' if at % 2 else 'en'},{TRUTH[at]}"
        for at in range(ITEMS)
    ]
    (folder / "truth.csv").write_text("\n".join(["id,p,said,lang,truth", *rows]) + "\n")
    return folder


def answer(name: str) -> assay.Campaign:
    campaign = assay.load_campaign(name, storage="sqlite:///assay.db")
    while batch := campaign.ask(30):
        campaign.tell({item.id: bool(TRUTH[int(str(item.id)[1:])]) for item in batch})
    return campaign


def told(run: Fixture, *words: str) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


@pytest.mark.parametrize("metric", METRICS)
def test_a_campaign_from_its_plan_to_its_bundle(run: Fixture, files: Path, metric: str) -> None:
    goal = ("--metric", metric, "--within", "0.2")
    quick = ("--replications", "5")
    planned = json.loads(told(run, "plan", "truth.csv", *COLUMNS, *goal, *quick, "--json"))
    assert planned["metric"] == metric
    assert [row["design"] for row in planned["designs"]] == [
        "default", "centred", "bennett-carvalho", "random"
    ]  # fmt: skip
    labelled = ("truth.csv", "--label", "truth", "--score", "p", "--predicted", "said")
    shown = json.loads(told(run, "simulate", *labelled, *goal, *quick, "--json"))
    right = SKLEARN[metric](TRUTH, SAID)
    assert shown["population"]["value"] == pytest.approx(right)
    goal = ("--metric", metric, "--within", "0.001")
    told(run, "create", "truth.csv", *COLUMNS, *goal, "--name", "a", "--slice", "lang")
    campaign = answer("a")
    status = json.loads(told(run, "status", "a", "--json"))
    assert status["estimate"]["value"] == pytest.approx(right, abs=1e-12)
    assert campaign.estimate().high == campaign.estimate().low == status["estimate"]["value"]
    for row in campaign.slices("lang").rows:
        here = np.arange(ITEMS) % 2 == (row.slice == "de")
        assert row.value == pytest.approx(SKLEARN[metric](TRUTH[here], SAID[here]), abs=1e-12)
    assert "de" in told(run, "status", "a", "--by", "lang")
    told(run, "report", "a", "--output", "r.html")
    assert metric.replace("_", " ").capitalize() in (files / "r.html").read_text()
    told(run, "report", "a", "--bundle", "audit.zip")
    assert "clean" in told(run, "verify", "audit.zip") + told(run, "verify", "a")
    assert str(round(right, 3)) in str(dashboard_of(campaign))
