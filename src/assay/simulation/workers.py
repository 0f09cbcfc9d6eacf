"""Workers: many replications on all cores, with results independent of their number.

Replications are split into blocks of a fixed size, each with a random stream of its own that
depends on the seed, the task and the block alone.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from numbers import Integral
from typing import Protocol, Self

import numpy as np

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.procedures import Procedure
from assay.core.strata import Strata
from assay.core.types import Floats
from assay.errors import InputError
from assay.simulation.frames import Frame
from assay.simulation.oracle import Oracle, SetCounts, of_one, of_strata
from assay.simulation.runs import Runs, Watch, replay, stream_of

BLOCK = 1000  # replications; large enough for numpy, small enough to share out


class Replayed(Protocol):
    """Interface of replayable objects: a `Task`, or something else that ends in `Runs`.

    Its replications are run in blocks of fixed size, each with a random stream of its own.
    """

    @property
    def block(self) -> int:
        """Number of replications in a block."""

    def replay(self, replications: int, *, key: Sequence[int]) -> Runs:
        """Run it this many times on the random stream of `key` and its own."""


@dataclass(frozen=True, eq=False)
class Task:
    """One procedure on one population; `asked` is that of `replay`.

    `name` and `stream` choose the random stream, so a task's numbers do not depend on what runs
    beside it.
    """

    name: str
    procedure: Procedure
    oracle: Oracle
    stream: tuple[int, ...] = ()
    asked: int = 20
    block: int = BLOCK

    @classmethod
    def of_one(cls, name: str, frame: Frame, design: Design, goal: Goal, asked: int = 20) -> Self:
        """One design for one metric."""
        inputs = (design, goal, frame.metric, frame.sizes, frame.outcomes)
        return cls(name, *of_one(*inputs), (goal.budget or 0,), asked)

    @classmethod
    def of_strata(
        cls,
        name: str,
        design: Design,
        goal: Goal,
        strata: Strata,
        outcomes: Floats | SetCounts,
        *,
        asked: int = 20,
        block: int = BLOCK,
    ) -> Self:
        """Design for a goal on strata; `outcomes` as in `oracle.of_strata`."""
        stream = (goal.budget or 0,) if goal.single else ()
        return cls(name, *of_strata(design, goal, strata, outcomes), stream, asked, block)

    def replay(self, replications: int, *, key: Sequence[int], watch: Watch | None = None) -> Runs:
        """Run the task this many times on the random stream of `key` and its own."""
        stream = stream_of(self.name, key, *self.stream)
        if not self.procedure.runs_alone:
            return self._replayed(replications, np.random.default_rng(stream), watch)
        rngs = [np.random.default_rng([*stream, number]) for number in range(replications)]
        return Runs.joined([self._replayed(1, rng, watch) for rng in rngs])

    def _replayed(self, replications: int, rng: np.random.Generator, watch: Watch | None) -> Runs:
        return replay(
            self.procedure.drawn_by(rng),
            self.oracle,
            replications=replications,
            rng=rng,
            asked=self.asked,
            watch=watch,
        )


def run_tasks(
    tasks: Sequence[Replayed],
    *,
    replications: int,  # evaluations a task
    seed: int,  # fixes all numbers
    # Processes; default: one per core, for which a script needs the usual ``if __name__ ==
    # "__main__":``. 1 works in this process.
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,  # called with the share that is done
) -> list[Runs | None]:
    """Replay every task; None for a task without finished blocks at an interruption.

    Ctrl-C ends the work and keeps the finished blocks.
    """
    for name, number, least in (
        ("replications", replications, 1),
        ("seed", seed, 0),
        ("workers", 1 if workers is None else workers, 1),
    ):
        if not isinstance(number, Integral) or number < least:
            raise InputError(f"{name} must be a whole number of at least {least}, got {number!r}")
    jobs = [
        (index, block, min(task.block, replications - start))
        for index, task in enumerate(tasks)
        for block, start in enumerate(range(0, replications, task.block))
    ]
    done: dict[tuple[int, int], Runs] = {}
    try:
        for index, block, runs in _results(tasks, jobs, seed, workers or os.cpu_count() or 1):
            done[index, block] = runs
            if progress is not None:
                progress(len(done) / len(jobs))
    except KeyboardInterrupt:
        pass
    parts: list[list[Runs]] = [[] for _ in tasks]
    for index, block, _ in jobs:
        if (index, block) in done:
            parts[index].append(done[index, block])
    return [type(blocks[0]).joined(blocks) if blocks else None for blocks in parts]


Job = tuple[int, int, int]
Result = tuple[int, int, Runs]


def _results(
    tasks: Sequence[Replayed], jobs: list[Job], seed: int, workers: int
) -> Iterator[Result]:
    if workers == 1 or len(jobs) == 1:
        for job in jobs:
            yield _run(tasks[job[0]], job, seed)
        return
    # Fresh processes do not inherit threads or locks of a notebook.
    afresh = get_context("spawn")
    wanted, want = afresh.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers, mp_context=afresh, initializer=_work_while, initargs=(wanted,)
    )
    try:
        with _ctrl_c_left_to_this_process():
            futures: list[Future[Result]] = [
                pool.submit(_run, tasks[job[0]], job, seed) for job in jobs
            ]
        for future in as_completed(futures):
            yield future.result()
        pool.shutdown()
    except BrokenProcessPool:
        raise InputError(
            "the worker processes could not be started",
            hint="in a script of your own, call this below `if __name__ == '__main__':`, "
            "or pass workers=1",
        ) from None
    finally:
        want.close()
        pool.shutdown(cancel_futures=True)
        wanted.close()


def _work_while(wanted: Connection) -> None:
    """End this worker as soon as its result is no longer wanted.

    A block may take a minute. After Ctrl-C the other end of the pipe is closed. It is also closed
    if the parent process is killed: its workers would otherwise wait for it forever.
    """

    def wait() -> None:
        with suppress(EOFError, OSError):
            wanted.recv_bytes()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def _ctrl_c_left_to_this_process() -> Iterator[None]:
    """Let processes that are started meanwhile ignore Ctrl-C, which they inherit."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _run(task: Replayed, job: Job, seed: int) -> Result:
    index, block, replications = job
    return index, block, task.replay(replications, key=[seed, block])
