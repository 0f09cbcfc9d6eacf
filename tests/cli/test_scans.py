"""``assay create`` with options about what reads the predictions, and which of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

Fixture = Callable[..., Any]
WORDS = [
    *("--id", "id", "--score", "p", "--predicted", "said", "--positive", "spam"),
    *("--within", "0.1", "--json"),
]


def _made(run: Fixture, *words: str) -> dict[str, Any]:
    result = run("create", *words, *WORDS)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.fixture
def preds(folder: Path) -> Path:
    """The predictions of the folder as a table of a DuckDB file, and as Parquet files."""
    with duckdb.connect(str(folder / "preds.duckdb")) as connection:
        connection.execute("CREATE TABLE preds AS FROM read_csv('predictions.csv')")
        for day in (1, 2):
            (folder / f"day={day}").mkdir()
            rows = f"FROM preds WHERE hash(id) % 2 + 1 = {day}"
            connection.execute(f"COPY ({rows}) TO 'day={day}/part.parquet' (FORMAT parquet)")
    return folder


def test_every_engine_and_source_makes_the_same_campaign(preds: Path, run: Fixture) -> None:
    sources = {
        "a": ["predictions.csv", "--engine", "memory"],
        "b": ["predictions.csv", "--engine", "duckdb"],
        "c": ["preds.duckdb", "--table", "preds"],
        "d": ["day=*/*.parquet", "--engine", "duckdb", "--check-ids"],
        "e": ["SELECT * FROM read_csv('predictions.csv')"],
    }
    made = [_made(run, *words, "--name", name) for name, words in sources.items()]
    assert preds.exists()
    fingerprints = {document["read"]["fingerprint"] for document in made}
    strata = {json.dumps(document["strata"]) for document in made}
    assert (len(fingerprints), len(strata)) == (1, 1)
    batches = [
        run("export", name, "--what", "batch", "--size", "20").stdout.splitlines()
        for name in sources
    ]
    assert len(batches[0]) == 21
    assert all(batch == batches[0] for batch in batches)


def test_where_takes_some_rows(preds: Path, run: Fixture) -> None:
    whole = _made(run, "predictions.csv", "--engine", "duckdb")
    part = _made(run, str(preds / "day=*/*.parquet"), "--where", "day = 1", "--name", "part")
    assert 0 < part["read"]["rows"] < whole["read"]["rows"]
    failed = run("create", "predictions.csv", "--where", "days = 1", *WORDS, "--name", "none")
    assert failed.exit_code == 1
    assert "--where 'days = 1' cannot be used" in failed.stderr


def test_repeated_ids_are_found_when_all_are_looked_at(folder: Path, run: Fixture) -> None:
    rows = (folder / "predictions.csv").read_text()
    (folder / "predictions.csv").write_text(rows + rows.splitlines()[-1] + "\n")
    failed = run("create", "predictions.csv", "--engine", "duckdb", "--check-ids", *WORDS)
    assert failed.exit_code == 1
    assert "ids that occur more than once: 1" in failed.stderr


def test_a_terminal_shows_how_far_the_reading_is(folder: Path, terminal: Fixture) -> None:
    words = ["create", "predictions.csv", "--engine", "duckdb", *WORDS[:-1]]
    screen = terminal(*words)
    screen.wait_for("next: assay label campaign")
    assert "reading predictions.csv" in screen.seen
    assert folder.exists()
