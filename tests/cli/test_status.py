"""``assay status``: one campaign, all campaigns, and no storage."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Fixture = Callable[..., Any]


def test_a_finished_campaign_says_why_and_where_its_labels_are(
    create: Fixture, run: Fixture
) -> None:
    create()
    run("label", "spam", input="y\nn\nc\n" * 10)
    told = run("status", "spam").stdout
    assert "30 of 30 answers; the budget is spent" in told
    assert "10: the interval includes them; [" in " ".join(told.split())
    assert "cannot judge" in told
    assert "├" in told
    assert "next:" not in told
    assert max(map(len, told.splitlines())) <= 80


def test_each_class_is_told_of_and_what_is_confused(run: Fixture, tmp_path: Path) -> None:
    rows = "".join(f"{number},{'abc'[number % 3]}\n" for number in range(60))
    (tmp_path / "said.csv").write_text("id,said\n" + rows)
    run("create", "said.csv", "--id", "id", "--predicted", "said", "--metric", "macro-f1",
        "--budget", "60", "--name", "letters")  # fmt: skip
    run("label", "letters", input="a\nb\n" * 30)
    told = run("status", "letters", "--classes").stdout
    assert "Confused most: called " in told
    line = next(line for line in told.splitlines() if line.startswith("c "))
    assert line.split()[1:4] == ["0.00", "[0.00,", "0.00]"]
    assert "c: no label shows an item of it yet" in " ".join(told.split())
    assert max(map(len, told.splitlines())) <= 80
    document = json.loads(run("status", "letters", "--classes", "--json").stdout)
    assert document["confusion"][0]["said"] == {"a": 20, "b": 20, "c": 20}


def test_classes_of_yes_and_no_are_refused(create: Fixture, run: Fixture) -> None:
    create()
    assert "leave out --classes" in run("status", "spam", "--classes").stderr
    assert "assay status NAME --classes" in run("status", "--classes").stderr


def test_it_shows_how_far_reviewers_agree_and_what_waits(create: Fixture, run: Fixture) -> None:
    create("--reviewers-per-item", "2", "--overlap", "1")
    told = run("status", "spam").stdout
    assert "reviewers  no item was judged by two reviewers yet" in told
    run("label", "spam", "--reviewer", "ann", input="y\ny\ny\ny\nq\n")
    run("label", "spam", "--reviewer", "bob", input="y\nn\ny\nn\nq\n")
    told = " ".join(run("status", "spam").stdout.split())
    assert "reviewers 2 reviewers, 4 items judged by two or more: two of them agree on 50" in told
    assert "kappa 0.00; 2 items wait for a ruling" in told
    document = json.loads(run("status", "spam", "--json").stdout)
    assert (document["agreement"]["raw"], document["disputes"]) == (0.5, 2)


def test_all_campaigns_are_listed(create: Fixture, run: Fixture) -> None:
    create()
    words = ["--score", "p", "--threshold", "0.5", "--within", "0.1", "--metric", "f1"]
    run("create", "predictions.csv", *words, "--name", "other [red]one")
    told = run("status").stdout
    assert "spam" in told
    assert "other [red]one" in told
    document = json.loads(run("status", "--json").stdout)
    assert [each["campaign"] for each in document["campaigns"]] == ["spam", "other [red]one"]


@pytest.mark.parametrize("words", [["status"], ["status", "x"], ["label", "x"], ["export", "x"]])
def test_looking_makes_no_storage(words: list[str], run: Fixture, folder: Path) -> None:
    before = set(folder.iterdir())
    result = run(*words)
    assert result.exit_code == 1
    assert "there is no storage at sqlite:///assay.db" in result.stderr
    assert set(folder.iterdir()) == before
    assert "problem" in json.loads(run(*words, "--json").stderr)["error"]


def test_a_file_that_is_no_database_is_told(run: Fixture) -> None:
    Path("assay.db").write_text("a shopping list, not a database " * 9)
    result = run("status")
    assert result.exit_code == 1
    assert "not a database" in result.stderr
    assert "Traceback" not in result.output
