"""The Spark engine on a cluster: what `tests/predictions/spark/test_cluster.py` checks, as figures.

Run from the root of the repository:

    python -m benchmarks.spark_cluster                          # 5 million rows in 64 files
    python -m benchmarks.spark_cluster --rows 1000000000        # made up by Spark itself, no disk
    python -m benchmarks.spark_cluster --rows 100000000 --parquet

It needs Java and pyspark, starts a master and two workers on this machine, and ends them.

Without --rows, a first pass and a draw are timed, their bytes to the driver are compared with those
of a fifth of the rows, and a worker is killed in the middle of a pass.

With --rows, the stages are told: rows a second and core, by the CPU time that Spark's own event log
has of every task, bytes shuffled and returned, and the driver's memory. The strata and the first
cards of all of them are computed once more by numpy, piece by piece.

What was measured so is in docs/any_size.md, with the cost model of 10^11 rows that is made of it.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from assay.core import deck
from assay.core.deck import Id
from assay.core.strata import Strata
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.predictions.layout import Layout
from assay.predictions.predictions import Predictions
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark.scanner import open_spark
from tests.predictions.spark import spark_cluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PIECE = 10_000_000  # rows that numpy takes at once
_LAYOUT = Layout({"it": Roles("p", "said", None, None, None)}, "id")
_STEP, _PRIME = 7_919, 1_000_003
# A made-up score, by the id: whole numbers, a division and a square, the same everywhere.
_ROOT = f"(CAST((id * {_STEP}) % {_PRIME} AS DOUBLE) / {_PRIME}e0)"
_SCORE = f"{_ROOT} * {_ROOT}"
_SAID = "(id % 1000) / 1e3 < p"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, help="rows that Spark makes up")
    parser.add_argument("--parquet", action="store_true", help="write them to Parquet files first")
    parser.add_argument("--minutes", type=int, default=60, help="after which all is ended")
    given = parser.parse_args()
    if given.rows is None:
        found = spark_cluster.figures(5_000_000)
    else:
        os.environ.update({"SPARK_LOCAL_IP": spark_cluster.HOST, "PYSPARK_PYTHON": sys.executable})
        signal.alarm(60 * given.minutes)
        with tempfile.TemporaryDirectory(prefix="assay-spark-") as folder:
            found = stages(given.rows, Path(folder), in_files=given.parquet)
    for name, value in found.items():
        if isinstance(value, dict):
            print(name)
            for key, figure in value.items():
                print(f"    {key:32} {figure}")
        else:
            print(f"{name:36} {value}")


def stages(rows: int, folder: Path, *, in_files: bool) -> dict[str, Any]:
    """Return the figures of a first pass and of a draw, stage by stage."""
    (folder / "events").mkdir()
    files = _written(rows, folder / "rows") if in_files else None
    seconds: dict[str, float] = {}

    @contextmanager
    def group(name: str) -> Iterator[None]:
        spark.sparkContext.setJobGroup(name, name)
        start = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - start
        print(f"{name}: {seconds[name]:.0f} s", file=sys.stderr, flush=True)

    with spark_cluster.cluster(folder) as (url, _):
        spark = spark_cluster.session(url, folder)
        made: DataFrame
        if files is None:
            parts = max(rows // 4_000_000, 2)
            made = spark.range(0, rows, 1, parts).selectExpr("id", f"{_SCORE} AS p")
            made = made.selectExpr("id", "p", f"{_SAID} AS said")
        else:
            made = spark.read.parquet(files)
        with group("open"):
            scanner = open_spark(Scan(made), _LAYOUT)
        with group("survey"):
            found = Predictions(scanner, vocabulary=Vocabulary(), seed=7, check_ids=False)
        with group("draw"):
            strata, drawn = spark_cluster.cut_and_deal(found)
        gateway: Any = spark.sparkContext._gateway
        driver = {"Java": gateway.proc.pid, "Python": os.getpid()}
        peaks = {name: f"{_peak(pid) / 2**20:,.0f} MB" for name, pid in driver.items()}
        spark.stop()
    told: dict[str, Any] = {"rows": f"{rows:,}, {'in files' if in_files else 'made up'}"}
    logged = spark_cluster.logged(folder)
    for name in ("survey", "draw"):
        one = logged[name]
        told[name] = {
            "seconds": f"{seconds[name]:.1f}",
            "jobs, tasks": f"{one['jobs']}, {one['tasks']}",
            "rows read": f"{one['rows']:,}",
            "CPU seconds of the tasks": f"{one['cpu'] / 1e9:,.1f}",
            "seconds of the tasks": f"{one['run'] / 1e3:,.1f}",
            "rows a CPU second": f"{rows / (one['cpu'] / 1e9):,.0f}",
            "rows a second and core": f"{rows / (one['run'] / 1e3):,.0f}",
            "bytes shuffled": f"{one['shuffled']:,}",
            "of each task": f"{one['shuffled'] // one['tasks']:,}",
            "bytes to the driver": f"{one['returned']:,}",
        }
    told["peak memory of the driver"] = peaks
    told["strata, cards"] = f"{strata.n_strata}, {sum(map(len, drawn)):,}"
    told["the same as numpy's"] = (strata.sizes.tolist(), drawn) == by_numpy(rows, strata)
    return told


def by_numpy(rows: int, strata: Strata) -> tuple[list[int], list[list[Id]]]:
    """Return the size and the first cards of every stratum, computed piece by piece."""
    sizes = np.zeros(strata.n_strata, dtype=np.int64)
    best: list[tuple[Ints, Ints]] = [(np.zeros(0, np.uint64), np.zeros(0, np.int64))] * sizes.size
    key = np.uint64(deck.key(spark_cluster.SEED))
    for start in range(0, rows, _PIECE):
        ids = np.arange(start, min(start + _PIECE, rows))
        score, said = _judged(ids)
        stratum = strata.assign(score, said)
        sizes += np.bincount(stratum, minlength=sizes.size)
        number = deck.mix(deck.mix(ids.view(np.uint64)) ^ key)
        for place in range(sizes.size):
            here = stratum == place
            numbers = np.concatenate([best[place][0], number[here]])
            held = np.concatenate([best[place][1], ids[here]])
            first = np.argsort(numbers)[: spark_cluster.CARDS]
            best[place] = numbers[first], held[first]
    return sizes.tolist(), [held.tolist() for _, held in best]


def _judged(ids: Ints) -> tuple[Floats, Bools]:
    root = (ids * _STEP % _PRIME) / _PRIME
    score = root * root
    return score, ids % 1000 / 1e3 < score


def _written(rows: int, folder: Path) -> str:
    """Write the rows to Parquet files, and return their folder."""
    folder.mkdir()
    for file, start in enumerate(range(0, rows, _PIECE)):
        with duckdb.connect() as connection:
            ends = [start, min(start + _PIECE, rows)]
            made = connection.table_function("range", ends).project("range AS id")
            made = made.project(f"id, {_SCORE} AS p").project(f"id, p, {_SAID} AS said")
            made.write_parquet(f"{folder}/{file:05}.parquet", row_group_size=1_000_000)
    return str(folder)


def _peak(process: int) -> int:
    """Return the most memory that a process has had, in bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
