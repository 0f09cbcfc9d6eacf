"""A storage of yesterday opens, and says what it said; one of an older schema is refused."""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import assay
from assay.errors import StorageError
from assay.storage import open_store
from assay.storage.schema import SCHEMA_VERSION
from tests.storage.data.recorded import STORAGES, as_recorded, document

DATA = Path(__file__).parent / "data"


def copied(storage: str, folder: Path, change: str = "") -> str:
    """Return the URL of a copy, after a statement that changes it."""
    file = shutil.copy(DATA / f"{storage}.db", folder / "old.db")
    with sqlite3.connect(file) as connection:
        connection.execute(change)
    connection.close()
    return f"sqlite:///{file}"


def recorded(storage: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"{storage}.json").read_text())
    return found


def said(url: str, recorded: dict[str, Any]) -> dict[str, Any]:
    now = {name: json.loads(json.dumps(document(name, url))) for name in recorded}
    return {name: as_recorded(now[name], before) for name, before in recorded.items()}


@pytest.mark.parametrize("storage", STORAGES)
def test_storages_say_what_they_said_when_they_were_new(tmp_path: Path, storage: str) -> None:
    before = recorded(storage)
    assert said(copied(storage, tmp_path), before) == before


@pytest.mark.parametrize("storage", STORAGES)
def test_a_stored_schema_is_a_fresh_one(storage: str, tmp_path: Path) -> None:
    url, fresh = copied(storage, tmp_path), described(f"sqlite:///{tmp_path / 'new.db'}")
    assert described(url) == fresh
    assert described(copied(storage, tmp_path, "DROP INDEX label_event_of_submit")) != fresh


def test_an_older_schema_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    url = copied("schema_5", tmp_path, "UPDATE assay_schema SET version = 4")
    before = (tmp_path / "old.db").read_bytes()
    with pytest.raises(StorageError, match="schema version 4; the oldest that this Assay opens is"):
        assay.load_campaign("chained", storage=url)
    assert (tmp_path / "old.db").read_bytes() == before


def described(url: str) -> dict[str, Any]:
    """Return all that a database knows of its tables."""
    open_store(url).close()
    engine = sa.create_engine(url)
    about = sa.inspect(engine)
    told: dict[str, Any] = {
        table: {
            "columns": [
                {**column, "type": str(column["type"])} for column in about.get_columns(table)
            ],
            "key": about.get_pk_constraint(table),
            "foreign": about.get_foreign_keys(table),
            "unique": about.get_unique_constraints(table),
            "indexes": sorted(map(str, about.get_indexes(table))),
        }
        for table in about.get_table_names()
    }
    with engine.connect() as connection:
        query = "SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'"
        told["numbered for ever"] = connection.exec_driver_sql(query).scalars().all()
    engine.dispose()
    return told


OPENED = """
import sys
import assay.storage
print("ready", flush=True)
sys.stdin.readline()
assay.storage.open_store(sys.argv[1])
"""


def test_processes_that_open_at_once_make_the_tables_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", OPENED, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        process.communicate(timeout=60)
    assert [process.returncode for process in started] == [0] * len(started)
    with open_store(url).read() as session:
        (made,) = session._connection.exec_driver_sql("SELECT version FROM assay_schema").scalars()
    assert made == SCHEMA_VERSION
