"""Campaigns from files: ``create`` with its options, ``rebase`` and ``extend``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.cli.options import parse_classifiers
from tests.cli.conftest import Fixture


def test_the_next_command_names_the_storage_where_it_was_given(create: Fixture) -> None:
    told = create("--storage", "sqlite:///my labels.db").stdout
    assert told.rstrip().endswith("next: assay label spam --storage 'sqlite:///my labels.db'")
    assert Path("my labels.db").is_file()
    assert not Path("assay.db").exists()


def test_the_environment_names_the_storage(
    create: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_STORAGE", "sqlite:///elsewhere.db")
    create()
    assert Path("elsewhere.db").is_file()
    assert not Path("assay.db").exists()


@pytest.mark.parametrize(("classes", "positive"), [([1, 2], "2"), (["ham", "spam"], "spam")])
def test_a_parquet_file_of_class_numbers_or_names(
    classes: list[object], positive: str, run: Fixture
) -> None:
    table = pa.table({"p": [0.1, 0.9, 0.8], "said": [classes[0], classes[1], classes[1]]})
    pq.write_table(table, "classes.parquet")
    words = ["--score", "p", "--predicted", "said", "--positive", positive, "--budget", "2"]
    result = run("create", "classes.parquet", *words, "--json")
    assert sum(row["size"] for row in json.loads(result.stdout)["strata"]) == 2


CLASSIFIERS = ["--classifier", "cnn=p_cnn,said_cnn", "--classifier", "mve=,vote"]
CLASSIFIERS += ["--classifier", "svm=p_svm>=0.5", "--positive", "spam"]
METRICS = ["--metric", "precision:cnn", "--metric", "recall:mve within 0.08"]
METRICS += ["--metric", "precision:cnn - precision:mve"]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("cnn=p,said", {"score": "p", "predicted": "said"}),
        ("cnn=,said", {"predicted": "said"}),
        ("cnn=p>=0.5", {"score": "p", "threshold": 0.5}),
        ("cnn=p>=-1.5,said", {"score": "p", "threshold": -1.5, "predicted": "said"}),
        ("cnn=the score,a=b", {"score": "the score", "predicted": "a=b"}),
    ],
)
def test_the_forms_of_a_classifier(text: str, options: dict[str, object]) -> None:
    assert parse_classifiers([text]) == {"cnn": options}
    with_label = parse_classifiers([text, "other=,said"], positive="spam")["cnn"]
    assert with_label == {**options, **({"positive": "spam"} if "predicted" in options else {})}


def keep_rows(folder: Path, keep: Callable[[int], bool], to: str = "predictions.csv") -> None:
    """Write the predictions of some items only."""
    head, *rows = (folder / "predictions.csv").read_text().splitlines()
    kept = [row for number, row in enumerate(rows) if keep(number)]
    (folder / to).write_text("\n".join([head, *kept]) + "\n")


def test_labelling_may_begin_with_a_rebase(
    create: Fixture, run: Fixture, folder: Path, labels: Fixture
) -> None:
    create()
    run("label", "spam", input="y\n" * 20)
    there = sum(int(item[1:]) % 5 > 0 for item in labels())
    keep_rows(folder, lambda number: number % 5 > 0)
    result = run("label", "spam", "--rebase", "--json", input="n\n" * 400)
    told = json.loads(result.stdout)
    assert told["stopped"] == "the budget is used up"
    assert 10 <= told["judged"] < 30
    assert list(labels().values()).count("yes") == there
    document = json.loads(run("status", "spam", "--json").stdout)
    assert document["estimate"]["labels"] == 30


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
