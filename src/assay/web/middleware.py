"""Headers on every response, errors included: item content is hostile, and must stay text."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STATIC = "/static"

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def content_policy(*, images: bool) -> str:
    """Return what a page may load: nothing but our own files, and images where they are wanted.

    Examples
    --------
    >>> "img-src 'self' https:;" in content_policy(images=True)
    True
    """
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            f"img-src 'self'{' https:' if images else ''}",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


class SecurityHeaders:
    """The outermost layer: whatever answers, the headers are there."""

    def __init__(self, app: ASGIApp, *, images: bool) -> None:
        self._app = app
        self._headers = {**_HEADERS, "Content-Security-Policy": content_policy(images=images)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Our own files hold nothing of a campaign; "no-cache" is "ask whether it has changed".
        is_static = scope["path"].startswith(f"{STATIC}/")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                is_file = is_static and message["status"] in (200, 304)
                headers["Cache-Control"] = "no-cache" if is_file else "no-store"
            await send(message)

        await self._app(scope, receive, send_with_headers)
