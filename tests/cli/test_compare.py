"""``assay compare``, and what ``assay status`` says of a difference."""

import json
import sqlite3
from csv import DictReader
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from assay import load_campaign
from assay.results import Estimate
from assay.results.text import difference_words
from tests.cli.conftest import Fixture
from tests.cli.test_create import keep_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ["--id", "id", "--score", "p", "--predicted", "said", "--positive", "spam"]


@pytest.fixture
def weeks(folder: Path) -> None:
    """Two weeks, of which the later has lost every fifth item, and has others."""
    keep_rows(folder, lambda number: number < 320, to="week1.csv")
    keep_rows(folder, lambda number: number % 5 > 0, to="week2.csv")


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
    assert not result.stderr  # SQLite is read as a file is: nothing is moved that is worth telling
    mixed = [*words[:1], "week2.csv", *words[2:-2], "--table", "week1", "--name", "mixed"]
    assert run("compare", *mixed).exit_code == 0
    failed = run("compare", *words, *["--table", "week1"] * 3, "--name", "three")
    assert "--table is given 3 times" in " ".join(failed.stderr.split())
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
    assert [part["source"] for part in document["read"]["parts"]] == ["week1.csv", "table week2"]
    here = run("compare", "week1.csv", "week2.csv", *COLUMNS, "--budget=20", "--name=h", "--json")
    assert json.loads(here.stdout)["read"]["in_both"] == document["read"]["in_both"] == 256
    storage = f"sqlite:///{folder}/assay.db"
    there, meant = (load_campaign(name, storage=storage).ask(20) for name in ("comparison", "h"))
    assert [item.id for item in there] == [item.id for item in meant]


@pytest.mark.parametrize(
    ("metric", "low", "high", "stopped", "words"),
    [
        ("f1:b - f1:a", 0.01, 0.1, None, "b is better than a: the interval is above 0"),
        ("f1:b - f1:a", -0.1, -0.01, "done", "b is worse than a: the interval is below 0"),
        ("false_omission_rate:b - false_omission_rate:a", -0.1, -0.01, None, "b is better than a"),
        ("f1:b - f1:a", -0.1, 0.0, None, "no difference between b and a is established yet"),
        ("f1:b - f1:a", 0.0, 0.1, "done", "b and a is established: the interval includes 0"),
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
