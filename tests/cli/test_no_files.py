"""Pipes that nobody writes to, devices that never end, folders: an error in words, at once."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import assay
from assay.errors import InputError
from assay.files import Content, content
from tests.cli.conftest import Fixture


@pytest.fixture(params=["pipe", "device", "folder"])
def endless(request: pytest.FixtureRequest, folder: Path) -> Iterator[Callable[[str], str]]:
    """Make something under a name that ends as it is said."""
    made = []

    def make(ending: str) -> str:
        path = folder / f"endless{ending}"
        if request.param == "pipe":
            os.mkfifo(path)
            made.append(path)
        elif request.param == "device":
            path.symlink_to("/dev/zero")
        else:
            path.mkdir()
        return str(path)

    def write() -> None:  # so that a test fails, and does not hang, where a pipe is waited for
        for path in made:
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    timer = threading.Timer(20, write)
    timer.start()
    yield make
    timer.cancel()


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (".csv", ("import", "spam")),
        (".jsonl", ("import", "spam")),
        (".parquet", ("import", "spam")),
        (".json", ("import", "spam", "--format", "label-studio")),
        (".zip", ("verify",)),
        (".json", ("verify", "spam", "--report")),
        (".md", ("serve", "spam", "--guidelines")),
    ],
)
def test_what_is_read_whole_must_be_a_file(
    ending: str,
    words: tuple[str, ...],
    endless: Callable[[str], str],
    create: Fixture,
    run: Fixture,
) -> None:
    create()
    path = endless(ending)
    told = run(*words, path)
    assert told.exit_code == 1
    assert f"{path} is a" in told.stderr
    assert "not a file" in told.stderr
    assert "hint: " in told.stderr


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl", ".duckdb"])
@pytest.mark.parametrize("query", [False, True])
def test_predictions_must_be_files(
    ending: str, query: bool, endless: Callable[[str], str], run: Fixture
) -> None:
    path = endless(ending)
    given = f"SELECT * FROM '{path}'" if query else path
    columns = ("--score", "p", "--threshold", "0.5", "--budget", "9")
    told = run("create", given, *columns)
    assert told.exit_code == 1
    is_folder = Path(path).is_dir()
    assert is_folder or ("not a file" in told.stderr and "hint: " in told.stderr)


def test_a_pipe_behind_a_pattern_is_passed_over(folder: Path) -> None:
    (folder / "day=1").mkdir()
    os.mkfifo(folder / "day=1" / "a.csv")
    for path in ("day=1", "day=*/*.csv"):
        with pytest.raises(InputError, match=r"without files to read|not found"):
            assay.create_campaign(path, score="p", threshold=0.5, budget=9)


def test_a_file_that_the_memory_does_not_hold_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "labels.csv"
    with path.open("wb") as file:
        file.truncate(10**12)  # which takes no room on the disk
    with pytest.raises(InputError, match="has 1,000,000,000,000 bytes; nothing was read"):
        Content(path).data()
    path.write_bytes(b"id,label")
    monkeypatch.setattr(content, "_MOST_OF_FILE", 8)
    assert Content(path).data() == b"id,label"
    monkeypatch.setattr(content, "_MOST_OF_FILE", 7)
    with pytest.raises(InputError, match="has 8 bytes"):
        Content(path).data()
