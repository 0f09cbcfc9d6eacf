"""What goes wrong with machines: no loss, words that help, and going on without a restart."""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from assay.storage import Label
from tests.torture.campaigns import Book, make_campaign, truth
from tests.torture.conftest import Database
from tests.torture.cutting import wire_to
from tests.torture.pages import Page, Seen, UnsureError, token_for
from tests.torture.postgres import Postgres, postgres_folder
from tests.torture.processes import FORKS, Served, begin, kill, serving
from tests.torture.sizes import FULL, report
from tests.torture.verifying import assert_verified

ITEMS = 400
BUSY_SECONDS = 30.0 if FULL else 1.0  # how long the server waits for a lock


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


def hold_lock(storage: str, told: Connection, seconds: float) -> None:
    """Hold the database's lock, as another program would; tell when it is held."""
    url = sa.make_url(storage)
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(url)
        statements = ["BEGIN EXCLUSIVE"]
    else:
        engine = sa.create_engine(url.set(drivername="postgresql+psycopg"))
        statements = ["LOCK TABLE assay.label_event IN ACCESS EXCLUSIVE MODE"]
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
        told.send("held")
        time.sleep(seconds)


def test_database_locked_for_longer_than_a_writer_waits(database: Database, tmp_path: Path) -> None:
    storage = database.storage()
    make_campaign(storage, items=ITEMS)
    served = Served(storage, tmp_path / "serve.log")
    served.start(busy_seconds=BUSY_SECONDS)
    try:
        with page_of(served, storage) as page:
            (item,) = page.take([], 1).items
            submit = Label(item, truth(item), key="locked")
            mine, theirs = FORKS.Pipe(duplex=False)
            holder = begin(hold_lock, storage, theirs, 600.0)
            assert mine.recv() == "held"
            began = time.monotonic()
            with pytest.raises(UnsureError) as trouble:
                page.take([submit], 1)
            waited = time.monotonic() - began
            kill(holder)
            assert trouble.value.status == 503
            told = trouble.value.told
            assert f"another program has held its lock for {BUSY_SECONDS:.0f} s" in told["error"]
            assert "try again" in told["hint"]
            assert waited > 0.9 * BUSY_SECONDS
            assert page.take([submit], 1).receipts == {"locked": "saved"}
            assert page.take([submit], 1).receipts == {"locked": "again"}
    finally:
        served.kill()
    assert keys_in(storage) == ["locked"]
    report(f"{database.kind} locked for {waited:.0f} s: told, nothing lost, went on at once")


def test_a_short_lock_is_waited_for(database: Database, tmp_path: Path) -> None:
    storage = database.storage()
    make_campaign(storage, items=ITEMS)
    with serving(storage, tmp_path) as (served,), page_of(served, storage) as page:
        (item,) = page.take([], 1).items
        mine, theirs = FORKS.Pipe(duplex=False)
        holder = begin(hold_lock, storage, theirs, 0.5)
        assert mine.recv() == "held"
        receipts = page.take([Label(item, truth(item), key="short")], 1).receipts
        holder.join(60)
    assert receipts == {"short": "saved"}


def faketime() -> str:
    """Return the library that lies about the time."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        pytest.skip("libfaketime is not installed: the clock cannot be moved")
    return str(found[0])


@contextmanager
def clock_in(folder: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Give a file that says how far the clock is off, and what makes a program believe it."""
    offset = folder / "offset"
    offset.write_text("+0d")
    offset.chmod(0o644)
    lies = {"FAKETIME_TIMESTAMP_FILE": str(offset), "FAKETIME_NO_CACHE": "1"}
    yield offset, {**lies, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def check_moved_clock(
    storage: str, port: int, move: Callable[[str], object], tmp_path: Path
) -> None:
    """Move the database's clock by a day, forward and back, while people judge.

    `move` is told how far the clock is to be off: ``+1d``.
    """
    tokens = {who: token_for(storage, who) for who in ("ann", "bob", "eve")}

    def take(who: str, submits: Sequence[Label], want: int) -> Seen:
        # A connection each time: the server hangs up on those that were idle for seconds.
        with closing(Page(port, tokens[who])) as page:
            return page.take(submits, want)

    held = take("ann", [], 3).items
    assert not set(held) & set(take("bob", [], 3).items)
    move("+1d")
    # A day later what ann had is bob's; what she says of it is kept, and flagged.
    first = take("bob", [], 20).items
    assert set(held) <= set(first)
    late = [Label(item, truth(item), key=f"ann {item}") for item in held]
    assert set(take("ann", late, 0).receipts.values()) == {"saved"}
    move("+0d")
    # The day is taken back: nobody waits until tomorrow for what bob holds.
    assert set(take("eve", [], 20).items) & (set(first) - set(held))
    bob = [Label(item, truth(item), key=f"bob {item}") for item in first if item not in held]
    assert set(take("bob", bob, 0).receipts.values()) == {"saved"}
    book = Book(storage)
    with book.moment() as connection:
        log = book.log(connection)
    assert [row.key for row in log] == [submit.key for submit in (*late, *bob)]
    assert all(row.late for row in log[: len(late)])
    assert_verified(storage, tmp_path)


def test_clock_moved_by_a_day_under_sqlite(tmp_path: Path, storage: str) -> None:
    library = faketime()
    make_campaign(storage, items=ITEMS)
    served = Served(storage, tmp_path / "serve.log")
    with clock_in(tmp_path) as (offset, lies):
        command = [sys.executable, "-m", "assay", *served.words]
        with subprocess.Popen(
            command,
            env={**os.environ, **lies, "LD_PRELOAD": library},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                served.wait_for(lambda: process.poll() is None)
                check_moved_clock(storage, served.port, offset.write_text, tmp_path)
            finally:
                process.kill()
    report("clock moved by a day, forward and back, under SQLite: nothing lost, nobody waits")


def test_clock_of_a_database_moved_by_a_day_under_postgresql(
    postgres: Postgres, tmp_path: Path
) -> None:
    """Without libfaketime: a function that is found before the server's own tells the time."""
    storage = postgres.database("own_clock")
    with postgres.connect("own_clock") as own:
        own.execute("CREATE SCHEMA lies")
        own.execute("ALTER DATABASE own_clock SET search_path = lies, pg_catalog, public")

        def move(offset: str) -> None:
            own.execute(
                "CREATE OR REPLACE FUNCTION lies.clock_timestamp() RETURNS timestamptz LANGUAGE sql"
                f" AS $$ SELECT pg_catalog.clock_timestamp() + interval '{offset}' $$"
            )

        move("+0d")
        make_campaign(storage, items=ITEMS)
        with serving(storage, tmp_path) as (served,):
            check_moved_clock(storage, served.port, move, tmp_path)
    report("clock of a database of PostgreSQL moved by a day: nothing lost, nobody waits")


def test_server_restarted_while_a_page_holds_items(database: Database, tmp_path: Path) -> None:
    storage = database.storage()
    make_campaign(storage, items=ITEMS)
    with serving(storage, tmp_path) as (served,), page_of(served, storage) as page:
        items = page.take([], 3).items
        submits = [Label(item, truth(item), key=f"held {item}") for item in items]
        page.take(submits[:1], 3)
        served.stop()
        with pytest.raises(UnsureError):
            page.take(submits, 3)
        served.start()
        receipts = page.take(submits, 3).receipts
    assert list(receipts.values()) == ["again", "saved", "saved"]
    assert keys_in(storage) == [submit.key for submit in submits]


@pytest.mark.parametrize("mode", ["no answer", "half a request"])
def test_connection_dropped(database: Database, tmp_path: Path, mode: str) -> None:
    storage = database.storage()
    make_campaign(storage, items=ITEMS)
    with serving(storage, tmp_path) as (served,), wire_to(served.port) as wire:
        page = Page(wire.port, token_for(storage, "ann"))
        (item,) = page.take([], 1).items
        page.close()  # the wire carries one exchange a connection
        submit = Label(item, truth(item), key="dropped")
        wire.mode = mode
        with pytest.raises(UnsureError):
            page.take([submit], 1)
        recorded = keys_in(storage)
        wire.mode = "whole"
        receipts = page.take([submit], 1).receipts
        page.close()
    assert recorded == (["dropped"] if mode == "no answer" else [])
    assert receipts == {"dropped": "again" if mode == "no answer" else "saved"}
    assert keys_in(storage) == ["dropped"]


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
