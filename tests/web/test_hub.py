"""One server for all campaigns of a storage: the list, and each campaign's pages below its name."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.storage import open_store
from assay.web import Options, new_token
from assay.web.hub import pages_address
from assay.web.serve import make_hub
from tests.web.conftest import ADDRESS
from tests.web.serving import add_token, make_campaign

NAMES = ("spam", "weekly/3", "50% off? #1~")
Open = Callable[..., TestClient]


@pytest.fixture
def storage(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'assay.db'}"
    for name in NAMES:
        make_campaign(url, name=name)
    return url


@pytest.fixture
def open_hub(storage: str) -> Open:
    """Give a program with a token for the hub: by default that of whoever started it."""
    local = new_token()
    app = make_hub(storage, Options(every=True, local_token=local))

    def open_hub(token: str = local) -> TestClient:
        client = TestClient(app, base_url=ADDRESS, follow_redirects=False)
        client.headers["Authorization"] = f"Bearer {token}"
        return client

    return open_hub


def test_every_campaign_is_a_link_away(open_hub: Open) -> None:
    hub = open_hub()
    page = hub.get("/").text
    for name in NAMES:
        home = pages_address(name)
        assert f'href="{home}"' in page
        assert hub.get(home).headers["location"] == f"{home}owner"
        assert name in page


@pytest.mark.parametrize("page", ["owner", "owner/errors", "owner/disputes", "review", "login"])
@pytest.mark.parametrize("name", NAMES)
def test_a_campaigns_page_leads_only_to_its_own_pages(open_hub: Open, name: str, page: str) -> None:
    home, hub = pages_address(name), open_hub()
    text = hub.get(f"{home}{page}").text
    links = set(re.findall(r'(?:href|src|action)="(/[^"]*)"', text))
    assert all(link.startswith(home) for link in links - {"/"})
    assert {hub.get(link).status_code for link in links if "/static/" in link} == {200}


def test_answers_go_to_the_campaign_of_the_page(open_hub: Open, storage: str) -> None:
    hub = open_hub()
    for number, name in enumerate(NAMES):
        api = f"{pages_address(name)}api/review"
        (item,) = hub.post(api, json={"want": 1}).json()["items"]
        label = {"key": f"k{number}", "item": item["id"], "answer": "yes"}
        reply = hub.post(api, json={"want": 0, "submits": [label]}).json()
        assert reply["receipts"][0]["status"] == "saved"
    with open_store(storage).read() as session:
        assert len(session.names()) == len(NAMES)
    counts = re.findall(r'data-label="labels">(\d+)<', hub.get("/").text)
    assert counts == ["1"] * len(NAMES)


def test_a_token_opens_its_own_campaign_only(open_hub: Open, storage: str) -> None:
    ann = open_hub(add_token(storage, "reviewer", "ann", "spam"))
    assert ann.get("/c/spam/review").status_code == 200
    assert ann.get("/c/spam/owner").status_code == 403
    assert ann.get(f"{pages_address('weekly/3')}review").status_code == 401
    assert ann.get("/").headers["location"] == "/c/spam/"
    assert open_hub("nobody's").get("/").status_code == 401


def test_an_owners_token_shows_all_and_opens_one(open_hub: Open, storage: str) -> None:
    eve = open_hub(add_token(storage, "owner", "eve", "spam"))
    page = eve.get("/").text
    assert all(name in page for name in NAMES)
    assert re.findall(r'href="(/c/[^"]*)"', page) == ["/c/spam/"]
    assert eve.get("/c/spam/owner").status_code == 200
    form = {"name": "weekly/3", "new": "x", "typed": "weekly/3"}
    assert [eve.post(path, data=form).status_code for path in ("/rename", "/delete")] == [403] * 2
    assert eve.get("/new").status_code == eve.post("/api/new/file?name=a.csv").status_code == 403


def test_what_is_not_there(open_hub: Open) -> None:
    hub = open_hub()
    assert hub.get("/c/nobody/owner").status_code == 404
    assert hub.get("/c/spam/nothing").status_code == 404
    assert hub.get("/owner").status_code == 404


def test_the_link_logs_in_to_all_campaigns_at_once(open_hub: Open) -> None:
    hub = open_hub()
    token = hub.headers.pop("Authorization").removeprefix("Bearer ")
    hub.headers["Origin"] = ADDRESS
    assert hub.get("/").status_code == 401
    assert hub.post("/login", json={"token": token}).json() == {"next": "/"}
    assert [hub.get(f"{pages_address(name)}owner").status_code for name in NAMES] == [200] * 3
    assert hub.post("/c/spam/logout").headers["location"] == "/c/spam/login"
    assert hub.get("/").status_code == 401
