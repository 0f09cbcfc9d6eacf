"""A campaign that is really served: ``assay serve`` in a process of its own, on a free port."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import httpx2

import assay
from assay import Campaign, Design
from assay.storage import open_store
from assay.web import Options, digest_of, new_token
from assay.web.connections import Limits
from assay.web.serve import address_of, listen, make_server

T = TypeVar("T")

PATIENCE = 40.0  # seconds to wait for a busy machine


def make_campaign(storage: str, *, items: int = 60, **changed: Any) -> Campaign:
    """Make the campaign `spam`, of items that show a subject; `changed` goes to the library."""
    scores = [round((number * 0.6180339887 + 0.1) % 1, 6) for number in range(items)]
    columns = {
        "id": [f"m{number:03d}" for number in range(items)],
        "p": scores,
        "subject": [f"subject of item {number}" for number in range(items)],
    }
    given: dict[str, Any] = {"predictions": columns, "id": "id", "score": "p", "threshold": 0.5}
    given |= {"show": ["subject"], "budget": 30, "name": "spam", "storage": storage}
    given |= changed
    return assay.create_campaign(given.pop("predictions"), **given)


def make_campaign_without_predictions(storage: str, **changed: Any) -> Campaign:
    """Make a campaign that can give out 40 items; for more, its predictions are no longer there."""
    items = 600  # in one stratum all but a few, so that the reserve, which is even, ends soon
    columns = {
        "id": [f"m{number:03d}" for number in range(items)],
        "p": [min(0.5 + 0.03 * number, 0.999) for number in range(items)],
        "subject": [f"subject of item {number}" for number in range(items)],
    }
    design = Design(strata="equal", bins=16, allocation="pps")
    made = make_campaign(storage, predictions=columns, budget=300, design=design, **changed)
    return assay.load_campaign(made.name, storage=storage)


def add_token(storage: str, role: str, who: str, name: str = "spam") -> str:
    """Return a new token, as `assay token add` makes it."""
    token = new_token()
    with open_store(storage).write() as session:
        session.add_token(name, role, who, digest_of(token))
    return token


class Served:
    """A server that runs. It ends with the test."""

    def __init__(
        self, storage: str, name: str, folder: Path, args: Sequence[str], files: int | None = None
    ) -> None:
        self.storage, self.name, self._files = storage, name, files
        self._args, self._log = tuple(args), folder / f"serve-{time.monotonic_ns()}.log"
        self._port = 0
        self.start()

    def start(self) -> None:
        """Start it; after `stop` or `kill` on the same port as before."""
        words = ["serve", self.name, "--storage", self.storage, "--json", *self._args]
        limited = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(self._files)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *([] if self._files is None else limited),
                    *(sys.executable, "-m", "assay", *words, "--port", str(self._port)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        said = ""
        while not said.rstrip().endswith("\n}"):
            line = self._process.stdout.readline()
            assert line, f"the server did not start:\n{self.log()}"
            said += line
        document = json.loads(said)
        self.printed = said
        self.url: str = document["address"]
        self.login: str = document["login"]
        self.owner = self.login.partition("#")[
            2
        ]  # the token of this run; empty where there is none
        self._port = int(self.url.rpartition(":")[2])

    def token(self, role: str, who: str) -> str:
        """Return a new token for somebody."""
        return add_token(self.storage, role, who, self.name)

    def link(self, token: str | None = None) -> str:
        """Return the link that logs somebody in; the owner of this run, if no token is given."""
        return f"{self.url}/login#{token or self.owner}"

    @contextmanager
    def client(self, token: str | None = None) -> Iterator[httpx2.Client]:
        """Return a program that has a token; no environment's proxy is between."""
        headers = {"Authorization": f"Bearer {token or self.owner}"}
        with httpx2.Client(
            base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False
        ) as client:
            yield client

    def log(self) -> str:
        """Return all that it has written on its standard error stream."""
        return self._log.read_text()

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it as a person would, and keep what else it has printed."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(how)
        rest, _ = self._process.communicate(timeout=PATIENCE)
        self.printed += rest
        self.returned = self._process.returncode


Serve = Callable[..., Served]


@contextmanager
def serving(folder: Path) -> Iterator[Serve]:
    """Give a function that serves a campaign; all that still runs at the end is ended.

    ``serve(storage=None, args=(), **changed)`` makes the campaign `spam` with `make_campaign`,
    unless a `storage` that holds it already is given as ``existing=``. With `files` the server may
    have no more of them open at a time.
    """
    started: list[Served] = []

    def serve(
        storage: str | None = None,
        *,
        existing: str | None = None,
        args: Sequence[str] = (),
        files: int | None = None,
        **changed: Any,
    ) -> Served:
        url = existing or storage or f"sqlite:///{folder / f'served-{len(started)}.db'}"
        if existing is None:
            make_campaign(url, **changed)
        started.append(Served(url, changed.get("name", "spam"), folder, args, files))
        return started[-1]

    yield serve
    for each in started:
        each.kill()


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a thread of its own: in this one a browser's loop may run."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@contextmanager
def in_thread(
    campaign: Campaign,
    options: Options | None = None,
    proxy: str | None = None,
    limits: Limits | None = None,
) -> Iterator[str]:
    """Serve a campaign from a thread of this process, which starts at once; give its address."""
    listening = listen("127.0.0.1", 0, limits)
    server = make_server(campaign, options or Options(), listening, proxy=proxy)
    thread = Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield address_of(listening, "127.0.0.1")
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def routes_logged(log: str) -> list[str]:
    """Return method, route and status of every request in a log."""
    return re.findall(r"^\S+ (\S+ \S+ \d+) \S+ ms$", log, re.MULTILINE)


def of_classes(classes: Sequence[str] | Mapping[str, Any], items: int = 60) -> dict[str, Any]:
    """Return what `make_campaign` is given for a campaign of so many classes."""
    names = list(classes)
    columns = {
        "id": [f"m{number:03d}" for number in range(items)],
        "topic": [names[number * 7 % len(names)] for number in range(items)],
        "p": [round(0.3 + 0.7 * ((number * 0.6180339887) % 1), 6) for number in range(items)],
        "subject": [f"subject of item {number}" for number in range(items)],
    }
    given = {"predictions": columns, "threshold": None, "predicted": "topic", "classes": classes}
    return {**given, "metrics": ["accuracy", "macro_f1"]}


def of_label_sets(classes: Sequence[str] | Mapping[str, Any], items: int = 60) -> dict[str, Any]:
    """Return the same for items that may have several of so many classes."""
    names = list(classes)
    scores = [
        [round((number * 0.6180339887 + place * 0.3247179) % 1, 6) for place in range(len(names))]
        for number in range(items)
    ]
    columns = {
        "id": [f"m{number:03d}" for number in range(items)],
        "p": scores,
        "subject": [f"subject of item {number}" for number in range(items)],
    }
    given = {"predictions": columns, "threshold": 0.5, "score": None, "probabilities": "p"}
    return {**given, "classes": classes, "multilabel": True, "metrics": ["precision", "recall"]}
