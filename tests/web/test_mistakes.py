"""Labelled items for the owner: filters, order, tags, files, a second look."""

import io
import re
import zipfile
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay import load_campaign
from assay.campaign import delete_campaign, rename_campaign
from assay.storage import open_store
from tests.web.conftest import MakeWeb, Web

PAGE = "/owner/errors"


def truth(item: Any) -> bool:
    """Whether an item is positive: every third is not as its score says."""
    number = int(str(item.id)[1:])
    return ((number * 0.6180339887 + 0.1) % 1 >= 0.5) != (number % 3 == 0)


@pytest.fixture
def web(make_web: MakeWeb) -> Web:
    """A campaign on both sides of its threshold, with answers of two reviewers."""
    web = make_web(metric="accuracy", budget=40, slices=["subject"])
    for who in ("zoe", "yve"):
        batch = web.campaign.ask(20, reviewer=who)
        web.campaign.tell({item.id: truth(item) for item in batch}, reviewer=who)
    return web


def ids(web: Web, query: str = "") -> list[str]:
    """Ids on a page, in order."""
    page = web.client("owner").get(f"{PAGE}?{query}")
    assert page.status_code == 200, page.text
    return re.findall(r'class="open" type="button" dir="auto">([^<]*)<', page.text)


def test_wrong_right_and_all_items(web: Web) -> None:
    found = web.campaign.errors()
    wrong, right, every = (ids(web, f"verdict={each}") for each in ("wrong", "right", "all"))
    assert wrong == ids(web) == [row.id for row in found]
    assert len(wrong) > 5 < len(right)
    assert not set(wrong) & set(right)
    assert set(wrong) | set(right) == set(every) == set(web.campaign.answers())
    assert found.headline in web.client("owner").get(f"{PAGE}?verdict=all").text


def test_filters_and_order(web: Web) -> None:
    answers = web.campaign.errors()
    for kind in ("fp", "fn"):
        assert ids(web, f"kind={kind}") == [row.id for row in web.campaign.errors(kind=kind)]
    of_zoe = [row.id for row in answers if row.reviewers == ("zoe",)]
    assert ids(web, "reviewer=zoe") == of_zoe
    assert ids(web, "order=item") == sorted(ids(web))
    scores = {row.id: row.score for row in answers}
    assert ids(web, "order=score") == sorted(scores, key=lambda each: scores[each] or 0.0)
    one = answers[0]
    assert ids(web, f"slice=subject={one.shown['subject']}") == [one.id]
    owner = web.client("owner")
    for query in ("kind=tp", "classifier=nobody", "slice=secret%3D1", "verdict=x", "order=x"):
        assert owner.get(f"{PAGE}?{query}").status_code == 422


def test_only_the_owner_sees_them(web: Web) -> None:
    item = str(web.campaign.errors()[0].id)
    for path in (PAGE, f"{PAGE}/export", f"/owner/disputes?item={item}"):
        assert web.client("reviewer").get(path).status_code == 403
        assert web.client().get(path).status_code == 401
    reviewer = web.client("reviewer")
    assert reviewer.post("/api/tags", json={"item": item, "tags": ["x"]}).status_code == 403


def test_tags_are_kept_with_the_campaign(web: Web) -> None:
    one, other = (str(row.id) for row in web.campaign.errors()[:2])
    owner = web.client("owner")
    reply = owner.post("/api/tags", json={"item": one, "tags": [" too  short", "irony", "irony"]})
    assert reply.json() == {"tags": ["irony", "too short"]}
    owner.post("/api/tags", json={"item": other, "tags": ["irony"]})
    assert set(ids(web, "tag=irony")) == {one, other}
    assert ids(web, "tag=too short") == [one]
    assert ids(web, "order=tags")[:2] == [other, one]  # "irony" alone comes first
    owner.post("/api/tags", json={"item": other, "tags": []})
    assert ids(web, "tag=irony") == [one]
    for tags in ("irony", [1], ["x" * 51], [str(n) for n in range(21)]):
        assert owner.post("/api/tags", json={"item": one, "tags": tags}).status_code == 422
    store = open_store(web.storage)
    rename_campaign(store, "spam", "ham")
    renamed = load_campaign("ham", storage=web.storage)
    assert [row.tags for row in renamed.errors()][:2] == [("irony", "too short"), ()]
    delete_campaign(store, "ham")
    with store.read() as session:
        assert session.tags("ham") == session.tags("spam") == {}


def test_files_have_what_the_page_has(web: Web) -> None:
    owner = web.client("owner")
    csv = owner.get(f"{PAGE}/export?kind=fp")
    assert len(csv.text.splitlines()) == 1 + len(web.campaign.errors(kind="fp"))
    assert csv.headers["content-disposition"] == 'attachment; filename="spam-errors.csv"'
    folder = owner.get(f"{PAGE}/export?format=zip&verdict=all&order=item")
    with zipfile.ZipFile(io.BytesIO(folder.content)) as archive:
        card = archive.read("README.md").decode()
        table = pq.read_table(io.BytesIO(archive.read("data/errors.parquet")))
    assert table["id"].to_pylist() == ids(web, "verdict=all&order=item")
    assert "path: data/errors.parquet" in card
    assert owner.get(f"{PAGE}/export?format=xls").status_code == 422


def test_a_second_look_is_blind_and_counts(web: Web) -> None:
    row = web.campaign.errors()[0]
    owner = web.client("owner")
    page = owner.get(f"/owner/disputes?item={row.id}").text
    assert "Second look" in page
    assert f'Item <span dir="auto">{row.id}' in page
    assert "zoe" not in page
    assert "yve" not in page
    said = "no" if truth(row) else "yes"
    ruling = {"item": str(row.id), "answer": said, "key": "k1"}
    assert owner.post("/api/ruling", json=ruling).json()["receipt"]["status"] == "saved"
    assert row.id not in ids(web)
    assert "No disputes" in owner.get("/owner/disputes?item=nobody").text


def test_strange_texts_are_shown_as_what_they_are(make_web: MakeWeb) -> None:
    odd = "half \ud800, turned \u202e, \x07 and <i>"
    columns = {
        "id": [f"{n} \u202e" for n in range(9)],
        "p": [0.9] * 9,
        "lang": [odd, "de", "en"] * 3,
    }
    web = make_web(predictions=columns, show=["lang"], slices=["lang"], budget=9)
    web.campaign.tell({item.id: False for item in web.campaign.ask(9)}, reviewer="zoe")
    owner = web.client("owner")
    for path in ("/owner", "/owner/details", PAGE, f"{PAGE}?verdict=all&order=item"):
        page = owner.get(path)
        assert page.status_code == 200, path
        shown = re.sub(r'value="[^"]*"', "", page.text)  # of a form, which nobody reads
        assert "\u202e" not in shown, path
        assert "<i>" not in page.text, path
    for format in ("csv", "jsonl", "parquet", "zip"):
        assert owner.get(f"{PAGE}/export?format={format}").status_code == 200, format
