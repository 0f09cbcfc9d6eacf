"""Hostile requests to every route: whatever comes, the answer is never a crash (500 or 503).

``ASSAY_TORTURE=1`` runs 50 times as many.
"""

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.routing import Route
from starlette.types import Message

from assay.core.vocabulary import Vocabulary
from assay.exchange import FORMATS
from assay.labelling.review_rule import words_of
from assay.web import Options
from assay.web.serve import ROUTES
from tests.web.conftest import Web
from tests.web.serving import make_campaign, run_apart

WORDS = words_of(Vocabulary())
TIMES = 50 if os.environ.get("ASSAY_TORTURE") == "1" else 1


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def web(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Web:
    """One campaign for all requests, on either backend, that some people have begun to judge."""
    storage = f"sqlite:///{tmp_path_factory.mktemp('fuzz') / 'web.db'}"
    if request.param == "postgresql":
        parts = dict(part.split("=") for part in request.getfixturevalue("postgres_dsn").split())
        storage = f"postgresql://{parts['user']}@/{parts['dbname']}?host={parts['host']}"
    campaign = make_campaign(storage, name="fuzzed", reviewers_per_item=2, overlap=0.5)
    for name in ("ann", "bob"):
        campaign.review([], reviewer=name, want=8)
    return Web(storage, campaign, Options(), ROUTES)


NASTY = st.sampled_from(
    ["\0", "\ud800", "x\udfff", "", "'; DROP TABLE item; --", "=1+1", "../..", "NA", "1e5", "٣",
     "\u202e", "🜚" * 50, "x" * 20_000, "m000", "m001", "ann", "%00", "{{7*7}}", "\r\nX: y"]
)  # fmt: skip
TEXTS = st.one_of(NASTY, st.text(max_size=20), st.sampled_from([*WORDS, *FORMATS]))
NUMBERS = st.one_of(
    st.integers(), st.floats(), st.sampled_from([10**400, -(2**63), 2**63, float("nan"), 1e308])
)
VALUES = st.recursive(
    st.one_of(TEXTS, NUMBERS, st.booleans(), st.none()),
    lambda each: st.lists(each, max_size=4) | st.dictionaries(TEXTS, each, max_size=4),
    max_leaves=8,
)


def mostly(right: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw what is right, so that handlers get to work on it, and sometimes anything."""
    return st.integers(0, 9).flatmap(
        lambda die: VALUES if die == 0 else TEXTS if die == 1 else right
    )


def mostly_texts(right: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Draw what is right, and sometimes another text."""
    return st.integers(0, 9).flatmap(lambda die: TEXTS if die == 0 else right)


IDS = st.integers(0, 59).map(lambda number: f"m{number:03d}")
KEYS = st.integers(0, 40).map(lambda number: f"k{number}")
NAMES = st.sampled_from(["ann", "bob", "eve"])
SUBMITS = st.fixed_dictionaries(
    {"key": mostly(KEYS), "item": mostly(IDS), "answer": mostly(st.sampled_from(WORDS))},
    optional={"comment": mostly(TEXTS)},
)
REVIEWS = st.fixed_dictionaries(
    {"submits": mostly(st.lists(mostly(SUBMITS), max_size=4)), "want": mostly(st.integers(0, 20))},
    optional={"campaign": mostly(st.just("fuzzed")), "reviewer": TEXTS},
)
LOGINS = st.fixed_dictionaries({}, optional={"token": TEXTS | VALUES})
JSON = st.one_of(VALUES, REVIEWS, SUBMITS, LOGINS).map(lambda value: json.dumps(value).encode())
COLUMNS = ("id", "label", "reviewer", "comment")
ROWS = st.tuples(
    mostly_texts(IDS), mostly_texts(st.sampled_from(WORDS)), mostly_texts(NAMES), TEXTS
)  # of files
CSV = st.lists(ROWS, max_size=4).map(lambda rows: "\n".join(map(",".join, [COLUMNS, *rows])))
JSONL = st.lists(ROWS, max_size=4).map(
    lambda rows: "\n".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in rows)
)
FILES = (CSV | JSONL).map(lambda text: text.encode(errors="surrogatepass"))
PAIRS = st.fixed_dictionaries(
    {"format": mostly_texts(st.sampled_from(list(FORMATS)))},
    optional={
        "reviewer": mostly_texts(NAMES),
        "size": mostly_texts(st.sampled_from(["1", "5", "0", "-1"])),
        "hours": mostly_texts(st.sampled_from(["1", "24"])),
        "revise": mostly_texts(st.just("yes")),
        "what": TEXTS,
    },
).map(lambda pairs: urlencode(pairs, errors="surrogatepass").encode())
GARBAGE = st.binary(max_size=200) | st.sampled_from(
    [b"[" * 60_000, b'{"a":' * 9000, b"9" * 6000, b"\0" * 100, b"PK\x03\x04" * 9]
)
BODIES = st.one_of(JSON, FILES, PAIRS, GARBAGE)
KINDS = st.sampled_from(
    [b"application/json", b"application/x-www-form-urlencoded", b"text/csv", b"multipart/form-data",
     b"application/json; charset=utf-16", b"\xff\xfe", b""]
)  # fmt: skip
QUERIES = st.one_of(PAIRS, PAIRS, st.just(b""), GARBAGE)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from([b"cookie", b"origin", b"range", b"if-none-match", b"accept", b"x-y",
                         b"if-modified-since", b"sec-fetch-site", b"content-encoding"]),
        st.binary(max_size=40),
    ),
    max_size=3,
)  # fmt: skip
EVERY = [
    (method, route.path)
    for route in ROUTES
    if isinstance(route, Route)
    for method in sorted(route.methods or ())
]
TARGETS = st.sampled_from(
    [*EVERY, ("GET", "/static/base.css"), ("GET", "/static/\0"), ("GET", "/static/" + "x" * 5000)]
)
ANYWHERE = st.tuples(st.text(max_size=20), st.text(max_size=40).map(lambda path: f"/{path}"))


@dataclass(frozen=True)
class Sent:
    """A request as a program could send it that keeps to no rule."""

    target: tuple[str, str]
    body: bytes
    kind: bytes = b"application/json"
    query: bytes = b""
    headers: Sequence[tuple[bytes, bytes]] = ()


def posts(path: str, bodies: st.SearchStrategy[bytes]) -> st.SearchStrategy[Sent]:
    """Draw requests that a handler takes for its own."""
    return st.builds(
        Sent, st.just(("POST", path)), bodies, st.just(b"application/json"), PAIRS | st.just(b"")
    )


NEAR = st.one_of(
    posts("/api/review", REVIEWS.map(lambda value: json.dumps(value).encode())),
    posts("/api/ruling", SUBMITS.map(lambda value: json.dumps(value).encode())),
    posts("/api/import", FILES),
    posts("/api/batch", PAIRS),
)


@settings(max_examples=100 * TIMES)
@given(NEAR)
def test_requests_that_are_nearly_right(web: Web, sent: Sent) -> None:
    assert call(web, sent) < 500


@settings(max_examples=80 * TIMES)
@given(st.builds(Sent, TARGETS | ANYWHERE, BODIES, KINDS, QUERIES, HEADERS))
def test_requests_that_are_all_wrong(web: Web, sent: Sent) -> None:
    assert call(web, sent) < 500


def call(web: Web, sent: Sent) -> int:
    """Give an owner's request to the application itself: no client refuses to send it."""
    method, path = sent.target
    token = b"Bearer " + web.tokens["owner"].encode()
    own = [(b"host", b"127.0.0.1"), (b"authorization", token), (b"content-type", sent.kind)]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(errors="surrogatepass"),
        "root_path": "",
        "query_string": sent.query,
        "headers": [*own, *sent.headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    waiting: list[Message] = [{"type": "http.request", "body": sent.body, "more_body": False}]
    answers: list[Message] = []

    async def receive() -> Message:
        while not waiting:
            await asyncio.sleep(3600)  # nobody hangs up
        return waiting.pop()

    async def send(message: Message) -> None:
        answers.append(message)

    async def answered() -> None:
        await web.app(scope, receive, send)

    run_apart(answered())
    assert not answers[-1].get("more_body", False)
    assert b"content-security-policy" in dict(answers[0]["headers"])
    status: int = answers[0]["status"]
    return status
