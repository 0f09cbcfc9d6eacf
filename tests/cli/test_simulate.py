"""Simulating a labelled file from the command line."""

import csv
import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Fixture

COLUMNS = ["--label", "truth", "--score", "p", "--predicted", "said", "--positive", "spam"]
FILE = "labelled.csv"


@pytest.fixture(autouse=True)
def labelled(folder: Path) -> Path:
    """Write a file of predictions with the truth into the current folder."""
    rng = np.random.default_rng(4)
    score = rng.beta(4, 1.5, 3000).round(4)
    truth = np.where(rng.random(3000) < score, "spam", "ham")
    said = np.where(score >= 0.5, "spam", "ham")
    rows = zip(score, said, np.where(rng.random(3000) < 0.9, truth, "ham"), truth, strict=True)
    lines = ["p,said,old,truth", *(",".join(map(str, row)) for row in rows)]
    (folder / FILE).write_text("\n".join(lines) + "\n")
    return folder / FILE


@pytest.fixture
def simulate(run: Fixture) -> Fixture:
    """Run 60 evaluations of each design in this process."""

    def call(*words: str) -> Any:
        quick = ["--replications", "60", "--workers", "1", "--seed", "1"]
        return run("simulate", FILE, *COLUMNS, *quick, *words)

    return call


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
