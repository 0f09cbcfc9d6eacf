"""The interval from labels that were there before, and a campaign that goes on from them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

Fixture = Callable[..., Any]
COLUMNS = ("--id", "id", "--score", "p", "--predicted", "said", "--positive", "spam")


@pytest.fixture
def labels_file(folder: Path) -> Path:
    """Labels of a random 150 of the 400 items: spam where the number is even."""
    sample = np.random.default_rng(1).choice(400, 150, replace=False)
    rows = [f"m{item:03d},{'yes' if item % 2 == 0 else 'no'}" for item in sample]
    file = folder / "labels.csv"
    file.write_text("\n".join(["id,label", *rows]) + "\n")
    return file


def _estimate(run: Fixture, *more: str) -> Result:
    given = ("labels.csv", "--predictions", "predictions.csv", *COLUMNS, *more)
    result: Result = run("estimate", *given)
    return result


@pytest.mark.usefixtures("labels_file")
def test_the_interval_is_shown_with_what_it_rests_on(run: Fixture) -> None:
    result = _estimate(run, "--metric", "accuracy")
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "accuracy" in told
    assert "at 95% confidence" in told
    assert "rests on labels drawn at random before" in told
    assert "not done" not in told


def test_bad_labels_are_told_in_words_and_as_json(run: Fixture, labels_file: Path) -> None:
    labels_file.write_text("id,label\nm999,yes\n")
    result = _estimate(run)
    assert result.exit_code == 1
    assert "not among the predictions" in result.stderr
    told = json.loads(_estimate(run, "--json").stderr)
    assert "'m999'" in told["error"]["details"]


def test_a_campaign_goes_on_from_the_labels(
    run: Fixture,
    create: Fixture,
    labels: Fixture,
    labels_file: Path,
) -> None:
    create("--labels", str(labels_file), goal=("--budget", "80"))
    before = labels()
    assert before
    batch = json.loads(run("export", "spam", "--what", "batch", "--size", "5", "--json").stdout)
    assert not {row["id"] for row in batch["rows"]} & before.keys()


def test_a_campaign_that_is_done_at_once_points_to_its_status(
    create: Fixture, labels_file: Path
) -> None:
    result = create("--labels", str(labels_file), goal=("--within", "0.2"))
    assert "next: assay status spam" in result.stdout
