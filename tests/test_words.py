"""Small things that a new user meets first: names, tables, pairs of columns, and storage."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import assay
from assay.cli import app


def rows(size: int = 400) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    score = rng.uniform(size=size)
    return {"p": score, "q": score**2, "said": score > 0.5, "truth": rng.uniform(size=size) < score}


def test_dir_lists_the_public_names_alone() -> None:
    assert dir(assay) == sorted(assay.__all__)


def test_a_pair_of_columns_is_a_classifier() -> None:
    table = rows()
    pairs = assay.create_campaign(
        table, classifiers={"a": ("p", "said"), "b": ("q", 0.3)}, metric="precision", budget=20
    )
    whole: dict[str, Any] = {
        "a": {"score": "p", "predicted": "said"},
        "b": {"score": "q", "threshold": 0.3},
    }
    same = assay.create_campaign(table, classifiers=whole, metric="precision", budget=20)
    assert pairs.settings.commitment == same.settings.commitment
    assert pairs.settings.source.columns["classifiers"] == whole
    with pytest.raises(assay.PredictionsError, match="mapping of some of"):
        assay.create_campaign(table, classifiers={"a": "p"}, metric="precision", budget=20)


def test_the_environment_does_not_redirect_a_campaign_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs.db"
    monkeypatch.setenv("ASSAY_STORAGE", f"sqlite:///{theirs}")
    for _ in range(2):  # a second of the same name is no trouble either
        assay.create_campaign(rows(), score="p", threshold=0.5, budget=5)
    old = {"id": [1, 2], "p": [0.9, 0.1]}
    assay.compare_campaign(
        old, old | {"p": [0.1, 0.9]}, id="id", score="p", threshold=0.5, budget=2
    )
    assert not theirs.exists()


def test_a_simulation_prints_as_a_table() -> None:
    table = rows()
    known = assay.Population(y_true=table["truth"], y_score=table["p"], threshold=0.5)
    found = assay.simulate(known, designs=["default", "random"], budget=60, replications=5)
    lines = str(found).splitlines()
    assert lines[0] == "400 items whose truth is known"
    assert lines[2].split() == ["design", "labels", "against", "random"]
    assert {line.split()[0] for line in lines[3:5]} == {"default", "random"}


def test_plan_plans_every_metric(tmp_path: Path) -> None:
    table = rows(200)
    file = tmp_path / "rows.csv"
    lines = [f"{p:.4f},{int(said)}" for p, said in zip(table["p"], table["said"], strict=True)]
    file.write_text("\n".join(["p,said", *lines]) + "\n")
    words = ["plan", str(file), "--score", "p", "--predicted", "said", "--budget", "50"]
    both = [*words, "--metric", "precision", "--metric", "recall", "--replications", "3", "--json"]
    told = json.loads(CliRunner().invoke(app, both).stdout)
    assert [each["metric"] for each in told["plans"]] == ["precision", "recall"]
    one = CliRunner().invoke(app, [*words, "--replications", "3", "--json"])
    assert json.loads(one.stdout)["metric"] == "precision"
