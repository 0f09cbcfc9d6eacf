"""``assay import`` and ``assay export``; ``assay connect`` with a small Label Studio."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Fixture
from tests.exchange.fake_label_studio import faking


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


def answer(item: str) -> str:
    """Return what people there say."""
    return "no" if item.endswith("7") else "yes"


def test_it_goes_on_to_the_end_and_says_what_is_known(
    create: Fixture, run: Fixture, labels: Fixture
) -> None:
    create()
    Path("token").write_text("abc\n")
    with faking(answer) as (fake, address):
        words = ["--to", address, "--token-file", "token", "--batch", "10", "--every", "0.1"]
        told = run("connect", "spam", *words, "--webhook", "127.0.0.1:0")
        assert told.exit_code == 0, told.output
        assert not fake.hooks
        again = run("connect", "spam", *words, "--json")
    sent = {task["data"]["assay_id"] for task in fake.tasks.values()}
    assert labels() == {item: answer(item) for item in sent}
    project = next(iter(fake.projects))
    lines = told.stdout.splitlines()
    assert lines[0].startswith(f"project {project}: 30 sent, 0 open, 30 taken now; 30 labels, [")
    assert lines[1].startswith("Precision is between 0.")
    assert told.stderr.splitlines() == [
        f"made project {project}, 'Assay: spam'",
        *["sent 10 items"] * 3,
    ]
    document = json.loads(again.stdout)
    assert document["done"] is True
    assert (document["tasks"], document["taken"], document["notes"]) == (30, 0, [])
    assert not again.stderr
    assert len(fake.projects) == 1


def test_a_refused_token_names_the_options(
    create: Fixture, run: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "wrong")
    create()
    with faking() as (fake, address):
        fake.faults.append(401)
        told = run("connect", "spam", "--to", address)
    assert told.exit_code == 1
    assert "hint: check --token-file or LABEL_STUDIO_API_KEY" in told.stderr


def test_the_hint_names_the_columns_that_there_are(create: Fixture, run: Fixture) -> None:
    create()
    Path("theirs.csv").write_text("URL;Label\nm001;yes\n")
    refused = run("import", "spam", "theirs.csv")
    assert "hint: name the columns: --id-column URL --label-column Label" in refused.stderr
    Path("theirs.csv").write_text("ID;label\nm001;yes\n")
    assert "hint: name the column: --id-column ID" in run("import", "spam", "theirs.csv").stderr
    again = run("import", "spam", "theirs.csv", "--id-column", "ID", "--label-column", "label")
    assert "id-column" not in again.stderr


def test_a_judge_who_says_pass_or_fail(create: Fixture, run: Fixture, folder: Path) -> None:
    create("--budget", "20")
    run("label", "spam", input="y\nn\n" * 10)
    head, *rows = (folder / "predictions.csv").read_text().splitlines()
    said = [f"{row},{'Pass' if n % 2 else 'fail'}" for n, row in enumerate(rows)]
    (folder / "judged.csv").write_text("\n".join([f"{head},judge", *said]) + "\n")
    words = ["judge", "spam", "--column", "judge", "--predictions", "judged.csv"]
    assert "hint: name the value that means yes: --positive Pass" in run(*words).stderr
    assert "hint: did you mean 'Pass'?" in run(*words, "--positive", "pas").stderr
    found = json.loads(run(*words, "--positive", "Pass", "--json").stdout)
    assert found["with_verdict"] == 20
    both = run(*words, "--positive", "Pass", "--at", "0.5").stderr
    assert "--at and --positive exclude each other" in both
    without = run("judge", "spam", "--column", "judge").stderr
    assert "hint: name the file that has it: --predictions FILE; a campaign made with" in without
