"""Campaigns from files: ``create`` with its options, ``rebase`` and ``extend``."""

import json
import re
import shlex
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay import load_campaign
from assay.cli.options import parse_classifiers
from tests.cli.conftest import Fixture, Run
from tests.exchange.campaigns import workbook


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


def test_a_terminal_shows_how_far_the_reading_is(folder: Path, terminal: Fixture) -> None:
    words = ["create", "predictions.csv", "--engine", "duckdb", *WORDS[:-1]]
    screen = terminal(*words)
    screen.wait_for("next: assay label campaign")
    assert "reading predictions.csv" in screen.seen
    assert folder.exists()


MAIL = "mail_id,p_spam,text,label\n" + "".join(
    f"m{n},{(n * 0.618) % 1:.3f},words {n},{n % 2}\n" for n in range(300)
)
PROPOSED = (
    "--id mail_id --score p_spam --threshold 0.5 --show text --metric precision --within 0.05"
)


def test_a_file_alone_gets_a_command_proposed(run: Run) -> None:
    Path("mail.csv").write_text(MAIL)
    refused = run("create", "mail.csv")
    assert refused.exit_code == 1
    assert f"perhaps assay create mail.csv {PROPOSED}" in " ".join(refused.output.split())
    assert run("create", *f"mail.csv {PROPOSED}".split()).exit_code == 0  # it is what works
    Path("words.csv").write_text("a,b\nx,12\ny,7\n")
    refused = run("create", "words.csv")
    assert "looks like a score or a predicted label" in refused.output
    assert "columns: a, b" in refused.output


@pytest.mark.parametrize(("answer", "made"), [("\n", True), ("n\n", False)])
def test_on_a_terminal_the_proposal_is_a_question(
    run: Run, monkeypatch: pytest.MonkeyPatch, answer: str, made: bool
) -> None:
    Path("mail.csv").write_text(MAIL)
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(import_module("assay.cli.proposed"), "sys", terminal)
    told = run("create", "mail.csv", "--within", "0.2", input=answer)
    assert "may hold the answer: not shown" in told.output
    assert (told.exit_code == 0) == made == Path("assay.db").exists()
    if made:
        settings = load_campaign("campaign", storage="sqlite:///assay.db").settings
        assert (settings.goal.within, list(settings.source.seen)) == (0.2, ["text"])


def test_create_and_status_say_how_many_labels_are_left(create: Fixture, run: Fixture) -> None:
    told = create(goal=("--within", "0.1")).stdout
    found = re.search(r"forecast +about (\d+) labels; random sampling would need about (\d+)", told)
    assert found is not None
    ours, random = map(int, found.groups())
    assert 20 < ours <= random + 10
    planned = run("plan", "predictions.csv", *WORDS[:-1], "--replications", "12", "--json").stdout
    reading = json.loads(planned)["readings"][0]
    assert ours == pytest.approx(reading["labels"]["mean"], abs=10)
    assert random == pytest.approx(reading["random"]["mean"], abs=10)
    status = " ".join(run("status", "spam").stdout.split())
    assert f"Labels left: about {ours} (a forecast from the scores); random sampling" in status
    document = json.loads(run("status", "spam", "--json").stdout)
    assert document["forecast"]["random"] == random
    assert document["labels_left"]["answers"] == ours
    run("label", "spam", input="y\nn\n" * 11)
    later = " ".join(run("status", "spam").stdout.split())
    assert "(a forecast from the present width)" in later and "random sample would" in later


def test_where_stratification_saves_little_it_is_said(folder: Path, run: Fixture) -> None:
    rows = [f"{n},{0.6 + n % 7 / 1000}" for n in range(477)]
    (folder / "flat.csv").write_text("\n".join(["id,p", *rows]) + "\n")
    words = ["create", "flat.csv", "--id", "id", "--score", "p", "--threshold", "0.5"]
    told = run(*words, "--within", "0.1", "--name", "flat").stdout
    assert "note: stratification saves little here" in told
    assert "note: stratification saves little here" in run("status", "flat").stdout
    told = " ".join(run(*words, "--within", "0.001", "--name", "narrow").stdout.split())
    assert "forecast about 477 labels" in told
    assert "note: nearly all of the 477 items that the metric is about must be labelled" in told
    assert "note: nearly all of the 477" in " ".join(run("status", "narrow").stdout.split())


@pytest.mark.parametrize(
    ("columns", "question"),
    [
        ("--predicted is_spam", "Is it spam?"),
        ("--score p_click_bait --threshold 0.5", "Is it click bait?"),
        ("--predicted said --positive toxic", "Is it toxic?"),
        ("--predicted said --positive toxic --question 'Is this rude?'", "Is this rude?"),
        ("--score p_new --threshold 0.5", "Is it positive?"),  # a model, not a class
        ("--predicted topic", "Which class is it?"),
    ],
)
def test_the_default_question_names_the_class(
    columns: str, question: str, folder: Path, run: Fixture
) -> None:
    rows = [
        f"{n},{n % 2},{n / 99},{n / 99},{'toxic' if n % 2 else 'fine'},{n % 3}t" for n in range(99)
    ]
    head = "id,is_spam,p_click_bait,p_new,said,topic"
    (folder / "pages.csv").write_text("\n".join([head, *rows]) + "\n")
    words = ["create", "pages.csv", "--id", "id", *shlex.split(columns), "--budget", "9"]
    assert re.search(rf"question +{re.escape(question)}", run(*words).stdout)
    batch = run("export", "campaign", "--what", "batch", "--size", "1", "--format", "label-studio")
    assert question in batch.stdout


def test_a_workbook_with_local_numbers(folder: Path, run: Fixture) -> None:
    numbers = (f"{n / 99:.3f}".replace(".", ",") for n in range(99))
    rows = [["id", "p", "text"], *([f"u{n}", p, "x"] for n, p in enumerate(numbers))]
    (folder / "pages.xlsx").write_bytes(workbook(rows))
    words = ["create", "pages.xlsx", "--id", "id", "--score", "p", "--threshold", "0.5"]
    refused = run(*words, "--budget", "9").stderr
    assert "in a CSV file name its column with --local-numbers" in refused
    assert "99 items" in run(*words, "--local-numbers", "p", "--budget", "9").stdout
    assert len(run("export", "campaign", "--what", "batch", "--size", "3").stdout.splitlines()) == 4
