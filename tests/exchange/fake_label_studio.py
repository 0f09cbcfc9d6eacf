"""As much of Label Studio's API as a connection uses, and faults that the real one does not show.

What the real one does is tested with the real one (`test_label_studio_real.py`, tests/torture).
"""

import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.exchange.label_studio_server import answered

Fault = int | str


class Fake:
    """A server that can be told to fail: its next requests meet the faults, in their order.

    A number is a status, ``drop`` loses the reply of what was done, ``slow`` is late with it,
    ``html`` is a page, and an empty text is none.
    """

    def __init__(self, answer: Callable[[str], str | None] | None = None) -> None:
        self.faults: deque[Fault] = deque()
        self.projects: dict[int, dict[str, Any]] = {}
        self.tasks: dict[int, dict[str, Any]] = {}
        self.hooks: dict[int, dict[str, Any]] = {}
        self.requests: list[tuple[str, str, str]] = []
        self.access = "one"
        self._answer, self._numbers, self._now = answer, count(1), count(1)

    def annotate(self, task: int, choice: str | None, *, who: int = 1, number: int = 0) -> int:
        """Answer a task, or change an answer."""
        number = number or next(self._numbers)
        said = {"id": number, "completed_by": who, "result": [answered(choice)] if choice else []}
        said |= {"was_cancelled": choice is None, "updated_at": self._time()}
        others = [each for each in self.tasks[task]["annotations"] if each["id"] != number]
        self.tasks[task]["annotations"] = [*others, said]
        self.tasks[task]["updated_at"] = self._time()
        return number

    def forget(self, task: int) -> None:
        """Delete a task's answers."""
        self.tasks[task] |= {"annotations": [], "updated_at": self._time()}

    def add(self, project: int, data: dict[str, Any]) -> int:
        """Make a task."""
        number = next(self._numbers)
        task = {"id": number, "project": project, "data": data, "annotations": [], "overlap": 1}
        self.tasks[number] = {**task, "updated_at": self._time(), "draft_exists": False}
        said = None if self._answer is None else self._answer(data.get("assay_id", ""))
        if said is not None:
            self.annotate(number, said)
        return number

    def of(self, item: str) -> list[int]:
        """Return the numbers of an item's tasks."""
        return [n for n, task in self.tasks.items() if task["data"].get("assay_id") == item]

    def _time(self) -> str:
        return f"2026-11-17T00:00:00.{next(self._now):06}Z"

    def reply(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        """Return what a request gets; a number is a status."""
        _, kind, *rest = path.strip("/").split("/")
        number = int(rest[0]) if rest and rest[0].isdigit() else 0
        if kind == "token":
            self.access += "!"
            return {"access": self.access}
        if kind == "projects":
            return self._on_projects(method, number, rest, body)
        if method == "GET" and kind == "tasks":
            return self._list(query) if int(query["project"]) in self.projects else 404
        return self._on(self.tasks if kind == "tasks" else self.hooks, method, number, body)

    def _on_projects(self, method: str, number: int, rest: list[str], body: Any) -> Any:
        if not rest and method == "GET":
            return {"next": None, "results": list(self.projects.values())}
        if rest[1:] == ["import"]:
            return {"task_ids": [self.add(number, task["data"]) for task in body]}
        if number in self.projects and method == "GET":
            return self.projects[number]
        return self._on(self.projects, method, number, body)

    def _on(self, things: dict[int, dict[str, Any]], method: str, number: int, body: Any) -> Any:
        if method == "GET":
            return 404 if number else list(things.values())
        if method == "POST":
            number = next(self._numbers)
            things[number] = {"id": number, **body}
        elif number not in things:
            return 404
        elif method == "PATCH":
            things[number] |= body
        else:
            del things[number]
        return {"id": number}

    def _list(self, query: dict[str, str]) -> dict[str, Any]:
        wanted, size, page = json.loads(query["query"]), int(query["page_size"]), int(query["page"])
        tasks = [each for each in self.tasks.values() if each["project"] == int(query["project"])]
        total = len(tasks)
        if filters := wanted.get("filters"):
            above = filters["items"][0]["value"]
            tasks = [each for each in tasks if each["id"] > above]
        if wanted["ordering"] == ["-tasks:updated_at"]:
            tasks.sort(key=lambda each: each["updated_at"], reverse=True)
        return {"total": total, "tasks": tasks[size * (page - 1) : size * page]}


@contextmanager
def faking(answer: Callable[[str], str | None] | None = None) -> Iterator[tuple[Fake, str]]:
    """Serve a fake; yield it, and its address."""
    fake = Fake(answer)

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            parts, fault = urlsplit(self.path), fake.faults.popleft() if fake.faults else ""
            who = self.headers.get("Authorization", "")
            fake.requests.append((self.command, parts.path, who))
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if isinstance(fault, int):
                return self._send(fault, b"{}")
            if fault == "html":
                return self._send(200, b"<html>hello</html>")
            if who.startswith("Bearer") and who != f"Bearer {fake.access}":
                return self._send(401, b"{}")
            reply = fake.reply(self.command, parts.path, query, body)
            if fault == "drop":
                self.connection.close()
                return None
            if fault == "slow":
                time.sleep(0.3)
            status = reply if isinstance(reply, int) else 200
            return self._send(status, b"{}" if status != 200 else json.dumps(reply).encode())

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "https://elsewhere.example.org/")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    for method in ("GET", "POST", "PATCH", "DELETE"):
        setattr(Handler, f"do_{method}", Handler._serve)

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            pass

    server = Quiet(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield fake, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
