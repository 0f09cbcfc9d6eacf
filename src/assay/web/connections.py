"""Connections of a server: how many there may be, and how long each may keep it waiting.

Uvicorn counts and times requests. A client that never finishes one is in none of its limits, and
keeps a file of the process open: with enough of them the process has no file left, for anybody.
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

_USUAL_FILES = 1024  # where the system does not say how many a process may have open
_OWN_FILES = 192  # for SQLite, threads that read static files, predictions, and closing connections
_MOST_CONNECTIONS = 2000
_BURST = 16  # connections that may come, go, or be told that there is no room, at a time
_SWEEP_SECONDS = 1.0
_NEW_SECONDS = 1.0  # in which a client has not yet kept anybody waiting
_PIECE = 16 * 1024  # bytes

# A client is waited for while it sends headers or a body, or does not read its answer. While the
# server works it is `busy`; between requests it is `idle`, for as long as uvicorn's keep-alive.
Phase = Literal["headers", "body", "reading", "idle", "busy"]


@dataclass(frozen=True)
class Limits:
    """What a server grants to clients."""

    connections: int  # how many may be open at a time
    # header_seconds, body_seconds: in which the headers and the body of a request must have
    # arrived.
    header_seconds: float = 10.0
    body_seconds: float = 20.0
    # Bytes of a body that give it a further second: a large file may take longer.
    body_rate: float = 4096.0
    reading_seconds: float = 30.0  # for which a client may leave an answer unread

    def seconds(self, phase: Phase, received: int) -> float:
        """Return how long a phase may take, of which so many bytes have arrived."""
        match phase:
            case "headers":
                return self.header_seconds
            case "body":
                return self.body_seconds + received / self.body_rate
            case "reading":
                return self.reading_seconds
        return float("inf")


def most_connections(files: int) -> int:
    """Return how many connections a process may hold that may have so many files open.

    >>> [most_connections(files) for files in (128, 1024, 1_048_576)]
    [64, 832, 2000]
    """
    return min(max(files - _OWN_FILES, files // 2), _MOST_CONNECTIONS)


def files_allowed() -> int:
    """Return how many files this process may have open (``ulimit -n``)."""
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
        self._coming = 0  # accepted, and not among the protocols yet
        self._closing: set[LimitedProtocol] = set()
        self._refused: deque[socket.socket] = deque()
        self._told: Counter[str] = Counter()
        self._sweeping = False

    @property
    def can_accept(self) -> bool:
        """Whether to take the next one now, or when those that come and go have done so."""
        return len(self._closing) < _BURST and self._coming < _BURST

    def admit(self, accepted: socket.socket) -> bool:
        """Tell whether there is room for a connection; else it is answered, and closed.

        Where there is none, the client that has kept the server waiting for longest makes it;
        those in the middle of a request go before those between two, but for the newest.
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
        self._begin_to_sweep()
        return True

    def refuse(self, accepted: socket.socket, *, at_once: bool = False) -> None:
        """Answer a connection that there is no room for.

        Unless it must be at once, it is closed a moment later: a client that is still sending
        would otherwise see an error, and not the answer.
        """
        self._told["refused"] += 1
        accepted.setblocking(False)
        with suppress(OSError):
            accepted.send(_response(HTTPStatus.SERVICE_UNAVAILABLE))
            accepted.shutdown(socket.SHUT_WR)
        self._refused.append(accepted)
        self.let_go(0 if at_once else _BURST)
        self._begin_to_sweep()

    def let_go(self, but: int = 0) -> None:
        """Close all that were refused but the newest."""
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
        """Close a connection, with an answer where a request waits for one."""
        self._told[why] += 1
        self._closing.add(protocol)
        protocol.answer_and_abort(status)

    def _begin_to_sweep(self) -> None:
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        for protocol in self._protocols - self._closing:
            if protocol.is_overdue(now):
                self.end(protocol, HTTPStatus.REQUEST_TIMEOUT, "closed as too slow")
        self.let_go()
        if self._told:
            told = ", ".join(f"{count:,} {what}" for what, count in sorted(self._told.items()))
            log.warning("connections: %s (at most %d)", told, self.limits.connections)
            self._told.clear()
        self._coming = 0  # if one was lost on its way, it is not waited for
        self._sweeping = False
        if self._protocols:
            self._begin_to_sweep()


class Listener(socket.socket):
    """A listening socket that takes no more connections than the process can hold.

    Asyncio takes as many as have come, all at once, before it tells a protocol of the first; and
    where the process has no file left, it logs as many tracebacks, every second.
    """

    connections: Connections
    _spare: int = -1

    @classmethod
    def of(cls, listening: socket.socket, limits: Limits | None = None) -> "Listener":
        """Return a socket in place of one that listens, within the limits of this process."""
        listener = cls(fileno=listening.detach())
        limits = limits or Limits(most_connections(files_allowed()))
        listener.connections = Connections(limits)
        listener._spare = os.open(os.devnull, os.O_RDONLY)
        return listener

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection; raise BlockingIOError where there is none to take now."""
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
        self.connections.let_go()
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1

    def _refuse_with_spare(self) -> None:
        """Answer a connection by the file that was kept back for it.

        Left where it is, it would wake the server again and again.
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
        """Make room."""
        self.limited_by.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what a client sends.

        In pieces, as h11 limits only headers that are not whole yet: what comes at once could
        hold a hundred thousand of them.
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
        """Tell whether a client has kept the server waiting for too long."""
        self._note_phase()
        allowed = self.limited_by.limits.seconds(self.phase, self._received)
        return now - self.since > allowed

    def answer_and_abort(self, status: HTTPStatus) -> None:
        """Close the connection now; say why where an answer is due and none has begun."""
        begun = self.cycle is not None and self.cycle.response_started
        if self.phase == "headers" or (self.phase == "body" and not begun):
            self.transport.write(_response(status))
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; where an answer has begun, close the connection."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: a request to speak WebSocket is answered as any other, and is no fault."""

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
    """Return the protocol of one server's connections, as uvicorn wants it: a class."""
    return type("Protocol", (LimitedProtocol,), {"limited_by": connections})


_WORDS = {
    HTTPStatus.REQUEST_TIMEOUT: "the request took too long to arrive; send it again",
    HTTPStatus.SERVICE_UNAVAILABLE: "the server has as many connections as it can hold; "
    "try again in a moment",
}


def _response(status: HTTPStatus) -> bytes:
    """Return a whole answer, for a connection that is closed after it."""
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
