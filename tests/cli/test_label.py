"""Labelling in a terminal and through a pipe: keys and lines, undo, and nothing lost."""

import csv
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.campaign import load_campaign
from assay.labelling import reviewers_in
from tests.cli.conftest import Fixture, Terminal

PROMPT = "q quit"


def ids_shown(text: str) -> list[str]:
    return re.findall(r"\bm\d{3}\b", text)


def test_keys_answer_and_undo_on_a_terminal(
    create: Fixture, terminal: Fixture, labels: Fixture
) -> None:
    create()
    screen = terminal("label", "spam")
    for place, key in enumerate("yNucs", start=1):  # in capitals, too
        screen.wait_for(PROMPT, place)
        screen.press(key)
    screen.wait_for(PROMPT, 6)
    screen.press("\x1b[A")  # the key "up"
    screen.wait_for("unknown key")
    screen.interrupt(until="assay status spam")
    first, second, third, again, skipped, fourth = ids_shown(screen.seen)
    assert (again, skipped) == (second, third)
    assert len({first, second, third, fourth}) == 4
    assert labels() == {first: "yes", second: "cannot judge"}
    assert "You said no; s keeps it." in screen.seen
    assert "2 labelled in this session, all saved." in screen.seen


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Keep other writers waiting, as a slow storage does."""
    with closing(sqlite3.connect(folder / "assay.db", isolation_level=None)) as storage:
        storage.execute("BEGIN IMMEDIATE")
        yield
        storage.execute("ROLLBACK")


@pytest.mark.parametrize("kind", [(), ("--reviewer", "ann")])
def test_keys_typed_before_an_item_is_displayed_are_no_answers_to_it(
    create: Fixture, terminal: Fixture, folder: Path, labels: Fixture, kind: tuple[str, ...]
) -> None:
    """Without `discard`, ten keys typed at the start and four typed during a save are stored."""
    create()
    screen = terminal("label", "spam", *kind)
    screen.press("yyyyy")
    screen.wait_for("working")
    screen.press("yyyyy")
    screen.wait_for(PROMPT)
    screen.press("x")  # after all that was typed before
    screen.wait_for("unknown key")
    assert labels() == {}
    screen.wait_for(PROMPT, 2)
    with writing(folder):
        screen.press("n")
        screen.press("yyyy")
        time.sleep(0.3)
        assert "saved" not in screen.seen
    screen.wait_for(PROMPT, 3)
    screen.press("x")
    screen.wait_for("unknown key", 2)
    first, again, second, *_ = ids_shown(screen.seen)
    assert first == again != second
    assert labels() == {first: "no"}
    screen.wait_for(PROMPT, 4)
    screen.press("y")
    screen.wait_for("yes, saved")
    assert labels() == {first: "no", second: "yes"}


def test_a_comment_is_written_with_a_key_and_goes_with_the_answer(
    create: Fixture, terminal: Fixture, comments: Fixture
) -> None:
    create()
    screen = terminal("label", "spam")
    screen.wait_for(PROMPT)
    screen.press("w")
    screen.wait_for("comment, and Enter:")
    screen.press("a parody, y or n? [b]yes[/b]x\x7f\n")  # with a slip that is corrected
    screen.wait_for("the comment goes with your answer")
    screen.wait_for("Your comment: a parody, y or n? [b]yes[/b]")
    screen.press("y")
    screen.wait_for(PROMPT, 3)
    screen.press("wtyped ahead\nn")  # all of it about the item that is seen
    screen.wait_for(PROMPT, 5)
    screen.press("u")
    screen.wait_for(PROMPT, 6)
    screen.press("w\ny")  # take the comment away, and answer otherwise
    screen.wait_for(PROMPT, 8)
    screen.press("w" + "x" * 1990 + "\n")
    screen.wait_for("the comment goes with your answer", 4)
    screen.press("n")
    screen.wait_for(PROMPT, 10)
    screen.press("q")
    screen.wait_for("assay status spam")
    said = [("yes", "a parody, y or n? [b]yes[/b]"), ("no", "typed ahead"), ("yes", "")]
    assert comments() == [*said, ("no", "x" * 1990)]


def test_a_comment_in_a_pipe_stands_after_its_w(
    create: Fixture, run: Fixture, comments: Fixture
) -> None:
    create("--reviewers-per-item", "2", "--overlap", "1")
    lines = "w Yes, a parody\ny\nn\nu\nW dull\ns\nw " + "x" * 2001 + "\nc\nq\n"
    shown = run("label", "spam", "--reviewer", "ann", input=lines).stdout
    assert "no, kept" in shown
    assert "a comment has 2,001 characters, at most 2,000; it was not kept" in shown
    assert comments() == [
        ("yes", "Yes, a parody"),
        ("no", ""),
        ("no", "dull"),
        ("cannot judge", ""),
    ]
    bare = run("label", "spam", "--reviewer", "ann", input="w\n")
    assert bare.exit_code == 1
    assert "write a comment after w" in bare.stderr


def test_a_killed_sitting_loses_nothing(
    create: Fixture, terminal: Fixture, labels: Fixture
) -> None:
    create()
    screen = terminal("label", "spam")
    for place in range(1, 4):
        screen.wait_for(PROMPT, place)
        screen.press("y")
        screen.wait_for("yes, saved", place)
    screen.kill()
    assert list(labels().values()) == ["yes"] * 3


def test_items_are_shown_blind_and_harmless(create: Fixture, run: Fixture) -> None:
    """Neither prediction, score, stratum nor estimate, whatever columns were asked for."""
    create("--show", "p", "--show", "said")
    shown = run("label", "spam", input="y\n" * 25).stdout
    assert "subject" in shown
    assert r"\x1b]0;gotcha\x07" in shown
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", shown)
    asked = shown.replace("Is it spam?", "").replace("assay status spam", "")
    for secret in ("spam", "ham", "score", "stratum", "precision", r"0\.\d"):
        assert not re.search(secret, asked), secret


def test_lines_of_a_pipe_are_answers(create: Fixture, run: Fixture, labels: Fixture) -> None:
    create()
    result = run("label", "spam", input="yes\nN\ncannot judge\nu\nu\ny\ns\nskip for now\nq\ny\n")
    assert result.exit_code == 0
    assert sorted(labels().values()) == ["cannot judge", "yes", "yes"]
    assert "More labels are needed." in result.stdout


def test_a_line_that_is_no_answer_ends_with_an_error(
    create: Fixture, run: Fixture, labels: Fixture
) -> None:
    create()
    result = run("label", "spam", input="y\nnonsense\ny\n")
    assert result.exit_code == 1
    assert "line 2 of the input is not an answer: 'nonsense'" in result.stderr
    assert "Traceback" not in result.output
    assert list(labels().values()) == ["yes"]


def test_the_very_last_answer_can_be_undone(create: Fixture, run: Fixture, labels: Fixture) -> None:
    create()
    run("label", "spam", input="y\n" * 30 + "u\nn\n")
    assert sorted(labels().values()) == ["no"] + ["yes"] * 29


def test_a_reviewer_has_a_name_and_items_may_be_broken(create: Fixture, run: Fixture) -> None:
    create("--question", "Would you open it?", "--reviewers-per-item", "2", "--overlap", "1")
    nobody = run("label", "spam", input="y\n")
    assert nobody.exit_code == 1
    assert "to several reviewers" in nobody.stderr
    shown = run("label", "spam", "--reviewer", "ann", input="y\nb\nbroken\nq\n").stdout
    assert shown.count("Would you open it?") == 4
    assert "3 labelled in this session, all saved." in shown
    assert "3 labelled" in run("label", "spam", "--reviewer", "bob", input="y\nb\nn\nq\n").stdout
    campaign = load_campaign("spam", storage="sqlite:///assay.db")
    assert [
        (row.name, row.answers, row.broken) for row in reviewers_in(campaign.desk.current())
    ] == [("ann", 3, 2), ("bob", 3, 1)]
    assert sorted(campaign.answers().values()) == ["broken", "yes"]
    (dispute,) = campaign.disputes()
    assert dispute.answers == {"ann": "broken", "bob": "no"}


NAMES = ("fraud", "off topic", "spam")
SIZE = 300


@pytest.fixture
def tags(folder: Path) -> str:
    """Write tags.csv into the current folder: scores and truth of three classes."""
    rng = np.random.default_rng(8)
    score = rng.beta(0.5, 1.0, (SIZE, 3)).round(4)
    truth = (rng.random((SIZE, 3)) < score).astype(int)
    with (folder / "tags.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(f"{part}_{name}" for part in ("p", "is") for name in NAMES)])
        for k in range(SIZE):
            writer.writerow([f"m{k}", *score[k].tolist(), *truth[k].tolist()])
    return "tags.csv"


@pytest.fixture
def create_of_tags(run: Fixture, tags: str) -> Fixture:
    def call(*more: str) -> Any:
        return run("create", tags, "--id", "id", "--multilabel", "--budget", "60", *more)

    return call


SCORES = ("--probabilities", "p_*", "--threshold", "0.5")


def test_lines_of_a_pipe(run: Fixture, create_of_tags: Fixture) -> None:
    assert create_of_tags(*SCORES).exit_code == 0
    result = run("label", "campaign", input="spam|Fraud\n13\n1 2\n0\n?\nfruad\n")
    assert result.exit_code == 1
    assert "line 6 of the input is not an answer: 'fruad'" in result.stderr
    said = [
        answer.value
        for answer in load_campaign("campaign", storage="sqlite:///assay.db").answers().values()
    ]
    several = ["fraud|spam", "fraud|spam", "fraud|off topic"]
    assert said == [*several, "none of these", "cannot judge"]


def test_keys_of_a_terminal(create_of_tags: Fixture, terminal: Callable[..., Terminal]) -> None:
    assert create_of_tags(*SCORES).exit_code == 0
    screen = terminal("label", "campaign")
    screen.wait_for("Which classes does it have?")
    screen.press("3")
    screen.wait_for("chosen: spam; Enter sends")
    screen.press("1")
    screen.wait_for("chosen: spam, fraud; Enter sends")
    screen.press("3")
    screen.wait_for("chosen: fraud; Enter sends")
    screen.press("2\r")
    screen.wait_for("q quit", 2)
    assert "fraud, off topic, saved" in screen.seen
    screen.press("\r")
    screen.wait_for("no class is selected")
    screen.press("0")
    screen.wait_for("q quit", 4)
    assert "none of these, saved" in screen.seen
    screen.press("q")
    screen.wait_for("2 labelled")
    said = [
        answer.value
        for answer in load_campaign("campaign", storage="sqlite:///assay.db").answers().values()
    ]
    assert said == ["fraud|off topic", "none of these"]
