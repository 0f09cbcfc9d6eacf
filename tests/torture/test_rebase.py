"""What goes wrong in a rebase: the campaign is the old or the new one, whole, with all labels."""

import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import assay
from assay import Campaign
from tests.torture.campaigns import make_campaign, truth
from tests.torture.conftest import Database
from tests.torture.processes import PATIENCE, begin
from tests.torture.sizes import FULL, report, sized
from tests.torture.workers import be_killed, rebase

ITEMS = sized(400, 1_000)
STEP = sized(8, 2)  # pages of SQLite more each time
PAGE = 4096

Room = Callable[[int], AbstractContextManager[None]]
"""Lets the disk have so many bytes left, as long as the block runs."""


def labelled(storage: str) -> Campaign:
    """Return a campaign with labels."""
    campaign = make_campaign(storage, items=ITEMS)
    for _ in range(3):
        items = campaign.ask(15)
        campaign.tell({item.id: truth(str(item.id)) for item in items}, reviewer="ann")
    return campaign


def said(campaign: Campaign) -> list[tuple[str, ...]]:
    """Return what people have said."""
    return [(row.item_id, row.answer, row.reviewer, row.told_at) for row in campaign.events()]


def names_in(campaign: Campaign) -> list[str]:
    """Return the names of all campaigns beside one."""
    with campaign.desk.store.read() as session:
        return session.names()


def rebase_until_there_is_room(storage: str, room: Room, step: int) -> int:
    """Rebase with more room each time, from none to enough; return how often it was too little.

    So the disk is full in one place of the rebase after the other.
    """
    before = said(assay.load_campaign("spam", storage=storage))
    assert before
    for failed in count():
        try:
            with room(failed * step):
                rebase(storage, ITEMS)
        except assay.StorageError as error:
            assert "disk is full" in error.problem, error
            assert "make room" in error.hint
        else:
            break
        campaign = assay.load_campaign("spam", storage=storage)
        assert said(campaign) == before
        for name in names_in(campaign):
            assert assay.verify_campaign(name, storage=storage).clean
        campaign.desk.store.close()
    campaign = assay.load_campaign("spam", storage=storage)
    assert said(campaign) == before
    assert failed > 0
    return failed


@contextmanager
def pages_left(file: Path, bytes_: int) -> Iterator[None]:
    """Let a database of SQLite grow by so much only."""
    connection = sqlite3.connect(file)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.close()

    def limit(opened: Any, _record: object) -> None:
        opened.execute(f"PRAGMA max_page_count = {pages + bytes_ // PAGE}")

    sa.event.listen(sa.Pool, "connect", limit)
    try:
        yield
    finally:
        sa.event.remove(sa.Pool, "connect", limit)


def test_sqlite_may_not_grow_during_a_rebase(tmp_path: Path) -> None:
    file = tmp_path / "labels.db"
    storage, peaceful = f"sqlite:///{file}", f"sqlite:///{tmp_path / 'peaceful.db'}"
    labelled(storage).desk.store.close()
    shutil.copy(file, tmp_path / "peaceful.db")
    failed = rebase_until_there_is_room(
        storage, lambda bytes_: pages_left(file, bytes_), STEP * PAGE
    )
    estimate = assay.load_campaign("spam", storage=storage).estimate()
    assert estimate == rebase(peaceful, ITEMS).estimate()
    report(f"SQLite may not grow during a rebase: refused {failed} times, told, nothing lost")


class HalfError(AssertionError):
    """A campaign is neither what it was nor what a rebase makes of it."""


def rebase_and_die(database: Database, places: Iterable[int], fault: str = "") -> list[int]:
    """Kill rebases at some places, until one is not; return 0 or 1 for the campaigns found then.

    That is as before, or as after a rebase in peace.
    """
    model = database.storage()
    campaign = labelled(model)
    before, states = said(campaign), [campaign.estimate()]
    campaign.desk.store.close()
    states.append(rebase(database.copy(model), ITEMS).estimate())
    found: list[int] = []
    for at in places:
        storage = database.copy(model)
        process = begin(be_killed, at, rebase, storage, ITEMS, fault)
        process.join(PATIENCE)
        killed = process.exitcode != 0
        process.close()
        campaign = assay.load_campaign("spam", storage=storage)
        if campaign.estimate() not in states or said(campaign) != before:
            raise HalfError(f"killed at {at}: {campaign.estimate()}")
        found.append(states.index(campaign.estimate()))
        for name in names_in(campaign) if FULL else ():
            assert assay.verify_campaign(name, storage=storage).clean
        campaign.desk.store.close()
        database.drop(storage)
        if not killed:
            break
    return found


def test_kill_9_in_every_statement_of_a_rebase(database: Database) -> None:
    began = time.monotonic()
    found = rebase_and_die(database, count(1, sized(19, 1)))
    assert found[0] == 0
    assert found[-1] == 1
    kills = Counter(found[:-1])
    report(
        f"kill -9 in a rebase, {database.kind}: {kills.total()} places; {kills[0]} times the old "
        f"campaign went on, {kills[1]} times the new one, whole; {time.monotonic() - began:.0f} s"
    )


def test_a_rebase_in_two_transactions_is_found_out(sqlite: Database) -> None:
    """The wrong variant, as it once was: labels that were there seemed gone until the next ask."""
    with pytest.raises(HalfError):
        rebase_and_die(sqlite, count(30, 4), "recalls afterwards")
