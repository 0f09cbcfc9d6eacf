"""What must never happen: other names for the server, texts in logs, SQL from strings, fetching."""

import ast
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import assay.storage
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
        raise StorageError(f"the storage /somewhere/{SECRET} did not do its work")

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


UNSAFE = {"requests", "urllib.request", "urllib3", "httpx", "httpx2", "aiohttp", "http.client"}
UNSAFE |= {"markupsafe.Markup", "sqlalchemy.text", "sqlalchemy.literal_column", "subprocess"}
STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|SET|WITH)\b")


def unsafe(source: str) -> list[str]:
    """Return what fetches, renders unescaped, or makes SQL of strings."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found += [each.name for each in names if each.name in UNSAFE]
            case ast.ImportFrom(module=module, names=names):
                imported = [f"{module}", *(f"{module}.{each.name}" for each in names)]
                found += [name for name in imported if name in UNSAFE]
            case ast.Call(func=ast.Attribute(attr=called), args=[made, *_]) if is_made(made):
                found += [called] if called in ("execute", "exec_driver_sql", "text") else []
            case ast.JoinedStr(values=[first, *_]) | ast.BinOp(left=first):
                found += ["SQL"] if STATEMENT.match(str(getattr(first, "value", ""))) else []
    return found


def is_made(node: ast.expr) -> bool:
    """Tell whether a text is put together of others."""
    formatted = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".format")
    return formatted or isinstance(node, ast.JoinedStr | ast.BinOp)


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("import urllib.request", 1),
        ("from urllib import request", 1),
        ("import httpx2", 1),
        ("connection.execute(sa.text(f'{x}'))", 1),
        ("connection.execute(sa.text('{}'.format(x)))", 1),
        ("connection.exec_driver_sql(x + y)", 1),
        ("query = f'SELECT {x}'", 1),
        ("query = 'DELETE FROM item WHERE id = %s' % x", 1),
        ("from markupsafe import Markup", 1),
        ("connection.exec_driver_sql('BEGIN')", 0),
        ("connection.execute(sa.select(table).where(table.c.x == x))", 0),
    ],
)
def test_the_search_finds_what_it_should(source: str, wrong: int) -> None:
    assert len(unsafe(source)) == wrong


def test_no_sql_of_strings_and_nothing_fetched() -> None:
    folders = [Path(str(package.__file__)).parent for package in (assay.web, assay.storage)]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    assert {"store.py", "owner.py"} <= {file.name for file in files}
    for file in files:
        assert unsafe(file.read_text()) == [], file
    templates = list((folders[0] / "templates").glob("*.html"))
    assert len(templates) >= 4
    for template in templates:
        text = template.read_text()
        for word in ("|safe", "| safe", "autoescape", "style=", "onclick", "<script>", "<style"):
            assert word not in text, f"{template}: {word}"
