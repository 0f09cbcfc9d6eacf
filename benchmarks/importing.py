"""How long an import takes, and how long reviewers wait beside it, over HTTP.

    python -m benchmarks.importing FOLDER                      # 100,000 rows
    python -m benchmarks.importing FOLDER --rows 10000 --way page

``assay serve`` runs in a process of its own, on SQLite in the folder and on PostgreSQL. Ten
reviewers send the next answer as soon as they have the next item, while a file of labels is
imported: by the command line in another process, or on the owner's page. Compared are the seconds
with the bare minimum, all rows inserted by one statement and committed, and the reviewers' requests
with those of a few seconds before.
"""

import argparse
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import sqlalchemy as sa

import assay
from assay.storage import Label
from benchmarks.reviewing import storages
from tests.torture.pages import Page, token_for
from tests.torture.processes import Served, begin, run_command, serving

REVIEWERS = 10
BEFORE = 3.0  # seconds that reviewers work before the import


def make_campaign(storage: str, rows: int) -> bytes:
    """Make a campaign that has asked for so many items; return a file of answers to them."""
    scores = np.random.default_rng(0).random(3 * rows)
    campaign = assay.create_campaign(
        {"p": scores},
        score="p",
        threshold=0.5,
        metric="accuracy",
        budget=2 * rows,
        name="spam",
        storage=storage,
        seed=1,
    )
    items = campaign.ask(rows)
    lines = [f"{item.id},{'yes' if int(item.id) % 3 else 'no'},file\n" for item in items]
    return f"id,label,reviewer\n{''.join(lines)}".encode()


def bare_insert(storage: str, rows: int) -> float:
    """Return the seconds in which a program inserts so many rows at once, and commits them."""
    url = sa.make_url(storage)
    if url.get_backend_name() != "sqlite":
        url = url.set(drivername="postgresql+psycopg")
    engine, table = (
        sa.create_engine(url),
        sa.Table("bare", sa.MetaData(), sa.Column("said", sa.Text)),
    )
    with engine.begin() as connection:
        table.create(connection, checkfirst=True)
    began = time.perf_counter()
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"said": "as long as an answer is " * 4}] * rows)
    took = time.perf_counter() - began
    engine.dispose()
    return took


@contextmanager
def reviewing(served: Served, storage: str) -> Iterator[list[tuple[float, float]]]:
    """Let reviewers work as long as the block runs; give when each request began, and its time."""
    took: list[tuple[float, float]] = []
    over = threading.Event()
    tokens = [token_for(storage, f"reviewer {number}") for number in range(REVIEWERS)]

    def work(number: int) -> None:
        with closing(Page(served.port, tokens[number])) as page:
            items, turn = page.take([], 1).items, 0
            while items and not over.is_set():
                label = Label(items[0], "yes", key=f"{number} {turn}")
                began = time.perf_counter()
                items = page.take([label], 1).items
                took.append((began, time.perf_counter() - began))
                turn += 1

    people = [threading.Thread(target=work, args=(number,)) for number in range(REVIEWERS)]
    for each in people:
        each.start()
    try:
        yield took
    finally:
        over.set()
        for each in people:
            each.join()


def on_page(served: Served, storage: str, _file: Path, body: bytes) -> None:
    """Import as the owner's page does."""
    token = token_for(storage, "owner", "owner")
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=600)
    with closing(connection):
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("POST", "/api/import?format=csv", body, headers)
        told = json.loads(connection.getresponse().read())
    if "new" not in told:
        raise RuntimeError(str(told))


def by_command(_served: Served, storage: str, file: Path, _body: bytes) -> None:
    """Import as the command line does."""
    log = file.with_suffix(".log")
    words = ["import", "spam", str(file), "--storage", storage]
    process = begin(run_command, words, str(log))
    process.join(600)
    if process.exitcode != 0:
        raise RuntimeError(log.read_text())


WAYS: dict[str, Callable[[Served, str, Path, bytes], None]] = {
    "page": on_page,
    "command": by_command,
}


def measure(kind: str, storage: str, way: str, rows: int) -> None:
    """Print what one import takes."""
    body = make_campaign(storage, rows)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "labels.csv"
        file.write_bytes(body)
        with serving(storage, Path(folder)) as (served,):
            # Whoever comes first waits until the server has read what was dealt so far.
            with closing(Page(served.port, token_for(storage, "first"))) as page:
                page.take([], 1)
            bare = bare_insert(storage, rows)
            with reviewing(served, storage) as took:
                time.sleep(BEFORE)
                began = time.perf_counter()
                WAYS[way](served, storage, file, body)
                ended = time.perf_counter()
                time.sleep(BEFORE)
    seconds = ended - began
    print(
        f"{kind}, {rows:,} rows by {way}: {seconds:.1f} s, {seconds / bare:.1f} times a bare "
        f"insert of as many ({bare:.2f} s)"
    )
    for when, first, last in (("before", 0.0, began), ("beside it", began, ended + BEFORE)):
        each = [1000 * one for at, one in took if first <= at < last]
        middle, slow, worst = np.quantile(each, [0.5, 0.95, 1.0])
        print(
            f"  reviewers {when}: {len(each)} requests, median {middle:.0f} ms, 95 % {slow:.0f} "
            f"ms, the slowest {worst:.0f} ms",
            flush=True,
        )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--way", choices=WAYS, action="append")
    settings = parser.parse_args()
    settings.folder.mkdir(parents=True, exist_ok=True)
    with storages(settings.folder) as kinds:
        for kind, make in kinds.items():
            for way in settings.way or WAYS:
                measure(kind, make(f"import_{way}"), way, settings.rows)


if __name__ == "__main__":
    main()
