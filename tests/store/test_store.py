import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from assay.errors import StorageError
from assay.store import CardRow, Store, open_store


def url(path: Path) -> str:
    return f"sqlite:///{path / 'a.db'}"


def test_what_is_written_is_there_after_reopening(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    with store.write() as session:
        key = session.create("spam", {"seed": 7})
        session.add_cards(key, [CardRow(1, 0, "007", True, "{}"), CardRow(1, 1, "NA", False, "{}")])
        session.add_round(key, 0, [0, 2])
        session.add_labels(key, [("007", "yes")], "ann")
    store.close()
    with open_store(url(tmp_path)).read() as session:
        key, settings = session.find("spam")
        assert settings == {"seed": 7}
        assert [card.item_id for card in session.cards(key, 1, 0, 9)] == ["007", "NA"]
        assert session.reserve(key, 3) == [0, 2, 0]
        assert session.rounds(key, 0) == [[0, 2]]
        (event,) = session.labels(key)
        assert (event.item_id, event.answer, event.reviewer) == ("007", "yes", "ann")
        assert session.labels(key, after=event.id) == []


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    with pytest.raises(ZeroDivisionError), store.write() as session:
        session.create("spam", {})
        _ = 1 / 0
    with store.read() as session:
        assert session.names() == []


def test_names_are_unique_and_unknown_ones_are_told(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    with store.write() as session:
        session.create("spam-week-46", {})
    with pytest.raises(StorageError, match="already"), store.write() as session:
        session.create("spam-week-46", {})
    hint = pytest.raises(StorageError, match="did you mean 'spam-week-46'")
    with hint, store.read() as session:
        session.find("spam-week-45")


def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    with store.write() as session:
        key = session.create("spam", {})

    def work(who: int) -> None:
        own = open_store(url(tmp_path))
        for turn in range(20):
            with own.write() as session:
                before = len(session.labels(key))
                session.add_labels(key, [(f"{who}-{turn}", "yes")], "")
                assert len(session.labels(key)) == before + 1
        own.close()

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as session:
        assert len(session.labels(key)) == 80


def test_labels_are_on_disk_in_the_safe_mode(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    with store.read() as session:
        pragma = session._connection.exec_driver_sql
        assert pragma("PRAGMA journal_mode").scalar() == "wal"
        assert pragma("PRAGMA synchronous").scalar() == 2  # FULL


@pytest.mark.parametrize("bad", ["", "labels.db", "redis://x", "mysql://h/d", 7, "sqlite"])
def test_what_is_no_storage_is_refused(bad: str) -> None:
    with pytest.raises(StorageError, match="not a storage"):
        open_store(bad)


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("id,label\n" * 1000)
    with pytest.raises(StorageError, match="not a database"):
        open_store(url(tmp_path))


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db")
    with connection:
        connection.execute("CREATE TABLE bills (amount)")
    with pytest.raises(StorageError, match="something else: bills"):
        open_store(url(tmp_path))
    tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("bills",)]


def test_a_database_of_another_version_is_refused(tmp_path: Path) -> None:
    open_store(url(tmp_path)).close()
    connection = sqlite3.connect(tmp_path / "a.db")
    with connection:
        connection.execute("UPDATE assay_schema SET version = 99")
    connection.close()
    with pytest.raises(StorageError, match="schema version 99"):
        open_store(url(tmp_path))


def test_a_locked_database_is_told_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.store.sql.BUSY_SECONDS", 0.2)
    store = Store(url(tmp_path))
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
            "c.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.read()",
            str(tmp_path / "a.db"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        locked = pytest.raises(StorageError, match="database is locked")
        with locked, store.write() as session:
            session.create("spam", {})
        holder.communicate(b"")
    with store.write() as session:
        session.create("spam", {})


def test_in_memory_stores_are_apart() -> None:
    one, two = open_store(None), open_store(None)
    with one.write() as session:
        session.create("spam", {})
    with two.read() as session:
        assert session.names() == []
