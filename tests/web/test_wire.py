"""Requests as no browser sends them: each has an answer, and none a crash in the log."""

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.web.conftest import stored
from tests.web.serving import PATIENCE, add_token, in_thread, make_campaign
from tests.web.test_connections import statuses

HOST = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = b'{"want":1}'
CHUNKS = b"a\r\n" + BODY + b"\r\n0\r\n\r\n"
LOGIN = b"GET /login" + HOST + b"\r\n"
LAST = b"GET /login" + HOST + b"Connection: close\r\n\r\n"
TO_WEBSOCKET = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, bytes]]:
    """The address and the storage of a campaign, and the beginning of a reviewer's request."""
    storage = f"sqlite:///{tmp_path_factory.mktemp('wire') / 'web.db'}"
    campaign = make_campaign(storage)
    token = add_token(storage, "reviewer", "ann").encode()
    post = b"POST /api/review" + HOST + b"Content-Type: application/json\r\n"
    with in_thread(campaign) as address:
        yield address, storage, post + b"Authorization: Bearer " + token + b"\r\n"


def heard_of(address: str, sent: bytes, later: bytes = b"") -> list[int]:
    """Return the status of every answer until the server hangs up."""
    heard = b""
    port = int(address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as calling:
        with suppress(ConnectionError):  # it does not wait for all that one might send
            calling.sendall(sent)
            if later:
                heard += calling.recv(65_536)
                calling.sendall(later)
        with suppress(ConnectionError):
            while more := calling.recv(65_536):
                heard += more
    return statuses(heard)


MANY = b"".join(b"X%d: a\r\n" % number for number in range(10_000))
NOT_HTTP = {
    "10,000 headers": b"GET /login" + HOST + MANY + b"\r\n",
    "a header of 5 MB": b"GET /login" + HOST + b"X: " + b"a" * 5_000_000 + b"\r\n\r\n",
    "a header of 100 KB": b"GET /login" + HOST + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
    "an address of 100 KB": b"GET /" + b"a" * 100_000 + HOST + b"\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 300,
    "two hosts": b"GET /login" + HOST + b"Host: 127.0.0.1\r\n\r\n",
    "no host": b"GET /login HTTP/1.1\r\n\r\n",
    "NUL": b"GET /login" + HOST + b"X: a\0b\r\n\r\n",
}


@pytest.mark.parametrize("sent", NOT_HTTP.values(), ids=NOT_HTTP)
def test_what_is_too_large_or_not_http_is_refused(
    served: tuple[str, str, bytes], sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert heard_of(served[0], sent) == [400]
    assert "Traceback" not in caplog.text


def test_a_hundred_headers_are_enough(served: tuple[str, str, bytes]) -> None:
    few = b"".join(b"X%d: a\r\n" % number for number in range(98))
    assert heard_of(served[0], b"GET /login" + HOST + few + b"Connection: close\r\n\r\n") == [200]
    assert heard_of(served[0], b"GET /login" + HOST + few + b"A: 1\r\nB: 2\r\n\r\n" + LAST) == [431]


SMUGGLING = {
    "both lengths": b"Content-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "both lengths, another": b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n" + CHUNKS,
    "two lengths": b"Content-Length: 10\r\nContent-Length: 5\r\n\r\n" + BODY,
    "a signed length": b"Content-Length: +10\r\n\r\n" + BODY,
    "chunked twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "chunked, identity": b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKS,
    "a space before the colon": b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKS,
    "an unknown encoding": b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "a chunk of 0xa": b"Transfer-Encoding: chunked\r\n\r\n0x" + CHUNKS,
    "a chunk of -5": b"Transfer-Encoding: chunked\r\n\r\n-5\r\n" + BODY + b"\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("rest", SMUGGLING.values(), ids=SMUGGLING)
def test_a_length_in_doubt_is_refused_with_all_behind_it(
    served: tuple[str, str, bytes], rest: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    address, storage, post = served
    before = stored(storage)
    assert heard_of(address, post + rest + LOGIN) == [400]
    assert stored(storage) == before
    assert "Traceback" not in caplog.text


def test_the_host_in_doubt_does_not_hide_a_length_in_doubt(served: tuple[str, str, bytes]) -> None:
    elsewhere = b"POST /login HTTP/1.1\r\nHost: evil.example\r\n" + SMUGGLING["both lengths"]
    assert heard_of(served[0], elsewhere + LOGIN) == [400]


def test_a_broken_body_after_its_answer_is_no_crash(
    served: tuple[str, str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    begun = b"POST /api/review" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    assert heard_of(served[0], begun, later=b"zz\r\n") == [401]
    assert [record.exc_info for record in caplog.records if record.exc_info] == []


def test_requests_in_a_row_are_answered_in_a_row(served: tuple[str, str, bytes]) -> None:
    address, _, post = served
    first = post + b"Content-Length: 10\r\n\r\n" + BODY
    refused = b"POST /api/review" + HOST + b"Content-Length: 10\r\n\r\n" + BODY
    assert heard_of(address, first + refused + LOGIN + LAST) == [200, 401, 200, 200]
    assert heard_of(address, LOGIN * 40 + b"garbage\r\n\r\n" + LAST) == [200] * 40 + [400]


@pytest.mark.parametrize(("path", "status"), [(b"/review", 401), (b"/login", 200), (b"/x", 404)])
def test_a_websocket_is_answered_as_any_request(
    served: tuple[str, str, bytes], path: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    asked = b"GET " + path + HOST + TO_WEBSOCKET
    assert heard_of(served[0], asked * 3 + LAST) == [status] * 3 + [200]
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_http_2_is_not_spoken(
    served: tuple[str, str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
    assert heard_of(served[0], preface) == [421, 400]
    h2c = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n"
    assert heard_of(served[0], b"GET /login" + HOST + h2c + LAST) == [200, 200]
    assert "Traceback" not in caplog.text
