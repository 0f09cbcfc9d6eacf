"""Simulating a labelled file from the command line."""

import csv
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Fixture = Callable[..., Any]
COLUMNS = ["--label", "truth", "--score", "p", "--predicted", "said", "--positive", "spam"]
FILE = "labelled.csv"


@pytest.fixture(autouse=True)
def labelled(folder: Path) -> Path:
    """Write a file of predictions with the truth into the current folder."""
    rng = np.random.default_rng(4)
    score = rng.beta(4, 1.5, 3000).round(4)
    truth = np.where(rng.random(3000) < score, "spam", "ham")
    said = np.where(score >= 0.5, "spam", "ham")
    rows = zip(score, said, truth, strict=True)
    lines = ["p,said,truth", *(f"{p},{what},{real}" for p, what, real in rows)]
    (folder / FILE).write_text("\n".join(lines) + "\n")
    return folder / FILE


@pytest.fixture
def simulate(run: Fixture) -> Fixture:
    """Run 60 evaluations of each design in this process."""

    def call(*words: str) -> Any:
        quick = ["--replications", "60", "--workers", "1", "--seed", "1"]
        return run("simulate", FILE, *COLUMNS, *quick, *words)

    return call


def test_people_see_the_population_a_row_a_design_and_what_the_columns_mean(
    simulate: Fixture,
) -> None:
    result = simulate("--within", "0.05", "--design", "default,perc-opt", "--design", "wtmn-opt-a2")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    told = result.stdout
    assert "labelled.csv: 3,000 items, " in told
    assert "truth   precision 0.7" in told
    assert "limit   any design by score needs at least " in told
    said = " ".join(told.split())
    assert "% of random sampling's labels: " in said
    assert "; to see that what is clean is clean takes " in said
    lines = told.splitlines()
    heading = next(line for line in lines if line.startswith("design"))
    named = ["labels", "change", "of limit", "within", "covers", "bias", "rmse", "mvr", "mae"]
    assert heading.split() == " ".join(["design", *named]).split()
    first_words = [line.split()[0] for line in lines if line]
    assert [name for name in first_words if name in ("random", "default", "perc-opt")] == [
        "random",
        "default",
        "perc-opt",
    ]
    assert "wtmn-opt-a2" in first_words
    assert max(map(len, lines)) <= 80


def test_budgets_give_a_row_each_and_paper_2s_design_besides(simulate: Fixture) -> None:
    table = simulate("--budget", "80,40").stdout
    assert "change" not in table
    assert "after 40, 80 labels" in table
    assert table.count("km-opt-a2") == 2


def test_a_question_shows_how_often_each_answer_was_given(simulate: Fixture) -> None:
    result = simulate("--at-least", "0.5")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    heading = next(line for line in lines if line.startswith("design"))
    assert heading.split() == ["design", "labels", "change", "yes", "no", *heading.split()[5:]]
    rows = [line.split() for line in lines if line.startswith(("random", "guaranteed"))]
    assert [row[0] for row in rows] == ["random", "guaranteed"]
    assert all("1.000" in row for row in rows)
    assert "is it at least 0.5? at 95% confidence" in result.stdout
    assert max(map(len, lines)) <= 80


def test_bins_are_those_of_the_designs(simulate: Fixture) -> None:
    words = ["--within", "0.05", "--design", "perc-opt", "--json"]
    four, as_published = simulate(*words, "--bins", "4").stdout, simulate(*words).stdout
    assert four == as_published
    assert simulate(*words, "--bins", "2").stdout != four


def test_pictures_and_rows_are_written(simulate: Fixture) -> None:
    result = simulate("--within", "0.08", "--design", "perc-opt", "--out", "pictures")
    assert result.exit_code == 0, result.output
    assert "saved: 9 files in pictures" in result.stdout
    with Path("pictures/rows.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["design"] for row in rows] == ["random", "perc-opt"]
    assert list(rows[0])[:4] == ["design", "labels_mean", "labels_se", "change_pct"]
    names = ("labels_by_value", "half_width", "variance_ratio", "share_of_limit")
    for name in names:
        assert Path(f"pictures/{name}.svg").read_text().lstrip().startswith("<?xml")
        assert Path(f"pictures/{name}.png").read_bytes().startswith(b"\x89PNG")


BAD = {
    "no goal": ([], "neither `within` nor `budget`"),
    "no such design": (["--within", "0.1", "--design", "perc-optt"], "'perc-optt'"),
    "no design": (["--within", "0.1", "--design", ","], "names no design"),
    "bad budget": (["--budget", "100;200"], "'100;200'"),
    "no column": (["--within", "0.1", "--label", "real"], "'real'"),
    "out is a file": (["--within", "0.1", "--out", FILE], "cannot be made a folder"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_errors_are_told_in_words_and_in_json(
    words: list[str], message: str, simulate: Fixture
) -> None:
    plain = simulate(*words)
    assert (plain.exit_code, plain.stdout) == (1, "")
    assert plain.stderr.startswith("error: ")
    assert message in plain.stderr
    machine = simulate(*words, "--json")
    assert (machine.exit_code, machine.stdout) == (1, "")
    assert message in json.loads(machine.stderr)["error"]["problem"]


@pytest.mark.parametrize(
    "words", [["--replications", "0"], ["--workers", "0"], ["--seed", "-1"], ["--bins", "0"]]
)
def test_numbers_that_make_no_sense_are_wrong_usage(words: list[str], run: Fixture) -> None:
    result = run("simulate", FILE, *COLUMNS, "--within", "0.1", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words[0] in result.stderr


def what_is_left(terminal: int) -> str:
    """Return what a terminal holds once its programs have ended; it comes in pieces."""
    pieces = []
    with suppress(OSError):  # Linux's way to say that nothing more will come
        while piece := os.read(terminal, 4096):
            pieces.append(piece.decode(errors="replace"))
    return "".join(pieces)


def test_ctrl_c_leaves_the_finished_rows_and_says_so(folder: Path) -> None:
    """The bar is on a terminal, the result in a pipe; Ctrl-C reaches all processes, as it does."""
    words = [*COLUMNS, "--within", "0.05", "--replications", "1000000", "--workers", "2"]
    terminal, screen = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "simulate", FILE, *words, "--design", "random", "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=screen,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"},
        start_new_session=True,
    )
    os.close(screen)
    try:
        shown = ""
        while " 1%" not in shown:  # some blocks are finished, and many are not
            shown += os.read(terminal, 4096).decode(errors="replace")
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        shown += what_is_left(terminal)
    finally:
        process.kill()
        os.close(terminal)
    assert process.returncode == 130
    assert "interrupted" in shown
    assert "Traceback" not in shown
    assert [row["design"] for row in json.loads(output)["rows"]] == ["random"]


def test_a_question_for_a_threshold_has_rows_of_its_own(run: Fixture) -> None:
    words = ["simulate", FILE, "--label", "truth", "--score", "p", "--positive", "spam"]
    quick = ["--replications", "30", "--workers", "1", "--seed", "1", "--budget", "100,300"]
    asked = [*words, *quick, "--threshold-for", "precision >= 0.8"]
    document = json.loads(run(*asked, "--json").stdout)
    assert document["goal"]["threshold_for"] == "precision >= 0.8"
    found = [(row["design"], row["budget"]) for row in document["rows"]]
    assert found == [("random", 100), ("default", 100), ("random", 300), ("default", 300)]
    for row in document["rows"]:
        assert {"certified", "wrong", "share_of_best", "labels_mean"} <= set(row)
        assert 0 <= row["wrong"] <= row["certified"] <= 1
    told = run(*asked, "--out", "made").stdout
    assert "truth   the best threshold has recall 0." in told
    assert "precision >= 0.8 after 100, 300 labels" in told
    assert max(map(len, told.splitlines())) <= 80
    lines = list(csv.DictReader(Path("made/rows.csv").read_text().splitlines()))
    assert [line["design"] for line in lines] == ["random", "default"] * 2
    assert Path("made/share_of_best.svg").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--within", "0.1", "--budget", "9"], "--within 0.1 is given beside --threshold-for"),
        (
            ["--threshold", "0.5", "--budget", "9"],
            "--threshold 0.5 is given beside --threshold-for",
        ),
        ([], "needs --budget"),
        (["--design", "perc-opt", "--budget", "9"], "designs: default, random"),
    ],
)
def test_what_does_not_go_with_a_threshold_that_is_looked_for(
    run: Fixture, words: list[str], told: str
) -> None:
    columns = ["--label", "truth", "--score", "p", "--positive", "spam"]
    result = run("simulate", FILE, *columns, "--threshold-for", "precision >= 0.8", *words)
    assert result.exit_code == 1
    assert told in result.stderr


def test_gain_goes_with_a_threshold_alone(simulate: Fixture) -> None:
    result = simulate("--within", "0.05", "--gain", "0.1")
    assert result.exit_code == 1
    assert "--gain goes with --threshold-for" in result.stderr
