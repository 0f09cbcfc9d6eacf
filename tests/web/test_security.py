"""What must never happen: other names for the server, texts in logs, templates that trust."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import assay.web
from assay.errors import StorageError
from assay.web import Options
from assay.web.auth import needs
from assay.web.serve import ROUTES
from tests.web.conftest import Web

MakeWeb = Callable[..., Web]

SECRET = "zebra-7731"
ALLOWED = frozenset({"127.0.0.1", "localhost", "::1", "labels.example.org"})


HOSTS = {
    "127.0.0.1": True,
    "127.0.0.1:8000": True,
    "LOCALHOST:1": True,
    "[::1]:8000": True,
    "labels.example.org": True,
    "evil.example": False,
    "labels.example.org.evil.example": False,
    "evil.example:8000": False,
    "127.0.0.1.evil.example": False,
    "evil@127.0.0.1": False,
    "127.0.0.1/evil": False,
    "127.0.0.1:8000:9": False,
    "127.0.0.1:x": False,
    "[::1": False,
    "": False,
}


def test_only_names_on_the_list_are_answered(make_web: MakeWeb) -> None:
    web = make_web(Options(hosts=ALLOWED))
    for host, allowed in HOSTS.items():
        client = web.client("owner", host=host)
        for path in ("/review", "/login", "/static/base.css", "/nowhere"):
            assert (client.get(path).status_code != 421) == allowed, host


@needs("reviewer")
async def crash(request: Request) -> Response:
    raise KeyError(f"{SECRET} {request.headers['authorization']}")


@needs("reviewer")
async def break_storage(request: Request) -> Response:
    def fail(_campaign: object) -> Response:
        raise StorageError(f"the storage /somewhere/{SECRET} failed")

    found: Response = await request.app.state.counter.call(fail)
    return found


def test_neither_token_nor_text_is_logged(
    make_web: MakeWeb, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    subjects = [f"{SECRET} {number}" for number in range(60)]
    columns = {"id": list(range(60)), "p": [0.7] * 60, "subject": subjects}
    broken = (Route("/crash", crash), Route("/broken/{name}", break_storage))
    web = make_web(routes=(*ROUTES, *broken), predictions=columns, scale="probability")
    reviewer = web.client("reviewer")
    with caplog.at_level(logging.DEBUG):
        shown = reviewer.post("/api/review", json={"want": 3})
        assert SECRET in shown.text  # so there was something to log
        reviewer.post("/api/review", json={"submits": [{"key": SECRET, "item": "x"}]})
        reviewer.post("/api/review", content=SECRET)
        reviewer.get(f"/{SECRET}?token={web.tokens['reviewer']}")
        reviewer.request(SECRET.upper(), "/review")
        assert reviewer.get("/crash").status_code == 500
        assert reviewer.get(f"/broken/{SECRET}").status_code == 503
        web.client().post("/login", json={"token": web.tokens["owner"]})
    # httpx, on the client's side, logs the addresses that it asks for.
    ours = [record for record in caplog.records if not record.name.startswith("httpx")]
    logged = "\n".join(logging.Formatter("%(message)s %(exc_text)s").format(each) for each in ours)
    printed = "".join(capfd.readouterr())
    for told in (logged, printed):
        for secret in (SECRET, SECRET.upper(), *web.tokens.values()):
            assert secret not in told
    for line in ("POST /api/review 200", "POST /api/review 422", "GET - 404", "- /review 405"):
        assert line in logged
    assert "crashed: KeyError at" in logged
    assert "GET /broken/{name} 503" in logged
    assert "storage trouble: StorageError" in logged


def test_only_an_owner_hears_what_the_storage_is_called(make_web: MakeWeb) -> None:
    web = make_web(routes=(*ROUTES, Route("/api/broken", break_storage)))
    assert SECRET in web.client("owner").get("/api/broken").text
    told = web.client("reviewer").get("/api/broken")
    assert told.status_code == 503
    assert SECRET not in told.text
    assert told.json()["hint"] == "try again in a moment"


def test_no_template_trusts_a_text() -> None:
    templates = list((Path(str(assay.web.__file__)).parent / "templates").glob("*.html"))
    assert len(templates) >= 4
    for template in templates:
        text = template.read_text()
        for word in ("|safe", "| safe", "autoescape", "style=", "onclick", "<script>", "<style"):
            assert word not in text, f"{template}: {word}"
