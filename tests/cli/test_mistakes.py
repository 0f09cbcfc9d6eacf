"""``assay errors``: the classifier's mistakes among the labels."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Fixture = Any


def test_mistakes_are_shown_and_saved(create: Fixture, run: Fixture, tmp_path: Path) -> None:
    create()
    run("label", "spam", input="y\nn\nn\n")
    told = json.loads(run("errors", "spam", "--json").stdout)
    assert told["judged"] == 3 and told["count"] == len(told["mistakes"]) == 2
    assert {each["kind"] for each in told["mistakes"]} == {"false positive"}
    shown = run("errors", "spam").stdout
    assert shown.startswith("2 false positives and 0 false negatives among 3 judged items")
    assert str(told["mistakes"][0]["id"]) in shown and "stands for" in shown
    assert "and 1 more" in run("errors", "spam", "--limit", "1").stdout
    assert run("errors", "spam", "--kind", "fn").stdout.startswith("0 false negatives")
    for ending in ("csv", "jsonl", "parquet"):
        run("errors", "spam", "-o", str(tmp_path / f"wrong.{ending}"))
    assert pq.read_table(tmp_path / "wrong.parquet").num_rows == 2
    again = run("errors", "spam", "-o", str(tmp_path / "wrong.csv"))
    assert again.exit_code == 1 and "is there already" in again.stderr
    assert "COLUMN=VALUE" in run("errors", "spam", "--by", "lang").stderr
