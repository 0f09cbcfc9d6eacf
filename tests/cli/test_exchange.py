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
    assert "read as csv" in told.stdout
    assert "4 new, 0 revised, 0 unchanged, 1 without label\n" in told.stdout
    ids = [row[0] for row in rows if row != rows[3]]
    assert labels() == dict(zip(ids, ["yes", "no", "cannot judge", "yes"], strict=True))
    again = json.loads(run("import", "spam", "done.csv", "--reviewer", "ann", "--json").stdout)
    assert (again["new"], again["unchanged"], again["without_label"]) == (0, 4, 1)


def test_label_studio_gets_its_configuration(create: Fixture, run: Fixture) -> None:
    create()
    words = ["export", "spam", "--what", "batch", "--format", "label-studio", "--size", "2"]
    told = run(*words, "-o", "tasks.json")
    assert "tasks.json.config.xml" in told.stdout
    assert len(json.loads(Path("tasks.json").read_text())) == 2
    assert Path("tasks.json.config.xml").read_text().startswith("<View>")
    Path("tasks.json").unlink()
    refused = run(*words, "-o", "tasks.json")
    assert "tasks.json.config.xml already exists" in refused.stderr
    assert not Path("tasks.json").exists()
    run(*words, "-o", "tasks.json", "--config", "own.xml")
    assert Path("own.xml").is_file()
    piped = run(*words)
    assert len(json.loads(piped.stdout)) == 2
    assert "--config FILE" in piped.stderr


def test_people_of_a_tool_are_renamed(create: Fixture, run: Fixture) -> None:
    create()
    run("export", "spam", "--what", "batch", "--format", "jsonl", "--size", "2", "-o", "b.jsonl")
    records = [json.loads(line) for line in Path("b.jsonl").read_text().splitlines()]
    for record, who in zip(records, ("tool:5", "tool:6"), strict=True):
        record |= {"label": "yes", "reviewer": who}
    Path("done.jsonl").write_text("\n".join(map(json.dumps, records)))
    slip = run("import", "spam", "done.jsonl", "--rename", "tool:7=ann")
    assert slip.exit_code == 1
    assert "names in it: 'tool:5', 'tool:6'" in slip.stderr
    run("import", "spam", "done.jsonl", "--rename", "tool:5=ann", "--rename", "tool:6=b=b")
    rows = json.loads(run("export", "spam", "--json").stdout)["rows"]
    assert [row["reviewer"] for row in rows] == ["ann", "b=b"]


def test_a_batch_is_held_for_whom_it_is(create: Fixture, run: Fixture) -> None:
    create()

    def ids(*words: str) -> set[str]:
        written = run("export", "spam", "--what", "batch", "--size", "5", "--json", *words)
        return {row["id"] for row in json.loads(written.stdout)["rows"]}

    mine = ids("--reviewer", "ann", "--hold", "2h")
    assert mine.isdisjoint(ids("--reviewer", "bob"))
    assert ids("--reviewer", "ann") == mine


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


def test_on_a_terminal_even_csv_is_harmless(create: Fixture, terminal: Fixture) -> None:
    create()
    screen = terminal("export", "spam", "--what", "batch", "--size", "2")
    screen.wait_for("gotcha", 2)
    assert r"\x1b]0;gotcha\x07" in screen.raw
    assert "\x1b]0;" not in screen.raw
