"""Spark Connect: a client that sends plans to a server, as from a notebook."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import PredictionsError
from assay.predictions import Scan
from assay.predictions.spark import source
from tests.predictions.several_population import several

# What is read, and how it is told: both by the client, in a process of its own, and in memory. A
# process that has a Spark cannot be a client of another.
PROGRAM = """
import json, sys
import numpy as np
from assay.core.stratify import stratify
from assay.predictions import Scan, read_predictions

def told(source, options):
    found = read_predictions(source, id="key", show=["text"], seed=3, **options)
    if "classifiers" in options:
        return [found.fingerprint(), sorted(found.cells().items())]
    profiles = found.profile("score", "probability", [True, False])
    strata = stratify(profiles, variable="score", method="perc", bins=3)
    decks = found.deal(strata, scale="probability", seed=3, counts=[7] * strata.n_strata)
    cards = [[(card.id, card.shown, card.weight) for card in deck] for deck in decks]
    found = found.find([-4000, 3], variable="score", scale="probability")
    return [cards, [each and each.value for each in found]]

def all_told(source):
    return json.dumps([told(source, options) for options in (
        {"score": "p", "threshold": 0.3},
        {"score": "p", "threshold": 0.3, "sample_weight": "views"},
        {"classifiers": {"a": {"score": "p", "threshold": 0.3}, "b": {"predicted": "said"}}},
    )])
"""
CLIENT = (
    PROGRAM
    + """
path, url = sys.argv[1:]
print(all_told(Scan(path, spark=url)))
"""
)


def test_a_client_reads_what_memory_does(spark_connect_url: str, tmp_path: Path) -> None:
    table = several().table
    views = pa.array([float(1 + place % 97) for place in range(table.num_rows)])
    path = tmp_path / "rows.parquet"
    pq.write_table(table.append_column("views", views), path)
    program = tmp_path / "client.py"
    program.write_text(CLIENT)
    direct = {**os.environ, **dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1")}
    run = subprocess.run(
        [sys.executable, program, path, spark_connect_url],
        env=direct,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-3_000:]
    here: dict[str, Any] = {}
    exec(PROGRAM, here)
    assert json.loads(run.stdout) == json.loads(here["all_told"](Scan(path, engine="memory")))


def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    pyspark = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    monkeypatch.setattr(pyspark.SparkSession, "getActiveSession", classmethod(lambda _: None))
    opened: list[str] = []
    monkeypatch.setattr(source, "_remote_session", opened.append)
    monkeypatch.setenv("SPARK_REMOTE", "sc://host:15002")
    source._session(None)
    assert opened == ["sc://host:15002"]
    monkeypatch.delenv("SPARK_REMOTE")
    with pytest.raises(PredictionsError, match="no active Spark session") as caught:
        source._session(None)
    assert "SPARK_REMOTE" in str(caught.value)


def test_a_token_is_not_written_down() -> None:
    kept = Scan(table="t", spark="sc://host:443/;token=secret;use_ssl=true").to_dict()
    assert kept == {"table": "t", "spark": "sc://host:443/;use_ssl=true"}
