"""How long a client may keep the server waiting, and who goes when there is no room."""

import errno
import io
import logging
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from inspect import getattr_static
from threading import Event

import pytest

from assay.campaign import Campaign, Desk
from assay.web.connections import Limits
from assay.web.middleware import LimitedHandler
from tests.web.serving import PATIENCE, add_token, in_thread, make_campaign

QUICK = Limits(30, header_seconds=0.5, body_seconds=0.5, body_rate=100.0, reading_seconds=0.5)
HOST = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
WHOLE = b"GET /login" + HOST + b"\r\n"
HALF = b"GET /login" + HOST
OUR_PAGE = b"Sec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\n"
NO_LOGIN = b'{"token": "abc"}'


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return make_campaign(f"sqlite:///{tmp_path_factory.mktemp('connections') / 'web.db'}")


def call(address: str, sent: bytes = b"") -> socket.socket:
    port = int(address.rpartition(":")[2])
    calling = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    calling.sendall(sent)
    return calling


def hear(calling: socket.socket) -> bytes:
    """Return all that the server says until it hangs up."""
    heard = b""
    try:
        while more := calling.recv(65_536):
            heard += more
    except ConnectionResetError:
        pass
    calling.close()
    return heard


def hear_one(calling: socket.socket) -> int:
    """Return the status of one answer that has a length."""
    with calling.makefile("rb") as heard:
        status = int(heard.readline().split()[1])
        headers = dict(line.lower().split(b": ", 1) for line in iter(heard.readline, b"\r\n"))
        heard.read(int(headers[b"content-length"]))
    return status


def dribble(calling: socket.socket, sent: bytes) -> bytes:
    """Send byte after byte until nobody listens; return what the server says."""
    calling.settimeout(0.02)
    heard = b""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        try:
            calling.send(sent)
            if not (more := calling.recv(65_536)):
                break
            heard += more
        except TimeoutError:
            continue
        except OSError:
            break
    else:
        raise AssertionError("the server has waited all the time")
    calling.close()
    return heard


def statuses(heard: bytes) -> list[int]:
    return [int(each) for each in re.findall(rb"HTTP/1\.1 (\d+)", heard)]


@pytest.mark.parametrize(
    ("beginning", "told"),
    [
        (HALF + b"X-Slow: ", [408]),
        (b"POST /login" + HOST + OUR_PAGE + b"Content-Length: 9000\r\n\r\n", [408]),
        # Refused before the body has come: what is left of it is not waited for either.
        (b"POST /login" + HOST + b"Content-Length: 9000\r\n\r\n", [403]),
        (b"POST /login" + HOST + b"Transfer-Encoding: chunked\r\n\r\n2000\r\n", [403]),
        (WHOLE + HALF + b"X-Slow: ", [200, 408]),
    ],
)
def test_who_dribbles_is_hung_up_on(campaign: Campaign, beginning: bytes, told: list[int]) -> None:
    with in_thread(campaign, limits=QUICK) as address:
        assert statuses(dribble(call(address, beginning), b"x")) == told


def test_a_large_body_may_take_longer(campaign: Campaign) -> None:
    body = NO_LOGIN + b" " * 400
    head = b"POST /login" + HOST + OUR_PAGE + b"Content-Length: %d\r\n\r\n" % len(body)
    with (
        in_thread(campaign, limits=replace(QUICK, body_rate=50.0)) as address,
        ExitStack() as stack,
    ):
        calling = stack.enter_context(call(address, head + body[:300]))
        time.sleep(2.5)  # several sweeps after the half second that any body has
        calling.sendall(body[300:])
        assert hear_one(calling) == 401


def test_answers_that_nobody_reads_are_not_kept(campaign: Campaign) -> None:
    """The client asks and asks and never listens: the server's buffers are full, and stay so."""
    with in_thread(campaign, limits=QUICK) as address:
        calling = socket.socket()
        calling.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        calling.settimeout(PATIENCE)
        calling.connect(("127.0.0.1", int(address.rpartition(":")[2])))
        ask = (b"GET /static/base.css" + HOST + b"\r\n") * 100
        give_up = time.monotonic() + PATIENCE
        with pytest.raises(ConnectionError):
            while time.monotonic() < give_up:
                calling.sendall(ask)
        calling.close()


def test_the_slowest_makes_room(campaign: Campaign) -> None:
    limits = replace(QUICK, connections=8, header_seconds=PATIENCE)
    with in_thread(campaign, limits=limits) as address, ExitStack() as stack:
        works = stack.enter_context(call(address, WHOLE))
        assert hear_one(works) == 200
        slow = [stack.enter_context(call(address, HALF)) for _ in range(7)]
        time.sleep(1.2)
        works.sendall(WHOLE)
        assert hear_one(works) == 200
        new = stack.enter_context(call(address, WHOLE))
        assert hear_one(new) == 200
        heard = hear(slow[0])
        assert statuses(heard) == [503]
        assert b"as many connections as it can hold" in heard
        for each in slow[1:]:
            each.sendall(b"\r\n")
            assert hear_one(each) == 200


@contextmanager
def all_busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Let requests for the page wait until somebody says so."""
    go_on = Event()
    is_current = getattr_static(Desk, "is_current").fget

    def wait(self: Desk) -> bool:
        assert go_on.wait(PATIENCE)
        return bool(is_current(self))

    monkeypatch.setattr(Desk, "is_current", property(wait))
    yield go_on
    go_on.set()


def test_where_all_are_at_work_the_next_is_told_so(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = add_token(campaign.desk.store.name, "reviewer", "ann").encode()
    page = b"GET /review" + HOST + b"Authorization: Bearer " + token + b"\r\n\r\n"
    limits = replace(QUICK, connections=3)
    with (
        all_busy(monkeypatch) as go_on,
        in_thread(campaign, limits=limits) as address,
        ExitStack() as stack,
    ):
        busy = [stack.enter_context(call(address, page)) for _ in range(3)]
        time.sleep(1.2)  # longer than anybody may dribble: it is the server that takes its time
        for _ in range(40):  # more than are told of it at a time
            refused = hear(call(address, WHOLE))
            assert statuses(refused) == [503]
            assert b"Retry-After" in refused
        go_on.set()
        assert [hear_one(each) for each in busy] == [200, 200, 200]
        assert hear_one(stack.enter_context(call(address, WHOLE))) == 200


def test_without_a_file_left_a_client_is_told_so(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    accept, failures = socket.socket.accept, [errno.EMFILE, errno.ENFILE]

    def fail(self: socket.socket) -> tuple[socket.socket, object]:
        if failures and not left:
            left.append(1)
            raise OSError(failures.pop(), "too many open files")
        left.clear()
        return accept(self)

    left: list[int] = []  # a call is left where it is, and taken the second time
    monkeypatch.setattr(socket.socket, "accept", fail)
    with in_thread(campaign, limits=QUICK) as address, ExitStack() as stack:
        assert statuses(hear(call(address, WHOLE))) == [503]
        assert statuses(hear(call(address, WHOLE))) == [503]
        assert hear_one(stack.enter_context(call(address, WHOLE))) == 200
    assert "Traceback" not in caplog.text


def test_repeated_lines_are_counted() -> None:
    now, written = [0.0], io.StringIO()
    handler = LimitedHandler(written, clock=lambda: now[0])
    logger = logging.Logger("assay.test")
    logger.addHandler(handler)
    for _ in range(1000):
        logger.warning("storm")
        logger.info("GET / 200")
    logger.error("another kind")
    assert written.getvalue().count("storm") == 5
    assert written.getvalue().count("GET") == 250
    assert written.getvalue().count("another") == 1
    now[0] = 1.0
    logger.info("GET / 200")
    assert "and 995 more such lines of assay.test within a second" in written.getvalue()
    assert "and 750 more" in written.getvalue()
    for _ in range(9):
        logger.warning("storm")
    handler.close()
    assert written.getvalue().endswith("and 4 more such lines of assay.test within a second\n")
