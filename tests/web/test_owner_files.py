"""Files through the owner's page, its other pages, and inviting a reviewer."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
import segno

import assay
from assay.campaign.exchange import write_labels
from assay.exchange import FORMATS
from assay.web import Options
from assay.web.invite import qr_of
from tests.web.conftest import MakeWeb, Web
from tests.web.reading import read
from tests.web.serving import make_campaign
from tests.web.test_owner import review, truth

FORM = {"content-type": "application/x-www-form-urlencoded"}


def upload(web: Web, content: bytes, query: str = "") -> Any:
    return web.client("owner").post(f"/api/import{query}", content=content)


def batch(web: Web, **values: object) -> Any:
    return web.client("owner").post("/api/batch", content=urlencode(values), headers=FORM)


def test_labels_come_out_as_the_command_writes_them(web: Web) -> None:
    review(web.campaign, "ann", truth)
    for name, form in FORMATS.items():
        answer = web.client("owner").get(f"/owner/export?format={name}")
        if form.write_labels is None:
            assert answer.status_code == 422
            continue
        assert answer.content == write_labels(web.campaign, format=name).content
        assert answer.headers["content-disposition"] == (
            f'attachment; filename="spam-labels{form.suffix}"'
        )
        assert answer.headers["content-type"].startswith(form.media_type.partition(";")[0])
    assert web.client("owner").get("/owner/export?format=xls").status_code == 422


def test_the_report_comes_out_as_the_command_writes_it(web: Web) -> None:
    review(web.campaign, "ann", truth)
    made = assay.load_campaign("spam", storage=web.storage).report()
    for name, content in (("html", made.html), ("md", made.markdown), ("json", made.json)):
        answer = web.client("owner").get(f"/owner/report?format={name}")
        assert answer.text == content
        disposition = answer.headers["content-disposition"]
        assert disposition == f'attachment; filename="spam-report.{name}"'
    assert web.client("owner").get("/owner/report").text == made.html
    assert web.client("owner").get("/owner/report?format=pdf").status_code == 422
    assert web.client("reviewer").get("/owner/report").status_code == 403


def test_a_file_goes_round(web: Web) -> None:
    given = batch(web, format="csv", size=5).text
    header, *lines = given.splitlines()
    assert header == "id,subject,label"
    assert len(lines) == 5
    filled = "\n".join([header, *(f"{line}yes" for line in lines)]).encode()
    told = upload(web, filled).json()
    assert (told["new"], told["unchanged"], told["format"]) == (5, 0, "csv")
    told = upload(web, filled, "?format=csv").json()
    assert (told["new"], told["unchanged"]) == (0, 5)
    events = assay.load_campaign("spam", storage=web.storage).events()
    assert [event.reviewer for event in events] == ["owner ann"] * 5


def test_whose_answers_they_are_can_be_said(web: Web) -> None:
    item = batch(web, size=1).text.splitlines()[1].split(",")[0]
    assert upload(web, f"id,label\n{item},yes\n".encode(), "?reviewer=zoe").status_code == 200
    assert [event.reviewer for event in web.campaign.events()] == ["zoe"]
    refused = upload(web, f"id,label\n{item},no\n".encode(), "?reviewer=zoe")
    assert refused.status_code == 409
    revised = upload(web, f"id,label\n{item},no\n".encode(), "?reviewer=zoe&revise=yes")
    assert revised.json()["revised"] == 1


def test_a_bad_file_is_refused_by_its_lines_and_changes_nothing(web: Web) -> None:
    items = [line.split(",")[0] for line in batch(web, size=4).text.splitlines()[1:]]
    bad = f"id,label\n{items[0]},yes\n{items[1]},perhaps\n{items[2]},no\n{items[3]},maybe\n"
    before = web.rows()
    answer = upload(web, bad.encode())
    assert answer.status_code == 422
    told = answer.json()
    assert "line 3" in told["details"]
    assert "line 5" in told["details"]
    assert "perhaps" in told["details"]
    assert web.rows() == before
    never = upload(web, f"id,label\n{items[0]},yes\nnever,no\n".encode())
    assert never.status_code == 422
    assert "line 3" in never.text
    assert web.rows() == before
    # With the two lines mended, the same file is taken: it was refused for them alone.
    good = bad.replace("perhaps", "no").replace("maybe", "no")
    assert upload(web, good.encode()).json()["new"] == 4


def test_odd_files_are_refused(web: Web) -> None:
    for form in ("", *FORMATS):
        for content in (b"", b"\xff\xfe\x00", b"[", b"id\n1\n", b"PK\x03\x04", b"{}"):
            assert upload(web, content, f"?format={form}").status_code in (200, 413, 422)
    assert upload(web, b"id,label\n", "?format=xls").status_code == 422
    assert upload(web, b"id,label\n", f"?reviewer={'x' * 101}").status_code == 422
    assert web.campaign.events() == []


def test_label_studio_gets_its_config_too(web: Web) -> None:
    answer = batch(web, format="label-studio", size=3)
    assert answer.headers["content-disposition"] == 'attachment; filename="spam-batch.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["spam-batch.json", "spam-batch.config.xml"]
        tasks = json.loads(archive.read("spam-batch.json"))
        assert b"<Choices" in archive.read("spam-batch.config.xml")
    assert len(tasks) == 3
    assert answer.headers["x-assay-count"] == "3"


def test_odd_forms_are_refused(web: Web) -> None:
    before = web.rows()
    for size in (0, "x", 10_001, "²"):
        assert batch(web, size=size).status_code == 422
    for form in ("parquet", "xls"):
        assert batch(web, format=form).status_code == 422
    for name in ("x" * 101, "\0"):
        assert batch(web, reviewer=name).status_code == 422
    assert batch(web, hours=-1).status_code == 422
    assert web.rows() == before


def test_a_form_that_cannot_be_read_is_refused(web: Web) -> None:
    for body in (b"\xff", b"a=1&" * 50, b"reviewer=%ff"):
        answer = web.client("owner").post("/api/batch", content=body, headers=FORM)
        assert answer.status_code == 422


def test_the_curve_is_shown_or_why_there_is_none(web: Web) -> None:
    review(web.campaign, "ann", truth)
    page = web.client("owner").get("/owner/curve")
    assert page.status_code == 200
    assert "data-curve=" in page.text or "No curve available" in page.text
    assert not re.search(r"<[^>]+\sstyle=", page.text)  # the page's policy forbids it


def test_a_campaigns_name_cannot_break_out_of_the_header(make_web: Callable[..., Web]) -> None:
    web = make_web(Options(local_token="t" * 40), name='../a"; x=é')
    client = web.client()
    client.headers["authorization"] = f"Bearer {'t' * 40}"
    answer = client.get("/owner/export?format=csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="a-x-labels.csv"'


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
    (item,) = web.campaign.ask(1)
    web.campaign.tell({item.id: True})
    page = read(web.client("owner").get("/owner/campaigns").text)
    names = [row[0].split("Is it")[0].strip() for row in page.tables["campaigns stacked"][1:]]
    assert names == ["<b>other", "<b>other", "spam"]
    now = web.campaign.estimate()
    assert f"[{now.low:.3f}, {now.high:.3f}]" in page.tables["campaigns stacked"][-1]
    assert "[0.000, 1.000]" not in page.tables["campaigns stacked"][1]  # nothing is known of it
    assert web.client("reviewer").get("/owner/campaigns").status_code == 403
    alone = Web(web.storage, web.campaign, Options(), web.routes)
    page = read(alone.client("owner").get("/owner/campaigns").text)
    assert [row[0].split()[0] for row in page.tables["campaigns stacked"][1:]] == ["spam"]
    assert "other" not in page.words
    assert "/owner/campaigns" not in alone.client("owner").get("/owner").text
