"""Webhook listener: another program's word that something happened, and nothing more.

What is sent is not looked at. Who hears of it reads from the other program's API, so that whoever
knows the secret can make it look, and cannot make it believe anything.
"""

import secrets
from contextlib import suppress
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from assay.errors import InputError

_MOST = 65_536  # bytes of a message that are read; none of them matters
_PATIENCE = 5.0  # seconds for a caller that says nothing


class Webhook:
    """A listener on an address of its own, until it is closed.

    `host`, `port`: where to listen; port 0 takes any that is free; `header`: the header that holds
    the secret.

    `rung`: set when somebody who knows the secret has called; `secret`: new for every listener.
    """

    def __init__(self, host: str, port: int, *, header: str) -> None:
        self.rung, self.secret = Event(), secrets.token_urlsafe(24)
        rung, secret = self.rung, self.secret

        class Handler(BaseHTTPRequestHandler):
            timeout = _PATIENCE
            server_version, sys_version = "assay", ""

            def do_POST(self) -> None:
                """Note that something happened, if the caller knows the secret."""
                with suppress(OSError, ValueError):
                    self.rfile.read(min(int(self.headers.get("Content-Length", 0)), _MOST))
                given = self.headers.get(header, "").encode(errors="replace")
                knows = compare_digest(given, secret.encode())
                if knows:
                    rung.set()
                self.send_response(204 if knows else 403)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"nothing can listen at {host}:{port}: {error}",
                hint="choose another address for the webhook (--webhook HOST:PORT)",
            ) from None
        self._server.daemon_threads = True
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_address[1]}/"
        self._thread = Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
