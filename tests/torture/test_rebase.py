"""A disk that is full during a rebase: the campaign is the old one or the new one, with all labels.

How much room is left is raised step by step, from none to enough: the disk is full in one place of
the rebase after the other.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import assay
from assay import Campaign
from tests.torture.campaigns import make_campaign, predictions, truth
from tests.torture.postgres import Postgres, postgres_folder
from tests.torture.sizes import FULL, report, sized
from tests.torture.test_faults import fill, small_disk

ITEMS = sized(400, 3_000)
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


def rebase(storage: str) -> Campaign:
    """Go on with other scores."""
    changed = predictions(ITEMS)
    changed["p"] = [round(score**0.8, 6) for score in changed["p"]]
    return assay.rebase_campaign("spam", storage=storage, predictions=changed)


def said(campaign: Campaign) -> list[tuple[str, ...]]:
    """Return what people have said."""
    return [(row.item_id, row.answer, row.reviewer, row.told_at) for row in campaign.events()]


def names_in(campaign: Campaign) -> list[str]:
    """Return the names of all campaigns beside one."""
    with campaign.store.read() as session:
        return session.names()


def rebase_until_there_is_room(storage: str, room: Room, step: int) -> tuple[int, int]:
    """Rebase with more room each time; return how often there was too little, and when not."""
    before = said(assay.load_campaign("spam", storage=storage))
    assert before
    for failed in count():
        try:
            with room(failed * step):
                rebase(storage)
        except assay.StorageError as error:
            assert "disk is full" in error.problem, error
            assert "make room" in error.hint
        else:
            break
        campaign = assay.load_campaign("spam", storage=storage)
        assert said(campaign) == before
        for name in names_in(campaign):
            assert assay.verify_campaign(name, storage=storage).clean
        campaign.store.close()
    campaign = assay.load_campaign("spam", storage=storage)
    assert said(campaign) == before
    return failed, len(names_in(campaign))


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
    labelled(storage).store.close()
    shutil.copy(file, tmp_path / "peaceful.db")
    failed, names = rebase_until_there_is_room(
        storage, lambda bytes_: pages_left(file, bytes_), STEP * PAGE
    )
    assert failed > 0
    estimate = assay.load_campaign("spam", storage=storage).estimate()
    assert estimate == rebase(peaceful).estimate()
    report(f"no page left for a rebase, SQLite: {failed} times, then done; {names} campaigns")
