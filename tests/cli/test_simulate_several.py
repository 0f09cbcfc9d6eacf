"""Simulating several classifiers, or several metrics, from the command line."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.simulation import SEVERAL_DESIGNS

Fixture = Callable[..., Any]
FILE = "labelled.csv"
NEW, OLD = ["--classifier", "new=p,new"], ["--classifier", "old=,old"]
BOTH = ["--label", "truth", "--positive", "spam", *NEW, *OLD]
TWO = ["--metric", "precision:new", "--metric", "recall:old within 0.1"]


@pytest.fixture(autouse=True)
def labelled(folder: Path) -> Path:
    """Write a file of two classifiers' predictions with the truth into the current folder."""
    rng = np.random.default_rng(4)
    truth = rng.random(2000) < 0.4
    p = np.clip(truth + rng.normal(0, 0.4, 2000), -1, 2).round(4)
    said = [np.where(each, "spam", "ham") for each in (p > 0.5, truth ^ (rng.random(2000) < 0.1))]
    rows = zip(p, *said, np.where(truth, "spam", "ham"), strict=True)
    lines = ["p,new,old,truth", *(",".join(map(str, row)) for row in rows)]
    (folder / FILE).write_text("\n".join(lines) + "\n")
    return folder / FILE


@pytest.fixture
def simulate(run: Fixture) -> Fixture:
    """Run 20 evaluations of each design."""

    def call(*words: str) -> Any:
        return run(
            "simulate", FILE, "--replications", "20", "--seed", "1", "--workers", "1", *words
        )

    return call


def test_rows_and_a_picture_are_written(simulate: Fixture) -> None:
    result = simulate(*BOTH, *TWO, "--within", "0.1", "--out", "pictures")
    assert result.exit_code == 0, result.output
    assert "saved: 3 files in pictures" in result.stdout
    with Path("pictures/rows.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    designs = [name for name in SEVERAL_DESIGNS for _ in range(2)]
    assert [row["design"] for row in rows] == designs
    assert {row["metric"] for row in rows} == {"precision:new", "recall:old"}
    assert Path("pictures/labels_by_design.svg").read_text().lstrip().startswith("<?xml")
    assert Path("pictures/labels_by_design.png").read_bytes().startswith(b"\x89PNG")
