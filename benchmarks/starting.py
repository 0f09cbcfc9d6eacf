"""What starting costs: `import assay`, `assay --help`, `assay status`, `assay plan`, as CPU time.

Each in a process of its own, beside ``python -c pass`` and ``import numpy`` in the same run: the
best of several, since the machine may be busy. Python's compiled files must be there, as after any
first run: they are kept in a folder of their own. Goals on the machine where they were set:

    import assay  0.2 s    assay --help  0.25 s    assay status  0.5 s    assay plan  1.5 s

Last, in a warm process: a campaign created over 1,000 rows, beside one `sqlite3` file of as many.
Goal: 0.15 s.

Run with ``python -m benchmarks.starting [--runs 7]``.
"""

import argparse
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import assay

ROWS = 1_000


def spent(words: list[str], folder: Path) -> float:
    """Return the CPU seconds of a process that must end well; what it says goes nowhere."""
    kept = {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, *words],
        {**os.environ, **kept},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)
        ],
    )
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime


def best(work: Callable[[], float], runs: int) -> float:
    """Return the least of several runs, after one that does not count."""
    work()
    return min(work() for _ in range(runs))


def create(source: object, folder: Path) -> assay.Campaign:
    """Make a campaign in a storage of its own."""
    storage = f"sqlite:///{folder / f'{time.monotonic_ns()}.db'}"
    return assay.create_campaign(
        source,
        id="id",
        score="p",
        predicted="yes",
        within=0.05,
        name="spam",
        storage=storage,
        seed=1,
    )


def bare_storage(folder: Path) -> None:
    """Write as many rows into a new file of SQLite."""
    with sqlite3.connect(folder / f"{time.monotonic_ns()}.db") as connection:
        connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, p REAL, yes INTEGER)")
        rows = ((row, row / ROWS, row % 2) for row in range(ROWS))
        connection.executemany("INSERT INTO item VALUES (?, ?, ?)", rows)
    connection.close()


def timed(work: Callable[[], object]) -> float:
    """Return the CPU seconds of some work in this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    """Print what each takes, and the ratio to what Python and numpy take alone."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    score = np.random.default_rng(0).random(ROWS)
    table = pa.table({"id": np.arange(ROWS), "p": score, "yes": score > 0.5})
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "predictions.parquet"
        pq.write_table(table, file)
        storage = f"sqlite:///{folder / 'assay.db'}"
        columns = ["--id", "id", "--score", "p", "--predicted", "yes"]
        made = ["create", str(file), *columns, "--within", "0.05", "--name", "spam"]
        spent(["-m", "assay", *made, "--storage", storage], folder)
        steps = {
            "python -c pass": ["-c", "pass"],
            "import numpy": ["-c", "import numpy"],
            "import assay": ["-c", "import assay"],
            "assay --help": ["-m", "assay", "--help"],
            "assay status": ["-m", "assay", "status", "spam", "--storage", storage],
            "assay plan": ["-m", "assay", "plan", str(file), *columns, "--within", "0.05"],
        }
        took = {}
        for step, words in steps.items():
            took[step] = best(partial(spent, words, folder), runs)
            ratio = took[step] / took.get("import numpy", took[step])
            beside = f"{ratio:6.1f} x import numpy" if "import numpy" in took else ""
            print(f"{step:30} {took[step]:6.3f} s {beside}", flush=True)
        bare = best(partial(timed, partial(bare_storage, folder)), runs)
        for kind, source in (("in memory", table), ("of Parquet", str(file))):
            whole = best(partial(timed, partial(create, source, folder)), runs)
            what, ratio = f"create, {ROWS:,} rows {kind}", whole / bare
            print(f"{what:30} {whole:6.3f} s {ratio:6.1f} x bare SQLite")


if __name__ == "__main__":
    main()
