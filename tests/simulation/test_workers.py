"""The same numbers whatever the number of processes, and what is left after Ctrl-C."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.goal import Goal
from assay.simulation import Population, Runs, Task, named_design, run_tasks
from assay.simulation.workers import BLOCK

SEED = 3
RUNS = 2 * BLOCK + 500


def population() -> Population:
    rng = np.random.default_rng(1)
    score = rng.beta(3, 1, 4000)
    return Population(y_true=rng.random(4000) < score, y_score=score, threshold=0.5)


def tasks(*names: str, budgets: tuple[int, ...] = (30,)) -> list[Task]:
    items = population()
    return [
        Task.of_one(
            name, items.frame(design, "precision"), design, Goal("precision", budget=budget)
        )
        for budget in budgets
        for name in names
        for design in [named_design(name) if name in ("random", "perc-opt") else Design(bins=2)]
    ]


def numbers(runs: Runs | None) -> list[list[float]]:
    assert runs is not None
    return [runs.labels.tolist(), runs.value.tolist(), runs.low.tolist(), runs.reason.tolist()]


def test_the_same_numbers_with_1_and_3_workers() -> None:
    """With 2, which is what most machines have cores for, see the next test."""
    asked = tasks("random", "perc-opt")
    one, three = (
        [numbers(runs) for runs in run_tasks(asked, replications=RUNS, seed=SEED, workers=workers)]
        for workers in (1, 3)
    )
    assert one == three
    assert all(len(labels) == RUNS for labels, *_ in one)
    other = run_tasks(asked, replications=RUNS, seed=SEED + 1, workers=1)
    assert numbers(other[0]) != one[0]


def test_left_open_there_is_a_process_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Pool(ProcessPoolExecutor):
        def __init__(self, workers: int, **more: Any) -> None:
            started.append(workers)
            super().__init__(workers, **more)

    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("assay.simulation.workers.ProcessPoolExecutor", Pool)
    asked = tasks("random", "perc-opt")
    two, one = (run_tasks(asked, replications=10, seed=SEED, workers=each) for each in (None, 1))
    assert started == [2]
    assert list(map(numbers, two)) == list(map(numbers, one))


def test_the_same_numbers_whatever_runs_beside() -> None:
    (alone,) = run_tasks(tasks("perc-opt"), replications=300, seed=SEED, workers=1)
    beside = run_tasks(
        tasks("random", "ours", "perc-opt", budgets=(20, 30)),
        replications=300,
        seed=SEED,
        workers=1,
    )
    assert numbers(beside[-1]) == numbers(alone)


def test_blocks_budgets_and_designs_have_streams_of_their_own() -> None:
    (runs,) = run_tasks(tasks("random"), replications=2 * BLOCK, seed=SEED, workers=1)
    assert runs is not None
    assert runs.value[:BLOCK].tolist() != runs.value[BLOCK:].tolist()
    streams = {
        (task.name, task.stream) for task in tasks("random", "perc-opt", "ours", budgets=(20, 30))
    }
    assert len(streams) == 6


def test_progress_rises_to_1() -> None:
    told: list[float] = []
    run_tasks(
        tasks("random", "ours"), replications=RUNS, seed=SEED, workers=1, progress=told.append
    )
    assert told == sorted(told)
    assert len(told) == 6
    assert told[-1] == 1.0


@pytest.mark.parametrize("finished", [1, 2, 4])
def test_ctrl_c_leaves_what_was_finished(finished: int) -> None:
    told: list[float] = []

    def press(share: float) -> None:
        told.append(share)
        if len(told) == finished:
            raise KeyboardInterrupt

    asked = tasks("random", "perc-opt")
    runs = run_tasks(asked, replications=RUNS, seed=SEED, workers=1, progress=press)
    whole = run_tasks(asked, replications=RUNS, seed=SEED, workers=1)
    blocks = [min(finished, 3), max(finished - 3, 0)]
    for part, complete, number in zip(runs, whole, blocks, strict=True):
        labels = min(number * BLOCK, RUNS)
        assert (part is None) == (number == 0)
        if part is not None and complete is not None:
            assert part.value.tolist() == complete.value[:labels].tolist()


@dataclass(frozen=True)
class Endless:
    """A block that is done at once, and others that take longer than anybody waits."""

    folder: Path
    block: int = 1

    def replay(self, replications: int, *, key: Sequence[int]) -> Runs:
        if key[1]:
            (self.folder / str(os.getpid())).touch()
            time.sleep(1000)
        return tasks("random")[0].replay(replications, key=key)


def check_all_end(folder: Path) -> None:
    """Wait until the processes that an endless block was begun in are gone."""
    until = time.monotonic() + 20
    begun = [Path("/proc") / file.name for file in folder.iterdir()]
    while any(process.exists() for process in begun):
        assert time.monotonic() < until, "a worker goes on"
        time.sleep(0.05)
    assert begun


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc to look into")
def test_ctrl_c_does_not_wait_for_blocks_that_are_under_way(tmp_path: Path) -> None:
    def press(_share: float) -> None:
        while not any(tmp_path.iterdir()):
            time.sleep(0.01)
        raise KeyboardInterrupt

    (runs,) = run_tasks([Endless(tmp_path)], replications=3, seed=1, workers=2, progress=press)
    assert runs is not None
    assert runs.labels.size == 1
    check_all_end(tmp_path)


ASKS = """
import sys
from pathlib import Path
from assay.simulation import run_tasks
from tests.simulation.test_workers import Endless
if __name__ == "__main__":
    run_tasks([Endless(Path(sys.argv[1]))], replications=2, seed=1, workers=2)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc to look into")
def test_workers_end_with_the_process_that_asked_though_it_is_killed(tmp_path: Path) -> None:
    program, begun = tmp_path / "program.py", tmp_path / "begun"
    program.write_text(ASKS)
    begun.mkdir()
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, program, begun], env=here) as asking:
        until = time.monotonic() + 60
        while not any(begun.iterdir()) and time.monotonic() < until:
            time.sleep(0.05)
        asking.kill()
    check_all_end(begun)
