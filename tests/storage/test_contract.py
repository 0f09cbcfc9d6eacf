"""Both databases keep the store's contract, and stores that break it are found out."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import sqlalchemy as sa

from assay.errors import StorageError
from assay.storage import Store, open_store, testing
from assay.storage.contract import ALONE, Check, Opener
from assay.storage.testing import (
    TOGETHER,
    check_store,
    many_writers_lose_nothing,
    numbers_grow_in_the_order_of_commits,
)


def named(check: Check) -> str:
    return check.__name__


@pytest.mark.parametrize("check", [*ALONE, *TOGETHER], ids=named)
def test_a_store_on_disk(check: Check, storage_url: str) -> None:
    check(lambda: open_store(storage_url))


ISOLATIONS = ("read committed", "repeatable read", "serializable")


def with_default(url: str, isolation: str) -> str:
    """Let a server's transactions have an isolation unless they say another; return the URL."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(
            f"ALTER DATABASE {server.info.dbname} SET default_transaction_isolation = '{isolation}'"
        )
    return url


@pytest.mark.parametrize("isolation", ISOLATIONS[1:])
def test_whatever_isolation_the_server_has_by_default(isolation: str, postgres_url: str) -> None:
    """The server's own default is the first one, which the test above has."""
    psycopg = pytest.importorskip("psycopg")
    url = with_default(postgres_url, isolation)
    stores: list[Store] = []

    def opened() -> Store:
        stores.append(open_store(url))
        return stores[-1]

    def fresh() -> Opener:
        for each in stores:
            each.close()
        stores.clear()
        with psycopg.connect(url, autocommit=True) as server:
            server.execute("DROP SCHEMA IF EXISTS assay CASCADE")
        return opened

    assert len(check_store(fresh)) == len(ALONE) + len(TOGETHER)


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_transactions_say_their_isolation_and_only_writers_must_not_be_idle(
    isolation: str, postgres_url: str
) -> None:
    store = open_store(with_default(postgres_url, isolation))
    settings = "transaction_isolation", "transaction_read_only"
    show = [f"SHOW {each}" for each in (*settings, "idle_in_transaction_session_timeout")]
    with store.read() as session:
        reading = [session._connection.exec_driver_sql(each).scalar() for each in show]
    with store.write() as session:
        writing = [session._connection.exec_driver_sql(each).scalar() for each in show]
    assert reading == ["repeatable read", "on", "0"]
    assert writing == ["read committed", "off", "1min"]


@pytest.mark.parametrize("isolation", ISOLATIONS[1:])
def test_writers_with_the_servers_isolation_are_found_out(
    isolation: str, postgres_url: str
) -> None:
    """They take their snapshot before they have the lock: the wrong variant."""
    url = with_default(postgres_url, isolation)

    def opened() -> Store:
        store = open_store(url)
        store._backend = replace(store._backend, writing={})
        return store

    with pytest.raises((AssertionError, StorageError), match=r"labels before|could not serialize"):
        many_writers_lose_nothing(opened)


def in_memory() -> Opener:
    store = open_store(None)
    return lambda: store


def test_a_store_in_memory() -> None:
    assert len(check_store(in_memory, together=False)) == len(ALONE)


def opening(url: str, begin: Callable[[sa.Connection, bool], None]) -> Opener:
    """Return what opens stores whose transactions begin in another way."""

    def opened() -> Store:
        store = open_store(url)
        store._backend = replace(store._backend, begin=begin)
        return store

    return opened


def test_writers_that_take_no_lock_are_found_out(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The classic fault: a sequence numbers rows when they are written, not when committed."""

    def begin(_connection: sa.Connection, _writes: bool) -> None:
        pass

    monkeypatch.setattr(testing, "_A_WHILE", 30.0)  # on a busy machine; it ends with the writer
    open_store(postgres_url)
    with pytest.raises(AssertionError, match=r"a reader saw: found \['quick'\],"):
        numbers_grow_in_the_order_of_commits(opening(postgres_url, begin))


def test_writers_that_read_before_they_lock_are_found_out(storage: str) -> None:
    """With SQLite the second to write what it has read before is refused, and its label lost."""

    def begin(connection: sa.Connection, _writes: bool) -> None:
        connection.exec_driver_sql("BEGIN")

    open_store(storage)
    with pytest.raises(Exception, match=r"locked|labels before"):
        many_writers_lose_nothing(opening(storage, begin))
