"""A campaign of several classes on the command line: which there are, and where they come from."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]
TOPICS = ("math", "physics", "q-bio")
COLUMN = ["--predicted", "topic", "--score", "top"]
PROBABILITIES = ["--probabilities", "p_*"]


@pytest.fixture
def topics(folder: Path) -> list[str]:
    """Write topics.csv and classes.csv into the current folder; return the predicted topics."""
    every = np.random.default_rng(8).dirichlet([1.0, 2.0, 0.5], 600).round(4)
    said = [TOPICS[place] for place in every.argmax(axis=1)]
    with (folder / "topics.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "topic", "top", "title", *(f"p_{name}" for name in TOPICS)])
        for k, row in enumerate(every.tolist()):
            writer.writerow([f"m{k}", said[k], max(row), f"title {k}", *row])
    (folder / "classes.csv").write_text(
        "name,aliases,guideline\nq-bio,,\nmath,,\nphysics,,matter\n"
    )
    return said


@pytest.fixture
def create(run: Run, topics: list[str]) -> Run:
    assert topics

    def call(*more: str, name: str = "t") -> Any:
        given = ["topics.csv", "--id", "id", "--show", "title", "--name", name]
        return run("create", *given, "--metric", "accuracy", "--within", "0.1", *more)

    return call


def test_classes_are_taken_from_a_file(create: Run) -> None:
    result = create(*COLUMN, "--classes", "classes.csv")
    assert result.exit_code == 0, result.output
    assert "3: q-bio, math, physics" in result.output
    assert "rank by the score of the predicted class" in result.output


def test_probabilities_are_kept_from_reviewers(create: Run) -> None:
    result = create(*PROBABILITIES, "--show", "p_math")
    assert result.exit_code == 0, result.output
    assert "reviewers are not shown p_math" in result.output
    assert "the most probable of p_*" in result.output


def test_top_k_accuracy_is_asked_for_by_name(create: Run, run: Run) -> None:
    result = create(*PROBABILITIES, "--metric", "top-2-accuracy within 0.05")
    assert result.exit_code == 0, result.output
    assert "top_2_accuracy" in run("status", "t", "--json").stdout
    two = ["--classifier", "new=p_*", "--classifier", "old=,topic"]
    result = create(*two, "--metric", "top-2-accuracy:new", name="two")
    assert result.exit_code == 0, result.output
    result = create(*two, "--metric", "top-2-accuracy", name="three")
    assert "needs the probabilities of all classes by old" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--probabilities", "q_*"], "no column fits --probabilities 'q_*'"),
        (["--probabilities", "p_*", "--score", "top"], "--score top is given beside"),
        (["--predicted", "title", "--classes", "classes.csv"], "no class: 'title 0'"),
        ([*COLUMN, "--classes", "nowhere.csv"], "cannot be read from nowhere.csv"),
        (["--classes", "classes.csv", "--score", "top"], "--predicted nor --probabilities"),
        ([*COLUMN, "--metric", "top-2-accuracy"], "star for the class: --probabilities 'p_*'"),
    ],
)
def test_mistakes_are_told_in_options(create: Run, given: list[str], told: str) -> None:
    result = create(*given)
    assert result.exit_code != 0
    assert told in " ".join(result.output.split()), result.output
