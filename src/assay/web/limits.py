"""What a request may hold: how much is counted while it arrives, whatever its headers claim."""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.web.errors import respond

_USUAL = 64 * 1024
_UNUSUAL = {"/api/import": 10 * 1024 * 1024}


def limit_of(path: str) -> int:
    """Return how many bytes a request to this path may send."""
    return _UNUSUAL.get(path, _USUAL)


class BodyLimit:
    """Refuse requests that are too large, before more of them than allowed is in memory.

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
        problem = f"the request holds more than the {at_most:,} bytes that are allowed here"

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > at_most:
                raise HTTPException(413, problem)
            return message

        claimed = Headers(scope=scope).get("content-length", "0")
        if _is_over(claimed, at_most):
            await respond(Request(scope), 413, problem)(scope, receive, send)
        elif not scope["query_string"].isascii():
            refusal = respond(Request(scope), 400, "an address is written in ASCII, and %-escapes")
            await refusal(scope, receive, send)
        else:
            await self._app(scope, counted, send)


def _is_over(claimed: str, at_most: int) -> bool:
    digits = claimed.strip().lstrip("0")
    return len(digits) > len(str(at_most)) or (digits.isdecimal() and int(digits) > at_most)
