"""Simulating several classifiers, or several metrics, from the command line."""

import csv
import json
import re
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


def test_people_see_the_total_and_each_metric(simulate: Fixture) -> None:
    result = simulate(*BOTH, *TWO, "--within", "0.08")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    told = result.stdout
    assert "labelled.csv: 2,000 items, " in told
    assert "parent's no-set " in told
    assert re.search(r"^precision:new is 0\.\d{4}, ±0\.08$", told, re.MULTILINE)
    assert re.search(r"^recall:old is 0\.\d{4}, ±0\.1$", told, re.MULTILINE)
    first_words = [line.split()[0] for line in told.splitlines() if line.strip()]
    for design in SEVERAL_DESIGNS:
        assert first_words.count(design) == 3
    assert max(map(len, told.splitlines())) <= 80


def test_options_reach_the_designs(simulate: Fixture) -> None:
    words = [*BOTH, *TWO, "--within", "0.08", "--design", "joint,recycle-shuffle", "--json"]
    plain = json.loads(simulate(*words).stdout)
    assert [row["design"] for row in plain["rows"]] == ["independent", "joint", "recycle-shuffle"]
    other = json.loads(simulate(*words, "--parent", "old", "--assume", "0.9").stdout)
    assert other["ensemble"]["parent"] == "old"
    assert other["rows"][2]["labels_mean"] < plain["rows"][2]["labels_mean"]
    together = json.loads(simulate(*words, "--simultaneous").stdout)
    assert together["rows"][1]["labels_mean"] > plain["rows"][1]["labels_mean"]


def test_a_budget_is_for_joint(simulate: Fixture) -> None:
    result = simulate(*BOTH, "--budget", "80")
    assert result.exit_code == 0, result.output
    assert "joint takes at most 80 labels" in result.stdout
    assert "independent" not in result.stdout.split("labels   ")[0]
    assert "parent" not in result.stdout


def test_a_budget_alone_makes_no_picture(simulate: Fixture) -> None:
    result = simulate(*BOTH, "--budget", "80", "--out", "pictures")
    assert "saved: 1 files in pictures" in result.stdout, result.output
    assert [file.name for file in Path("pictures").iterdir()] == ["rows.csv"]


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


SINGLE = ["--label", "truth", "--score", "p", "--predicted", "new", "--positive", "spam"]
GOAL = ["--within", "0.1"]
BAD = {
    "one classifier's design": ([*BOTH, *GOAL, "--design", "perc-opt"], "'perc-opt'"),
    "no design": ([*BOTH, *GOAL, "--design", ","], "no design is named"),
    "bad classifier": ([*BOTH, *GOAL, "--classifier", "x"], "'x'"),
    "score beside": ([*BOTH, *GOAL, "--score", "p"], "--score"),
    "at least": ([*BOTH, "--at-least", "0.9"], "goes with one metric"),
    "assume of one": ([*SINGLE, *GOAL, "--assume", "0.9"], "--assume"),
    "parent of one": ([*SINGLE, *GOAL, "--parent", "new"], "--parent"),
    "simultaneous of one": ([*SINGLE, *GOAL, "--simultaneous"], "--simultaneous"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_errors_are_told_in_words_and_in_json(
    words: list[str], message: str, simulate: Fixture
) -> None:
    plain = simulate(*words)
    assert (plain.exit_code, plain.stdout) == (1, "")
    assert message in plain.stderr
    machine = simulate(*words, "--json")
    assert (machine.exit_code, machine.stdout) == (1, "")
    assert message in json.loads(machine.stderr)["error"]["problem"]


def test_second_opinions_have_a_row_of_their_own(simulate: Fixture) -> None:
    words = [*BOTH, "--metric", "accuracy", "--within", "0.05", "--design", "joint"]
    document = json.loads(simulate(*words, "--aux", "p", "--replications", "2", "--json").stdout)
    assert [row["design"] for row in document["rows"]] == ["independent", "joint", "joint + aux"]
