"""How much a request may hold, and what in it is refused before a database sees it."""

import json
import socket
from collections.abc import Iterator

import httpx2
import pytest

from assay.errors import is_storable
from assay.web import Options
from assay.web.middleware import limit_of
from assay.web.serve import ROUTES
from tests.web.conftest import Web
from tests.web.serving import PATIENCE, in_thread, make_campaign

SUBMIT = {"key": "k", "item": "m000", "answer": "yes"}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Web:
    """One campaign for all of these tests: hardly anything gets as far as to change it."""
    url = f"sqlite:///{tmp_path_factory.mktemp('limits') / 'web.db'}"
    return Web(url, make_campaign(url), Options(), ROUTES)


@pytest.mark.parametrize(("path", "limit"), [("/api/review", 65_536), ("/api/import", 10_485_760)])
def test_bodies_are_limited_to_the_byte(web: Web, path: str, limit: int) -> None:
    assert limit_of(path) == limit
    owner = web.client("owner", **{"content-type": "application/json"})

    def too_large(content: bytes | Iterator[bytes]) -> bool:
        answer = owner.post(path, content=content)
        assert answer.status_code in (200, 413, 422)
        return f"more than the {limit:,} bytes" in answer.json()["error"]

    assert not too_large(b" " * limit)
    assert too_large(b" " * (limit + 1))

    def chunks(size: int) -> Iterator[bytes]:
        for start in range(0, size, 60_000):
            yield b" " * min(60_000, size - start)

    # Without a length in the headers, they are counted as they come.
    assert not too_large(chunks(limit))
    assert too_large(chunks(limit + 1))


@pytest.mark.parametrize("length", ["65537", "99999999999999999999", "0000000065537"])
def test_a_length_that_is_claimed_is_believed_where_it_is_too_much(web: Web, length: str) -> None:
    owner = web.client("owner", **{"content-length": length})
    assert owner.post("/api/review", content=b"{}").status_code == 413


@pytest.mark.parametrize("length", ["٣", "-1", "1e9", "", "0x10"])
def test_a_length_that_is_none_breaks_nothing(web: Web, length: str) -> None:
    owner = web.client("owner", **{"content-type": "application/json"})
    headers = {b"content-length": length.encode()}
    assert owner.post("/api/review", content=b" " * 70_000, headers=headers).status_code == 413


def test_a_real_server_stops_reading(web: Web) -> None:
    """A hundred megabytes are announced; the answer comes long before they are sent."""
    own = {"Authorization": f"Bearer {web.tokens['owner']}", "Content-Type": "application/json"}
    with in_thread(web.campaign) as address:
        host, port = address.removeprefix("http://").split(":")
        for length in ("Content-Length: 100000000", "Transfer-Encoding: chunked"):
            lines = ["POST /api/review HTTP/1.1", f"Host: {host}", length]
            lines += [f"{name}: {value}" for name, value in own.items()]
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
                connection.sendall("\r\n".join([*lines, "", ""]).encode())
                if "chunked" in length:
                    connection.sendall(b"%x\r\n" % 70_000 + b" " * 70_000 + b"\r\n")
                answer = connection.recv(4096)
            assert answer.startswith(b"HTTP/1.1 413"), answer
            assert b"content-security-policy" in answer.lower()
        with httpx2.Client(base_url=address, headers=own, trust_env=False) as client:
            # Who sends it all before listening hears of it, too.
            assert client.post("/api/review", content=b" " * 5_000_000).status_code == 413


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"null", 422),
        (b"[]", 422),
        (b'"text"', 422),
        (b"{", 422),
        (b"\xff\xfe{}", 422),
        (b'{"want": NaN}', 422),
        (b'{"want": Infinity}', 422),
        (b'{"want": 1e400}', 422),
        (b'{"want": ' + b"9" * 5000 + b"}", 422),
        (b'{"want": 3.0}', 422),
        (b'{"want": true}', 422),
        (b'{"want": -1}', 422),
        (b'{"want": 1000}', 422),
        (b"[" * 30_000 + b"]" * 30_000, 422),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, 422),
        (b'{"submits": {}}', 422),
        (b'{"submits": [], "submits": []}', 422),
        (b'{"submits": [], "note": {"a": 1, "\\u0061": 2}}', 422),
        (b'{"submits": [1]}', 422),
        (b'{"submits": [{}]}', 422),
        (b'{"submits": [], "note": "\\u0000"}', 422),
        (b'{"submits": [], "\\ud800": 1}', 422),
        (b'{"submits": [], "list": [["\\udfff"]]}', 422),
        (b'{"submits": []}', 200),
        (b'{"submits": [], "note": "\\ud83d\\ude00"}', 200),
        (b"{}", 200),
    ],
    ids=lambda value: str(value)[:30],
)
def test_json_that_is_none_is_refused(web: Web, body: bytes, status: int) -> None:
    client = web.client("reviewer", **{"content-type": "application/json; charset=utf-8"})
    assert client.post("/api/review", content=body).status_code == status


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"key": "k" * 100}, 200),
        ({"key": "k" * 101}, 422),
        ({"key": ""}, 422),
        ({"key": 7}, 422),
        ({"key": "\0"}, 422),
        ({"item": None}, 422),
        ({"item": 7}, 422),
        ({"item": "\ud800"}, 422),
        ({"item": "x" * 10_001}, 422),
        ({"item": "never asked for"}, 200),  # a receipt says that it is refused
        ({"answer": "skip"}, 200),
        ({"answer": "Yes"}, 422),
        ({"answer": ["yes"]}, 422),
        ({"answer": {"yes": 1}}, 422),
        ({"comment": "x" * 2_000}, 200),
        ({"comment": "x" * 2_001}, 422),
        ({"comment": None}, 422),
        ({"comment": ["x"]}, 422),
    ],
    ids=lambda value: str(value)[:30],
)
def test_submits_are_checked(web: Web, changed: dict[str, object], status: int) -> None:
    web.campaign.review([], reviewer="reviewer ann", want=30)
    before = web.rows()
    reviewer = web.client("reviewer", **{"content-type": "application/json"})
    body = json.dumps({"submits": [SUBMIT | {"key": "first"}, SUBMIT | changed]})
    assert reviewer.post("/api/review", content=body.encode()).status_code == status
    if status != 200:
        assert web.rows() == before  # not even the first, which is right


def test_a_hundred_answers_at_once_are_enough(web: Web) -> None:
    reviewer = web.client("reviewer")
    for count, status in ((100, 200), (101, 413)):
        submits = [SUBMIT | {"key": f"{number}"} for number in range(count)]
        assert reviewer.post("/api/review", json={"submits": submits}).status_code == status


def test_what_every_storage_keeps() -> None:
    for number in (*range(0x200), *range(0xD700, 0xE100), 0x1F600):
        sign = chr(number)
        try:
            sign.encode()
            kept = number != 0  # which PostgreSQL refuses
        except UnicodeEncodeError:
            kept = False
        assert is_storable(f"a{sign}b") == kept
