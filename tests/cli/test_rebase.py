"""``assay rebase``, ``assay label --rebase`` and ``assay extend``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Fixture = Callable[..., Any]


def keep_rows(folder: Path, keep: Callable[[int], bool], to: str = "predictions.csv") -> None:
    """Write the predictions of some items only."""
    head, *rows = (folder / "predictions.csv").read_text().splitlines()
    kept = [row for number, row in enumerate(rows) if keep(number)]
    (folder / to).write_text("\n".join([head, *kept]) + "\n")


def test_a_rebase_says_what_became_of_the_labels(
    create: Fixture, run: Fixture, folder: Path, labels: Fixture
) -> None:
    create()
    run("label", "spam", input="y\nn\n" * 10)
    before = labels()
    keep_rows(folder, lambda number: number % 5 > 0)
    result = run("rebase", "--name", "spam")
    assert result.exit_code == 0, result.output
    gone = sum(int(item[1:]) % 5 == 0 for item in before)
    assert gone
    assert "spam goes on" in result.stdout
    assert "320 items" in result.stdout
    assert "20 items judged before: " in result.stdout
    assert f"{gone} no longer apply" in " ".join(result.stdout.split())
    assert "kept as spam until 20" in result.stdout
    assert result.stdout.rstrip().endswith("next: assay label spam")
    assert max(map(len, result.stdout.splitlines())) <= 80
    there = {item: label for item, label in before.items() if int(item[1:]) % 5}
    assert labels().items() <= there.items()  # some may wait for their items to be drawn
    campaigns = json.loads(run("status", "--json").stdout)["campaigns"]
    (kept,) = (each["campaign"] for each in campaigns if each["campaign"].startswith("spam until"))
    document = json.loads(run("export", kept, "--json").stdout)
    assert {row["id"]: row["label"] for row in document["rows"]} == before


def test_a_rebase_can_be_told_where_the_predictions_are_now(
    create: Fixture, run: Fixture, folder: Path
) -> None:
    create()
    run("label", "spam", input="y\nn\n" * 10)
    keep_rows(folder, lambda number: number % 5 > 0, to="new.csv")
    (folder / "predictions.csv").unlink()
    failed = run("rebase", "--name", "spam")
    assert failed.exit_code == 1
    assert "predictions.csv" in failed.stderr
    document = json.loads(run("rebase", "new.csv", "--name", "spam", "--json").stdout)
    assert document["read"]["rows"] == 320
    labels = document["labels"]
    assert labels["counting"] + labels["waiting"] + labels["gone"] == labels["judged"] == 20


def test_labelling_may_begin_with_a_rebase(
    create: Fixture, run: Fixture, folder: Path, labels: Fixture
) -> None:
    create()
    run("label", "spam", input="y\n" * 20)
    there = sum(int(item[1:]) % 5 > 0 for item in labels())
    keep_rows(folder, lambda number: number % 5 > 0)
    result = run("label", "spam", "--rebase", "--json", input="n\n" * 400)
    told = json.loads(result.stdout)
    assert told["stopped"] == "the budget is spent"
    assert 10 <= told["judged"] < 30
    assert list(labels().values()).count("yes") == there
    document = json.loads(run("status", "spam", "--json").stdout)
    assert document["estimate"]["labels"] == 30


def test_items_without_ids_are_warned_of(run: Fixture) -> None:
    words = ["predictions.csv", "--score", "p", "--threshold", "0.5", "--budget", "9"]
    run("create", *words, "--name", "spam")
    warning = "no ids but the numbers of their rows"
    assert f"warning: the items have {warning}" in " ".join(
        run("rebase", "--name", "spam").stdout.split()
    )
    (told,) = json.loads(run("rebase", "--name", "spam", "--json").stdout)["warnings"]
    assert warning in told
    assert warning in " ".join(run("label", "spam", "--rebase", input="q\n").stdout.split())


def test_new_items_join(create: Fixture, run: Fixture, folder: Path) -> None:
    keep_rows(folder, lambda number: number >= 300, to="today.csv")
    keep_rows(folder, lambda number: number < 300)
    create()
    run("label", "spam", input="y\nn\n" * 10)
    (folder / "predictions.csv").unlink()
    result = run("extend", "today.csv", "--name", "spam")
    assert result.exit_code == 0, result.output
    assert "predictions.csv and today.csv: 400 items" in " ".join(result.stdout.split())
    assert result.stdout.rstrip().endswith("next: assay label spam")
    again = run("extend", "today.csv", "--name", "spam")
    assert again.exit_code == 1
    assert "is a part of campaign 'spam' already" in again.stderr
    assert "Done: the budget is spent." in run("label", "spam", input="y\n" * 400).stdout
    document = json.loads(run("status", "spam", "--json").stdout)
    assert document["source"] == {"description": "predictions.csv and today.csv", "rows": 400}


def test_neither_makes_a_storage(run: Fixture, folder: Path) -> None:
    for words in (["rebase", "--name", "spam"], ["extend", "predictions.csv"]):
        result = run(*words)
        assert result.exit_code == 1
        assert "there is no storage" in result.stderr
    assert not list(folder.glob("*.db"))
