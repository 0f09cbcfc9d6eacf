"""A wire that breaks: between a page and its server, at a moment that the test chooses."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PATIENCE = 30.0


class Wire:
    """A TCP proxy. `mode` says what becomes of the next connection.

    ``whole``: all goes through. ``no answer``: the request goes through, and when the server has
    answered, the wire breaks. ``half a request``: it breaks before the request is whole.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.mode = "whole"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._carry(near, self.mode)

    def _carry(self, near: socket.socket, mode: str) -> None:
        near.settimeout(PATIENCE)
        with near, socket.create_connection(("127.0.0.1", self._to), timeout=PATIENCE) as far:
            request = _whole_message(near)
            if mode == "half a request":
                far.sendall(request[: len(request) - 10])
                return
            far.sendall(request)
            answer = _whole_message(far)
            if mode == "whole":
                near.sendall(answer)


@contextmanager
def wire_to(port: int) -> Iterator[Wire]:
    """Give a wire to a server."""
    wire = Wire(port)
    try:
        yield wire
    finally:
        wire.close()


def _whole_message(connection: socket.socket) -> bytes:
    """Return one HTTP message: its head, and as many bytes as that announces."""
    message = b""
    while b"\r\n\r\n" not in message:
        message += connection.recv(65536)
    head, _, body = message.partition(b"\r\n\r\n")
    names = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    length = int(names[b"content-length"])
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body
