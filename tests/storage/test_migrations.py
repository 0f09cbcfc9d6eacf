"""A database of every schema that ever was opens, and says what it said when it was new."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import assay
from assay.errors import StorageError
from assay.storage import migrations, open_store
from assay.storage.schema import SCHEMA_VERSION
from tests.storage.data.make_schema_2 import as_recorded, document

DATA = Path(__file__).parent / "data"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the database that the last version with schema 1 has written."""
    return Path(shutil.copy(DATA / "schema_1.db", tmp_path / "old.db"))


def rows(database: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(database)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def everything(database: Path) -> list[str]:
    connection = sqlite3.connect(database)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / name).read_text())
    return found


def test_there_is_a_file_of_every_schema() -> None:
    for version in range(1, SCHEMA_VERSION + 1):
        found = rows(DATA / f"schema_{version}.db", "SELECT max(version) FROM assay_schema")
        assert found == [(version,)]


def said_by(url: str) -> dict[str, dict[str, Any]]:
    """Return what today's Assay says of the campaigns of schema 1."""
    said = {}
    for name, before in recorded("schema_1.json").items():
        campaign = assay.load_campaign(name, storage=url)
        now = campaign.estimate().to_dict()
        rows = zip(campaign.strata(), before["strata"], strict=True)
        strata = [{key: row.to_dict()[key] for key in then} for row, then in rows]
        stored = {"events": len(campaign.events()), "strata": strata}
        said[name] = {key: {**now, **stored}[key] for key in before}
    return said


def test_schema_1_keeps_every_estimate_and_event(old: Path) -> None:
    query = (
        "SELECT item_id, answer, reviewer, told_at FROM label_event "
        "WHERE campaign_id = (SELECT id FROM campaign WHERE name = ?) ORDER BY id"
    )
    connection = sqlite3.connect(old)
    told = {
        name: connection.execute(query, [name]).fetchall() for name in recorded("schema_1.json")
    }
    connection.close()
    url = f"sqlite:///{old}"
    assert said_by(url) == recorded("schema_1.json")
    for name, events in told.items():
        found = assay.load_campaign(name, storage=url).events()
        assert [(e.item_id, e.answer, e.reviewer, e.told_at) for e in found] == events


def test_answers_that_took_anothers_place_must_become_rulings(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them the first reviewer's answers would count again: the wrong variant."""
    right = migrations._STEPS[2]

    def without_rulings(connection: sa.Connection) -> None:
        right(connection)
        connection.exec_driver_sql("UPDATE label_event SET ruling = 0")

    monkeypatch.setitem(migrations._STEPS, 2, without_rulings)
    assert said_by(f"sqlite:///{old}") != recorded("schema_1.json")


def test_an_upgraded_campaign_goes_on(old: Path) -> None:
    campaign = assay.load_campaign("spam", storage=f"sqlite:///{old}")
    before = campaign.estimate().labels
    asked = campaign.ask(15, reviewer="ann")
    assert len(asked) == 15
    assert campaign.tell({item.id: True for item in asked}, reviewer="ann").labels == before + 15


def test_an_upgraded_schema_is_a_fresh_one(old: Path, tmp_path: Path) -> None:
    urls = [f"sqlite:///{old}", f"sqlite:///{tmp_path / 'new.db'}"]
    upgraded, fresh = (described(url) for url in urls)
    assert upgraded == fresh
    engine = sa.create_engine(urls[0])
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX claim_of_campaign")
    engine.dispose()
    assert described(urls[0]) != fresh


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


def test_an_upgrade_that_fails_changes_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(old)
    right = migrations._STEPS[2]

    def failing(connection: sa.Connection) -> None:
        right(connection)
        connection.exec_driver_sql("SELECT no_such_column FROM item")

    with monkeypatch.context() as patch:
        patch.setitem(migrations._STEPS, 2, failing)
        with pytest.raises(StorageError, match="no_such_column"):
            open_store(f"sqlite:///{old}")
    assert everything(old) == before
    assert said_by(f"sqlite:///{old}") == recorded("schema_1.json")


KILLED = """
import os, signal, sys
from assay.storage import migrations, open_store
right = migrations._STEPS[2]
def killed(connection):
    right(connection)
    os.kill(os.getpid(), signal.SIGKILL)
migrations._STEPS[2] = killed
open_store(sys.argv[1])
"""


def test_a_process_that_is_killed_while_upgrading_leaves_schema_1(old: Path) -> None:
    before = everything(old)
    url = f"sqlite:///{old}"
    done = subprocess.run([sys.executable, "-c", KILLED, url], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert everything(old) == before
    assert said_by(url) == recorded("schema_1.json")


OPENED = """
import sys
import assay.storage
print("ready", flush=True)
sys.stdin.readline()
assay.storage.open_store(sys.argv[1])
"""


def test_processes_that_open_at_once_upgrade_once(old: Path) -> None:
    url = f"sqlite:///{old}"
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
    assert rows(old, "SELECT version FROM assay_schema ORDER BY 1") == [
        (version,) for version in range(1, SCHEMA_VERSION + 1)
    ]
    assert said_by(url) == recorded("schema_1.json")


@pytest.mark.parametrize("schema", range(2, SCHEMA_VERSION + 1))
def test_later_schemas_say_what_they_said_when_they_were_new(tmp_path: Path, schema: int) -> None:
    url = f"sqlite:///{shutil.copy(DATA / f'schema_{schema}.db', tmp_path / 'old.db')}"
    for name, before in recorded(f"schema_{schema}.json").items():
        now = json.loads(json.dumps(document(name, url)))
        assert as_recorded(now, before) == before


def test_weights_that_are_lost_change_what_is_said(tmp_path: Path) -> None:
    """The wrong variant of the test above."""
    file = tmp_path / "old.db"
    shutil.copy(DATA / "schema_3.db", file)
    connection = sqlite3.connect(file)
    connection.execute("UPDATE item SET weight = 1")
    connection.commit()
    connection.close()
    for name, before in recorded("schema_3.json").items():
        assert json.loads(json.dumps(document(name, f"sqlite:///{file}"))) != before


def test_comments_that_are_lost_change_what_is_said(tmp_path: Path) -> None:
    """The wrong variant, too."""
    file = tmp_path / "old.db"
    shutil.copy(DATA / "schema_4.db", file)
    connection = sqlite3.connect(file)
    connection.execute("UPDATE label_event SET comment = ''")
    connection.commit()
    connection.close()
    for name, before in recorded("schema_4.json").items():
        assert json.loads(json.dumps(document(name, f"sqlite:///{file}"))) != before


def test_postgresql_goes_from_schema_2_to_the_last(postgres_url: str) -> None:
    data = {"p": [0.9, 0.8, 0.7, 0.6], "views": [1, 2, 3, 4]}
    columns: dict[str, Any] = {"score": "p", "threshold": 0.5, "storage": postgres_url}
    campaign = assay.create_campaign(data, budget=3, name="plain", **columns)
    before = campaign.tell({item.id: True for item in campaign.ask(2)})
    with campaign.store.write() as session:
        for statement in (
            "ALTER TABLE assay.item DROP COLUMN weight",
            "ALTER TABLE assay.label_event DROP COLUMN comment",
            "ALTER TABLE assay.label_event DROP COLUMN chain",
            "UPDATE assay.assay_schema SET version = 2",
        ):
            session._connection.exec_driver_sql(statement)
    plain = assay.load_campaign("plain", storage=postgres_url)
    assert plain.estimate() == before
    assert [label.comment for label in plain.events()] == ["", ""]
    (last,) = plain.ask(1)
    plain.tell({last.id: False}, comments={last.id: "=1+1 😀"})
    assert plain.events()[-1].comment == "=1+1 😀"
    weighted = assay.create_campaign(data, budget=3, sample_weight="views", **columns)
    weighted.tell({item.id: True for item in weighted.ask(2)})
    again = assay.load_campaign(storage=postgres_url)
    assert again.estimate() == weighted.estimate()
