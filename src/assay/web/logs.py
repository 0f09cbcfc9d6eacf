"""What is logged: method, route, status and time. Never a token, an address or an item's text."""

import logging
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("assay.web")

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class RequestLog:
    """Log each request by its route's template, and crashes by where they happened."""

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
        taken = 1000 * (time.perf_counter() - began)
        log.info("%s %s %d %.1f ms", method, route, status, taken)


class _Crash:
    """Tell where a crash happened, and no more.

    An exception's text may quote an item or a token, so it ends here: the server that runs us
    would log it whole.
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


def log_to_terminal() -> None:
    """Write the log to the standard error stream."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    # The server's own log names clients and addresses; its warnings are enough.
    server = logging.getLogger("uvicorn")
    server.addHandler(handler)
    server.setLevel(logging.WARNING)
