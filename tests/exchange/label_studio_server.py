"""A Label Studio of our own on loopback, driven through its API as its pages do."""

import json
import os
import secrets
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PATIENCE = 240.0  # seconds until a busy machine has made its database


class LabelStudio:
    """Its API, with the rights of the first user."""

    def __init__(self, address: str, token: str) -> None:
        self.address, self.token = address, token

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send JSON and return what comes back."""
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self.raw(method, path, data, "application/json") or b"null")

    def raw(self, method: str, path: str, data: bytes | None, kind: str) -> bytes:
        """Send bytes and return those that come back."""
        headers = {"Authorization": f"Token {self.token}", "Content-Type": kind}
        request = urllib.request.Request(
            f"{self.address}{path}", data=data, method=method, headers=headers
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            received: bytes = answer.read()
        return received

    def upload(self, project: int, name: str, content: bytes) -> None:
        """Upload a file of tasks, as a person does."""
        edge = "assay-boundary"
        head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        body = f"{head}Content-Type: application/json\r\n\r\n".encode() + content
        body += f"\r\n--{edge}--\r\n".encode()
        path = f"/api/projects/{project}/import"
        self.raw("POST", path, body, f"multipart/form-data; boundary={edge}")

    def annotate(self, task: int, choice: str | None, **more: object) -> int:
        """Answer a task with a choice, or none; return the annotation's number."""
        result = [] if choice is None else [answered(choice)]
        body = {"result": result, **more}
        number: int = self.call("POST", f"/api/tasks/{task}/annotations/", body)["id"]
        return number


def answered(choice: str) -> dict[str, object]:
    """Return a choice as Label Studio's page sends it."""
    return {
        "from_name": "answer",
        "to_name": "item",
        "type": "choices",
        "value": {"choices": [choice]},
    }


class Server(LabelStudio):
    """A server with a database in a folder, that can be killed and started again where it was."""

    def __init__(self, program: str, folder: Path, **environment: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        super().__init__(f"http://127.0.0.1:{port}", secrets.token_hex(20))
        where = ["--internal-host", "127.0.0.1", "--port", str(port)]
        self._command = [program, "start", "--no-browser", *where]
        self._folder = folder
        self._environment = {
            **os.environ,
            "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
            "LABEL_STUDIO_USERNAME": "owner@example.org",
            "LABEL_STUDIO_PASSWORD": secrets.token_hex(20),
            "LABEL_STUDIO_USER_TOKEN": self.token,
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            "COLLECT_ANALYTICS": "false",
            **environment,
        }

    def start(self) -> None:
        """Start it, and wait until it takes requests."""
        self._process = subprocess.Popen(
            self._command,
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.call("GET", "/health")
            except (OSError, ValueError):
                assert self._process.poll() is None, "Label Studio ended"
                assert time.monotonic() < deadline, f"Label Studio is not up after {PATIENCE:g} s"
                time.sleep(0.5)
            else:
                return

    def kill(self) -> None:
        """End it, and all it started, as ``kill -9`` does."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def running(program: str, folder: Path, **environment: str) -> Iterator[Server]:
    """Start a server; end it with the block."""
    server = Server(program, folder, **environment)
    try:
        server.start()
        yield server
    finally:
        server.kill()
