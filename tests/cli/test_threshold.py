"""``--threshold-for`` on the command line."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.campaign import load_campaign
from tests.cli.conftest import Run

WORDS = ("create", "p.parquet", "--id", "id", "--score", "p", "--name", "cut", "--budget", "100")


@pytest.fixture
def truth(folder: Path) -> dict[int, bool]:
    """What the items of p.parquet are."""
    rng = np.random.default_rng(3)
    score = rng.random(2_000)
    pq.write_table(pa.table({"id": np.arange(2_000), "p": score}), folder / "p.parquet")
    return dict(enumerate((rng.random(2_000) < score**0.3).tolist()))


def test_from_question_to_answer(run: Run, truth: dict[int, bool]) -> None:
    told = run(*WORDS, "--threshold-for", "precision >= 0.7").stdout
    assert "a threshold with precision >= 0.7, at 95% confidence, at most 100" in told
    assert "yes, score" not in told  # a ladder has too many strata to read
    assert "No labels yet, so no threshold is certified" in run("status", "cut").stdout.replace(
        "\n", " "
    )
    campaign = load_campaign("cut", storage="sqlite:///assay.db")
    while not campaign.done:
        campaign.tell({item.id: truth[int(item.id)] for item in campaign.ask(20)})
    told = " ".join(run("status", "cut").stdout.split())
    assert "Threshold 0." in told
    assert "precision >= 0.7 is certified at 95% confidence" in told
    document = json.loads(run("status", "cut", "--json").stdout)
    assert document["threshold"]["certified"] is True
    assert document["goal"]["threshold_for"] == "precision >= 0.7"
    assert {each["metric"] for each in document["threshold"]["metrics"]} == {"precision", "recall"}
