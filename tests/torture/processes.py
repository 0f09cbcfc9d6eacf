"""Processes that can be killed: forked from one that has imported everything, so they start fast.

What they run is what a person would run: the library, or the command ``assay serve``.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from socket import create_connection, create_server
from typing import Any

from tests.web.serving import add_token

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("tests.preloaded", "psycopg", "tests.torture.workers", "uvicorn.protocols.http.auto"),
        *("uvicorn.loops.auto", "uvicorn.lifespan.on", "encodings.idna"),
    ]
)

PATIENCE = 60.0


def begin(work: Callable[..., None], *args: Any) -> BaseProcess:
    """Start a process."""
    process = FORKS.Process(target=work, args=args, daemon=True)
    process.start()
    return process


def kill(process: BaseProcess) -> None:
    """End a process as ``kill -9`` does, and wait until it is gone."""
    process.kill()
    process.join(PATIENCE)
    process.close()


class Served:
    """The command ``assay serve``, in a process that can be killed and started again."""

    name = "spam"

    def __init__(self, storage: str, log: Path, *words: str) -> None:
        with create_server(("127.0.0.1", 0)) as probe:
            self.port = int(probe.getsockname()[1])
        self.storage, self.url = storage, f"http://127.0.0.1:{self.port}"
        self.words = ["serve", self.name, "--storage", storage, "--port", str(self.port), *words]
        self._log = log

    def start(self) -> None:
        """Start it, and wait until it can be reached."""
        self.process = begin(run_command, self.words, str(self._log))
        self.wait_for(self.process.is_alive)

    def wait_for(self, is_alive: Callable[[], bool]) -> None:
        """Wait until it can be reached."""
        deadline = time.monotonic() + PATIENCE
        while True:
            assert is_alive(), f"the server did not start:\n{self.log()}"
            try:
                create_connection(("127.0.0.1", self.port)).close()
            except ConnectionRefusedError:
                assert time.monotonic() < deadline, f"the server is too slow:\n{self.log()}"
                time.sleep(0.005)
            else:
                return

    def token(self, who: str, role: str) -> str:
        """Return a new token for somebody."""
        return add_token(self.storage, role, who)

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        kill(self.process)

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        os.kill(self.process.pid or 0, 2)
        self.process.join(PATIENCE)
        assert self.process.exitcode == 0, self.log()

    def log(self) -> str:
        """Return what it has printed."""
        return self._log.read_text() if self._log.exists() else ""


def run_command(words: list[str], log: str) -> None:
    """Run Assay's command line in this process."""
    from assay.cli import main

    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(written, 1)
    os.dup2(written, 2)
    sys.argv = ["assay", *words]
    main()


@contextmanager
def serving(storage: str, folder: Path, *words: str, servers: int = 1) -> Iterator[list[Served]]:
    """Give servers that run; they end with the block."""
    with ExitStack() as stack:
        every = []
        for number in range(servers):
            served = Served(storage, folder / f"serve-{number}.log", *words)
            served.start()
            stack.callback(_end, served)
            every.append(served)
        yield every


def _end(served: Served) -> None:
    if not getattr(served.process, "_closed", False):
        kill(served.process)
