"""Connections of a server: their number, and how long each may keep it waiting.

Uvicorn counts and times requests. A client that never finishes one is outside its limits, and keeps
a file of the process open: enough of them leave the process without files.
"""

import asyncio
import errno
import json
import logging
import os
import socket
import sys
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from operator import attrgetter
from typing import Any, ClassVar, Literal, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger("assay.web")

_USUAL_FILES = 1024  # if the system does not tell how many a process may have open
_OWN_FILES = 192  # for SQLite, threads that read static files, predictions, and closing connections
_MOST_CONNECTIONS = 2000
_BURST = 16  # connections that may come, go, or be refused at a time
_SWEEP_SECONDS = 1.0
_NEW_SECONDS = 1.0  # for which a client has not yet kept anybody waiting
_PIECE = 16 * 1024  # bytes

# The server waits for a client that sends headers or a body, or does not read its answer. While the
# server works it is `busy`; between requests it is `idle`, for as long as uvicorn's keep-alive.
Phase = Literal["headers", "body", "reading", "idle", "busy"]


@dataclass(frozen=True)
class Limits:
    """Limits of a server for its clients."""

    connections: int  # that may be open at a time
    # header_seconds, body_seconds: time limits for the headers and the body of a request.
    header_seconds: float = 10.0
    body_seconds: float = 20.0
    # Bytes of a body that add a further second: a large file may take longer.
    body_rate: float = 4096.0
    reading_seconds: float = 30.0  # for which a client may leave an answer unread

    def seconds(self, phase: Phase, received: int) -> float:
        """Seconds that a phase may take after `received` bytes."""
        match phase:
            case "headers":
                return self.header_seconds
            case "body":
                return self.body_seconds + received / self.body_rate
            case "reading":
                return self.reading_seconds
        return float("inf")


def most_connections(files: int) -> int:
    """Choose the number of connections for a process that may have so many files open.

    >>> [most_connections(files) for files in (128, 1024, 1_048_576)]
    [64, 832, 2000]
    """
    return min(max(files - _OWN_FILES, files // 2), _MOST_CONNECTIONS)


def files_allowed() -> int:
    """Read how many files this process may have open (``ulimit -n``)."""
    if sys.platform == "win32":
        return _USUAL_FILES
    import resource

    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if allowed == resource.RLIM_INFINITY else allowed


class Connections:
    """All connections of a server. Its methods are called in the server's event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._protocols: set[LimitedProtocol] = set()
        self._coming = 0  # accepted, and not yet among the protocols
        self._closing: set[LimitedProtocol] = set()
        self._refused: deque[socket.socket] = deque()
        self._ended: Counter[str] = Counter()
        self._sweeping = False

    @property
    def can_accept(self) -> bool:
        """Whether to accept the next one now, or after those that come and go."""
        return len(self._closing) < _BURST and self._coming < _BURST

    def admit(self, accepted: socket.socket) -> bool:
        """Whether there is room for a connection; otherwise it is answered, and closed.

        If the server is full, the client that has kept it waiting for longest makes room. Those in
        the middle of a request are closed first, unless they are new.
        """
        if len(self._protocols) + self._coming >= self.limits.connections:
            waiting = [each for each in self._protocols - self._closing if each.phase != "busy"]
            if not waiting:
                self.refuse(accepted)
                return False
            patience = asyncio.get_running_loop().time() - _NEW_SECONDS
            slow = [each for each in waiting if each.phase != "idle" and each.since < patience]
            first = min(slow or waiting, key=attrgetter("since"))
            self.end(first, HTTPStatus.SERVICE_UNAVAILABLE, "closed to make room")
        self._coming += 1
        self._schedule_sweep()
        return True

    def refuse(self, accepted: socket.socket, *, at_once: bool = False) -> None:
        """Answer a connection without room for it.

        Unless `at_once`, it is closed a moment later: a client that is still sending would
        otherwise see an error, and not the answer.
        """
        self._ended["refused"] += 1
        accepted.setblocking(False)
        with suppress(OSError):
            accepted.send(_response(HTTPStatus.SERVICE_UNAVAILABLE))
            accepted.shutdown(socket.SHUT_WR)
        self._refused.append(accepted)
        self.release_refused(0 if at_once else _BURST)
        self._schedule_sweep()

    def release_refused(self, but: int = 0) -> None:
        """Close all refused connections except the newest."""
        while len(self._refused) > but:
            self._refused.popleft().close()

    def add(self, protocol: "LimitedProtocol") -> None:
        """Watch a connection."""
        self._coming = max(self._coming - 1, 0)
        self._protocols.add(protocol)

    def remove(self, protocol: "LimitedProtocol") -> None:
        """Count a connection as closed."""
        self._protocols.discard(protocol)
        self._closing.discard(protocol)

    def end(self, protocol: "LimitedProtocol", status: HTTPStatus, why: str) -> None:
        """Close a connection, with an answer if a request waits for one."""
        self._ended[why] += 1
        self._closing.add(protocol)
        protocol.answer_and_abort(status)

    def _schedule_sweep(self) -> None:
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        for protocol in self._protocols - self._closing:
            if protocol.is_overdue(now):
                self.end(protocol, HTTPStatus.REQUEST_TIMEOUT, "closed as too slow")
        self.release_refused()
        if self._ended:
            counts = ", ".join(f"{count:,} {what}" for what, count in sorted(self._ended.items()))
            log.warning("connections: %s (at most %d)", counts, self.limits.connections)
            self._ended.clear()
        self._coming = 0  # a lost connection is not waited for
        self._sweeping = False
        if self._protocols:
            self._schedule_sweep()


class Listener(socket.socket):
    """Listening socket that accepts no more connections than the process can hold.

    Asyncio accepts all waiting connections at once, before it tells a protocol of the first. If the
    process has no file left, it logs as many tracebacks, every second.
    """

    connections: Connections
    _spare: int = -1

    @classmethod
    def of(cls, listening: socket.socket, limits: Limits | None = None) -> "Listener":
        """Replace a listening socket by one within the limits of this process."""
        listener = cls(fileno=listening.detach())
        limits = limits or Limits(most_connections(files_allowed()))
        listener.connections = Connections(limits)
        listener._spare = os.open(os.devnull, os.O_RDONLY)
        return listener

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept the next connection; raise BlockingIOError if there is none to take now."""
        if not self.connections.can_accept:
            raise BlockingIOError
        try:
            accepted, address = super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or self._spare < 0:
                raise
            self._refuse_with_spare()
            raise BlockingIOError from None
        if not self.connections.admit(accepted):
            raise BlockingIOError
        return accepted, address

    def close(self) -> None:
        """Close it."""
        super().close()
        self.connections.release_refused()
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1

    def _refuse_with_spare(self) -> None:
        """Answer a connection with the file that was reserved for it.

        Left waiting, it would wake the server again and again.
        """
        os.close(self._spare)
        self._spare = -1
        accepted, _ = super().accept()
        self.connections.refuse(accepted, at_once=True)
        self._spare = os.open(os.devnull, os.O_RDONLY)


class LimitedProtocol(H11Protocol):
    """Uvicorn's protocol, with limits on how long the server waits for a client."""

    limited_by: ClassVar[Connections]
    phase: Phase = "headers"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        super().connection_made(cast(asyncio.Transport, transport))
        self.since, self._received = self.loop.time(), 0
        self.limited_by.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection's place."""
        self.limited_by.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a client's data.

        In pieces, because h11 limits only incomplete headers: a single chunk could hold a hundred
        thousand of them.
        """
        for start in range(0, len(data), _PIECE):
            super().data_received(data[start : start + _PIECE])
            if self.transport.is_closing():
                break
        self._note_phase()
        self._received += len(data)

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of this one."""
        super().on_response_complete()
        self._note_phase()

    def is_overdue(self, now: float) -> bool:
        """Whether a client has kept the server waiting for too long."""
        self._note_phase()
        allowed = self.limited_by.limits.seconds(self.phase, self._received)
        return now - self.since > allowed

    def answer_and_abort(self, status: HTTPStatus) -> None:
        """Close the connection now; send an answer if one is due and none has begun."""
        begun = self.cycle is not None and self.cycle.response_started
        if self.phase == "headers" or (self.phase == "body" and not begun):
            self.transport.write(_response(status))
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Refuse requests that are not HTTP; if an answer has begun, close the connection."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: a WebSocket request is answered as any other, and is no fault."""

    def _note_phase(self) -> None:
        phase = self._find_phase()
        if phase != self.phase:
            self.phase, self.since, self._received = phase, self.loop.time(), 0

    def _find_phase(self) -> Phase:
        if self.transport.is_closing() or self.flow.write_paused:
            return "reading"
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        if self.conn.their_state is h11.IDLE:
            return "headers" if self.timeout_keep_alive_task is None else "idle"
        return "busy"


def protocol_of(connections: Connections) -> type[LimitedProtocol]:
    """Protocol of one server's connections, as uvicorn wants it: a class."""
    return type("Protocol", (LimitedProtocol,), {"limited_by": connections})


_WORDS = {
    HTTPStatus.REQUEST_TIMEOUT: "the request took too long to arrive; send it again",
    HTTPStatus.SERVICE_UNAVAILABLE: "the server has as many connections as it can hold; "
    "try again in a moment",
}


def _response(status: HTTPStatus) -> bytes:
    """Complete response for a connection that is closed after it."""
    words = json.dumps({"error": _WORDS[status], "details": "", "hint": ""})
    lines = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Content-Type: application/json",
        "Cache-Control: no-store",
        "Retry-After: 2",
        "Connection: close",
        f"Content-Length: {len(words)}",
        "",
        words,
    )
    return "\r\n".join(lines).encode()
