"""A folder with predictions, and the command line in it: in this process, or on a terminal."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from assay.campaign import load_campaign
from assay.cli import app

Fixture = Callable[..., Any]
PATIENCE = 40.0  # seconds to wait for a busy machine
# Only a process's controlling terminal turns Ctrl-C into a signal.
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Run(Protocol):
    """Run a command in this process."""

    def __call__(self, *words: str, input: str | None = None) -> Result: ...


class Terminal:
    """A command on a terminal of its own, seen and typed into as by a person."""

    def __init__(self, words: list[str], folder: Path, module: str = "assay") -> None:
        self._controller, screen = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "40"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, sys.executable, "-m", module, *words],
            cwd=folder,
            stdin=screen,
            stdout=screen,
            stderr=screen,
            env=environment,
            start_new_session=True,
        )
        os.close(screen)
        self.raw = ""

    @property
    def seen(self) -> str:
        """What was printed, without colours and cursor movements."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.raw)

    def press(self, keys: str) -> None:
        """Type keys, without Enter."""
        os.write(self._controller, keys.encode())

    def interrupt(self, until: str) -> None:
        """Press Ctrl-C, as a person would again if nothing happened in five seconds.

        Python does not notice a signal that comes just before it begins to read.
        """
        for patience in (5.0, PATIENCE):
            self.press("\x03")
            with suppress(AssertionError):
                return self.wait_for(until, patience=patience)
        raise AssertionError(f"it was interrupted twice and goes on:\n{self.seen}")

    def wait_for(self, text: str, times: int = 1, patience: float = PATIENCE) -> None:
        """Read until a text has been seen so often."""
        deadline = time.monotonic() + patience
        while self.seen.count(text) < times:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} was not seen {times} times in:\n{self.seen}"
            if select.select([self._controller], [], [], left)[0]:
                self.raw += os.read(self._controller, 65536).decode(errors="replace")

    def kill(self) -> None:
        """Kill the command as a crash would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(PATIENCE)

    def close(self) -> None:
        """Leave nothing behind."""
        if self._process.poll() is None:
            self.kill()
        os.close(self._controller)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with predictions.csv, and no storage."""
    rng = np.random.default_rng(20)
    lines = ["id,p,said,subject"]
    for number, score in enumerate(rng.random(400).round(6)):
        said = "spam" if score >= 0.5 else "ham"
        lines.append(f'm{number:03d},{score},{said},"subject {number}, \x1b]0;gotcha\x07"')
    (tmp_path / "predictions.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORAGE", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """The command line, called in this process."""
    assert Path.cwd() == folder

    def call(*words: str, input: str | None = None) -> Result:
        return CliRunner().invoke(app, list(words), input=input)

    return call


@pytest.fixture
def create(run: Run) -> Callable[..., Result]:
    """Make a campaign `spam` of a budget of 30."""

    def call(*more: str, goal: tuple[str, str] = ("--budget", "30")) -> Result:
        columns = ["--id", "id", "--score", "p", "--predicted", "said", "--positive", "spam"]
        given = ["predictions.csv", *columns, "--show", "subject", "--name", "spam", *goal, *more]
        result = run("create", *given)
        assert result.exit_code == 0, result.output
        return result

    return call


@pytest.fixture
def terminal(folder: Path) -> Iterator[Callable[..., Terminal]]:
    """Commands on terminals; those that still run at the end are killed."""
    opened: list[Terminal] = []

    def start(*words: str) -> Terminal:
        opened.append(Terminal(list(words), folder))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def comments(folder: Path) -> Callable[[], list[tuple[str, str]]]:
    """Every answer ever given in the campaign `spam`, with its comment."""

    def stored() -> list[tuple[str, str]]:
        campaign = load_campaign("spam", storage=f"sqlite:///{folder / 'assay.db'}")
        return [(event.answer, event.comment) for event in campaign.events()]

    return stored


@pytest.fixture
def labels(run: Run) -> Callable[[], dict[str, str]]:
    """The labels that count, as `assay export` tells them."""

    def exported() -> dict[str, str]:
        document: dict[str, Any] = json.loads(run("export", "spam", "--json").stdout)
        return {row["id"]: row["label"] for row in document["rows"]}

    return exported
