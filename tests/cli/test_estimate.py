"""The interval from labels that were there before, and a campaign that goes on from them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
