"""Upgrades of a storage: kill -9 in every statement of every one, and two versions at once."""

import os
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

import assay
from assay.storage import Label, open_store
from assay.storage.schema import SCHEMA_VERSION
from assay.storage.store import _LOCK
from tests.storage.test_migrations import DATA
from tests.torture.campaigns import make_campaign, truth
from tests.torture.conftest import Database
from tests.torture.pages import Page, UnsureError, token_for
from tests.torture.processes import PATIENCE, begin, serving
from tests.torture.sizes import FULL, report, sized
from tests.torture.workers import be_killed, upgrade

EVERY = sized(13, 1)  # of how many places to die in one is tried

# What a storage of PostgreSQL must be without to be of an older schema.
_LATER = {
    3: "ALTER TABLE assay.item DROP COLUMN weight",
    4: "ALTER TABLE assay.label_event DROP COLUMN comment",
    5: "ALTER TABLE assay.label_event DROP COLUMN chain",
}


@contextmanager
def connected(storage: str) -> Iterator[sa.Connection]:
    """Give a connection that Assay knows nothing of; it names tables as PostgreSQL does."""
    url = sa.make_url(storage)
    if url.get_backend_name() == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        yield connection


def told(storage: str) -> list[Any]:
    """Return the labels, as all schemas have them."""
    place = "" if storage.startswith("sqlite") else "assay."
    columns = "id, campaign_id, item_id, answer, reviewer, told_at"
    with connected(storage) as connection:
        query = f"SELECT {columns} FROM {place}label_event ORDER BY id"
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def version_of(storage: str) -> int:
    """Return the schema that a storage has."""
    place = "" if storage.startswith("sqlite") else "assay."
    with connected(storage) as connection:
        query = f"SELECT max(version) FROM {place}assay_schema"
        return int(connection.exec_driver_sql(query).scalar_one())


def judged(storage: str) -> assay.Campaign:
    """Return a campaign that two people have judged items of."""
    campaign = make_campaign(storage, items=60)
    for name in ("ann", "bob"):
        for item in campaign.review([], reviewer=name, want=6).items:
            label = Label(str(item.id), truth(str(item.id)), key=f"{name} {item.id}")
            campaign.review([label], reviewer=name)
    return campaign


def of_schema(schema: int, database: Database) -> str:
    """Return a storage of an older schema, with labels."""
    if database.server is None:
        return f"sqlite:///{DATA / f'schema_{schema}.db'}"
    storage = database.storage()
    judged(storage).store.close()
    with connected(storage) as connection:
        for version in range(schema + 1, SCHEMA_VERSION + 1):
            connection.exec_driver_sql(_LATER[version])
        connection.exec_driver_sql(f"UPDATE assay.assay_schema SET version = {schema}")
    return storage


def check_upgraded(storage: str, before: list[Any], *, verified: bool = FULL) -> None:
    """Fail unless the storage opens, has all labels, and is found clean if it is verified."""
    store = open_store(storage)
    assert version_of(storage) == SCHEMA_VERSION
    assert told(storage) == before
    with store.read() as session:
        names = session.names()
    store.close()
    for name in names if verified else ():
        found = assay.verify_campaign(name, storage=storage)
        assert found.clean, found.findings


def cases() -> list[Any]:
    """Return every schema that each database ever had, but the last."""
    first = {"SQLite": 1, "PostgreSQL": 2}
    every = [(kind, schema) for kind in first for schema in range(first[kind], SCHEMA_VERSION)]
    return every if FULL else [case for case in every if case[1] in (first[case[0]], 4)]


class HalfError(AssertionError):
    """An upgrade has been made by half."""


def upgrade_and_die(
    database: Database, schema: int, places: Iterable[int], fault: str = ""
) -> list[int]:
    """Kill upgrades at some places, until one is not; return the schemas that are found then.

    Parameters
    ----------
    database : Database
    schema : int
        What they upgrade from.
    places : iterable of int
        Numbers of statements.
    fault : str
        What a wrong upgrade would do.
    """
    old = of_schema(schema, database)
    before, found = told(old), []
    for at in places:
        storage = database.copy(old)
        process = begin(be_killed, at, upgrade, storage, fault)
        process.join(PATIENCE)
        exitcode = process.exitcode
        process.close()
        found.append(version_of(storage))
        if found[-1] not in (schema, SCHEMA_VERSION) or told(storage) != before:
            raise HalfError(f"killed at {at}: {found[-1]} from {schema} to {SCHEMA_VERSION}")
        check_upgraded(storage, before, verified=FULL and at % 10 == 1)
        database.drop(storage)
        if exitcode == 0:
            break
        assert exitcode == -signal.SIGKILL
    assert before
    return found


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
@pytest.mark.parametrize(("database", "schema"), cases(), indirect=["database"])
def test_kill_9_in_every_statement_of_an_upgrade(database: Database, schema: int) -> None:
    began = time.monotonic()
    found = upgrade_and_die(database, schema, count(1, EVERY))
    assert found[0] == schema
    assert found[-1] == SCHEMA_VERSION
    kills = Counter(found[:-1])
    report(
        f"kill -9 in the upgrade of {database.kind} from schema {schema}: {kills.total()} places; "
        f"{kills[schema]} times it had to be done again, {kills[SCHEMA_VERSION]} times it was done;"
        f" all labels were there; {time.monotonic() - began:.0f} s"
    )


def test_an_upgrade_by_halves_is_found_out(sqlite: Database) -> None:
    """The wrong variant: every step is committed before the next one begins."""
    with pytest.raises(HalfError):
        upgrade_and_die(sqlite, 3, count(10), "commits every step")


# Another version of Assay on the same storage.


def upgrade_further(connection: sa.Connection) -> None:
    """Do to a storage what the next version will do: whatever that is, it is recorded."""
    place = "" if connection.dialect.name == "sqlite" else "assay."
    connection.exec_driver_sql(f"INSERT INTO {place}assay_schema VALUES ({SCHEMA_VERSION + 1})")


def test_a_program_that_runs_while_a_newer_one_upgrades_writes_no_more(
    database: Database, tmp_path: Path
) -> None:
    storage = database.storage()
    campaign = make_campaign(storage, items=60)
    first, second, *_ = campaign.ask(4)
    campaign.tell({first.id: True})
    with serving(storage, tmp_path) as (served,):
        page = Page(served.port, token_for(storage, "ann", "owner"))
        (item,) = page.take([], 1).items
        before = told(storage)
        with ThreadPoolExecutor(1) as pool:
            # Who waits for the lock meanwhile looks at the version when it has it, not before.
            with connected(storage) as connection:
                hold_for_writing(connection)
                waiting = pool.submit(campaign.tell, {second.id: True})
                time.sleep(0.3)
                assert not waiting.done()
                upgrade_further(connection)
            trouble = waiting.exception()
        assert isinstance(trouble, assay.StorageError)
        assert f"schema version {SCHEMA_VERSION + 1}, this Assay knows" in trouble.problem
        assert "end this program" in trouble.hint
        with pytest.raises(UnsureError) as refused:
            page.take([Label(item, truth(item), key="late")], 1)
        page.close()
    assert refused.value.status == 503
    assert f"schema version {SCHEMA_VERSION + 1}" in refused.value.told["error"]
    for command in (campaign.ask, lambda: assay.load_campaign("spam", storage=storage)):
        with pytest.raises(assay.StorageError, match="this Assay knows"):
            command()
    assert told(storage) == before
    assert campaign.estimate().labels == 1  # what was told can still be read


def hold_for_writing(connection: sa.Connection) -> None:
    """Take the lock that Assay's writers take."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


OLDER = """
import sys
import assay
storage = sys.argv[1]
score = [number / 60 for number in range(60)]
campaign = assay.create_campaign(
    {"p": score}, score="p", threshold=0.5, budget=30, name="spam", storage=storage
)
first, second, third = campaign.ask(3)
campaign.tell({first.id: True, second.id: False})
print("ready", flush=True)
sys.stdin.readline()
for attempt in (campaign.tell, assay.load_campaign):
    try:
        if attempt == campaign.tell:
            campaign.tell({third.id: True})
        else:
            assay.load_campaign("spam", storage=storage)
    except assay.StorageError as error:
        print(" ".join(str(error).split()))
    else:
        print("did it")
"""
LAST_WITHOUT_CHAINS = "5828b56b0353"


@pytest.mark.skipif(not FULL, reason="takes an older version of Assay: with make torture")
def test_the_last_version_without_chains_adds_no_label_to_a_chained_log(
    database: Database, tmp_path: Path
) -> None:
    """An Assay that does not look, and was running when this one upgraded its storage."""
    root = Path(assay.__file__).parents[2]
    packed = subprocess.run(
        ["git", "archive", LAST_WITHOUT_CHAINS, "src"], cwd=root, capture_output=True, check=False
    )
    if packed.returncode != 0:
        pytest.skip(f"the older version is not in this clone: {packed.stderr.decode().strip()}")
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(tmp_path, filter="data")
    storage = database.storage()
    with subprocess.Popen(
        [sys.executable, "-c", OLDER, storage],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as older:
        assert older.stdout is not None
        assert older.stdout.readline() == "ready\n"
        assert version_of(storage) == SCHEMA_VERSION - 1
        before = told(storage)
        check_upgraded(storage, before)
        said, _ = older.communicate("go\n", timeout=PATIENCE)
    added, opened = said.splitlines()
    assert "chain" in added
    assert f"schema version {SCHEMA_VERSION}, this Assay knows" in opened
    check_upgraded(storage, before)
    assert len(before) == 2
    report(f"an older Assay beside this one, {database.kind}: {added!r}; {opened!r}")
