"""Files through the owner's page, and its pages of mistakes and of the curve."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import assay
from assay.campaign.exchange import write_labels
from assay.exchange import FORMATS
from assay.web import Options
from tests.web.conftest import Web
from tests.web.test_owner import review, truth

FORM = {"content-type": "application/x-www-form-urlencoded"}


def upload(web: Web, content: bytes, query: str = "") -> Any:
    return web.client("owner").post(f"/api/import{query}", content=content)


def batch(web: Web, **values: object) -> Any:
    return web.client("owner").post("/api/batch", content=urlencode(values), headers=FORM)


def ids_in(csv: str) -> set[str]:
    return {line.split(",")[0] for line in csv.splitlines()[1:]}


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


def test_a_batch_can_be_kept_for_somebody(web: Web) -> None:
    given = ids_in(batch(web, size=5, reviewer="zoe").text)
    others = web.campaign.review([], reviewer="ann", want=20).items
    assert len(given) == 5
    assert not given & {item.id for item in others}
    unkept = ids_in(batch(web, size=5).text)
    assert unkept <= {item.id for item in web.campaign.review([], reviewer="bob", want=20).items}


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


def test_mistakes_are_shown_by_kind_and_saved(web: Web) -> None:
    review(web.campaign, "ann", truth)
    owner = web.client("owner")
    for query, kind in (("", None), ("?kind=fp", "fp"), ("?kind=fn", "fn")):
        page = owner.get(f"/owner/errors{query}")
        assert page.status_code == 200 and web.campaign.errors(kind=kind).headline in page.text
    csv = owner.get("/owner/errors/export?kind=fp")
    assert len(csv.text.splitlines()) == 1 + len(web.campaign.errors(kind="fp"))
    assert csv.headers["content-disposition"] == 'attachment; filename="spam-mistakes.csv"'
    for path in ("/owner/errors", "/owner/errors/export", "/owner/curve"):
        assert web.client("reviewer").get(path).status_code == 403
        assert web.client().get(path).status_code == 401
    for query in ("kind=tp", "classifier=nobody", "slice=secret%3D1", "slice=x"):
        assert owner.get(f"/owner/errors?{query}").status_code == 422
    assert owner.get("/owner/errors/export?format=xls").status_code == 422


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
