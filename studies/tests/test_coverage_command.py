"""``python -m studies coverage``: what it prints and writes, and how it goes on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Fixture = Callable[..., Any]
SOON = ("coverage", "--quick", "--part", "small", "--replications", "2")


def test_it_prints_the_summary_and_goes_on_where_it_was(run: Fixture, folder: Path) -> None:
    result = run(*SOON)
    assert result.exit_code == 0, result.output
    told = result.stdout
    assert "precision     12" in told
    assert "small     12" in told
    assert "small: cells of 12 that are right too seldom" in told
    assert "A cell fails when" in told
    assert "\x1b" not in told
    assert max(map(len, told.splitlines())) <= 80
    assert "saved: 5 files in coverage" in result.stderr
    before = (folder / "coverage" / "coverage.csv").read_bytes()
    assert run(*SOON).stdout == told
    assert (folder / "coverage" / "coverage.csv").read_bytes() == before


def test_json_is_one_document_that_names_the_files(run: Fixture, folder: Path) -> None:
    result = run(*SOON, "--out", "made", "--design", "random", "--seed", "3", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["design"], document["seed"], document["replications"]) == ("random", 3, 2)
    assert {row["items"] for row in document["rows"]} == {480}
    assert all(-20 < row["lean"] < 20 for row in document["rows"])
    assert document["left_out"] == []
    assert document["targets"][0]["most"] is True
    assert all((folder / file).is_file() for file in document["files"])


def test_on_a_terminal_it_shows_its_progress_and_ctrl_c_ends_it(terminal: Fixture) -> None:
    screen = terminal("coverage", "--part", "grid", "--replications", "50")
    screen.wait_for("0%")
    screen.press("\x03")
    screen.wait_for("interrupted: the same command goes on from here")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--design", "defualt"), "unknown design 'defualt'"),
        (("--design", "fixed"), "a fixed design looks once"),
        (("--part", "real", "--data", "nowhere"), "no classifiers in nowhere"),
        (("--part", "real", "--classifier", "mine"), "no classifier has 'mine' in its name"),
    ],
)
def test_what_cannot_be_run_is_told(words: tuple[str, ...], problem: str, run: Fixture) -> None:
    result = run("coverage", *words, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stderr)["error"]["problem"].startswith(problem)


def test_a_file_in_the_way_of_the_results_is_told_first(run: Fixture, folder: Path) -> None:
    (folder / "coverage").write_text("mine")
    result = run("coverage")
    assert result.exit_code == 1
    assert "cannot be created" in result.stderr


@pytest.mark.parametrize("words", [("--part", "unknown"), ("--replications", "1")])
def test_wrong_usage_is_told(words: tuple[str, ...], run: Fixture) -> None:
    assert run("coverage", *words).exit_code == 2
