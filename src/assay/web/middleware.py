"""Middleware: headers on every response, host names, body limits, the request log."""

import logging
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.web.http import respond

STATIC = "/static"

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def content_policy(*, images: bool, hosts: Sequence[str] = ()) -> str:
    """Content policy of a page: only our own files, and images where they are wanted.

    `hosts`: allowed hosts of images; default: any.

    >>> "img-src 'self' data: https:;" in content_policy(images=True)
    True
    >>> "img-src 'self' data: https://a.b;" in content_policy(images=True, hosts=["a.b"])
    True
    """
    sources = ["data:", *([f"https://{host}" for host in hosts] or ["https:"])] if images else []
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            " ".join(["img-src 'self'", *sources]),
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


class SecurityHeaders:
    """Outermost layer: adds the headers to every response."""

    def __init__(self, app: ASGIApp, *, images: bool, hosts: Sequence[str] = ()) -> None:
        self._app = app
        policy = content_policy(images=images, hosts=hosts)
        self._headers = {**_HEADERS, "Content-Security-Policy": policy}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Our own files contain no campaign data; "no-cache" means "ask for changes".
        is_static = scope["path"].startswith(f"{STATIC}/")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                is_file = is_static and message["status"] in (200, 304)
                headers["Cache-Control"] = "no-cache" if is_file else "no-store"
            await send(message)

        await self._app(scope, receive, send_with_headers)


# Names by which the server may be called.

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]@/]+)(:[0-9]{1,5})?", re.ASCII)


def host_name(header: str) -> str:
    """Name in a ``Host`` header, without its port; empty if invalid.

    >>> host_name("LocalHost:8000"), host_name("[::1]:8000"), host_name("a@b")
    ('localhost', '::1', '')
    """
    match = _HOST.fullmatch(header.lower())
    return "" if match is None else match[1].strip("[]")


def cookie_name(header: str) -> str:
    """Name of the cookie on a server with a ``Host`` header.

    Browsers keep one cookie of a name for all ports of a host. Without the port in the name, two
    servers on one machine would log each other's people out.

    >>> cookie_name("localhost:8000"), cookie_name("labels.example.org")
    ('assay_token_8000', 'assay_token')
    """
    match = _HOST.fullmatch(header.lower())
    port = "" if match is None or match[2] is None else match[2]
    return f"assay_token{port.replace(':', '_')}"


class HostList:
    """Refuse requests for other host names.

    Otherwise a page elsewhere could let its own name point to this address (DNS rebinding), and the
    browser would treat our responses as that page's own.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http":
            given = Headers(scope=scope).getlist("host")
            if len(given) != 1 or host_name(given[0]) not in self._hosts:
                problem = "this server is not called by that name"
                hint = "whoever runs it can allow a name with --allow-host"
                refusal = respond(Request(scope), 421, problem, hint=hint)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


# Size limits of requests, counted while they arrive, whatever the headers claim.

_USUAL = 64 * 1024
_MOST_HEADERS = 100
_UNUSUAL = {"/api/import": 10 * 1024 * 1024, "/api/new/file": 4 * 1024**3}


def limit_of(path: str) -> int:
    """Largest request body for a path, in bytes."""
    return next((most for end, most in _UNUSUAL.items() if path.endswith(end)), _USUAL)


class BodyLimit:
    """Refuse requests that are too large, before more than allowed is in memory.

    Addresses that no server should let through are refused, too: no library expects them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        at_most, seen = limit_of(scope["path"]), 0
        problem = f"the request has more than the {at_most:,} bytes allowed here"

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > at_most:
                raise HTTPException(413, problem)
            return message

        headers = Headers(scope=scope)
        if len(headers) > _MOST_HEADERS:
            reason = f"the request has {len(headers):,} headers; {_MOST_HEADERS} are allowed"
            await _refuse(scope, receive, send, 431, reason)
        elif "content-length" in headers and "transfer-encoding" in headers:
            # A proxy may have used the other header, and taken another's request for the rest.
            reason = "the request has two lengths: Content-Length and chunks"
            await _refuse(scope, receive, send, 400, reason)
        elif _is_over(headers.get("content-length", "0"), at_most):
            await respond(Request(scope), 413, problem)(scope, receive, send)
        elif not scope["query_string"].isascii():
            refusal = respond(Request(scope), 400, "an address must be ASCII, with %-escapes")
            await refusal(scope, receive, send)
        else:
            await self._app(scope, counted, send)


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
    """Send an error, and read nothing more from this connection."""
    refusal = respond(Request(scope), status, reason)
    refusal.headers["Connection"] = "close"
    await refusal(scope, receive, send)


def _is_over(claimed: str, at_most: int) -> bool:
    digits = claimed.strip().lstrip("0")
    return len(digits) > len(str(at_most)) or (digits.isdecimal() and int(digits) > at_most)


# The log has method, route, status and time. Never a token, an address or an item's text.

log = logging.getLogger("assay.web")

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class RequestLog:
    """Log each request by its route's template, and crashes by their location."""

    def __init__(self, app: ASGIApp, templates: Mapping[Callable[..., Any], str]) -> None:
        self._app, self._templates = app, templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        began = time.perf_counter()
        with _Crash():
            await self._app(scope, receive, noting_status)
        if status == 0:
            await PlainTextResponse("something went wrong", 500)(scope, receive, noting_status)
        method = scope["method"] if scope["method"] in _METHODS else "-"
        route = self._templates.get(scope.get("endpoint", self), "-")
        milliseconds = 1000 * (time.perf_counter() - began)
        log.info("%s %s %d %.1f ms", method, route, status, milliseconds)


class _Crash:
    """Location of a crash, and nothing more.

    An exception's text may quote an item or a token, so it ends here: otherwise the server would
    log all of it.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        frames = traceback.extract_tb(at)[-3:]
        places = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
        log.error("crashed: %s at %s", type(error).__name__, places)
        return True


_LINES_A_SECOND = 250  # of requests
_WARNINGS_A_SECOND = 5


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Writes a limited number of lines a second of each logger and level, and counts the others.

    Clients decide how often something is logged: without a token, nobody should fill a disk.
    """

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(stream)
        self._clock, self._second = clock, 0
        self._lines: Counter[tuple[str, int]] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it."""
        second = int(self._clock())
        if second != self._second:
            self._tell_counts()
            self._second = second
        kind = record.name, record.levelno
        self._lines[kind] += 1
        if self._lines[kind] <= _most_lines(record.levelno):
            super().emit(record)

    def close(self) -> None:
        """Write the last counts."""
        self._tell_counts()
        super().close()

    def _tell_counts(self) -> None:
        for (name, level), count in self._lines.items():
            if (more := count - _most_lines(level)) > 0:
                line = f"and {more:,} more such lines of {name} within a second"
                super().emit(logging.LogRecord(name, level, "", 0, line, None, None))
        self._lines.clear()


def _most_lines(level: int) -> int:
    return _LINES_A_SECOND if level < logging.WARNING else _WARNINGS_A_SECOND


def log_to_terminal() -> None:
    """Write the log to the standard error stream."""
    handler = LimitedHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    # The server's own log names clients and addresses; its warnings are enough.
    for name in ("uvicorn", "asyncio"):
        server = logging.getLogger(name)
        server.addHandler(handler)
        server.setLevel(logging.WARNING)
