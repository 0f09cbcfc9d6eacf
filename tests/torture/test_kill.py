"""kill -9 at random moments: what was acknowledged is there, once; what was not, after a retry.

Killed are a process that submits through the library, the server ``assay serve`` (by then its
client is not killed, and retries), and in some rounds PostgreSQL itself: one process of it, after
which it recovers on its own, or all of them, after which it is started again.
"""

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from sqlalchemy.exc import SQLAlchemyError

import assay
from assay.storage import Label
from tests.torture.campaigns import Book, Row, make_campaign, truth
from tests.torture.conftest import Database
from tests.torture.jobs import BackUp, Import, Job, LargeImport, LostError
from tests.torture.pages import token_for
from tests.torture.processes import FORKS, PATIENCE, Served, begin, kill
from tests.torture.sizes import report, sized
from tests.torture.verifying import assert_verified
from tests.torture.workers import do_once, submit_until_killed

LONGEST_DELAY = {"library": 0.05, "server": 0.1}  # seconds: several submits
SHARE_OF_SERVER_KILLS = 0.1
ROUNDS = {"library": sized(8, 350), "server": sized(8, 250)}
ITEMS = sized(2_000, 30_000)


@dataclass
class Diary:
    """What the parent knows of all that was sent."""

    sent: dict[str | None, Label] = field(default_factory=dict)
    acknowledged: dict[str | None, str] = field(default_factory=dict)

    @property
    def pending(self) -> list[Label]:
        """What a page's outbox still holds."""
        return [submit for key, submit in self.sent.items() if key not in self.acknowledged]

    def read(self, pipe: Connection) -> None:
        """Take in what a child has written before it was killed."""
        with suppress(EOFError, OSError):
            while True:
                match pipe.recv():
                    case ("will", Label() as submit):
                        self.sent[submit.key] = submit
                    case ("did", Label() as submit, str() as status):
                        if status not in ("saved", "again"):
                            raise LostError(f"{submit} was {status}")
                        self.acknowledged.setdefault(submit.key, status)


def check(diary: Diary, log: list[Row], claims: set[str]) -> None:
    """Raise `LostError` unless the log holds what it must."""
    keys = Counter(row.key for row in log)
    items = Counter(row.item for row in log)
    content = {row.key: (row.item, row.answer, row.reviewer) for row in log}
    for key in diary.acknowledged:
        if keys[key] != 1:
            raise LostError(f"{key} was acknowledged and is there {keys[key]} times")
    for what, times in [*keys.items(), *items.items()]:
        if times != 1:
            raise LostError(f"{what} is there {times} times")
    for name, found in content.items():
        key = name or "what has no key"
        sent = diary.sent.get(key)
        if sent is None or found != (sent.item_id, sent.answer, "ann"):
            raise LostError(f"{key} says {found}, sent was {sent}")
        if sent.item_id in claims:
            raise LostError(f"{key} is recorded, and half of its transaction is not")


class Torture:
    """One campaign, and everything that is done to it."""

    def __init__(self, database: Database, folder: Path, kind: str) -> None:
        self.database, self.kind = database, kind
        self.storage, self.folder = database.storage(), folder
        make_campaign(self.storage, items=ITEMS)
        self.book, self.diary = Book(self.storage), Diary()
        self.random = random.Random(f"{database.kind} {kind}")
        self.killed: Counter[str] = Counter()
        self.retried: Counter[str] = Counter()
        self.where: object = self.storage
        if kind == "server":
            self.served = Served(self.storage, folder / "serve.log")
            self.served.start()
            self.where = (self.served.port, token_for(self.storage, "ann"))

    def round(self, number: int) -> None:
        """Label, be killed, look, and let the next one send again what nobody acknowledged."""
        pending = self.diary.pending
        there = {row.key for row in self._look()[0]}
        mine, theirs = FORKS.Pipe(duplex=False)
        work = ((self.kind, self.where), pending, f"{number}", theirs)
        child = begin(submit_until_killed, *work)
        theirs.close()
        assert mine.poll(60) and mine.recv() == ("ready",)
        time.sleep(self.random.uniform(0, LONGEST_DELAY[self.kind]))
        self._kill_something(child)
        kill(child)
        self.diary.read(mine)
        mine.close()
        if self.kind == "server" and not self.served.process.is_alive():
            self.served.start()
        log, claims = self._look()
        check(self.diary, log, claims)
        for submit in pending:
            status = self.diary.acknowledged.get(submit.key)
            self.retried[status or "killed again"] += 1
            if status == "saved" and submit.key in there:
                raise LostError(f"{submit.key} was saved twice")

    def _kill_something(self, child: BaseProcess) -> None:
        server = self.database.server
        what = self.kind
        if server is not None and self.random.random() < SHARE_OF_SERVER_KILLS:
            what = self.random.choice(["one process of PostgreSQL", "PostgreSQL"])
            if what == "PostgreSQL":
                server.kill()
                server.start()
            elif pids := server.clients():
                with suppress(ProcessLookupError):
                    os.kill(self.random.choice(pids), signal.SIGKILL)
            time.sleep(
                self.random.uniform(0, 10 * LONGEST_DELAY[self.kind])
            )  # the child goes on by itself
        elif self.kind == "server":
            self.served.process.kill()
            self.served.process.join(60)
        else:
            child.kill()
        self.killed[what] += 1

    def _look(self) -> tuple[list[Row], set[str]]:
        deadline = time.monotonic() + 60
        while True:
            try:
                with self.book.moment() as connection:
                    claims = self.book.live_claims(connection)
                    return self.book.log(connection), {item for item, _ in claims}
            except SQLAlchemyError:
                # PostgreSQL may be recovering; nobody starts it again for that.
                assert time.monotonic() < deadline
                time.sleep(0.02)

    def _look_when_quiet(self) -> tuple[list[Row], set[str], assay.Estimate]:
        """Look until nothing comes in: the dead child's last request may still be served."""
        log, claims = self._look()
        while True:
            estimate = assay.load_campaign("spam", storage=self.storage).estimate()
            before, (log, claims) = log, self._look()
            if log == before:
                return log, claims, estimate

    def finish(self) -> None:
        """Let one more send what is pending; then compare with a campaign of our own."""
        mine, theirs = FORKS.Pipe(duplex=False)
        work = ((self.kind, self.where), self.diary.pending, "last", theirs)
        child = begin(submit_until_killed, *work)
        theirs.close()
        time.sleep(1.0)
        kill(child)
        self.diary.read(mine)
        log, claims, estimate = self._look_when_quiet()
        check(self.diary, log, claims)
        assert_verified(self.storage, self.folder)
        answers = {row.item: row.answer for row in log}
        own = make_campaign(None, items=ITEMS)
        while answers.keys() - own.answers().keys():
            own.tell({item.id: answers[str(item.id)] for item in own.ask(20) if item.id in answers})
        if own.estimate().open != estimate.open:
            own.ask(20)  # the dead child had dealt the next round, and sent no label of it
        assert own.estimate() == estimate
        assert all(truth(item) == answer for item, answer in answers.items())

    def close(self) -> None:
        """End what still runs."""
        if self.kind == "server":
            self.served.kill()


@pytest.mark.parametrize("kind", ["library", "server"])
def test_what_was_acknowledged_is_there_once(database: Database, tmp_path: Path, kind: str) -> None:
    began, rounds = time.monotonic(), ROUNDS[kind]
    torture = Torture(database, tmp_path, kind)
    try:
        for number in range(4 * rounds):  # on a slow machine all may be killed before their first
            if number < rounds or not torture.diary.acknowledged:
                torture.round(number)
        torture.finish()
    finally:
        torture.close()
    assert torture.diary.acknowledged
    killed = ", ".join(f"{what} {times}" for what, times in torture.killed.items())
    report(
        f"kill -9, {database.kind}, through the {kind}: {rounds} rounds (killed: {killed}); "
        f"{len(torture.diary.acknowledged)} labels acknowledged, all there once; retries of what "
        f"was not acknowledged: {dict(torture.retried)}; {time.monotonic() - began:.0f} s"
    )


# What is done in one go.

JOBS: dict[str, tuple[type[Job], int]] = {
    "import": (Import, sized(3, 150)),
    "large import": (LargeImport, sized(3, 40)),
    "backup": (BackUp, sized(3, 50)),
}


def kill_in_the_middle(job: Job, wait: float) -> tuple[str, float]:
    """Do it, be killed after some time, look, do it again; return what was found, and the time.

    Where `wait` is 0 the process is not killed.
    """
    mine, theirs = FORKS.Pipe(duplex=False)
    child = begin(do_once, theirs, *job.prepare())
    theirs.close()
    assert mine.poll(PATIENCE) and mine.recv() == "ready"
    began = time.monotonic()
    acknowledged = mine.poll(wait or PATIENCE)
    took = time.monotonic() - began
    kill(child)
    with suppress(EOFError):
        acknowledged = mine.recv() == "done"
    mine.close()
    was_done = job.is_done()
    if acknowledged and not was_done:
        raise LostError("it was told to be done, and is not")
    job.redo(was_done)
    return "told to be done" if acknowledged else "done" if was_done else "not done", took


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
@pytest.mark.parametrize("what", JOBS)
def test_what_is_done_in_one_go_is_done_or_not(
    database: Database, tmp_path: Path, what: str
) -> None:
    if what == "backup" and database.server is not None:
        pytest.skip("of PostgreSQL pg_dump makes backups")
    began = time.monotonic()
    kind, kills = JOBS[what]
    job = kind(database)
    chance = random.Random(f"{database.kind} {what}")
    longest = kill_in_the_middle(job, 0.0)[1]
    found: Counter[str] = Counter()
    for _ in range(kills):
        state, _ = kill_in_the_middle(job, chance.uniform(0.001, longest))
        found[state] += 1
        # So long that some are done: the machine is busier than it was, or less.
        longest *= {"not done": 1.1, "done": 1.0, "told to be done": 0.7}[state]
    job.finish(tmp_path)
    report(
        f"kill -9, {database.kind}, {what}: {kills} kills; found {dict(found)}, and nothing by "
        f"half; {time.monotonic() - began:.0f} s"
    )
