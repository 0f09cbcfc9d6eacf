"""Label Studio's API: projects, tasks and webhooks of a running server, over HTTP.

The standard library's client suffices for a dozen calls. Label Studio's SDK would bring OpenCV,
pandas, NLTK and twenty packages more.

References
----------
.. [1] https://labelstud.io/api
.. [2] https://labelstud.io/guide/access_tokens
"""

import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from time import monotonic
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from assay.errors import InputError, ServiceError

Task = dict[str, Any]

_TIMEOUT = 30.0  # seconds without a byte
_TO_IMPORT = 120.0
# Another server decides how much it sends: its answers have limits of their own.
_LONGEST = 120.0  # seconds for a whole answer, however steadily it comes
_MOST_BYTES, _PIECE = 100_000_000, 65_536  # of an answer, and of one read
_MOST_LISTED = 500_000_000  # bytes of all pages of a list
_PAGE = 200  # tasks a request
_TO_LOOK, _TO_LOOK_ON = 8, 50  # tasks per request for changes
_MOST_SHOWN = 300  # characters of the server's answer in an error
_EVENTS = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED")
HEADER = "X-Assay-Secret"  # which a webhook sends


class GoneError(InputError):
    """There is no such project, task or webhook, or none that this token may access."""


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes
    location: str


class LabelStudio:
    """A running server, with the rights of a token's owner.

    `address`: such as ``http://127.0.0.1:8080``; it may have a path; `token`: a personal access
    token, or a legacy one; `timeout`: seconds to wait for an answer.

    >>> LabelStudio("127.0.0.1:8080/", "abc").address
    'http://127.0.0.1:8080'
    """

    def __init__(self, address: str, token: str, *, timeout: float = _TIMEOUT) -> None:
        try:
            parts = urlsplit(address if "://" in address else f"http://{address}")
            host, port = parts.hostname or "", parts.port
        except ValueError:
            parts, host, port = urlsplit(""), "", None
        if parts.scheme not in ("http", "https") or not host or parts.query or "@" in parts.netloc:
            raise InputError(
                f"{address!r} is not an address of Label Studio",
                hint="give the address as in a browser, such as http://127.0.0.1:8080",
            )
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise InputError(
                "the access token of Label Studio is empty, or has characters that no token has",
                hint="copy it from Label Studio: Account & Settings, Personal Access Token",
            )
        self._secure, self.host, self._port = parts.scheme == "https", host, port
        self._path = parts.path.rstrip("/")
        self.address = f"{parts.scheme}://{parts.netloc}{self._path}"
        self._token, self._timeout = token, timeout
        self._is_personal = token.count(".") == 2  # a JSON web token
        self._access = ""
        self.received = 0  # bytes of all answers

    @property
    def is_secret(self) -> bool:
        """Whether the token is protected from eavesdroppers."""
        return self._secure or self.host in ("localhost", "::1") or self.host.startswith("127.")

    # Projects.

    def projects(self) -> list[dict[str, Any]]:
        """List the number, title and description of every project."""
        pages, page = _Pages(self), 1
        while True:
            query = {"include": "id,title,description", "page_size": 100, "page": page}
            answer = self.call("GET", f"/api/projects?{urlencode(query)}")
            results = _list(answer, "results")
            pages.add(results)
            if not results or not answer.get("next"):
                return list(pages.records.values())
            page += 1

    def project(self, number: int) -> dict[str, Any]:
        """Fetch the settings of a project."""
        return _object(self.call("GET", f"/api/projects/{number}"))

    def make_project(self, settings: Mapping[str, object]) -> dict[str, Any]:
        """Make a project."""
        return _object(self.call("POST", "/api/projects", settings))

    def change_project(self, number: int, settings: Mapping[str, object]) -> None:
        """Change a project's settings."""
        self.call("PATCH", f"/api/projects/{number}", settings)

    # Tasks.

    def tasks(self, project: int, *, above: int = 0) -> list[Task]:
        """All tasks with their annotations, or those with numbers above one.

        Each request starts after the last number read, so tasks that others add or remove meanwhile
        cannot move to a page that has been read.
        """
        pages = _Pages(self)
        while True:
            greater = {"filter": "filter:tasks:id", "operator": "greater", "type": "Number"}
            query = {
                "filters": {"conjunction": "and", "items": [{**greater, "value": above}]},
                "ordering": ["tasks:id"],
            }
            tasks = _list(self._look(project, query, _PAGE, 1), "tasks")
            pages.add(tasks)
            if len(tasks) < _PAGE:
                return list(pages.records.values())
            above = max(pages.records)

    def changed(self, project: int, known_times: Mapping[int, object]) -> tuple[int, list[Task]]:
        """Fetch the number of tasks, and the changed ones, latest first.

        `known`: time of the last change of each task, by its number.
        """
        pages = _Pages(self)
        changed: dict[int, Task] = {}
        size, page = _TO_LOOK, 1
        while True:
            answer = self._look(project, {"ordering": ["-tasks:updated_at"]}, size, page)
            tasks = {_number(task): task for task in _list(answer, "tasks")}
            new = [
                key for key, task in tasks.items() if known_times.get(key) != task.get("updated_at")
            ]
            changed |= {key: tasks[key] for key in new}
            total = answer.get("total")
            if not isinstance(total, int):
                raise _unexpected_answer(answer)
            if len(new) < len(tasks) or page * size >= total:
                return total, list(changed.values())
            pages.add(list(tasks.values()))
            if size == _TO_LOOK:
                pages, size, page = _Pages(self), _TO_LOOK_ON, 0
            page += 1

    def _look(self, project: int, query: object, size: int, page: int) -> dict[str, Any]:
        parameters = {"project": project, "fields": "all", "resolve_uri": "false"}
        pages = {"page": page, "page_size": size}
        text = urlencode({**parameters, **pages, "query": json.dumps(query)}, quote_via=quote)
        return _object(self.call("GET", f"/api/tasks?{text}"))

    def push(self, project: int, tasks: bytes) -> None:
        """Add tasks to a project. If this fails, they may have been added all the same: check."""
        self.call("POST", f"/api/projects/{project}/import", tasks, timeout=_TO_IMPORT)

    def let_answer(self, task: int, people: int) -> None:
        """Set the number of people who should answer a task."""
        with suppress(GoneError):
            self.call("PATCH", f"/api/tasks/{task}/", {"overlap": people})

    def remove(self, task: int) -> None:
        """Remove a task, if it exists."""
        with suppress(GoneError):
            self.call("DELETE", f"/api/tasks/{task}/")

    # Webhooks.

    def set_webhook(self, project: int, url: str, secret: str) -> None:
        """Have a project's answers reported to an address.

        An existing webhook of ours is changed: it is recognized by the header with the secret.
        """
        settings: dict[str, object] = {"url": url, "headers": {HEADER: secret}, "is_active": True}
        settings |= {"send_payload": False, "send_for_all_actions": False, "actions": _EVENTS}
        ours = self._webhooks(project)
        for number in ours[:1]:
            # Settings that are not repeated are dropped, including the events.
            self.call("PATCH", f"/api/webhooks/{number}/", settings)
        for number in ours[1:]:
            self._remove_webhook(number)
        if not ours:
            self.call("POST", "/api/webhooks/", {**settings, "project": project})

    def remove_webhooks(self, project: int) -> None:
        """Remove the webhooks of `set_webhook`."""
        for number in self._webhooks(project):
            self._remove_webhook(number)

    def _webhooks(self, project: int) -> list[int]:
        every = self.call("GET", f"/api/webhooks/?project={project}")
        if not isinstance(every, list):
            raise _unexpected_answer(every)
        return [
            _number(each)
            for each in every
            if isinstance(each, dict) and HEADER in (each.get("headers") or {})
        ]

    def _remove_webhook(self, number: int) -> None:
        with suppress(GoneError):
            self.call("DELETE", f"/api/webhooks/{number}/")

    # Requests.

    def call(self, method: str, path: str, body: object = None, *, timeout: float = 0.0) -> Any:
        """Send a request as JSON, and return the answer."""
        content = json.dumps(body).encode() if not isinstance(body, bytes | None) else body
        wait = max(timeout, self._timeout) if timeout else self._timeout
        answer = self._send(method, path, content, wait)
        if answer.status == 401 and self._is_personal:
            self._access = ""  # one lasts some minutes
            answer = self._send(method, path, content, wait)
        return self._read(answer, f"{method} {path.partition('?')[0]}")

    def _send(self, method: str, path: str, content: bytes | None, timeout: float) -> _Answer:
        return self._exchange(method, path, content, timeout, self._authorization())

    def _authorization(self) -> str:
        if not self._is_personal:
            return f"Token {self._token}"
        if not self._access:
            content = json.dumps({"refresh": self._token}).encode()
            path = "/api/token/refresh/"
            answer = self._exchange("POST", path, content, self._timeout, "")
            got = _object(self._read(answer, f"POST {path}")).get("access")
            if not isinstance(got, str):
                raise _unexpected_answer(got)
            self._access = got
        return f"Bearer {self._access}"

    def _exchange(
        self, method: str, path: str, content: bytes | None, timeout: float, authorization: str
    ) -> _Answer:
        """Send a request on a new connection: a restarted server does not know an old one."""
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if authorization:
            headers["Authorization"] = authorization
        kind = HTTPSConnection if self._secure else HTTPConnection
        connection = kind(self.host, self._port, timeout=timeout)
        try:
            connection.request(method, f"{self._path}{path}", content, headers)
            reply = connection.getresponse()
            body = self._body(reply, monotonic() + max(timeout, _LONGEST))
            self.received += len(body)
            return _Answer(reply.status, body, reply.getheader("Location", ""))
        except ssl.SSLCertVerificationError as error:
            raise InputError(
                f"the certificate of {self.address} is not trusted: {error.verify_message}",
                hint="set SSL_CERT_FILE to a file with the trusted certificates",
            ) from None
        except (OSError, HTTPException) as error:
            cause = str(error) or type(error).__name__
            raise ServiceError(
                f"Label Studio at {self.address} does not answer: {cause}",
                hint="check that it is running, and that --to is its address",
            ) from None
        finally:
            connection.close()

    def _body(self, reply: HTTPResponse, until: float) -> bytes:
        """Body of a reply, up to a limit of bytes and of time."""
        body = bytearray()
        while piece := reply.read1(_PIECE):
            body += piece
            slow = monotonic() > until
            if slow or len(body) > _MOST_BYTES:
                limit = (
                    f"takes over {_LONGEST:.0f} seconds"
                    if slow
                    else f"exceeds {_MOST_BYTES:,} bytes"
                )
                raise ServiceError(f"an answer of Label Studio at {self.address} {limit}")
        return bytes(body)

    def _read(self, answer: _Answer, request: str) -> Any:
        status, reply = answer.status, answer.body[:_MOST_SHOWN].decode(errors="replace")
        details = f"{request}: {status} {reply}".strip()
        if status in (401, 403):
            raise InputError(
                f"Label Studio at {self.address} refuses the access token",
                details=details,
                hint="check --token-file or LABEL_STUDIO_API_KEY; a legacy token works "
                "only if the organization allows it",
            )
        if status == 404:
            raise GoneError(
                f"Label Studio at {self.address} does not know this project or task",
                details=details,
            )
        if 300 <= status < 400:
            raise InputError(
                f"Label Studio at {self.address} redirects to {answer.location[:_MOST_SHOWN]}",
                hint="pass that address with --to, if you trust it with the token",
            )
        if status == 429 or status >= 500:
            raise ServiceError(
                f"Label Studio at {self.address} is failing at the moment", details=details
            )
        if status >= 400:
            raise InputError(
                f"Label Studio at {self.address} refuses this request", details=details
            )
        try:
            return json.loads(answer.body) if answer.body.strip() else None
        except (ValueError, RecursionError):
            raise InputError(
                f"the server at {self.address} does not answer like Label Studio",
                details=details,
                hint="check that --to is the address of Label Studio",
            ) from None


class _Pages:
    """Records of a list that comes page by page, by number.

    A page must bring something new: a list that repeats itself would never end.
    """

    def __init__(self, studio: LabelStudio) -> None:
        self.records: dict[int, dict[str, Any]] = {}
        self._studio, self._before = studio, studio.received

    def add(self, page: list[dict[str, Any]]) -> None:
        """Add a page; raise if it repeats earlier ones, or if the list is too long."""
        before = len(self.records)
        self.records |= {_number(record): record for record in page}
        if page and len(self.records) == before:
            raise ServiceError("Label Studio sends the same page of a list again and again")
        if self._studio.received - self._before > _MOST_LISTED:
            raise ServiceError(
                f"Label Studio sends a list of more than {_MOST_LISTED:,} bytes",
                details=f"{len(self.records):,} records so far",
            )


def _object(answer: object) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise _unexpected_answer(answer)
    return answer


def _list(answer: object, name: str) -> list[dict[str, Any]]:
    objects = _object(answer).get(name)
    if not isinstance(objects, list) or not all(isinstance(each, dict) for each in objects):
        raise _unexpected_answer(answer)
    return objects


def _number(thing: Mapping[str, Any]) -> int:
    number = thing.get("id")
    if isinstance(number, bool) or not isinstance(number, int):
        raise _unexpected_answer(thing)
    return number


def _unexpected_answer(answer: object) -> InputError:
    return InputError(
        "Label Studio sent an unexpected answer",
        details=str(answer)[:_MOST_SHOWN],
        hint="Assay is tested with Label Studio 1.23",
    )
