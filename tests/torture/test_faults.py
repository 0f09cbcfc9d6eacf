"""What goes wrong with machines: no loss, words that help, and going on without a restart."""

import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from assay.storage import Label
from tests.torture.campaigns import Book, make_campaign, truth
from tests.torture.pages import Page, UnsureError, token_for
from tests.torture.postgres import Postgres, postgres_folder
from tests.torture.processes import Served, begin, serving
from tests.torture.sizes import FULL, report
from tests.torture.verifying import assert_verified

ITEMS = 400


@contextmanager
def page_of(served: Served, storage: str, who: str = "ann", role: str = "owner") -> Iterator[Page]:
    """Give somebody's page."""
    with closing(Page(served.port, token_for(storage, who, role))) as page:
        yield page


def keys_in(storage: str) -> list[str | None]:
    """Return the keys in the log."""
    book = Book(storage)
    with book.moment() as connection:
        return [row.key for row in book.log(connection)]


def judge_until_trouble(
    page: Page, who: str, items: list[str], most: int
) -> tuple[list[Label], UnsureError]:
    """Submit until it fails; return what was sent, of which the last was not acknowledged."""
    sent: list[Label] = []
    for number in range(most):
        sent.append(Label(items[0], truth(items[0]), key=f"{who} {number}"))
        try:
            items = page.take(sent[-1:], 1).items
        except UnsureError as trouble:
            return sent, trouble
    raise AssertionError(f"nothing went wrong in {most} submits")


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """Let a folder be a disk of its own."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a disk that can be filled needs root and mount")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    made = subprocess.run(mount, check=False, capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"a disk that can be filled cannot be had here: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Fill a disk to its last byte, and return what fills it."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return ballast


def check_full_disk(storage: str, disk: Path, tmp_path: Path, most: int) -> None:
    """Fill the disk under a server that runs, make room again, and go on."""
    make_campaign(storage, items=ITEMS)
    with (
        serving(storage, tmp_path) as (served,),
        page_of(served, storage) as page,
        page_of(served, storage, "bob", "reviewer") as reviewer,
    ):
        items, bobs = page.take([], 1).items, reviewer.take([], 1).items
        ballast = fill(disk)
        sent, trouble = judge_until_trouble(page, "ann", items, most)
        assert trouble.status == 503
        assert "disk is full" in trouble.told["error"]
        assert "make room" in trouble.told["hint"]
        # A reviewer is told what matters to them. Some of theirs may still find a place.
        bob_sent, bobs_trouble = judge_until_trouble(reviewer, "bob", bobs, most)
        assert bobs_trouble.status == 503
        assert "what was saved before is safe" in bobs_trouble.told["error"]
        ballast.unlink()
        assert page.take(sent[-1:], 0).receipts == {sent[-1].key: "saved"}
        assert reviewer.take(bob_sent[-1:], 0).receipts == {bob_sent[-1].key: "saved"}
    assert Counter(keys_in(storage)) == Counter(each.key for each in (*sent, *bob_sent))
    assert_verified(storage, tmp_path)


def test_disk_full_under_sqlite(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, 8):
        check_full_disk(f"sqlite:///{disk / 'labels.db'}", disk, tmp_path, 100)
    report("disk full under SQLite: told, nothing lost, went on without a restart")


@contextmanager
def postgres_on_small_disk() -> Iterator[tuple[Postgres, Path]]:
    """Give a server that runs, and the disk that it has its data on."""
    with postgres_folder() as (folder, programs, user):
        server = Postgres(folder, programs, user)
        server.data.mkdir()
        shutil.chown(server.data, user=user)
        with small_disk(server.data, 150):
            inner = server.data / "inner"
            inner.mkdir()
            shutil.chown(inner, user=user)
            disk, server.data = server.data, inner
            inner.chmod(0o700)
            # Its log of changes is elsewhere: with that full, PostgreSQL stops, as it must.
            server.make("--waldir", str(folder / "wal"))
            server.start()
            try:
                yield server, disk
            finally:
                server.stop()


@pytest.mark.skipif(not FULL, reason="takes a PostgreSQL of its own: with make torture")
def test_disk_full_under_postgresql(tmp_path: Path) -> None:
    with postgres_on_small_disk() as (server, disk):
        check_full_disk(server.database("full"), disk, tmp_path, 2_000)
    report("disk full under PostgreSQL: told, nothing lost, went on without a restart")


def test_postgresql_ends_connections(postgres: Postgres, tmp_path: Path) -> None:
    storage = postgres.database("ended")
    make_campaign(storage, items=ITEMS)
    with serving(storage, tmp_path) as (served,), page_of(served, storage) as page:
        items = page.take([], 1).items
        with postgres.connect("ended") as own:
            _end_all(own)
            # Between requests nobody notices.
            receipts = page.take([Label(items[0], "yes", key="1")], 1)
            assert receipts.receipts == {"1": "saved"}
            # In the middle of one: it waits for a lock, and its connection is ended.
            with own.transaction():
                own.execute("LOCK TABLE assay.label_event IN ACCESS EXCLUSIVE MODE")
                submit = Label(receipts.items[0], "no", key="2")
                sender = begin(send_once, served.port, token_for(storage, "ann"), submit)
                _wait_for_waiting(own)
                _end_all(own)
                sender.join(60)
                assert sender.exitcode == 0
        assert page.take([submit], 1).receipts == {"2": "saved"}
    assert keys_in(storage) == ["1", "2"]


def test_a_silent_postgresql_is_reported_soon(postgres: Postgres, tmp_path: Path) -> None:
    """Its processes are stopped: connections are accepted, and nothing is answered."""
    storage = postgres.database("silent")
    make_campaign(storage, items=ITEMS)
    with serving(storage, tmp_path) as (served,), page_of(served, storage) as page:
        (item,) = page.take([], 1).items
        submit = Label(item, truth(item), key="silent")
        with postgres.silence():
            for _ in range(3):
                began = time.monotonic()
                with pytest.raises(UnsureError) as trouble:
                    page.take([submit], 1)
                assert trouble.value.status == 503
                # Eight seconds, and what a busy machine adds; it was 80.
                assert time.monotonic() - began < 20
        deadline = time.monotonic() + 60
        while (receipts := _sent_again(page, submit)) is None:
            assert time.monotonic() < deadline
    assert receipts in ({"silent": "saved"}, {"silent": "again"})
    assert keys_in(storage) == ["silent"]


def _sent_again(page: Page, submit: Label) -> dict[str | None, str] | None:
    """Receipts, or None if the server is not ready yet."""
    with suppress(UnsureError):
        return page.take([submit], 1).receipts
    return None


def send_once(port: int, token: str, submit: Label) -> None:
    """Send something, and be told that the connection to the database was lost."""
    with closing(Page(port, token)) as page, pytest.raises(UnsureError) as trouble:
        page.take([submit], 1)
    assert trouble.value.status == 503
    assert "what was saved before is safe" in trouble.value.told["error"]


def _end_all(own: "psycopg.Connection[tuple[int]]") -> None:
    own.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = 'ended' AND pid <> pg_backend_pid()"
    )


def _wait_for_waiting(own: "psycopg.Connection[tuple[int]]") -> None:
    deadline = time.monotonic() + 30
    while not own.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchall():
        assert time.monotonic() < deadline
        time.sleep(0.02)
