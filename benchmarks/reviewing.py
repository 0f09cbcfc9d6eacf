"""How fast reviewers are served: "submit one answer and get the next item", over HTTP.

    python -m benchmarks.reviewing FOLDER                    # 100 million rows: 1 GB of disk
    python -m benchmarks.reviewing FOLDER --millions 1 --late 2000 --submits 200

``assay serve`` runs in a process of its own, on SQLite in the folder and on a PostgreSQL of its own
(both wait for the disk at every commit); 1, 10 and 50 reviewers each send the next answer as soon
as they have the next item, so that with 50 the time of one is that of all in the queue. Compared
are ten thousand rows behind it against many, the first labels of a campaign against the last, and
all of it against the bare minimum: one row, inserted and committed in the same database.
"""

import argparse
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import sqlalchemy as sa

import assay
from assay.storage import Label
from benchmarks.any_size import make_few, make_rows
from tests.torture.pages import Page, token_for
from tests.torture.postgres import running_postgres
from tests.torture.processes import Served, serving

EARLY = 100
AT_ONCE = 500  # labels that are told together to get to a later time
REVIEWERS = (1, 10, 50)
ROUNDS = 3  # of each measurement; the middle one is told

_runs = count()


@dataclass(frozen=True)
class Speed:
    """What was measured: how many in a second, and milliseconds that each took.

    `cpu` is what each took of the server's processor: where other programs run beside it, that
    tells more than the clock.
    """

    rate: float
    median: float
    slow: float
    cpu: float = 0.0

    @classmethod
    def of(cls, took: list[float], seconds: float) -> "Speed":
        """Return it from the seconds that each took, and those that all took together."""
        median, slow = 1000 * np.quantile(took, [0.5, 0.95])
        return cls(len(took) / seconds, float(median), float(slow))

    def __str__(self) -> str:
        told = f"{self.rate:6.0f} /s  median {self.median:6.1f} ms  95 % {self.slow:6.1f} ms"
        return f"{told}  CPU {self.cpu:4.1f} ms" if self.cpu else told


def make_campaign(rows: Path, storage: str, budget: int, labels: int, lent: int = 0) -> None:
    """Make a campaign, give it so many labels, and lend so many items to somebody."""
    campaign = assay.create_campaign(
        assay.Scan(rows, engine="duckdb"),
        id="id",
        score="score",
        predicted="predicted",
        metric="accuracy",
        budget=budget,
        name="spam",
        storage=storage,
        seed=1,
    )
    while (missing := labels - campaign.estimate().labels) > 0:
        items = campaign.ask(min(missing, AT_ONCE))
        campaign.tell({item.id: _answer(str(item.id)) for item in items})
    if lent:
        campaign.ask(lent, reviewer="elsewhere", lease=36_000.0)


def _answer(item: str) -> str:
    return "no" if int(item) % 3 == 0 else "yes"


def together(work: Callable[[int], list[float]], people: int) -> Speed:
    """Let so many do their work at once; each returns the seconds of every piece of it."""
    start = threading.Barrier(people + 1)

    def one(number: int) -> list[float]:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(people) as pool:
        each = [pool.submit(one, number) for number in range(people)]
        start.wait()
        began = time.perf_counter()
        took = [seconds for one_ in each for seconds in one_.result()]
        return Speed.of(took, time.perf_counter() - began)


def timed(work: Callable[[], None], times: int) -> list[float]:
    """Return the seconds of doing something so many times."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return took


def reviewing(served: Served, storage: str, people: int, submits: int) -> Speed:
    """Return how fast people are served who do nothing but judge."""
    run = next(_runs)
    tokens = [token_for(storage, f"reviewer {run} {number}") for number in range(people)]
    each = max(submits // people, 5)

    def work(number: int) -> list[float]:
        with closing(Page(served.port, tokens[number])) as page:
            items = page.take([], 1).items
            numbers = iter(range(each))

            def submit() -> None:
                key = f"{run}-{number}-{next(numbers)}"
                sent = Label(items[0], _answer(items[0]), key=key)
                seen = page.take([sent], 1)
                if seen.receipts != {key: "saved"}:
                    raise RuntimeError(f"not saved: {seen}")
                items[:] = seen.items

            return timed(submit, each)

    before = cpu_seconds(served.process.pid)
    speed = together(work, people)
    used = cpu_seconds(served.process.pid) - before
    return replace(speed, cpu=1000 * used / (each * people))


def cpu_seconds(pid: int | None) -> float:
    """Return what a process has used of the processor so far; 0 where that cannot be known."""
    file = Path(f"/proc/{pid}/stat")
    if not file.exists():
        return 0.0
    *_, user, system = file.read_text().rpartition(")")[2].split()[:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def bare_inserts(storage: str, times: int) -> Speed:
    """Return how fast rows can be inserted and committed, one at a time, by one program."""
    url = sa.make_url(storage)
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
        pragmas = ["PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"]
    else:
        driver = url.set(drivername="postgresql+psycopg")
        engine = sa.create_engine(driver, isolation_level="AUTOCOMMIT")
        pragmas = []
    with engine.connect() as connection:
        cursor = connection.connection.cursor()
        for statement in (*pragmas, "CREATE TABLE IF NOT EXISTS bare (said TEXT)"):
            cursor.execute(statement)
        insert = "INSERT INTO bare VALUES ('an answer that is as long as they are')"
        speed = together(lambda _: timed(lambda: cursor.execute(insert), times), 1)
    engine.dispose()
    return speed


@contextmanager
def storages(folder: Path) -> Iterator[dict[str, Callable[[str], str]]]:
    """Give what makes a storage of each kind that can be had, by its name."""
    with TemporaryDirectory(dir=folder) as files:

        def in_file(name: str) -> str:
            return f"sqlite:///{files}/{name}.db"

        try:
            with running_postgres() as server:
                yield {"SQLite": in_file, "PostgreSQL": server.database}
        except pytest.skip.Exception as reason:
            print(reason)
            yield {"SQLite": in_file}


def measure(kind: str, make: Callable[[str], str], settings: argparse.Namespace) -> None:
    """Print the table of one database."""
    many = make_rows(settings.folder / f"rows_{settings.millions}m.parquet", settings.millions)
    few = make_few(settings.folder / "rows_10k.parquet")
    rows = f"{settings.millions:,} million rows"
    budget = settings.late + 2 * ROUNDS * len(REVIEWERS) * (settings.submits + 5 * max(REVIEWERS))
    lent = settings.lent
    cases = {
        "10,000 rows, early": (few, EARLY, 9_000, 0),
        f"{rows}, early": (many, EARLY, budget, 0),
        f"{rows}, after {settings.late:,} labels": (many, settings.late, budget, 0),
        f"{rows}, early, {lent:,} items lent": (many, EARLY, budget + lent, lent),
    }
    ratios = ((f"{rows} / 10,000 rows", 1, 0), ("late / early", 2, 1), ("lent / early", 3, 1))
    with ExitStack() as stack:
        running: dict[str, tuple[Served, str]] = {}
        for number, (name, (path, labels, most, lent)) in enumerate(cases.items()):
            storage = make(f"case_{number}")
            make_campaign(path, storage, most, labels, lent)
            logs = Path(stack.enter_context(TemporaryDirectory()))
            (served,) = stack.enter_context(serving(storage, logs))
            # Whoever comes first waits until the server has read the labels so far.
            with closing(Page(served.port, token_for(storage, "first"))) as page:
                page.take([], 1)
            running[name] = served, storage
        for people in REVIEWERS:
            bare = bare_inserts(storage, settings.submits)
            print(f"{kind}: a bare insert{'':33s}{bare}")
            # In turns, because what else the machine does changes from minute to minute.
            rounds = [
                [reviewing(*running[name], people, settings.submits) for name in cases]
                for _ in range(ROUNDS)
            ]
            for name, speeds in zip(cases, zip(*rounds, strict=True), strict=True):
                middle = sorted(speeds, key=lambda speed: speed.median)[ROUNDS // 2]
                of_bare = f"{middle.rate / bare.rate:.2f} of the bare rate"
                print(f"  {people:2d} reviewers, {name:38s} {middle}, {of_bare}")
            for what, over, under in ratios:
                print(f"     {what}: {_ratios(rounds, over, under)}", flush=True)


def _ratios(rounds: list[list[Speed]], over: int, under: int) -> str:
    """Return the ratios of two cases, by the clock and by the processor, over all rounds."""
    told = []
    for what in ("median", "cpu"):
        each = [getattr(one[over], what) / (getattr(one[under], what) or np.nan) for one in rounds]
        told.append(f"{what} {np.median(each):.2f} ({min(each):.2f} to {max(each):.2f})")
    return ", ".join(told)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--millions", type=int, default=100)
    parser.add_argument("--late", type=int, default=20_000)
    parser.add_argument("--lent", type=int, default=10_000, help="items that somebody has")
    parser.add_argument("--submits", type=int, default=900, choices=range(1, 901), metavar="N")
    settings = parser.parse_args()
    settings.folder.mkdir(parents=True, exist_ok=True)
    with storages(settings.folder) as kinds:
        for kind, make in kinds.items():
            measure(kind, make, settings)


if __name__ == "__main__":
    main()
