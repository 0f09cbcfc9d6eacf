"""Clients without a token that never finish a request, more of them than the server has files."""

import json
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from threading import Event, Thread

from tests.torture.sizes import report, sized
from tests.web.serving import Served, serving

FILES, CLIENTS = sized(128, 1024), sized(150, 1100)
SECONDS, REQUESTS = sized(2, 30), sized(12, 150)
MOST_LOGGED = sized(40_000, 250_000)  # bytes; it was 40 MB in 30 seconds

_HOST = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
_LONG = b"Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
BEGINNINGS = (
    b"POST /login" + _HOST + b"X-Slow: ",  # headers without an end
    b"POST /login" + _HOST + b"Sec-Fetch-Site: same-origin\r\n" + _LONG,  # a body without one
    b"POST /login" + _HOST + _LONG,  # a body that goes on after the answer, which is a refusal
    b"GET /login" + _HOST + b"\r\n",  # a whole request, and then the next one, slowly
)


class Crowd:
    """Half-sent requests that go on byte by byte; who is hung up on calls again."""

    def __init__(self, port: int) -> None:
        self._port, self._beginnings = port, cycle(BEGINNINGS)
        self._sockets: list[socket.socket] = []
        self._over = Event()
        self.calls = 0

    def run(self) -> None:
        """Keep the server waiting until it is over."""
        while not self._over.wait(0.1):
            gone = CLIENTS - len(self._sockets)
            for _ in range(gone if self.calls < CLIENTS else min(gone, 10)):
                self._call()
            for each in list(self._sockets):
                try:
                    each.send(b"x")
                except BlockingIOError:
                    pass
                except OSError:
                    each.close()
                    self._sockets.remove(each)
        for each in self._sockets:
            each.close()

    def stop(self) -> None:
        """Let them go."""
        self._over.set()

    def _call(self) -> None:
        # On a server that takes no more the call itself would wait.
        calling = socket.socket()
        calling.settimeout(1.0)
        try:
            calling.connect(("127.0.0.1", self._port))
            calling.send(next(self._beginnings))
        except OSError:
            calling.close()
            return
        calling.setblocking(False)
        self._sockets.append(calling)
        self.calls += 1


@contextmanager
def crowd(served: Served) -> Iterator[Crowd]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < CLIENTS + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, CLIENTS + 1000), hard))
    calling = Crowd(int(served.url.rpartition(":")[2]))
    thread = Thread(target=calling.run)
    thread.start()
    try:
        deadline = time.monotonic() + 30
        while calling.calls < CLIENTS and time.monotonic() < deadline:
            time.sleep(0.05)
        yield calling
    finally:
        calling.stop()
        thread.join()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def asks(served: Served, token: str, number: int) -> bool:
    """Tell whether a reviewer's request was answered, on a connection of its own."""
    port = int(served.url.rpartition(":")[2])
    calling = HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with suppress(OSError):
        calling.request("POST", "/api/review", json.dumps({"want": 1 + number % 3}), headers)
        response = calling.getresponse()
        items = json.loads(response.read()).get("items", [])
        calling.close()
        return response.status == 200 and len(items) == 1 + number % 3
    return False


def test_reviewers_are_served_while_others_never_finish(tmp_path: Path) -> None:
    with serving(tmp_path) as serve:
        served = serve(files=FILES, items=1000, budget=500)
        token = served.token("reviewer", "ann")
        assert asks(served, token, 0)
        with crowd(served) as calling:
            assert calling.calls >= CLIENTS
            began, answered = time.monotonic(), 0
            for number in range(REQUESTS):
                answered += asks(served, token, number)
                time.sleep(max(0.0, began + SECONDS * (number + 1) / REQUESTS - time.monotonic()))
            calls = calling.calls
        log = served.log()
    report(
        f"{CLIENTS} clients that never finish ({calls:,} calls) on {FILES} files: "
        f"{answered} of {REQUESTS} requests answered, {len(log):,} bytes logged"
    )
    assert answered == REQUESTS
    assert "Traceback" not in log
    assert len(log) < MOST_LOGGED
    assert "closed to make room" in log
