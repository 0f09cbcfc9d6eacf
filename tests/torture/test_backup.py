"""Backups and upgrades while somebody writes: what was acknowledged is in them."""

import shutil
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

import assay
from assay.storage import Label
from assay.storage.schema import SCHEMA_VERSION
from assay.storage.store import _LOCK
from tests.torture.campaigns import make_campaign, truth
from tests.torture.conftest import Database
from tests.torture.pages import Page, UnsureError, token_for
from tests.torture.processes import FORKS, PATIENCE, begin, kill, serving
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


@contextmanager
def connected(storage: str) -> Iterator[sa.Connection]:
    """Give a connection that Assay knows nothing of; it names tables as PostgreSQL does."""
    url = sa.make_url(storage)
    if url.get_backend_name() == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        yield connection


def told(storage: str) -> list[Any]:
    """Return the labels, as all schemas have them."""
    place = "" if storage.startswith("sqlite") else "assay."
    columns = "id, campaign_id, item_id, answer, reviewer, told_at"
    with connected(storage) as connection:
        query = f"SELECT {columns} FROM {place}label_event ORDER BY id"
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def upgrade_further(connection: sa.Connection) -> None:
    """Do to a storage what the next version will do: whatever that is, it is recorded."""
    place = "" if connection.dialect.name == "sqlite" else "assay."
    connection.exec_driver_sql(f"INSERT INTO {place}assay_schema VALUES ({SCHEMA_VERSION + 1})")


def test_a_program_that_runs_while_a_newer_one_upgrades_writes_no_more(
    database: Database, tmp_path: Path
) -> None:
    storage = database.storage()
    campaign = make_campaign(storage, items=60)
    first, second, *_ = campaign.ask(4)
    campaign.tell({first.id: True})
    with serving(storage, tmp_path) as (served,):
        page = Page(served.port, token_for(storage, "ann", "owner"))
        (item,) = page.take([], 1).items
        before = told(storage)
        with ThreadPoolExecutor(1) as pool:
            # Who waits for the lock meanwhile looks at the version when it has it, not before.
            with connected(storage) as connection:
                hold_for_writing(connection)
                waiting = pool.submit(campaign.tell, {second.id: True})
                time.sleep(0.3)
                assert not waiting.done()
                upgrade_further(connection)
            trouble = waiting.exception()
        assert isinstance(trouble, assay.StorageError)
        assert f"schema version {SCHEMA_VERSION + 1}; this Assay knows" in trouble.problem
        assert "end this program" in trouble.hint
        with pytest.raises(UnsureError) as refused:
            page.take([Label(item, truth(item), key="late")], 1)
        page.close()
    assert refused.value.status == 503
    assert f"schema version {SCHEMA_VERSION + 1}" in refused.value.told["error"]
    for command in (campaign.ask, lambda: assay.load_campaign("spam", storage=storage)):
        with pytest.raises(assay.StorageError, match="this Assay knows"):
            command()
    assert told(storage) == before
    assert campaign.estimate().labels == 1  # what was told can still be read


def hold_for_writing(connection: sa.Connection) -> None:
    """Take the lock that Assay's writers take."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
