"""Backups hold every label, are put back whole, and tell what a storage has lost since."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

import assay
from assay.cli import app
from assay.errors import AssayError, InputError, StorageError
from assay.storage import open_store
from tests.kinds import create, label

DATA = Path(__file__).parents[1] / "storage" / "data"


@pytest.fixture
def storage(tmp_path: Path) -> str:
    """A storage with a campaign that somebody has open, so that its log is not in the file."""
    url = f"sqlite:///{tmp_path / 'labels.db'}"
    campaign = create(url)
    label(campaign)
    return url


def tell_more(url: str) -> None:
    campaign = assay.load_campaign(storage=url)
    (item,) = campaign.ask(1)
    campaign.tell({item.id: True})


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.output


def test_a_backup_is_one_file_that_holds_all(storage: str, tmp_path: Path) -> None:
    keeps_open = open_store(storage)
    labels = len(assay.load_campaign(storage=storage).events())
    made = assay.backup_storage(tmp_path / "backup.db", storage=storage)
    assert (made.labels, made.findings) == ({"campaign": labels}, ())
    assert [path.name for path in tmp_path.glob("*backup*")] == ["backup.db"]
    with pytest.raises(InputError, match="not replaced"):
        assay.backup_storage(tmp_path / "backup.db", storage=storage)
    tell_more(storage)
    found = assay.verify_campaign(storage=storage, against=tmp_path / "backup.db")
    assert found.clean
    assert found.checks[-1].looked_at == labels
    keeps_open.close()


def test_a_backup_is_put_back_where_nothing_is(storage: str, tmp_path: Path) -> None:
    before = assay.load_campaign(storage=storage)
    assay.backup_storage(tmp_path / "backup.db", storage=storage)
    with pytest.raises(InputError, match="not replaced"):
        assay.restore_storage(tmp_path / "backup.db", storage=storage)
    new = f"sqlite:///{tmp_path / 'new.db'}"
    assay.restore_storage(tmp_path / "backup.db", storage=new)
    after = assay.load_campaign(storage=new)
    assert after.events() == before.events()
    assert after.estimate() == before.estimate()
    tell_more(new)
    assert assay.verify_campaign(storage=new, against=tmp_path / "backup.db").clean
    # The other one has gone another way since.
    assert assay.verify_campaign(storage=storage, against=tmp_path / "new.db").findings


CHANGES = {
    "is gone": "DELETE FROM label_event WHERE id = 3",
    "has changed": "UPDATE label_event SET answer = 'broken' WHERE id = 3",
    "a backup of another storage": "UPDATE storage SET uid = 'another'",
}


@pytest.mark.parametrize("told", CHANGES)
def test_what_a_storage_has_lost_since_is_told(told: str, storage: str, tmp_path: Path) -> None:
    assay.backup_storage(tmp_path / "backup.db", storage=storage)
    with open_store(storage).write() as session:
        session._connection.exec_driver_sql(CHANGES[told])
    findings = assay.verify_campaign(storage=storage, against=tmp_path / "backup.db").findings
    assert any(told in each and "every label of the backup" in each for each in findings)


def test_a_chain_that_was_written_again_is_found_by_the_backup(
    storage: str, tmp_path: Path
) -> None:
    """Without it nothing in the storage tells that an answer was another one."""
    assay.backup_storage(tmp_path / "backup.db", storage=storage)
    with open_store(storage).write() as session:
        rows = session.rows("label_event", 1)
        rows[2]["answer"] = "broken"
        session._connection.exec_driver_sql("DELETE FROM label_event")
        session.put_rows("label_event", rows)
    alone = assay.verify_campaign(storage=storage).checks
    assert not any("chain" in each.check and each.findings for each in alone)
    found = assay.verify_campaign(storage=storage, against=tmp_path / "backup.db").findings
    assert sum("has changed" in each for each in found) == len(rows) - 2


def test_a_damaged_backup_is_not_put_back(storage: str, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    assay.backup_storage(backup, storage=storage)
    connection = sqlite3.connect(backup)
    connection.execute("UPDATE label_event SET answer = 'no' WHERE id = 1")
    connection.commit()
    connection.close()
    new = tmp_path / "new.db"
    with pytest.raises(StorageError, match="not restored: campaign 'campaign': the log's chain"):
        assay.restore_storage(backup, storage=f"sqlite:///{new}")
    backup.write_bytes(backup.read_bytes()[:9000])
    with pytest.raises(AssayError):
        assay.restore_storage(backup, storage=f"sqlite:///{new}")
    backup.write_text("no database")
    with pytest.raises(StorageError, match="damaged"):
        assay.restore_storage(backup, storage=f"sqlite:///{new}")
    assert not new.exists()
    assert [path.name for path in tmp_path.glob(".assay-*")] == []


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
def test_a_backup_of_an_older_assay_is_put_back(tmp_path: Path) -> None:
    old = Path(shutil.copy(DATA / "from_schema_2.db", tmp_path / "old.db"))
    before = old.read_bytes()
    made = assay.restore_storage(old, storage=f"sqlite:///{tmp_path / 'new.db'}")
    assert sum(made.labels.values()) > 10
    assert old.read_bytes() == before
    name = next(iter(made.labels))
    found = assay.verify_campaign(name, storage=f"sqlite:///{tmp_path / 'new.db'}", against=old)
    assert found.clean


def test_postgresql_is_told_how(postgres_url: str, tmp_path: Path) -> None:
    open_store(postgres_url)
    with pytest.raises(StorageError, match=r"pg_dump --format=custom --schema=assay"):
        assay.backup_storage(tmp_path / "backup.db", storage=postgres_url)
    with pytest.raises(InputError, match="pg_restore"):
        assay.restore_storage(tmp_path / "backup.db", storage=postgres_url)


def test_the_commands(storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    where = "--storage", storage
    code, told = run("backup", "campaign", "-o", "backup.db", *where)
    assert code == 0
    assert "backup.db" in told
    assert "campaign: " in told
    assert run("verify", "campaign", "--against", "backup.db", *where)[0] == 0
    assert run("restore", "backup.db", "--storage", "sqlite:///new.db")[0] == 0
    assert run("verify", "campaign", "--storage", "sqlite:///new.db")[0] == 0
