"""Every route, as the router has it: who may use it, what it answers, what must not happen."""

import logging
from collections.abc import Mapping
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import assay.web
from assay.errors import StorageError
from assay.exchange import FORMATS
from assay.web import Options
from assay.web.auth import needs, role_needed
from assay.web.middleware import content_policy
from assay.web.serve import PUBLIC, ROUTES
from tests.web.conftest import MakeWeb, Web, revoke

EVERY = [
    (method, route.path, role_needed(route.endpoint))
    for route in ROUTES
    if isinstance(route, Route)
    for method in sorted(route.methods or ())
]
GUARDED = [each for each in EVERY if each[1] not in PUBLIC]
CHANGING = [(method, path) for method, path, _ in GUARDED if method not in ("GET", "HEAD")]
QUERIES = ["", *(f"?what=batch&format={name}" for name in FORMATS)]


@needs("owner")
async def crash(_request: Request) -> Response:
    raise KeyError("a text that nobody may see")


@needs("reviewer")
async def write_on_get(request: Request) -> Response:
    await request.app.state.counter.call(lambda campaign: campaign.ask(3, reviewer="eve"))
    return PlainTextResponse("asked")


def test_there_is_something_to_guard() -> None:
    assert {path for _, path, _ in EVERY} >= {"/", "/login", "/logout", "/review", "/api/review"}
    assert {"/owner", "/api/import"} <= {path for _, path, role in EVERY if role == "owner"}


@pytest.mark.parametrize(("method", "path", "role"), GUARDED)
def test_a_token_of_the_right_role_is_needed(web: Web, method: str, path: str, role: str) -> None:
    assert web.client().request(method, path).status_code == 401
    for header in ("Bearer wrong", "Bearer", f"Basic {web.tokens['owner']}", ""):
        wrong = web.client(None, authorization=header)
        assert wrong.request(method, path).status_code == 401
    wanted = {403} if role == "owner" else {200, 303, 415, 422}
    assert web.client("reviewer").request(method, path).status_code in wanted
    assert web.client("owner").request(method, path).status_code in {200, 303, 415, 422}
    revoke(web.storage)
    assert web.client("owner").request(method, path).status_code == 401
    assert web.browser("owner").request(method, path).status_code == 401


def test_a_route_that_forgets_to_say_who_may_use_it_is_refused(make_web: MakeWeb) -> None:
    async def forgotten(_request: Request) -> Response:
        return PlainTextResponse("everybody reads this")

    with pytest.raises(TypeError, match="/forgotten has neither @needs nor a place in PUBLIC"):
        make_web(routes=(*ROUTES, Route("/forgotten", forgotten)))
    with pytest.raises(TypeError, match="/files"):
        make_web(routes=(*ROUTES, Mount("/files", StaticFiles(directory="."))), name="other")


def test_get_changes_nothing(make_web: MakeWeb) -> None:
    writing = Route("/write", write_on_get)
    web = make_web(routes=(*ROUTES, writing))
    web.campaign.review([], reviewer="bob", want=2)
    before = web.rows()
    assert sum(len(rows) for rows in before.values()) > 40
    owner = web.client("owner")
    for route in ROUTES:
        assert owner.head(route.path).status_code < 500
        for query in QUERIES:
            assert owner.get(route.path + query).status_code < 500
    assert web.rows() == before
    assert web.client("owner").get("/write").status_code == 200
    assert web.rows() != before  # so the comparison sees a route that does change something


ELSEWHERE = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:9999"},
    {"origin": "https://127.0.0.1"},
    {"origin": "http://127.0.0.1.evil.example"},
    {"origin": ""},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "none"},
]


@pytest.mark.parametrize(("method", "path"), [*CHANGING, ("POST", "/login")])
def test_no_other_site_changes_anything(web: Web, method: str, path: str) -> None:
    document = {"submits": [], "want": 3, "token": web.tokens["owner"]}
    before = web.rows()
    for headers in ELSEWHERE:
        answer = web.browser("owner", **headers).request(method, path, json=document)
        assert answer.status_code == 403, headers
        assert "set-cookie" not in answer.headers
    assert web.rows() == before
    answer = web.browser("owner").request(method, path, json=document)
    assert answer.status_code != 403  # so the headers made the difference


@pytest.mark.parametrize("headers", [{}, {"origin": "x", "sec-fetch-site": "same-origin"}], ids=str)
def test_our_own_page_does(web: Web, headers: dict[str, str]) -> None:
    before = web.rows()
    browser = web.browser("reviewer", **headers)
    assert browser.post("/api/review", json={"submits": [], "want": 3}).status_code == 200
    assert web.rows() != before
    assert web.client("reviewer").post("/api/review", json={"submits": []}).status_code == 200


def test_every_response_has_the_headers(make_web: MakeWeb) -> None:
    web = make_web(routes=(*ROUTES, Route("/crash", crash)))
    owner, reviewer, nobody = web.client("owner"), web.client("reviewer"), web.client()
    static = nobody.get("/static/base.css")
    answers = {
        200: owner.get("/owner"),
        303: owner.get("/"),
        304: nobody.get("/static/base.css", headers={"if-none-match": static.headers["etag"]}),
        401: nobody.get("/review"),
        403: reviewer.get("/owner"),
        404: owner.get("/nowhere"),
        405: owner.delete("/review"),
        413: owner.post("/api/review", content=b"x" * 70_000),
        415: owner.post("/api/review", content=b"{}"),
        421: web.client("owner", host="evil.example").get("/owner"),
        422: owner.post("/api/review", json=[]),
        500: owner.get("/crash"),
    }
    for status, answer in answers.items():
        assert answer.status_code == status
        check_headers(answer.headers)
        assert answer.headers["cache-control"] == ("no-cache" if status == 304 else "no-store")
        assert "nobody may see" not in answer.text
    check_headers(static.headers)
    assert static.headers["cache-control"] == "no-cache"
    for path in ("/static/nowhere.css", "/static/../app.py", "/static/%2e%2e/app.py", "/static/"):
        missing = nobody.get(path)
        assert missing.status_code == 404
        check_headers(missing.headers)
        assert missing.headers["cache-control"] == "no-store"


def check_headers(headers: Mapping[str, str]) -> None:
    assert headers["content-security-policy"] == content_policy(images=False)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


def test_errors_are_json_to_programs_and_pages_to_people(web: Web) -> None:
    program = web.client("reviewer").post("/api/review", json={"submits": 3})
    assert program.status_code == 422
    assert set(program.json()) == {"error", "details", "hint"}
    person = web.client("reviewer").get("/owner")
    assert person.headers["content-type"].startswith("text/html")
    assert "Only the owner may do this" in person.text
    stranger = web.client().get("/review")
    assert 'id="token"' in stranger.text
    assert stranger.headers["www-authenticate"] == "Bearer"
    assert "spam" not in stranger.text  # a campaign's name may tell too much


def test_images_of_other_sites_are_allowed_only_where_asked_for(make_web: MakeWeb) -> None:
    web = make_web(Options(images=("subject",)))
    policy = web.client().get("/login").headers["content-security-policy"]
    assert policy == content_policy(images=True)
    assert "img-src 'self' data: https:;" in policy
    assert "https:" not in content_policy(images=False)
    for given in (policy, content_policy(images=False)):
        assert "unsafe" not in given
        assert "default-src 'none'" in given


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
async def crash_with_a_secret(request: Request) -> Response:
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
    broken = (Route("/crash", crash_with_a_secret), Route("/broken/{name}", break_storage))
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
