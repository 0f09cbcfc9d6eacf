"""An empty folder, and ``python -m studies`` in it: in this process, or on a terminal."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from studies.__main__ import app
from tests.cli.conftest import Terminal

ROOT = Path(__file__).parents[2]

# Tests keep all cores busy: a process for each core would only add the time of its imports.
os.cpu_count = lambda: 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with nothing in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Callable[..., Result]:
    """The studies' command line, called in this process."""
    assert Path.cwd() == folder
    return lambda *words: CliRunner().invoke(app, list(words))


@pytest.fixture
def terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Terminal]]:
    """Studies on terminals; those that still run at the end are killed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    opened: list[Terminal] = []

    def start(*words: str) -> Terminal:
        opened.append(Terminal(list(words), folder, "studies"))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
