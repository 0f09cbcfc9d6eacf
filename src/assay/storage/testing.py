"""Contract of a store, as checks that anybody can run.

A check takes a function that opens one database, empty at first, and raises `AssertionError` if the
store fails. `ALONE` are for every store; `TOGETHER` are for those that several processes may open
at once, and call the function more than once.
"""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

from assay.storage.contract import ALONE, Check, Fresh, Opener, expect, label_of
from assay.storage.store import Store

# Checks for concurrent processes: here, threads with their own stores.

_WRITERS, _TURNS = 4, 15
_A_WHILE = 0.5  # seconds; enough for another thread that does not wait
_PATIENCE = 60.0


def _say(store: Store, key: int, item_id: str) -> None:
    with store.write() as session:
        session.add_labels(key, [label_of(item_id)])


def _begin(store: Store) -> int:
    with store.write() as session:
        return session.create("spam", {})


class _Poller:
    """A reader who only polls for labels after the last number seen."""

    def __init__(self, store: Store, key: int) -> None:
        self._store, self._key, self._last = store, key, 0
        self.seen: list[str] = []

    def poll(self) -> None:
        with self._store.read() as session:
            for event in session.labels(self._key, self._last):
                self.seen.append(event.item_id)
                self._last = event.id


def what_is_written_outlives_the_store(opened: Opener) -> None:
    """Check that data written by one process is found by another after the first has ended."""
    store = opened()
    key = _begin(store)
    _say(store, key, "007")
    store.close()
    with opened().read() as session:
        expect("the campaign", session.find("spam"), (key, {}))
        expect("the label", [event.item_id for event in session.labels(key)], ["007"])


def numbers_grow_in_the_order_of_commits(opened: Opener) -> None:
    """Check that a reader misses no label of a writer that another one has overtaken."""
    store = opened()
    key = _begin(store)
    poller = _Poller(store, key)
    with ThreadPoolExecutor(1) as pool:
        with opened().write() as slow:
            slow.add_labels(key, [label_of("slow")])
            quick = pool.submit(_say, opened(), key, "quick")
            wait([quick], _A_WHILE)  # a correct store keeps it waiting for the slow one
            poller.poll()
        quick.result(_PATIENCE)
    poller.poll()
    expect("labels that a reader saw", sorted(poller.seen), ["quick", "slow"])


def many_writers_lose_nothing(opened: Opener) -> None:
    """Check that what a writer has read stays valid until it writes, and readers see all."""
    store = opened()
    key = _begin(store)
    poller = _Poller(store, key)
    over = threading.Event()

    def write(who: int) -> None:
        own = opened()
        for turn in range(_TURNS):
            with own.write() as session:
                before = len(session.labels(key))
                session.add_labels(key, [label_of(f"{who} {turn} {before}")])

    def read() -> None:
        while not over.is_set():
            poller.poll()

    with ThreadPoolExecutor(_WRITERS + 1) as pool:
        reading = pool.submit(read)
        writing = [pool.submit(write, who) for who in range(_WRITERS)]
        try:
            for each in writing:
                each.result(_PATIENCE)
        finally:
            over.set()
        reading.result(_PATIENCE)
    poller.poll()
    before = [int(text.split()[2]) for text in poller.seen]
    expect("labels before each label", before, list(range(_WRITERS * _TURNS)))
    expect("labels that a reader saw", len(set(poller.seen)), _WRITERS * _TURNS)


def a_reader_sees_one_moment(opened: Opener) -> None:
    """Check that a reader sees nothing that is committed while it reads, in part or in whole."""
    store = opened()
    key = _begin(store)
    with store.read() as session:
        before = session.labels(key), session.rounds(key, 0)
        with opened().write() as writer:
            writer.add_labels(key, [label_of("7")])
            writer.add_round(key, 0, [1])
            writer.create("ham", {})
        expect("what was there before", (session.labels(key), session.rounds(key, 0)), before)
        expect("campaigns", session.names(), ["spam"])
    with store.read() as session:
        expect("what is there now", (len(session.labels(key)), session.rounds(key, 0)), (1, [[1]]))


def what_is_not_committed_is_not_seen(opened: Opener) -> None:
    """Check that readers neither wait for a writer nor see its uncommitted data."""
    store = opened()
    key = _begin(store)
    reader = opened()
    with store.write() as session:
        session.add_labels(key, [label_of("7")])
        with reader.read() as other:
            expect("labels of a writer at work", other.labels(key), [])


def one_of_many_gets_the_name(opened: Opener) -> None:
    """Check that of several campaigns created at once with the same name, one succeeds."""
    stores = [opened() for _ in range(_WRITERS)]

    def create(store: Store) -> bool:
        with store.write() as session:
            if "spam" in session.names():
                return False
            session.create("spam", {})
            return True

    with ThreadPoolExecutor(_WRITERS) as pool:
        expect("campaigns made", sum(pool.map(create, stores, timeout=_PATIENCE)), 1)


TOGETHER: tuple[Check, ...] = (
    what_is_written_outlives_the_store,
    numbers_grow_in_the_order_of_commits,
    many_writers_lose_nothing,
    a_reader_sees_one_moment,
    what_is_not_committed_is_not_seen,
    one_of_many_gets_the_name,
)


def check_store(fresh: Fresh, *, together: bool = True) -> list[str]:
    """Run every check, each on its own database, and return their names.

    `fresh`: makes an empty database, and returns a function that opens it: a `Store` each time.

    >>> from assay.storage import open_store
    >>> def in_memory():
    ...     store = open_store(None)
    ...     return lambda: store
    >>> "labels_are_chained" in check_store(in_memory, together=False)
    True
    """
    checks = (*ALONE, *TOGETHER) if together else ALONE
    for check in checks:
        check(fresh())
    return [check.__name__ for check in checks]
