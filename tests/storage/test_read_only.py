"""A storage that cannot be written to can be read, and is never read without its last labels."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import assay
from assay.storage import open_store, store

# Root may write everywhere, unless it gives up the right to.
AS_ROOT = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")

PROGRAM = """
import json, sys
from typer.testing import CliRunner
from assay.cli import app
told = []
for words in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    told.append((done.exit_code, done.output))
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
NAME = "labels 100%.db"


def filled(folder: Path) -> assay.Campaign:
    """Make a folder with a storage and a file of labels."""
    folder.mkdir()
    campaign = assay.create_campaign(
        {"p": [0.9, 0.8, 0.7, 0.6]},
        score="p",
        threshold=0.5,
        budget=4,
        name="spam",
        storage=f"sqlite:///{folder / NAME}",
        seed=7,
    )
    *told, left = campaign.ask(3)
    campaign.tell({item.id: True for item in told})
    (folder / "labels.csv").write_text(f"id,label\n{left.id},yes\n")
    return campaign


def run(commands: Sequence[tuple[Path, str]]) -> list[tuple[int, str]]:
    """Run commands as somebody who may only read; return exit codes and what was told."""
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which(AS_ROOT[0]) is None:
            pytest.skip("root can write everywhere, and there is no setpriv")
        prefix = AS_ROOT
    words = [
        [*command.replace("FOLDER", str(file.parent)).split(), "--storage", f"sqlite:///{file}"]
        for file, command in commands
    ]
    folders = {file.parent for file, _ in commands}
    for folder in folders:
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
        for folder in folders:
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    return [(code, text) for code, text in json.loads(done.stdout)]


def test_what_only_reads_works_and_what_writes_says_why_not(tmp_path: Path) -> None:
    """In one process, because each takes seconds to start.

    A machine that was switched off leaves a log beside the file; without it three labels would be
    two. A storage of an older Assay is refused.
    """
    media, cut_off, old = (tmp_path / name for name in ("media", "cut off", "old"))
    campaign = filled(media)
    campaign.desk.store.close()
    before = {path.name: path.read_bytes() for path in media.iterdir()}
    live = filled(tmp_path / "live")
    cut_off.mkdir()
    for name in (NAME, f"{NAME}-wal"):
        shutil.copyfile(tmp_path / "live" / name, cut_off / name)
    live.desk.store.close()
    old.mkdir()
    shutil.copyfile(Path(__file__).parent / "data" / "schema_5.db", old / NAME)
    with sqlite3.connect(old / NAME) as connection:
        connection.execute("UPDATE assay_schema SET version = 4")
    connection.close()
    commands = [(media / NAME, command) for command in (*READING, *WRITING)]
    *told, of_log, of_old = run([*commands, (cut_off / NAME, "status"), (old / NAME, "status")])
    for (_, command), (code, text) in zip(commands, told, strict=True):
        if command in READING:
            assert code == 0, text
        else:
            assert code == 1, command
            assert "can only be read" in text
            assert "copy it to a folder that you can write to" in text
    assert {path.name: path.read_bytes() for path in media.iterdir()} == before
    assert of_log[0] == of_old[0] == 1
    assert "the last labels of" in of_log[1]
    assert f"{NAME}-wal" in of_log[1]
    assert "another version of Assay wrote it" in of_old[1]


def test_with_somebody_who_writes_their_labels_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the log and its index are there, SQLite reads them."""
    campaign = filled(tmp_path / "live")
    url = campaign.desk.store.name
    monkeypatch.setattr(store, "_cannot_be_written", lambda _: "for a test")
    (item,) = campaign.ask(1)
    campaign.tell({item.id: True})
    later = open_store(url)
    with later.read() as session:
        assert len(session.labels(1)) == 3
    campaign.desk.store.close()
