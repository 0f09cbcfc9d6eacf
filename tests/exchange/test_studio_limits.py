"""A Label Studio that answers without end: what it sends is limited in bytes, time and pages."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

import pytest

from assay.errors import ServiceError
from assay.exchange import LabelStudio, studio

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"


@contextmanager
def serving(answer: Callable[[int, socket.socket], None]) -> Iterator[LabelStudio]:
    """Serve `answer`, which takes the number of the request and its connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            number = 0
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    number += 1
                    with connection, suppress(OSError):
                        connection.recv(65_536)
                        connection.sendall(HEAD)
                        answer(number, connection)

        Thread(target=serve, daemon=True).start()
        yield LabelStudio(f"http://127.0.0.1:{server.getsockname()[1]}", "abc", timeout=1.0)
        server.shutdown(socket.SHUT_RDWR)


def say(connection: socket.socket, reply: Any) -> None:
    connection.sendall(json.dumps(reply).encode())


def endless(_: int, connection: socket.socket) -> None:
    while True:
        connection.sendall(b" " * 65_536)


def dripping(_: int, connection: socket.socket) -> None:
    connection.settimeout(0.05)
    while True:
        connection.sendall(b" ")
        with suppress(TimeoutError):
            connection.recv(1)


@pytest.mark.parametrize(("answer", "words"), [(endless, "exceeds"), (dripping, "takes over")])
def test_an_answer_that_never_ends_is_an_error_to_try_again(
    answer: Callable[[int, socket.socket], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studio, "_MOST_BYTES", 1_000_000)
    monkeypatch.setattr(studio, "_LONGEST", 1.0)
    with serving(answer) as there, pytest.raises(ServiceError, match=words):
        there.project(1)


def repeated_projects(_: int, connection: socket.socket) -> None:
    say(connection, {"results": [{"id": 1}], "next": "more"})


def repeated_tasks(_: int, connection: socket.socket) -> None:
    say(connection, {"tasks": [{"id": 7, "updated_at": "now"}] * 200, "total": 10_000_000})


def new_projects(number: int, connection: socket.socket) -> None:
    say(connection, {"results": [{"id": number, "title": "x" * 50_000}], "next": "more"})


@pytest.mark.parametrize(
    ("answer", "ask", "words"),
    [
        (repeated_projects, LabelStudio.projects, "same page"),
        (repeated_tasks, lambda there: there.tasks(1), "same page"),
        (repeated_tasks, lambda there: there.changed(1, {}), "same page"),
        (new_projects, LabelStudio.projects, "more than 1,000,000 bytes"),
    ],
)
def test_a_list_that_never_ends_is_an_error_to_try_again(
    answer: Callable[[int, socket.socket], None],
    ask: Callable[[LabelStudio], object],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(studio, "_MOST_LISTED", 1_000_000)
    with serving(answer) as there, pytest.raises(ServiceError, match=words):
        ask(there)


def test_pages_that_end_are_read_whole() -> None:
    def pages(number: int, connection: socket.socket) -> None:
        results = [{"id": 100 * number + place} for place in range(3)]
        say(connection, {"results": results, "next": "more" if number < 3 else None})

    with serving(pages) as there:
        assert [each["id"] for each in there.projects()] == [
            *(100, 101, 102),
            *(200, 201, 202),
            *(300, 301, 302),
        ]
