"""Items that may have several classes, on the command line: made, judged by keys and lines."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.campaign import load_campaign
from tests.cli.conftest import Terminal

Run = Callable[..., Any]
NAMES = ("fraud", "off topic", "spam")
N = 300


@pytest.fixture
def tags(folder: Path) -> str:
    """Write tags.csv into the current folder: scores and truth of three classes."""
    rng = np.random.default_rng(8)
    score = rng.beta(0.5, 1.0, (N, 3)).round(4)
    truth = (rng.random((N, 3)) < score).astype(int)
    with (folder / "tags.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(f"{part}_{name}" for part in ("p", "is") for name in NAMES)])
        for k in range(N):
            writer.writerow([f"m{k}", *score[k].tolist(), *truth[k].tolist()])
    return "tags.csv"


@pytest.fixture
def create(run: Run, tags: str) -> Run:
    def call(*more: str) -> Any:
        return run("create", tags, "--id", "id", "--multilabel", "--budget", "60", *more)

    return call


SCORES = ("--probabilities", "p_*", "--threshold", "0.5")


def test_lines_of_a_pipe(run: Run, create: Run) -> None:
    assert create(*SCORES).exit_code == 0
    result = run("label", "campaign", input="spam|Fraud\n13\n1 2\n0\n?\nfruad\n")
    assert result.exit_code == 1
    assert "line 6 of the input is not an answer: 'fruad'" in result.stderr
    said = [
        answer.value
        for answer in load_campaign("campaign", storage="sqlite:///assay.db").answers().values()
    ]
    several = ["fraud|spam", "fraud|spam", "fraud|off topic"]
    assert said == [*several, "none of these", "cannot judge"]


def test_keys_of_a_terminal(create: Run, terminal: Callable[..., Terminal]) -> None:
    assert create(*SCORES).exit_code == 0
    screen = terminal("label", "campaign")
    screen.wait_for("Which classes does it have?")
    screen.press("3")
    screen.wait_for("chosen: spam; Enter sends")
    screen.press("1")
    screen.wait_for("chosen: spam, fraud; Enter sends")
    screen.press("3")
    screen.wait_for("chosen: fraud; Enter sends")
    screen.press("2\r")
    screen.wait_for("q quit", 2)
    assert "fraud, off topic, saved" in screen.seen
    screen.press("\r")
    screen.wait_for("no class is selected")
    screen.press("0")
    screen.wait_for("q quit", 4)
    assert "none of these, saved" in screen.seen
    screen.press("q")
    screen.wait_for("2 labelled")
    said = [
        answer.value
        for answer in load_campaign("campaign", storage="sqlite:///assay.db").answers().values()
    ]
    assert said == ["fraud|off topic", "none of these"]
