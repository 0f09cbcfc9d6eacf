"""Inviting a reviewer from the dashboard, and the page of all campaigns."""

from collections.abc import Callable

import pytest
import segno

from assay.web import Options
from assay.web.invite import qr_of
from tests.web.conftest import Web
from tests.web.reading import read
from tests.web.serving import make_campaign

MakeWeb = Callable[..., Web]


def test_a_link_lets_a_reviewer_in_and_is_stored_nowhere(web: Web) -> None:
    made = web.client("owner").post("/api/invite", json={"who": " Zoë "})
    assert made.status_code == 200, made.text
    told = made.json()
    address, _, token = told["link"].partition("/login#")
    assert (address, told["who"], told["alone"]) == ("http://127.0.0.1", "Zoë", False)
    assert token not in str(web.rows())
    web.tokens["zoe"] = token
    assert web.client("zoe").get("/review").status_code == 200
    assert web.client("zoe").get("/owner").status_code == 403
    assert token not in web.client("owner").get("/owner").text


@pytest.mark.parametrize("who", ["", " ", "owner", "x" * 101, 5, None, "a\x00b", "OWNER  ann"])
def test_names_that_are_none_or_anothers_are_refused(web: Web, who: object) -> None:
    before = web.rows()["token"]
    answer = web.client("owner").post("/api/invite", json={"who": who})
    assert answer.status_code == 422
    assert "--who" not in answer.text
    assert web.rows()["token"] == before


def test_only_owners_invite(web: Web) -> None:
    assert web.client("reviewer").post("/api/invite", json={"who": "zoe"}).status_code == 403
    assert web.client().post("/api/invite", json={"who": "zoe"}).status_code == 401
    elsewhere = web.browser("owner", origin="http://elsewhere.test")
    assert elsewhere.post("/api/invite", json={"who": "zoe"}).status_code == 403


def test_the_drawn_code_is_the_links() -> None:
    link = "https://labels.example/login#" + "x" * 43
    code = qr_of(link)
    assert code is not None
    dark = set()
    for run in code["path"].removesuffix("z").split("z"):
        start, _, rest = run.removeprefix("M").partition("h")
        x, y = map(int, start.split())
        dark |= {(x + step, y) for step in range(int(rest.partition("v")[0]))}
    matrix = segno.make_qr(link, error="m").matrix
    assert dark == {
        (x + 4, y + 4) for y, row in enumerate(matrix) for x, cell in enumerate(row) if cell
    }
    assert code["size"] == len(matrix) + 8


def test_all_campaigns_only_where_the_server_says_so(make_web: MakeWeb) -> None:
    web = make_web(options=Options(all_campaigns=True))
    make_campaign(web.storage, name="<b>other", metrics=["precision", "recall"], items=200)
    page = read(web.client("owner").get("/owner/campaigns").text)
    names = [row[0].split("Is it")[0].strip() for row in page.tables["campaigns stacked"][1:]]
    assert names == ["<b>other", "<b>other", "spam"]
    now = web.campaign.estimate()
    assert f"[{now.low:.3f}, {now.high:.3f}]" in page.tables["campaigns stacked"][-1]
    assert web.client("reviewer").get("/owner/campaigns").status_code == 403
    alone = Web(web.storage, web.campaign, Options(), web.routes)
    page = read(alone.client("owner").get("/owner/campaigns").text)
    assert [row[0].split()[0] for row in page.tables["campaigns stacked"][1:]] == ["spam"]
    assert "other" not in page.words
    assert "/owner/campaigns" not in alone.client("owner").get("/owner").text
