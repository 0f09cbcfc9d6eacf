"""What the processes do that are killed."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from itertools import count
from multiprocessing.connection import Connection
from typing import Any
from unittest.mock import patch

import sqlalchemy as sa

import assay
from assay.campaign.exchange import Imported, import_labels
from assay.errors import StorageError
from assay.labelling import Labelling
from assay.storage import Label, Session
from tests.torture.campaigns import predictions, truth
from tests.torture.pages import Page, Seen, UnsureError

Take = Callable[[Sequence[Label], int], Seen]


def library(storage: str, reviewer: str, lease: float = 600.0) -> Take:
    """Return a way to submit through the library."""
    campaign = assay.load_campaign("spam", storage=storage)

    def take(submits: Sequence[Label], want: int) -> Seen:
        try:
            turn = campaign.review(submits, reviewer=reviewer, want=want, lease=lease)
        except StorageError as error:
            raise UnsureError(told={"error": error.problem, "hint": error.hint}) from error
        receipts: dict[str | None, str] = {
            receipt.key: str(receipt.status) for receipt in turn.receipts
        }
        return Seen(receipts, [str(item.id) for item in turn.items], turn.state)

    return take


def submit_until_killed(
    way: tuple[str, Any], pending: Sequence[Label], prefix: str, diary: Connection
) -> None:
    """Judge items, and write down before each submit what it will be, and after it what it was."""
    kind, where = way
    take = library(where, "ann") if kind == "library" else Page(*where).take
    waiting = list(pending)
    _until_sure(take, None)
    diary.send(("ready",))
    number = 0
    while True:
        if waiting:
            submit = waiting.pop(0)
        else:
            items = _until_sure(take, None).items
            if not items:
                return
            submit = Label(items[0], truth(items[0]), key=f"{prefix}-{number}")
            number += 1
        diary.send(("will", submit))
        seen = _until_sure(take, submit)
        diary.send(("did", submit, seen.receipts[submit.key]))


def _until_sure(take: Take, submit: Label | None) -> Seen:
    while True:
        try:
            return take([submit], 0) if submit else take([], 1)
        except UnsureError:
            time.sleep(0.01)  # as a page does: the same again, under the same key


def be_killed(at: int, work: Callable[..., object], *args: Any) -> None:
    """Work, and kill this process before its statement, commit or end of one number `at`."""
    steps = count(1)

    def step(*_: object) -> None:
        if next(steps) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    sa.event.listen(sa.Engine, "before_cursor_execute", step)
    sa.event.listen(sa.Engine, "commit", step)
    sa.event.listen(sa.Pool, "checkin", step)
    work(*args)


def rebase(storage: str, items: int, fault: str = "") -> assay.Campaign:
    """Let a campaign of the tests go on with other scores; a `fault` is a wrong way to."""
    changed = predictions(items)
    changed["p"] = [round(score**0.8, 6) for score in changed["p"]]
    if fault == "recalls afterwards":
        right = Labelling.recall
        calls = count()

        def not_at_first(labelling: Labelling, session: Session, sizes: Sequence[int]) -> None:
            if next(calls):
                right(labelling, session, sizes)

        patch.object(Labelling, "recall", not_at_first).start()
    return assay.rebase_campaign("spam", storage=storage, predictions=changed)


def do_once(pipe: Connection, work: Callable[..., object], *args: Any) -> None:
    """Do something, and tell before and after."""
    pipe.send("ready")
    work(*args)
    pipe.send("done")


def import_file(storage: str, content: bytes) -> Imported:
    """Import labels."""
    return import_labels(assay.load_campaign("spam", storage=storage), content)


def back_up(storage: str, file: str) -> None:
    """Make a backup, and check it."""
    assay.backup_storage(file, storage=storage, name="spam")
