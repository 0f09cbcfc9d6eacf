"""Backups that are made while somebody writes and is killed: what was acknowledged is in them."""

import shutil
import sqlite3
import time
from multiprocessing.connection import Connection
from pathlib import Path

import assay
from assay import Label
from tests.torture.campaigns import make_campaign, truth
from tests.torture.processes import FORKS, PATIENCE, begin, kill
from tests.torture.sizes import report, sized

BACKUPS = sized(2, 50)
BEFORE = 8  # labels that are acknowledged before a backup begins


def write(storage: str, prefix: str, told: Connection) -> None:
    """Judge one item after the other, and tell the key of every answer that is acknowledged."""
    campaign = assay.load_campaign("spam", storage=storage)
    number = 0
    while items := campaign.review([], reviewer=prefix, want=1).items:
        key, item = f"{prefix} {number}", str(items[0].id)
        campaign.review([Label(item, truth(item), key=key)], reviewer=prefix, want=0)
        told.send(key)
        number += 1
        time.sleep(0.05)  # a backup is checked for seconds, and the items must last for all of them


def keys_in(file: Path) -> set[str]:
    """Return the keys of the labels in a file, read without Assay; none where it is no database."""
    connection = sqlite3.connect(file)
    try:
        found = connection.execute("SELECT submit_key FROM label_event").fetchall()
    except sqlite3.Error:
        return set()
    finally:
        connection.close()
    return {key for (key,) in found}


def received(told: Connection, least: int = 0) -> set[str]:
    """Return what was told so far, and wait for so much of it."""
    keys: set[str] = set()
    while len(keys) < least or told.poll():
        assert told.poll(PATIENCE), "nothing is written any more"
        keys.add(told.recv())
    return keys


def test_backups_while_somebody_writes_and_is_killed(tmp_path: Path) -> None:
    live = tmp_path / "live.db"
    storage = f"sqlite:///{live}"
    make_campaign(storage, items=200 * BACKUPS + 1_000)
    acknowledged: set[str] = set()
    missed = lost_by_cp = 0
    for number in range(BACKUPS):
        receiver, sender = FORKS.Pipe(duplex=False)
        writer = begin(write, storage, f"w{number}", sender)
        sender.close()
        acknowledged |= received(receiver, BEFORE)
        shutil.copyfile(live, tmp_path / "cp.db")  # the wrong way
        lost_by_cp += len(acknowledged - keys_in(tmp_path / "cp.db"))
        before, backup = set(acknowledged), tmp_path / f"{number}.db"
        made = assay.backup_storage(backup, storage=storage)
        kill(writer)
        assert made.findings == ()
        missed += len(before - keys_in(backup))
        # What was sent last may be acknowledged or not; the others are all there.
        while receiver.poll():
            try:
                acknowledged.add(receiver.recv())
            except EOFError:
                break
        receiver.close()
    assert acknowledged <= keys_in(live)
    for number in (0, BACKUPS - 1):
        found = assay.verify_campaign("spam", storage=storage, against=tmp_path / f"{number}.db")
        assert found.clean
    report(
        f"{BACKUPS} backups beside writers that were killed, {len(acknowledged):,} labels: "
        f"{missed} missed by backups, {lost_by_cp:,} by copies of the file"
    )
    assert missed == 0
    assert lost_by_cp > 0
