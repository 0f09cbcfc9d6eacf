"""``assay compare``, and what ``assay status`` says of a difference."""

import json
import sqlite3
from collections.abc import Callable
from csv import DictReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assay import load_campaign
from assay.results import Estimate
from assay.results.text import difference_words
from tests.cli.test_rebase import keep_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Fixture = Callable[..., Any]
COLUMNS = ["--id", "id", "--score", "p", "--predicted", "said", "--positive", "spam"]


@pytest.fixture
def weeks(folder: Path) -> None:
    """Two weeks, of which the later has lost every fifth item, and has others."""
    keep_rows(folder, lambda number: number < 320, to="week1.csv")
    keep_rows(folder, lambda number: number % 5 > 0, to="week2.csv")


@pytest.mark.usefixtures("weeks")
def test_a_comparison_says_what_is_in_both_and_what_is_known(run: Fixture) -> None:
    given = ["week1.csv", *COLUMNS, "--budget", "20", "--name", "first"]
    assert run("create", *given).exit_code == 0
    run("label", "first", input="y\ny\nn\n" * 10)
    words = ["week1.csv", "week2.csv", *COLUMNS, "--budget", "20", "--labels-from", "first"]
    result = run("compare", *words, "--level-within", "0.2", "--name", "weeks")
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "weeks is ready" in told
    assert "old week1.csv: 320 items" in told
    assert "256 in both, 64 in old only, 64 in new only" in told
    assert "disagree on 0 of those in both" in told
    assert "from before first" in told
    assert "20 items judged before: " in told
    assert "precision:new ±0.2" in told
    assert result.stdout.rstrip().endswith("next: assay label weeks")
    assert max(map(len, result.stdout.splitlines())) <= 80

    run("label", "weeks", input="y\n" * 60)
    status = " ".join(run("status", "weeks").stdout.split())
    assert "384 items" in status  # one that is in both weeks is one item
    assert " than old" in status
    assert run("verify", "weeks").exit_code == 0


@pytest.mark.usefixtures("weeks")
def test_tables_of_a_database_are_compared_and_followed(run: Fixture, folder: Path) -> None:
    with sqlite3.connect(folder / "weeks.sqlite") as database:
        for week in ("week1", "week2"):
            lines = (folder / f"{week}.csv").read_text().splitlines()
            rows = [(row["id"], float(row["p"]), row["said"]) for row in DictReader(lines)]
            database.execute(f"CREATE TABLE {week} (id TEXT, p DOUBLE, said TEXT)")
            database.executemany(f"INSERT INTO {week} VALUES (?, ?, ?)", rows)
    database.close()
    words = ["weeks.sqlite", "weeks.sqlite", *COLUMNS, "--budget", "20", "--engine", "database"]
    result = run("compare", *words, "--table", "week1", "--table", "week2")
    assert result.exit_code == 0, result.output
    assert "256 in both, 64 in old only, 64 in new only" in " ".join(result.stdout.split())
    moved = "320 rows of table {} of weeks.sqlite are moved to DuckDB"
    assert result.stderr.splitlines() == [moved.format(week) for week in ("week1", "week2")]
    mixed = [*words[:1], "week2.csv", *words[2:-2], "--table", "week1", "--name", "mixed"]
    assert run("compare", *mixed).exit_code == 0
    failed = run("compare", *words, *["--table", "week1"] * 3, "--name", "three")
    assert "3 tables are named" in " ".join(failed.stderr.split())
    given = ["--series", "s", "--engine", "database"]
    first = ["weeks.sqlite", "--table", "week1", "--period", "w1", *COLUMNS, "--budget", "9"]
    assert run("follow", *first, *given).exit_code == 0
    assert (
        run("follow", "weeks.sqlite", "--table", "week2", "--period", "w2", *given).exit_code == 0
    )


@pytest.mark.usefixtures("weeks")
def test_a_table_of_spark_beside_a_file_that_is_here(
    run: Fixture, folder: Path, spark: "SparkSession"
) -> None:
    week = list(DictReader((folder / "week2.csv").read_text().splitlines()))
    rows = [{"id": row["id"], "p": float(row["p"]), "said": row["said"]} for row in week]
    spark.createDataFrame(pa.Table.from_pylist(rows)).createOrReplaceTempView("week2")
    given = [*COLUMNS, "--budget", "20", "--spark", "local[2]", "--table", "week2"]
    result = run("compare", "week1.csv", "-", *given, "--json")
    assert result.exit_code == 0, result.output
    assert "320 rows of week1.csv are moved to Spark" in result.stderr.splitlines()
    document = json.loads(result.stdout)
    assert [part["source"] for part in document["read"]["parts"]] == [
        "week1.csv",
        "table week2",
    ]
    here = run("compare", "week1.csv", "week2.csv", *COLUMNS, "--budget=20", "--name=h", "--json")
    assert json.loads(here.stdout)["read"]["in_both"] == document["read"]["in_both"] == 256
    storage = f"sqlite:///{folder}/assay.db"
    there, meant = (load_campaign(name, storage=storage).ask(20) for name in ("comparison", "h"))
    assert [item.id for item in there] == [item.id for item in meant]


@pytest.mark.usefixtures("weeks")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-", "week2.csv"], "- is a table of Spark: give --spark URL"),
        (["-", "-", "--spark", "local[2]", "--table", "a"], "--table NAME for each, here 2"),
        (["-", "week2.csv", "--spark", "local[2]"], "--table NAME for each, here 1"),
    ],
)
def test_a_table_of_spark_that_is_not_named(words: list[str], told: str, run: Fixture) -> None:
    failed = run("compare", *words, *COLUMNS, "--budget", "9")
    assert failed.exit_code == 2
    assert told in " ".join(failed.stderr.replace("│", " ").split())


@pytest.mark.usefixtures("weeks")
def test_a_comparison_that_cannot_be_made_says_why(run: Fixture) -> None:
    words = ["week1.csv", "week2.csv", "--budget", "9"]
    failed = run("compare", *words, "--score", "p", "--threshold", "0.5")
    assert failed.exit_code == 1
    assert "a comparison needs ids" in failed.stderr
    failed = run("compare", *words, *COLUMNS, "--labels-from", "nobody", "--json")
    assert "nobody" in json.loads(failed.stderr)["error"]["problem"]
    failed = run("compare", "week1.csv", "week1.csv", "--budget", "9", *COLUMNS)
    assert "old say the same of every item" in " ".join(failed.stderr.split())


@pytest.mark.parametrize(
    ("metric", "low", "high", "stopped", "words"),
    [
        ("f1:b - f1:a", 0.01, 0.1, None, "b is better than a: the interval lies above 0"),
        ("f1:b - f1:a", -0.1, -0.01, "done", "b is worse than a: the interval lies below 0"),
        ("false_omission_rate:b - false_omission_rate:a", -0.1, -0.01, None, "b is better than a"),
        ("f1:b - f1:a", -0.1, 0.0, None, "whether b is better or worse than a cannot be told yet"),
        ("f1:b - f1:a", 0.0, 0.1, "done", "worse than a cannot be told: the interval holds 0"),
        ("f1:b[x=y - z] - f1:a[x=y - z]", 0.01, 0.1, None, "b is better than a"),
        ("f1:b[x=y - z]", 0.01, 0.1, None, ""),
        ("f1", 0.01, 0.1, None, ""),
    ],
)
def test_a_difference_in_words(
    metric: str, low: float, high: float, stopped: str | None, words: str
) -> None:
    estimate = Estimate(
        metric, (low + high) / 2, low, high, 0.95, 0.02, 90, 0, None, "any", True, stopped
    )
    told = difference_words(estimate)
    assert words in told
    assert bool(words) == bool(told)


@pytest.mark.usefixtures("weeks")
def test_second_opinions_go_with_a_comparison_and_not_with_labels_from_before(run: Fixture) -> None:
    words = ["week1.csv", "week2.csv", *COLUMNS, "--budget", "20", "--aux", "subject"]
    result = run("compare", *words, "--name", "weeks")
    assert result.exit_code == 0, result.output
    assert "aux subject: " in " ".join(result.stdout.split())
    result = run("compare", *words, "--labels-from", "weeks", "--name", "again")
    assert result.exit_code == 1
    assert "leave out --aux, or --labels-from" in " ".join(result.stderr.split())
