"""What it takes to compare two weeks of many rows, against the bare join of their ids.

    python -m benchmarks.compare_size FOLDER --millions 10 50
    python -m benchmarks.compare_size FOLDER --millions 10 --weights

Two weeks of so many million rows, of which 80% are in both; they are made once and kept in the
folder. `compare_campaign` and the first `ask` against the count of a full outer join on the id and
the sums of both columns of ids, in turns; CPU seconds, seconds on the clock and peak memory are
those of processes that do nothing else. At the end the items of a million ids alone, half of which
are in both: what an engine makes of them must be what memory does. With weights, the files have
lognormal ones of spread 2, and the comparison is by weight.
"""

import argparse
import resource
import statistics
import tempfile
import time
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import assay
from assay.predictions.scan import Engine
from benchmarks.any_size import own_peak

AT_ONCE = 1_000_000
THREADS = 2
SHARED = 0.8
WEEKS = ("old", "new")
WEIGHTS = "views"


def make_weeks(folder: Path, millions: int, *, weights: bool = False) -> list[Path]:
    """Write int64 ids in no order, and float32 scores of two versions that mostly agree.

    With weights, an item has the same in both.
    """
    kind = f"{WEIGHTS}_" if weights else ""
    paths = [folder / f"{name}_{kind}{millions}m.parquet" for name in WEEKS]
    if all(path.exists() for path in paths):
        return paths
    rng = np.random.default_rng(48)
    kinds: dict[str, pa.DataType] = {"id": pa.int64(), "score": pa.float32()}
    if weights:
        kinds[WEIGHTS] = pa.float32()
    schema = pa.schema(kinds)
    gone = round((1 - SHARED) * millions)
    writers = [pq.ParquetWriter(path.with_suffix(".unfinished"), schema) for path in paths]
    for part in range(millions + gone):
        ids = np.arange(part * AT_ONCE, (part + 1) * AT_ONCE)
        base = rng.normal(-2.5, 2.7, AT_ONCE)
        views = rng.lognormal(0.0, 2.0, AT_ONCE).astype(np.float32) if weights else base
        for writer, there in zip(writers, (part < millions, part >= gone), strict=True):
            noisy = base + rng.normal(0.0, 1.2, AT_ONCE)
            score = (1 / (1 + np.exp(-noisy))).astype(np.float32)
            order = rng.permutation(AT_ONCE)
            if there:
                columns = {"id": ids[order], "score": score[order], WEIGHTS: views[order]}
                told = {name: columns[name] for name in schema.names}
                writer.write_table(pa.table(told, schema=schema))
    for writer, path in zip(writers, paths, strict=True):
        writer.close()
        path.with_suffix(".unfinished").rename(path)
    return paths


def begin(paths: list[Path], engine: Engine) -> assay.Campaign:
    """Make a campaign for the difference of precision, by weight if any, and ask for items."""
    weight = WEIGHTS if WEIGHTS in paths[0].name else None
    campaign = assay.compare_campaign(
        *(assay.Scan(path, engine=engine) for path in paths),
        id="id",
        score="score",
        threshold=0.5,
        sample_weight=weight,
        within=0.01,
        seed=1,
    )
    campaign.ask(20)
    return campaign


def bare_join(old: Path, new: Path) -> None:
    """Join the ids, and sum them, so that both columns are read."""
    with duckdb.connect(config={"threads": THREADS}) as connection:
        connection.execute("SET enable_progress_bar = false")
        rows = f"'{old}' AS old FULL OUTER JOIN '{new}' AS new ON old.id = new.id"
        connection.sql(f"FROM {rows} SELECT count(*), sum(old.id), sum(new.id)").fetchall()


def cost(work: str, paths: list[Path]) -> dict[str, float]:
    """Return CPU seconds, seconds on the clock and peak memory, in MB, of a process of its own."""
    processes = get_context("spawn")
    answer = processes.SimpleQueue()
    process = processes.Process(target=_tell_cost, args=(work, paths, answer))
    process.start()
    process.join()
    found: dict[str, float] = answer.get()
    return found


def _tell_cost(work: str, paths: list[Path], answer: "SimpleQueue[dict[str, float]]") -> None:
    cpu, clock = _cpu_seconds(), time.perf_counter()
    if work == "compare":
        begin(paths, "duckdb")
    else:
        bare_join(*paths)
    answer.put({"CPU s": _cpu_seconds() - cpu, "s": time.perf_counter() - clock, "MB": own_peak()})


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(paths: list[Path], rounds: int) -> None:
    """Print what the comparison costs, and the bare join, in turns; the first warms the files."""
    runs: dict[str, list[dict[str, float]]] = {"join": [], "compare": []}
    for _ in range(rounds + 1):
        for work, costs in runs.items():
            costs.append(cost(work, paths))
    told = {
        work: {what: statistics.median(each[what] for each in costs[1:]) for what in costs[0]}
        for work, costs in runs.items()
    }
    for work, medians in told.items():
        print(f"  {work:10s}", *(f"{number:8.1f} {what}" for what, number in medians.items()))
    bare, whole = told.values()
    cpu, clock = (whole[what] / bare[what] for what in ("CPU s", "s"))
    print(f"  ratio {cpu:.2f} of CPU, {clock:.2f} on the clock")


def check(paths: list[Path]) -> None:
    """Compare the items of a million ids, of which half are in both weeks, in memory and not."""
    first = round((1 - SHARED) * _millions(paths[0])) * AT_ONCE - AT_ONCE // 2
    chosen = f"id BETWEEN {first} AND {first + AT_ONCE - 1}"
    with tempfile.TemporaryDirectory() as folder:
        few = [Path(folder) / path.name for path in paths]
        for path, one in zip(paths, few, strict=True):
            duckdb.read_parquet(str(path)).filter(chosen).write_parquet(str(one))
        in_place, memory = begin(few, "duckdb"), begin(few, "memory")
    same = in_place.settings.strata == memory.settings.strata
    same &= in_place.settings.source.fingerprint == memory.settings.source.fingerprint
    for _ in range(5):
        batches = [campaign.ask(200) for campaign in (in_place, memory)]
        same &= [item.id for item in batches[0]] == [item.id for item in batches[1]]
        for campaign, batch in zip((in_place, memory), batches, strict=True):
            campaign.tell({item.id: int(item.id) % 3 > 0 for item in batch})
    same &= in_place.estimate() == memory.estimate()
    print(f"  a million ids, as in memory: {same}")


def _millions(path: Path) -> int:
    return int(path.stem.rpartition("_")[2].removesuffix("m"))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--millions", type=int, nargs="*", default=[10, 50])
    parser.add_argument("--rounds", type=int, default=3, help="of which the medians are told")
    parser.add_argument("--weights", action="store_true", help="items count by weight")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for millions in options.millions:
        paths = make_weeks(options.folder, millions, weights=options.weights)
        size = sum(path.stat().st_size for path in paths) / 1e6
        print(f"two weeks of {millions} million rows, {size:.0f} MB")
        measure(paths, options.rounds)
        check(paths)


if __name__ == "__main__":
    main()
