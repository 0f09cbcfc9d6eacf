"""A storage that cannot be written to can be read, and is never read without its last labels."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.storage import open_store, store

# Root may write everywhere, unless it gives up the right to.
AS_ROOT = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")

PROGRAM = """
import json, sys
from typer.testing import CliRunner
from assay.cli import app
told = {}
for words in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    told[" ".join(words)] = done.exit_code, done.output
print(json.dumps(told))
"""

READING = (
    "status spam",
    "status",
    "verify spam",
    "report spam",
    "export spam --what labels -o FOLDER/../out.csv",
)
WRITING = ("label spam", "import spam FOLDER/labels.csv", "token add spam --role reviewer --who a")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a storage that nobody has open, and a file of labels."""
    path = tmp_path / "media"
    path.mkdir()
    campaign = assay.create_campaign(
        {"p": [0.9, 0.8, 0.7, 0.6]},
        score="p",
        threshold=0.5,
        budget=4,
        name="spam",
        storage=f"sqlite:///{path / 'labels 100%.db'}",
    )
    campaign.tell({item.id: True for item in campaign.ask(2)})
    campaign.store.close()
    (path / "labels.csv").write_text("id,label\n1,yes\n")
    return path


def run(folder: Path, *commands: str, file: str = "labels 100%.db") -> dict[str, Any]:
    """Run commands as somebody who may only read; return exit codes and what was told."""
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which(AS_ROOT[0]) is None:
            pytest.skip("root can write everywhere, and there is no setpriv")
        prefix = AS_ROOT
    where = ["--storage", f"sqlite:///{folder / file}"]
    words = [[*each.replace("FOLDER", str(folder)).split(), *where] for each in commands]
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    try:
        done = subprocess.run(
            [*prefix, sys.executable, "-c", PROGRAM, json.dumps(words)],
            capture_output=True,
            check=False,
            text=True,
            timeout=120,
        )
    finally:
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return dict(zip(commands, told.values(), strict=True))


def test_what_only_reads_works_and_what_writes_says_why_not(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    told = run(folder, *READING, *WRITING)
    for command in READING:
        assert told[command][0] == 0, told[command]
    for command in WRITING:
        code, text = told[command]
        assert code == 1, command
        assert "can only be read" in text
        assert "copy it to a folder that can be written" in text
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_last_labels_are_in_the_log_beside_the_file(folder: Path, tmp_path: Path) -> None:
    """A machine that was switched off leaves such a log; without it three labels would be two."""
    url = f"sqlite:///{folder / 'labels 100%.db'}"
    campaign = assay.load_campaign("spam", storage=url)
    (item,) = campaign.ask(1)
    campaign.tell({item.id: True})
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.glob("labels 100%.db*"):
        if not path.name.endswith("-shm"):
            shutil.copyfile(path, copy / path.name)
    assert (copy / "labels 100%.db-wal").stat().st_size
    code, text = run(copy, "status spam")["status spam"]
    assert code == 1
    assert "the last labels of" in text
    assert "labels 100%.db-wal" in text
    campaign.store.close()


def test_a_storage_that_must_be_upgraded_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "media"
    folder.mkdir()
    data = Path(__file__).parent / "data" / "schema_2.db"
    shutil.copyfile(data, folder / "old.db")
    code, text = run(folder, "status", file="old.db")["status"]
    assert code == 1
    assert "must be upgraded" in text


def test_with_somebody_who_writes_their_labels_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the log and its index are there, SQLite reads them."""
    url = f"sqlite:///{folder / 'labels 100%.db'}"
    campaign = assay.load_campaign("spam", storage=url)
    monkeypatch.setattr(store, "_cannot_be_written", lambda _: "for a test")
    (item,) = campaign.ask(1)
    campaign.tell({item.id: True})
    later = open_store(url)
    with later.read() as session:
        assert len(session.labels(1)) == 3
    # The wrong variant: the file without what lies beside it.
    alone = shutil.copyfile(folder / "labels 100%.db", folder / "alone.db")
    with open_store(f"sqlite:///{alone}").read() as session:
        assert len(session.labels(1)) < 3
    campaign.store.close()
