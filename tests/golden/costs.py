"""Costs of beginning a campaign at 3 million rows, as multiples of a simple piece of work.

CPU seconds depend on the machine and on what else runs. A ratio within one run depends on them far
less: memory is compared with `numpy.argsort` of 3 million numbers, DuckDB with one scan of the
columns. The median of three rounds counts, after one that is left aside.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import assay
from assay.predictions.scan import Engine
from benchmarks.any_size import cpu_seconds, make_several, scan
from tests.golden import recorded

MILLIONS = 3
ROUNDS = 3
TOLERANCE = 1.5
NAMES = [f"p{place}" for place in range(4)]


def begin(path: Path, engine: Engine, classifiers: int) -> None:
    """Create a campaign and ask for the first items."""
    given: dict[str, Any] = {"score": "p0", "threshold": 0.5}
    if classifiers > 1:
        given = {"classifiers": {name: {"score": name, "threshold": 0.5} for name in NAMES}}
    source = assay.Scan(path, engine=engine)
    assay.create_campaign(source, id="id", **given, within=0.02, seed=1).ask(20)


def measured(work: Callable[[], object], unit: Callable[[], object]) -> float:
    """CPU time of some work over that of a unit of work, run in turns."""
    took: dict[Callable[[], object], list[float]] = {work: [], unit: []}
    for _ in range(ROUNDS + 1):
        for each, times in took.items():
            start = cpu_seconds()
            each()
            times.append(cpu_seconds() - start)
    return median(took[work][1:]) / median(took[unit][1:])


def ratios() -> dict[str, float]:
    """The cost of each engine for one classifier and for four."""
    numbers = np.random.default_rng(1).random(MILLIONS * 1_000_000)
    found = {}
    with TemporaryDirectory() as folder:
        path = make_several(Path(folder) / "rows.parquet", MILLIONS, len(NAMES))
        for classifiers in (1, len(NAMES)):
            columns = ", ".join(f"sum({name})" for name in ["id", *NAMES[:classifiers]])
            units: dict[Engine, Callable[[], object]] = {
                "memory": lambda: np.argsort(numbers),
                "duckdb": lambda columns=columns: scan(path, columns),  # type: ignore[misc]
            }
            for engine, unit in units.items():
                # Bound now: the loop goes on.
                def work(engine: Engine = engine, classifiers: int = classifiers) -> None:
                    begin(path, engine, classifiers)

                found[f"{engine}, classifiers: {classifiers}"] = measured(work, unit)
    return found


def main(*, record: bool) -> int:
    """Print the ratios beside the recorded ones. Return 1 if one is 1.5 times as high."""
    found = {name: float(f"{ratio:.3g}") for name, ratio in ratios().items()}
    kept = recorded.recorded("costs")
    if record:
        kept.clear()
        kept.update(found)
        recorded.write("costs")
    code = 0
    for name, ratio in found.items():
        before = kept.get(name, 0.0)
        worse = ratio > TOLERANCE * before
        state = f"over {TOLERANCE} times the recorded ratio" if worse else "same"
        sys.stdout.write(f"costs  {name:24} {ratio:8.3g}  recorded {before:8.3g}  {state}\n")
        code |= int(worse)
    return code
