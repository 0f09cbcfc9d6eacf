"""Webhook listener: a signal from another program that something happened.

The message is ignored; the caller then reads from the other program's API. So whoever knows the
secret can trigger a read, but cannot make Assay accept any data.
"""

import secrets
from contextlib import suppress
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from assay.errors import InputError

_MOST = 65_536  # bytes of a message that are read; none of them matters
_PATIENCE = 5.0  # seconds to wait for a silent caller


class Webhook:
    """A listener on its own address, until it is closed.

    `host`, `port`: address to listen on; port 0 takes any free port; `header`: the header with the
    secret.

    `rung`: set when a caller who knows the secret has called; `secret`: new for every listener.
    """

    def __init__(self, host: str, port: int, *, header: str) -> None:
        self.rung, self.secret = Event(), secrets.token_urlsafe(24)
        rung, secret = self.rung, self.secret

        class Handler(BaseHTTPRequestHandler):
            timeout = _PATIENCE
            server_version, sys_version = "assay", ""

            def do_POST(self) -> None:
                """Signal that something happened, if the caller knows the secret."""
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
                f"Assay cannot listen on {host}:{port}: {error}",
                hint="choose another address for the webhook (--webhook HOST:PORT)",
            ) from None
        self._server.daemon_threads = True
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_address[1]}/"
        self._thread = Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
