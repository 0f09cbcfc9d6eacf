"""``assay import`` and ``assay export``."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Fixture = Callable[..., Any]


def test_a_batch_goes_out_and_comes_back(create: Fixture, run: Fixture, labels: Fixture) -> None:
    create()
    run("export", "spam", "--what", "batch", "--size", "5", "-o", "batch.csv")
    with Path("batch.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["id", "subject", "label"]
    assert len(rows) == 5
    answers = ["yes", "no", "cannot judge", "", "1"]
    with Path("done.csv").open("w", newline="") as file:
        filled = [[*row[:-1], answer] for row, answer in zip(rows, answers, strict=True)]
        csv.writer(file).writerows([header, *filled])
    told = run("import", "spam", "done.csv", "--reviewer", "ann")
    assert "4 new, 0 revised, 0 unchanged, 1 without label" in told.stdout
    assert labels() == dict(
        zip(
            [row[0] for row in rows if row != rows[3]],
            ["yes", "no", "cannot judge", "yes"],
            strict=True,
        )
    )
    document = json.loads(run("import", "spam", "done.csv", "--json").stdout)
    assert document == {
        "campaign": "spam",
        "new": 0,
        "revised": 0,
        "unchanged": 4,
        "without_label": 1,
        "done": False,
    }


def test_labels_go_out_as_csv_and_json(create: Fixture, run: Fixture) -> None:
    create()
    run("label", "spam", input="y\nn\n")
    header, *rows = csv.reader(run("export", "spam").stdout.splitlines())
    assert header == ["id", "label", "reviewer", "told_at"]
    assert [row[1] for row in rows] == ["yes", "no"]
    document = json.loads(run("export", "spam", "--json").stdout)
    assert [list(row.values()) for row in document["rows"]] == rows
    assert document["count"] == 2


def test_json_beside_a_file_names_it(create: Fixture, run: Fixture) -> None:
    create()
    words = ["--what", "batch", "--size", "3", "--output", "batch.csv", "--json"]
    document = json.loads(run("export", "spam", *words).stdout)
    assert document == {"campaign": "spam", "what": "batch", "count": 3, "file": "batch.csv"}


def test_a_file_that_is_there_is_never_written_over(create: Fixture, run: Fixture) -> None:
    create()
    Path("mine.csv").write_text("my labels")
    result = run("export", "spam", "-o", "mine.csv")
    assert result.exit_code == 1
    assert "mine.csv is there already" in result.stderr
    assert Path("mine.csv").read_text() == "my labels"


def test_a_revision_needs_to_be_asked_for(create: Fixture, run: Fixture, labels: Fixture) -> None:
    create()
    run("label", "spam", input="y\n")
    (item,) = labels()
    Path("other.csv").write_text(f"who,what\n{item},no\n")
    words = ["import", "spam", "other.csv", "--id-column", "who", "--label-column", "what"]
    refused = run(*words)
    assert refused.exit_code == 1
    assert "line 2" in refused.stderr
    assert "--revise" in refused.stderr
    assert labels() == {item: "yes"}
    assert "1 revised" in run(*words, "--revise").stdout
    assert labels() == {item: "no"}


def test_bad_requests_are_told(create: Fixture, run: Fixture) -> None:
    create()
    for words, message in (
        (["export", "spam", "--what", "lables"], "did you mean 'labels'?"),
        (["export", "spam", "--what", "batch", "--size", "0"], "at least 1"),
        (["export", "spam", "-o", "no/such/folder.csv"], "cannot be written"),
        (["export", "span"], "did you mean 'spam'?"),
        (["import", "spam", "absent.csv"], "cannot be read"),
    ):
        result = run(*words)
        assert result.exit_code == 1, words
        assert message in result.stderr
        assert "Traceback" not in result.output


def test_on_a_terminal_even_csv_is_harmless(create: Fixture, terminal: Fixture) -> None:
    create()
    screen = terminal("export", "spam", "--what", "batch", "--size", "2")
    screen.wait_for("gotcha", 2)
    assert r"\x1b]0;gotcha\x07" in screen.raw
    assert "\x1b]0;" not in screen.raw
