"""Workers: many replications on all cores, with the same numbers however many there are.

Replications are split into blocks of a fixed size, each with a random stream of its own that
depends on the seed, the task and the block alone.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from numbers import Integral
from typing import Protocol, Self
from zlib import crc32

import numpy as np

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.types import Floats, Ints
from assay.errors import InputError
from assay.simulation.population import Frame
from assay.simulation.runs import Runs, Watch, replay

BLOCK = 1000  # replications; large enough for numpy, small enough to share out


class Replayed(Protocol):
    """What can be run many times: a `Task`, or something else that ends in `Runs`."""

    def replay(self, replications: int, *, key: Sequence[int]) -> Runs:
        """Run it so many times on the random stream of `key` and its own."""


@dataclass(frozen=True, eq=False)
class Task:
    """One design for one goal on one population.

    `name` and the goal's budget choose the random stream, so a task's numbers do not depend on
    what runs beside it. `asked` is that of `replay`.
    """

    name: str
    frame: Frame
    design: Design
    goal: Goal
    asked: int = 20

    @property
    def stream(self) -> tuple[int, int]:
        """The part of the random key that is the task's own."""
        return crc32(self.name.encode()), self.goal.budget or 0

    def replay(self, replications: int, *, key: Sequence[int], watch: Watch | None = None) -> Runs:
        """Run the task so many times on the random stream of `key` and its own."""
        seed, *rest = key
        return replay(
            self.design,
            self.goal,
            self.frame.metric,
            sizes=self.frame.sizes,
            outcomes=self.frame.outcomes,
            replications=replications,
            rng=np.random.default_rng([seed, *self.stream, *rest]),
            asked=self.asked,
            watch=watch,
        )


def run_tasks(
    tasks: Sequence[Replayed],
    *,
    replications: int,
    seed: int,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Runs | None]:
    """Replay every task; None for a task of which nothing was finished before an interruption.

    Parameters
    ----------
    tasks : sequence of Task, or of others that end in `Runs`
    replications : int
        Evaluations a task.
    seed : int
        Fixes all numbers.
    workers : int, optional
        Processes; otherwise one a core, for which a script needs the usual
        ``if __name__ == "__main__":``. 1 works in this process.
    progress : callable, optional
        Told the share that is done.

    Notes
    -----
    Ctrl-C ends the work and leaves what was finished.
    """
    for name, number, least in (
        ("replications", replications, 1),
        ("seed", seed, 0),
        ("workers", 1 if workers is None else workers, 1),
    ):
        if not isinstance(number, Integral) or number < least:
            raise InputError(f"{name} must be a whole number of at least {least}, got {number!r}")
    starts = range(0, replications, BLOCK)
    jobs = [
        (index, block, min(BLOCK, replications - start))
        for index in range(len(tasks))
        for block, start in enumerate(starts)
    ]
    done: dict[tuple[int, int], Runs] = {}
    try:
        for index, block, runs in _results(tasks, jobs, seed, workers or os.cpu_count() or 1):
            done[index, block] = runs
            if progress is not None:
                progress(len(done) / len(jobs))
    except KeyboardInterrupt:
        pass
    parts = [
        [done[index, block] for block in range(len(starts)) if (index, block) in done]
        for index in range(len(tasks))
    ]
    return [Runs.joined(blocks) if blocks else None for blocks in parts]


Job = tuple[int, int, int]
Result = tuple[int, int, Runs]


def _results(
    tasks: Sequence[Replayed], jobs: list[Job], seed: int, workers: int
) -> Iterator[Result]:
    if workers == 1 or len(jobs) == 1:
        for job in jobs:
            yield _run(tasks[job[0]], job, seed)
        return
    # Processes that are started afresh inherit no threads or locks of a notebook's.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        with _ctrl_c_left_to_this_process():
            futures: list[Future[Result]] = [
                pool.submit(_run, tasks[job[0]], job, seed) for job in jobs
            ]
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool:
        raise InputError(
            "the worker processes could not be started",
            hint="in a script of your own, call this below `if __name__ == '__main__':`, "
            "or say workers=1",
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _ctrl_c_left_to_this_process() -> Iterator[None]:
    """Let processes that are started meanwhile ignore Ctrl-C, which they inherit."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say how signals are handled
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _run(task: Replayed, job: Job, seed: int) -> Result:
    index, block, replications = job
    return index, block, task.replay(replications, key=[seed, block])


# Many replications of several designs, in blocks whose numbers depend on seed and design alone.

_BLOCK = 200  # replications: enough for numpy, few enough to tell how far the work is


@dataclass(frozen=True, eq=False)
class SeveralRuns:
    """How each replication ended.

    Attributes
    ----------
    labels : array of int, shape (runs,)
        Distinct items that were labelled.
    value : array, shape (runs, targets)
        The estimates.
    counted : array, shape (runs, targets)
        The labelled items that each target was read off.
    low, high : array, shape (runs, targets), optional
        The intervals, where the design gives some.
    """

    labels: Ints
    value: Floats
    counted: Floats
    low: Floats | None = None
    high: Floats | None = None

    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self:
        """Return the runs of several blocks of one design as one."""
        return cls(
            labels=np.concatenate([each.labels for each in blocks]),
            value=np.concatenate([each.value for each in blocks]),
            counted=np.concatenate([each.counted for each in blocks]),
            low=_together([each.low for each in blocks]),
            high=_together([each.high for each in blocks]),
        )


Replay = Callable[[int, np.random.Generator], SeveralRuns]
"""Runs a design so many times."""


def run_blocks(
    replays: Mapping[str, Replay],
    *,
    replications: int,
    seed: int,
    progress: Callable[[float], None] | None,
) -> dict[str, SeveralRuns]:
    """Replay every design; Ctrl-C ends the work and leaves what was finished.

    Parameters
    ----------
    replays : mapping of design names to Replay
    replications, seed, progress
        As in `simulate`.

    Examples
    --------
    >>> def replay(n, rng):
    ...     return SeveralRuns(rng.integers(10, size=n), rng.random((n, 1)), np.ones((n, 1)))
    >>> runs = run_blocks({"a": replay}, replications=250, seed=1, progress=None)
    >>> runs["a"].value.shape
    (250, 1)
    """
    done: dict[str, list[SeveralRuns]] = {}
    finished = 0
    try:
        for name, replay in replays.items():
            for block, start in enumerate(range(0, replications, _BLOCK)):
                rng = np.random.default_rng([seed, crc32(name.encode()), block])
                size = min(_BLOCK, replications - start)
                done.setdefault(name, []).append(replay(size, rng))
                finished += size
                if progress is not None:
                    progress(finished / (replications * len(replays)))
    except KeyboardInterrupt:
        pass
    return {name: SeveralRuns.joined(blocks) for name, blocks in done.items()}


def _together(arrays: Sequence[Floats | None]) -> Floats | None:
    known = [array for array in arrays if array is not None]
    return np.concatenate(known) if known else None
