import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import StorageError
from assay.storage import Store, open_store, schema


def url(path: Path) -> str:
    return f"sqlite:///{path / 'a.db'}"


def test_names_that_are_taken_or_unknown_are_told(storage_url: str) -> None:
    store = open_store(storage_url)
    with store.write() as session:
        session.create("spam-week-46", {})
    with pytest.raises(StorageError, match="already"), store.write() as session:
        session.create("spam-week-46", {})
    hint = pytest.raises(StorageError, match="did you mean 'spam-week-46'")
    with hint, store.read() as session:
        session.find("spam-week-45")


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
    with pytest.raises(StorageError, match="it has the tables bills"):
        open_store(url(tmp_path))
    tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("bills",)]


def test_a_database_of_a_newer_version_is_refused(storage_url: str) -> None:
    with open_store(storage_url).write() as session:
        session._connection.execute(schema.version.update().values(version=99))
    with pytest.raises(StorageError, match="schema version 99"):
        open_store(storage_url)


def test_a_locked_database_is_told_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.storage.store.BUSY_SECONDS", 0.2)
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


def test_a_lock_that_somebody_holds_is_told_by_postgresql(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.storage.store.BUSY_SECONDS", 1.0)
    store, other = open_store(postgres_url), open_store(postgres_url)
    with store.write() as session:
        locked = pytest.raises(StorageError, match="another program has held its lock")
        with locked, other.write():
            pass
        session.create("spam", {})
    with other.read() as session:
        assert session.names() == ["spam"]


def test_postgresql_may_hold_other_tables(postgres_url: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE campaign (budget integer)")
    with open_store(postgres_url).write() as session:
        session.create("spam", {})
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT * FROM public.campaign").fetchall() == []
        assert connection.execute("SELECT name FROM assay.campaign").fetchall() == [("spam",)]


def test_a_server_that_was_restarted_is_met_with_a_new_connection(postgres_url: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    store = open_store(postgres_url)
    with store.write() as session:
        session.create("spam", {})
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    with store.read() as session:
        assert session.names() == ["spam"]


def test_a_password_is_never_told() -> None:
    refused = pytest.raises(StorageError, match=r"the storage .* failed")
    with refused as told:
        open_store("postgresql://ann:secret@127.0.0.1:9/nowhere")
    assert "secret" not in str(told.value)
