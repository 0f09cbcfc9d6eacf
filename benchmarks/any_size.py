"""What it takes to begin an evaluation over many rows, against a bare scan of the same columns.

    python -m benchmarks.any_size FOLDER            # 10, 100 and 300 million rows: 4 GB of disk
    python -m benchmarks.any_size FOLDER --millions 1 10
    python -m benchmarks.any_size FOLDER --strings 20
    python -m benchmarks.any_size FOLDER --millions 10 30 --classifiers 4
    python -m benchmarks.any_size FOLDER --millions 10 --aux 2
    python -m benchmarks.any_size FOLDER --millions 10 --weights

Rows are made once and kept in the folder. CPU seconds of the whole process are compared, not time
on the clock: other programs may be running. Peak memory is that of a process that does nothing
else. At the end, but not for several classifiers of one table, what it costs to ask for 20 items
and tell their labels, for the largest number of rows against ten thousand.
"""

import argparse
import resource
import statistics
import time
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import assay

AT_ONCE = 1_000_000
THREADS = 2
STRATA = 10
RESERVE = 2_000
INTEGERS = "sum(id), sum(score)"
STRINGS = "sum(length(id)), sum(score)"
SAME_COLUMNS = "count(*) FILTER (predicted)"


def make_rows(path: Path, millions: int, *, strings: bool = False) -> Path:
    """Write int64 ids (or URLs), float32 scores that pile up near 0, and predicted labels."""
    if path.exists():
        return path
    rng = np.random.default_rng(46)
    kind = pa.string() if strings else pa.int64()
    schema = pa.schema([("id", kind), ("score", pa.float32()), ("predicted", pa.bool_())])
    unfinished = path.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, schema) as writer:
        for part in range(millions):
            ids = np.arange(part * AT_ONCE, (part + 1) * AT_ONCE)
            score = (1 / (1 + np.exp(-rng.normal(-2.5, 3.0, AT_ONCE)))).astype(np.float32)
            urls = [f"https://www.example.org/{id * 7919 % 10**9}/page/{id}" for id in ids.tolist()]
            columns = {"id": urls if strings else ids, "score": score, "predicted": score >= 0.5}
            writer.write_table(pa.table(columns, schema=schema))
    return unfinished.rename(path)


def make_several(path: Path, millions: int, classifiers: int) -> Path:
    """Write int64 ids, and float32 scores of several classifiers that mostly agree."""
    if path.exists():
        return path
    rng = np.random.default_rng(47)
    kinds: dict[str, pa.DataType] = dict.fromkeys(_names(classifiers), pa.float32())
    schema = pa.schema({"id": pa.int64(), **kinds})
    unfinished = path.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, schema) as writer:
        for part in range(millions):
            base = rng.normal(-2.5, 2.7, AT_ONCE)
            columns = {"id": np.arange(part * AT_ONCE, (part + 1) * AT_ONCE)}
            for name in _names(classifiers):
                noisy = base + rng.normal(0.0, 1.2, AT_ONCE)
                columns[name] = (1 / (1 + np.exp(-noisy))).astype(np.float32)
            writer.write_table(pa.table(columns, schema=schema))
    return unfinished.rename(path)


def _names(classifiers: int) -> list[str]:
    return [f"p{place}" for place in range(classifiers)]


def make_more(path: Path, millions: int, aux: int) -> Path:
    """Write int64 ids, float32 scores, second opinions about the same, and lognormal weights."""
    if path.exists():
        return path
    rng = np.random.default_rng(48)
    names = ["score", *_opinions(aux), "weight"]
    kinds: dict[str, pa.DataType] = dict.fromkeys(names, pa.float32())
    schema = pa.schema({"id": pa.int64(), **kinds})
    unfinished = path.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, schema) as writer:
        for part in range(millions):
            base = rng.normal(-2.5, 3.0, AT_ONCE)
            columns = {"id": np.arange(part * AT_ONCE, (part + 1) * AT_ONCE)}
            for name in ("score", *_opinions(aux)):
                noisy = base + rng.normal(0.0, 1.2, AT_ONCE)
                columns[name] = (1 / (1 + np.exp(-noisy))).astype(np.float32)
            columns["weight"] = np.exp(rng.normal(0.0, 2.0, AT_ONCE)).astype(np.float32)
            writer.write_table(pa.table(columns, schema=schema))
    return unfinished.rename(path)


def _opinions(aux: int) -> list[str]:
    return [f"judge_{number}" for number in range(aux)]


def begin_more(path: Path, aux: int, weights: int) -> assay.Campaign:
    """Make a campaign with second opinions or weights, or without, and ask for items."""
    campaign = assay.create_campaign(
        assay.Scan(path, engine="duckdb"),
        id="id",
        score="score",
        threshold=0.5,
        metric="precision",
        within=0.02,
        aux=_opinions(aux),
        sample_weight="weight" if weights else None,
        seed=1,
    )
    campaign.ask(20)
    return campaign


def make_few(path: Path, rows: int = 10_000) -> Path:
    """Write the like with few rows."""
    score = np.linspace(0, 1, rows, dtype=np.float32)
    columns = {"id": np.arange(rows), "score": score, "predicted": score >= 0.5}
    pq.write_table(pa.table(columns), path)
    return path


def begin(path: Path) -> assay.Campaign:
    """Make a campaign with ten strata and some 2,000 cards of each in reserve."""
    return assay.create_campaign(
        assay.Scan(path, engine="duckdb"),
        id="id",
        score="score",
        predicted="predicted",
        metric="accuracy",
        budget=STRATA * RESERVE // 2,  # twice what the goal takes is put into the reserve
        design=assay.Design(bins=STRATA // 2),  # of each predicted label
        seed=1,
    )


def begin_several(path: Path, classifiers: int) -> assay.Campaign:
    """Make a campaign for the precision of each of several classifiers, and ask for items."""
    campaign = assay.create_campaign(
        assay.Scan(path, engine="duckdb"),
        id="id",
        classifiers={f"c{name}": (name, 0.5) for name in _names(classifiers)},
        metric="precision",
        within=0.02,
        seed=1,
    )
    campaign.ask(20)
    return campaign


def scan(path: Path, what: str) -> None:
    """Read columns, and do the least that DuckDB cannot answer from the file's statistics."""
    with duckdb.connect(config={"threads": THREADS}) as connection:
        connection.read_parquet(str(path)).aggregate(what).fetchall()


def cpu_seconds() -> float:
    """Return the CPU time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cost(work: str, path: Path, what: str) -> tuple[float, float]:
    """Return CPU seconds and seconds on the clock of one piece of work."""
    clock, cpu = time.perf_counter(), cpu_seconds()
    if work == "begin":
        begin(path)
    elif work == "several":
        begin_several(path, int(what))
    elif work == "more":
        begin_more(path, *map(int, what.split()))
    else:
        scan(path, what)
    return cpu_seconds() - cpu, time.perf_counter() - clock


def compare(path: Path, what: str) -> None:
    """Print the cost of beginning relative to bare scans, all in one process, in turns."""
    works = {
        f"scan: {what}": ("scan", what),
        f"scan: {what}, {SAME_COLUMNS}": ("scan", f"{what}, {SAME_COLUMNS}"),
        "create_campaign": ("begin", ""),
    }
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(4):
        for name, (work, columns) in works.items():
            costs[name].append(cost(work, path, columns))
    # The first round warms the file cache.
    cpu = {name: statistics.median(cpu for cpu, _ in runs[1:]) for name, runs in costs.items()}
    clock = {name: statistics.median(took for _, took in runs[1:]) for name, runs in costs.items()}
    two, three, whole = works
    for name in works:
        print(f"  {name:60s} {cpu[name]:7.2f} CPU s {clock[name]:7.2f} s")
    for name, of in (("id and score", two), ("all three columns", three)):
        ratios = f"{cpu[whole] / cpu[of]:.2f} of CPU, {clock[whole] / clock[of]:.2f} on the clock"
        print(f"  create_campaign / scan of {name:18s} {ratios}")


def compare_several(path: Path, classifiers: int) -> None:
    """Print what several classifiers cost relative to a bare scan of their columns, in turns."""
    what = ", ".join(f"sum({name})" for name in ["id", *_names(classifiers)])
    in_turns(path, scan=("scan", what), create_and_ask=("several", str(classifiers)))


def compare_more(path: Path, aux: int, weights: int) -> None:
    """Print what second opinions or weights cost relative to none, in turns."""
    in_turns(path, without=("more", "0 0"), with_them=("more", f"{aux} {weights}"))


def in_turns(path: Path, **works: tuple[str, str]) -> None:
    """Print the cost of two pieces of work, and the ratio of the second to the first."""
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(4):
        for name, (work, how) in works.items():
            costs[name].append(cost(work, path, how))
    medians = {
        name: [statistics.median(of) for of in zip(*runs[1:], strict=True)]
        for name, runs in costs.items()
    }
    for name, (cpu, clock) in medians.items():
        print(f"  {name:60s} {cpu:7.2f} CPU s {clock:7.2f} s")
    bare, whole = medians.values()
    print(f"  ratio {whole[0] / bare[0]:.1f} of CPU, {whole[1] / bare[1]:.1f} on the clock")


def peak_megabytes(path: Path, work: str = "begin", what: str = "") -> float:
    """Return the largest memory of a process of its own that makes the campaign."""
    processes = get_context("spawn")
    answer = processes.SimpleQueue()
    process = processes.Process(target=_tell_peak, args=(path, work, what, answer))
    process.start()
    process.join()
    return float(answer.get())


def _tell_peak(path: Path, work: str, what: str, answer: "SimpleQueue[float]") -> None:
    cost(work, path, what)
    answer.put(own_peak())


def own_peak() -> float:
    """Return the largest memory of this program so far, in MB.

    Linux counts into ``ru_maxrss`` what the process was before it became this program: a copy of
    the one that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def round_seconds(path: Path, rounds: int = 60) -> float:
    """Return the median time of asking for 20 items and telling their labels."""
    campaign = begin(path)
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        batch = campaign.ask(20)
        campaign.tell({item.id: int(item.id) % 3 > 0 for item in batch})
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def digest_cost(path: Path) -> None:
    """Print what the digest of string ids costs beside reading them."""
    read = min(cost("scan", path, "sum(length(id))")[0] for _ in range(3))
    word = "bit_xor(('0x' || left(sha256(id), 16))::UBIGINT)"
    digested = min(cost("scan", path, word)[0] for _ in range(3))
    print(f"  sum(length(id)) {read:.2f} CPU s; SHA-256 digest of each {digested:.2f} CPU s")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--millions", type=int, nargs="*", default=[10, 100, 300])
    parser.add_argument("--strings", type=int, default=0, help="millions of rows with URLs as ids")
    parser.add_argument("--classifiers", type=int, default=1, help="so many of one table")
    parser.add_argument("--aux", type=int, default=0, help="so many columns of second opinions")
    parser.add_argument("--weights", action="store_true", help="items count by weight")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.aux or options.weights:
        aux, weights = options.aux, int(options.weights)
        for millions in options.millions:
            path = options.folder / f"rows_more_{aux}_{millions}m.parquet"
            make_more(path, millions, aux)
            print(f"{millions} million rows, {aux} aux columns" + (", weights" * weights))
            compare_more(path, aux, weights)
            print(f"  peak memory {peak_megabytes(path, 'more', f'{aux} {weights}'):.0f} MB")
        return
    if options.classifiers > 1:
        several = options.classifiers
        for millions in options.millions:
            path = make_several(
                options.folder / f"rows_of_{several}_{millions}m.parquet", millions, several
            )
            print(f"{millions} million rows of {several} classifiers")
            compare_several(path, several)
            print(f"  peak memory {peak_megabytes(path, 'several', str(several)):.0f} MB")
        return
    if options.strings:
        path = make_rows(
            options.folder / f"urls_{options.strings}m.parquet", options.strings, strings=True
        )
        print(f"{options.strings} million rows with string ids, {path.stat().st_size / 1e6:.0f} MB")
        compare(path, STRINGS)
        digest_cost(path)
        print(f"  peak memory {peak_megabytes(path):.0f} MB")
        return
    for millions in options.millions:
        path = make_rows(options.folder / f"rows_{millions}m.parquet", millions)
        print(f"{millions} million rows, {path.stat().st_size / 1e6:.0f} MB")
        compare(path, INTEGERS)
        print(f"  peak memory {peak_megabytes(path):.0f} MB")
    few = make_few(options.folder / "rows_10k.parquet")
    many, small = round_seconds(path), round_seconds(few)
    print(f"ask and tell of 20: {1e3 * many:.1f} ms, over 10,000 rows {1e3 * small:.1f} ms")
    print(f"  ratio {many / small:.2f}")


if __name__ == "__main__":
    main()
