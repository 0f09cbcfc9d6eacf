"""Many reviewers at once, over HTTP and over the library, on both databases.

No item is before more people than it wants, nothing that was acknowledged is lost or there twice,
and all tallies are those of a recount of the log.
"""

import asyncio
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from socket import IPPROTO_TCP, TCP_NODELAY, create_connection, socket

import numpy as np
import pytest

import assay
from assay import Campaign
from assay.core.deck import number
from assay.web.serve import listen
from tests.torture.campaigns import Book, make_campaign
from tests.torture.conftest import Database
from tests.torture.pages import Page, token_for
from tests.torture.people import Reviewer, Sent
from tests.torture.processes import PATIENCE, begin, serving
from tests.torture.recount import check_sent, check_tallies, refuse_overserved
from tests.torture.sizes import FULL, report, sized
from tests.torture.verifying import assert_verified
from tests.torture.workers import library

REVIEWERS = sized(8, 50)
SUBMITS = {"HTTP": sized(200, 40_000), "library": sized(200, 10_000)}
LEASE = 10.0 if FULL else 0.3
SERVERS_LEASE = 10.0 if FULL else 0.0  # ten seconds is its shortest: nobody has the time for that
OVERLAP = 0.3
ITEMS = sized(2_000, 120_000)
LOOKING = 0.2  # the share of the time that is spent on looking at live claims, at most

NAMES = [f"reviewer {number}" for number in range(REVIEWERS)]


def wanted_by(campaign: Campaign) -> Callable[[str], int]:
    """Return what tells how many reviewers the design wants for an item."""
    seed = campaign.settings.seed ^ 2
    return lambda item: 2 if number(item, seed) < OVERLAP * 2**64 else 1


def over_http(storage: str, ports: Sequence[int], submits: int) -> list[Sent]:
    """Let all reviewers work at their pages."""

    def work(number: int) -> Sent:
        with closing(Page(ports[number % len(ports)], tokens[number])) as page:
            return Reviewer(NAMES[number], page.take, SERVERS_LEASE).work(submits // REVIEWERS)

    tokens = [token_for(storage, name) for name in NAMES]
    with ThreadPoolExecutor(REVIEWERS) as pool:
        return list(pool.map(work, range(REVIEWERS)))


def over_library(storage: str, folder: Path, submits: int) -> list[Sent]:
    """Let all reviewers work in processes of their own."""
    files = [folder / f"{name}.pickle" for name in NAMES]
    processes = [
        begin(work_in_process, storage, name, submits // REVIEWERS, str(file))
        for name, file in zip(NAMES, files, strict=True)
    ]
    for process in processes:
        process.join(20 * PATIENCE)
        assert process.exitcode == 0, process.exitcode
    return [pickle.loads(file.read_bytes()) for file in files]


def work_in_process(storage: str, name: str, submits: int, file: str) -> None:
    """Work, and write down what was sent."""
    sent = Reviewer(name, library(storage, name, LEASE), LEASE).work(submits)
    Path(file).write_bytes(pickle.dumps(sent))


@contextmanager
def watching(book: Book, wanted: Callable[[str], int]) -> Iterator[list[int]]:
    """Look again and again whether an item is before too many people, as long as the block runs."""
    over, looks = threading.Event(), [0]

    def watch() -> None:
        pause = 0.02
        while not over.wait(pause):
            began = time.monotonic()
            with book.moment() as connection:
                log, claims = book.log(connection), book.live_claims(connection)
            refuse_overserved(log, claims, wanted)
            looks[0] += 1
            pause = max(0.02, (time.monotonic() - began) * (1 / LOOKING - 1))

    with ThreadPoolExecutor(1) as pool:
        watcher = pool.submit(watch)
        try:
            yield looks
        finally:
            over.set()
        watcher.result()


@pytest.mark.parametrize("way", ["HTTP", "library"])
def test_many_reviewers_at_once(database: Database, tmp_path: Path, way: str) -> None:
    storage = database.storage()
    campaign = make_campaign(storage, items=ITEMS, reviewers_per_item=2, overlap=OVERLAP)
    book, wanted = Book(storage), wanted_by(campaign)
    servers = 3 if database.server else 1
    began = time.monotonic()
    with watching(book, wanted) as looks:
        if way == "library":
            sent = over_library(storage, tmp_path, SUBMITS[way])
        else:
            with serving(storage, tmp_path, "--lease", "10", servers=servers) as every:
                sent = over_http(storage, [served.port for served in every], SUBMITS[way])
    took = time.monotonic() - began
    with book.moment() as connection:
        log, claims = book.log(connection), book.live_claims(connection)
    said = refuse_overserved(log, claims, wanted)
    statuses = check_sent(log, sent, NAMES)
    fresh = assay.load_campaign("spam", storage=storage)
    check_tallies(fresh, book, said)
    assert fresh.estimate() == campaign.estimate()
    assert_verified(storage, tmp_path)
    late = sum(row.late for row in log)
    takes = [1000 * each for book_ in sent for each in book_.takes]
    report(
        f"{REVIEWERS} reviewers, {database.kind}, {way}"
        f"{f' ({servers} servers)' if way == 'HTTP' else ''}: {statuses.total()} submits "
        f"({dict(statuses)}), {late} late, {sum(row.answer == 'withdrawn' for row in log)} "
        f"withdrawn, {sum(each.unsure for each in sent)} unsure and sent again; {looks[0]} looks "
        f"at live claims; {took:.0f} s, an exchange {np.median(takes):.0f} ms, "
        f"95 % below {np.quantile(takes, 0.95):.0f} ms"
    )


def test_an_answer_does_not_wait_for_the_browser() -> None:
    """Accepted connections send at once; without that, each exchange took 40 ms longer."""

    async def accepted() -> socket:
        return listening.accept()[0]  # as the server does: in its event loop

    # In a thread of its own: a browser's tests may have left a loop in this one.
    with listen("127.0.0.1", 0) as listening, ThreadPoolExecutor(1) as thread:
        with create_connection(listening.getsockname()):
            connection = thread.submit(asyncio.run, accepted()).result()
        with connection:
            assert connection.getsockopt(IPPROTO_TCP, TCP_NODELAY)
