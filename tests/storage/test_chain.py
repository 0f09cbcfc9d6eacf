"""Every label follows from the one before it, by a formula that is written out again here."""

import json
import shutil
import sqlite3
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import assay
from assay.errors import StorageError
from assay.storage import LABEL_FIELDS, Label, Store, open_store
from assay.storage.labels import _CHAINED
from tests.storage.data.recorded import STORAGES

DATA = Path(__file__).parent / "data"


def digest(*texts: str) -> str:
    return sha256("".join(texts).encode()).hexdigest()


def links(store: Store, key: int) -> tuple[list[str], list[str]]:
    """Return the links of a campaign's log as they are stored, and as they must be."""
    with store.read() as session:
        run = session._connection.execute
        campaign = sa.text("SELECT created_at, settings FROM campaign WHERE id = :key")
        log = sa.text("SELECT * FROM label_event WHERE campaign_id = :key ORDER BY id")
        prefix = "SET search_path TO assay"
        if session._connection.dialect.name == "postgresql":
            session._connection.exec_driver_sql(prefix)
        created_at, settings = run(campaign, {"key": key}).one()
        rows = [dict(row) for row in run(log, {"key": key}).mappings()]
    fixed = {"campaign": key, "created_at": created_at, "settings": settings}
    last = digest(json.dumps(fixed))
    right = []
    for row in rows:
        told: dict[str, Any] = {
            "item_id": row["item_id"],
            "answer": row["answer"],
            "reviewer": row["reviewer"],
            "told_at": row["told_at"],
            "key": row["submit_key"],
            "late": row["late"] == 1,
            "ruling": row["ruling"] == 1,
            "comment": row["comment"],
        }
        last = digest(last, json.dumps(told))
        right.append(last)
    return [row["chain"] for row in rows], right


def some(*items: str) -> list[Label]:
    return [Label(item, "yes", "ann", comment="“ß” 😀", key=f"key {item}") for item in items]


def test_nothing_that_a_label_says_is_left_out() -> None:
    assert sorted(_CHAINED) == sorted((*LABEL_FIELDS, "told_at"))


def test_labels_are_chained_however_they_come_into_the_log(storage_url: str) -> None:
    store = open_store(storage_url)
    with store.write() as session:
        one, two = session.create("one", {"seed": 1}), session.create("two", {"seed": 1})
        session.add_labels(one, some("a", "b"))
        session.add_labels(two, [Label("a", "no", late=True)])
        session.add_labels(one, [Label("a", "yes", "eve", ruling=True)])
    with store.write() as session:
        session.labels(one, after=1)
        session.add_labels(one, some("c"))
        session.add_labels(one, [])
        session.labels(two, after=session.labels(two)[-1].id)
        session.add_labels(two, some("b"))
    with store.write() as session:
        copy, both, put = (session.create(name, {}) for name in ("copy", "both", "put"))
        session.copy_labels([one], copy)
        session.copy_labels([one, two], both, keys=False)
        rows = session.rows("label_event", one)
        numbered = [
            {**row, "id": 100 + place, "campaign_id": put} for place, row in enumerate(rows)
        ]
        session.put_rows("label_event", numbered)
        session.add_labels(copy, some("d"))
    for key, labels in ((one, 4), (two, 2), (copy, 5), (both, 6), (put, 4)):
        stored, right = links(store, key)
        assert stored == right
        assert len(set(stored)) == labels


def test_a_turn_takes_no_statement_more(storage_url: str) -> None:
    """What the next link follows is read with the campaign's name, as every turn does."""
    campaign = assay.create_campaign(
        {"p": [0.9, 0.8, 0.7, 0.6]}, score="p", threshold=0.5, budget=4, storage=storage_url
    )
    items = campaign.review([], reviewer="ann", want=4).items
    sent: list[str] = []

    def note(*told: Any) -> None:
        sent.append(told[2])

    for number, item in enumerate(items[:3]):
        if number == 1:
            sa.event.listen(campaign.desk.store._backend.engine, "before_cursor_execute", note)
        label = Label(str(item.id), "yes", key=str(number))
        campaign.review([label], reviewer="ann", want=0)
    asked = [text for text in sent if text.startswith("SELECT") and "chain" in text]
    alone = [text for text in asked if "campaign.name" not in text]
    assert sent
    assert alone == []
    stored, right = links(campaign.desk.store, 1)
    assert stored == right


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
def test_what_is_stored_is_chained(storage: str, tmp_path: Path) -> None:
    file = shutil.copy(DATA / f"{storage}.db", tmp_path / "old.db")
    store = open_store(f"sqlite:///{file}")
    with store.read() as session:
        names = session.names()
        keys = [session.find(name)[0] for name in names]
    labels = 0
    for key in keys:
        stored, right = links(store, key)
        assert stored == right
        labels += len(stored)
    assert labels > 10
    assert assay.verify_campaign(names[-1], storage=f"sqlite:///{file}").clean


def test_the_number_of_a_lost_label_is_not_given_again(tmp_path: Path) -> None:
    """SQLite's counter of labels remembers it, so a label that is gone is missed still."""
    file = shutil.copy(DATA / "from_schema_4.db", tmp_path / "old.db")
    with sqlite3.connect(file) as connection:
        (last,) = connection.execute("SELECT max(id) FROM label_event").fetchone()
        connection.execute("DELETE FROM label_event WHERE id = ?", [last])
    connection.close()
    store = open_store(f"sqlite:///{file}")
    with store.write() as session:
        assert session.lost_labels() == [last]
        (added,) = session.add_labels(1, some("a"))
    assert added.id == last + 1


def test_an_older_assay_that_still_runs_cannot_leave_a_gap(storage_url: str) -> None:
    store = open_store(storage_url)
    with store.write() as session:
        session.create("one", {})
    table = "assay.label_event" if store._backend.namespace else "label_event"
    old = (
        f"INSERT INTO {table} (campaign_id, item_id, answer, reviewer, told_at) "
        "VALUES (1, 'a', 'yes', 'ann', '2026-01-01T00:00:00+00:00')"
    )
    with pytest.raises(StorageError, match="chain"), store.write() as session:
        session._connection.exec_driver_sql(old)
