"""The names by which the server may be called."""

import re

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from assay.web.errors import respond

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]@/]+)(:[0-9]{1,5})?", re.ASCII)


def host_name(header: str) -> str:
    """Return the name in a ``Host`` header, without its port; nothing where it is not one.

    Examples
    --------
    >>> host_name("LocalHost:8000"), host_name("[::1]:8000"), host_name("a@b")
    ('localhost', '::1', '')
    """
    found = _HOST.fullmatch(header.lower())
    return "" if found is None else found[1].strip("[]")


def cookie_name(header: str) -> str:
    """Return what the cookie is called on a server that is called by a ``Host`` header.

    Browsers keep one cookie of a name for all ports of a host: without the port in the name, two
    servers on one machine would log each other's people out.

    Examples
    --------
    >>> cookie_name("localhost:8000"), cookie_name("labels.example.org")
    ('assay_token_8000', 'assay_token')
    """
    found = _HOST.fullmatch(header.lower())
    port = "" if found is None or found[2] is None else found[2]
    return f"assay_token{port.replace(':', '_')}"


class HostList:
    """Refuse requests for other names.

    Otherwise a page elsewhere could let its own name point to this address (DNS rebinding), and
    the browser would take what we serve for that page's own.
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
