"""``python -m studies reproduce``: what it prints and writes, and how it ends early."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from studies.bennett_carvalho import study as bennett_carvalho
from studies.data import generated_classifiers, generated_topics
from studies.kumar_raj import cells as kumar_raj_plan
from studies.kumar_raj import figures as kumar_raj_figures
from studies.kumar_raj import study as kumar_raj
from studies.recycling import joint as recycling_joint
from studies.recycling import study as recycling
from studies.recycling.table1 import PAPER
from studies.recycling.tables import joint_table, pairs_table, table1_table, table2_table

Fixture = Callable[..., Any]


# Every row of a study is computed by itself, on a random stream of its own. The other tests of
# this folder check what a row says; here a few rows of each kind are enough.


def test_it_prints_the_table_and_writes_tables_and_figures(
    run: Fixture, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = generated_topics(seed=1)[::5]
    monkeypatch.setattr(bennett_carvalho, "generated_topics", lambda _: few)
    result = run("reproduce", "bennett-carvalho", "--quick", "--replications", "2")
    assert result.exit_code == 0, result.output
    told = result.stdout
    assert "Table 1: ours/paper's" in told
    assert "perc-opt" in told
    assert "/-17.3" in told
    assert "\x1b" not in told
    assert max(map(len, told.splitlines())) <= 80
    assert "saved: 12 files in reproduction" in result.stderr
    written = {file.name for file in (folder / "reproduction").iterdir()}
    for name in ("table1.md", "table1.csv", "figure2a.svg", "figure2b.png", "certainty.png"):
        assert f"bennett-carvalho-{name}" in written


def test_json_is_one_document_that_names_the_files(
    run: Fixture, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = generated_classifiers(seed=1)[:2]
    monkeypatch.setattr(kumar_raj, "generated_classifiers", lambda _: two)
    monkeypatch.setattr(kumar_raj_plan, "BUDGETS", (60, 200, 1000))
    for module in (kumar_raj_plan, kumar_raj_figures):
        monkeypatch.setattr(module, "STRATA", ("sqrt", "eqsz"))
    proportional, _, _, adaptive, *_ = kumar_raj_plan.ALLOCATIONS
    for module in (kumar_raj_plan, kumar_raj_figures, kumar_raj):
        monkeypatch.setattr(module, "ALLOCATIONS", (proportional, adaptive))
    words = ("reproduce", "kumar-raj", "--quick", "--replications", "2", "--out", "made")
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["replications"], document["seed"]) == (2, 1)
    assert document["files"]
    assert all((folder / file).is_file() for file in document["files"])


def test_recycling_fits_a_narrow_screen_and_its_seed_fixes_all(
    run: Fixture, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recycling_joint, "PAPER", dict(list(PAPER.items())[:2]))
    result = run("reproduce", "recycling", "--quick", "--replications", "2", "--seed", "4")
    assert result.exit_code == 0, result.output
    assert "0.85  0.45" in result.stdout
    assert "(paper 33.68)" in " ".join(result.stdout.split())
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "saved: 18 files in reproduction" in result.stderr
    written = {file.name: file for file in (folder / "reproduction").iterdir()}
    assert all(file.stat().st_size > 0 for file in written.values())
    assert "recycling-figure2.png" in written
    shares: list[float] = []
    again = recycling.run(replications=2, seed=4, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    tables = {"table1": table1_table(again.table1), "joint-pairs": pairs_table(again.pairs)}
    tables |= {"table2": table2_table(again.real, again.table2), "joint": joint_table(again.joint)}
    for name, table in tables.items():
        for file in table.write(folder, f"recycling-{name}"):
            assert file.read_bytes() == written[file.name].read_bytes()
    check_document(again.to_dict())


def check_document(document: Mapping[str, Any]) -> None:
    row = document["table1"]["rows"][0]
    names = {"pir", "cir", "savings_mean", "savings_low", "savings_high", "error_mean", "error_sd"}
    assert names <= set(row)
    assert document["table1"]["mean_savings"] > 0
    assert set(document) >= {"table1", "figure2", "table2", "joint"}
    assert document["table2"]["ml1"]["algorithms"]["random"]["savings_max"] == 0
    assert set(document["joint"]["within"]) == {"ml1", "ml2", "ml3", "mve"}
    assert len(document["joint"]["pairs"]) == 2
    # No design by cells does with fewer labels than one that knows the true rates.
    assert document["joint"]["labels_vs_recycle"] > document["joint"]["least_vs_recycle"] > 0.2


def test_on_a_terminal_it_shows_its_progress_and_ctrl_c_ends_it(terminal: Fixture) -> None:
    screen = terminal("reproduce", "bennett-carvalho")
    screen.wait_for("reproducing bennett-carvalho")
    screen.wait_for("0%")
    screen.press("\x03")
    screen.wait_for("interrupted: nothing was written")


@pytest.mark.parametrize("paper", ["bennett-carvalho", "kumar-raj", "recycling"])
def test_a_folder_without_the_data_is_told(paper: str, run: Fixture) -> None:
    result = run("reproduce", paper, "--data", "nowhere", "--json")
    assert result.exit_code == 1
    error = json.loads(result.stderr)["error"]
    assert error["problem"].endswith(".parquet in nowhere")
    assert "generates" in error["hint"]


def test_a_file_in_the_way_of_the_results_is_told_first(run: Fixture, folder: Path) -> None:
    (folder / "reproduction").write_text("mine")
    result = run("reproduce", "bennett-carvalho")
    assert result.exit_code == 1
    assert "cannot be created" in result.stderr
    assert (folder / "reproduction").read_text() == "mine"


@pytest.mark.parametrize("words", [("unknown-paper",), ("kumar-raj", "--replications", "1")])
def test_wrong_usage_is_told(words: tuple[str, ...], run: Fixture) -> None:
    assert run("reproduce", *words).exit_code == 2
