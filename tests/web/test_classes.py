"""The page of a campaign of more classes than yes and no."""

import json
import re
from html import unescape
from typing import Any

import pytest

from assay.core.answers import Answer
from tests.web.conftest import MakeWeb, Web
from tests.web.reading import read
from tests.web.serving import of_classes

SIX: dict[str, Any] = {
    "zoology": "Animals.\nNot plants.",
    "botany": {"guideline": "Plants.", "aliases": ["plants"]},
    "law": "",
    "<b>maths</b>": "",
    "Ökonomie": "",
    "ยา": "",
}


def buttons(page: str) -> list[tuple[str, str]]:
    """Return the keys and answers of a page's buttons, in their order."""
    found = re.findall(r'data-key="([^"]*)" data-answer="([^"]*)"', page)
    return [(key, unescape(answer)) for key, answer in found]


def listed(page: str) -> list[Any]:
    """Return the classes that a page holds for its list."""
    (found,) = re.findall(r'data-classes="([^"]*)"', page)
    return list(json.loads(unescape(found)))


def turn(web: Web, *answers: tuple[str, object], want: int = 1) -> Any:
    sent = [{"key": f"{item} {word}", "item": item, "answer": word} for item, word in answers]
    return web.client("reviewer").post("/api/review", json={"submits": sent, "want": want})


def test_few_classes_are_buttons_in_their_order(make_web: MakeWeb) -> None:
    web = make_web(**of_classes(SIX))
    page = web.client("reviewer").get("/review").text
    read(page)
    others = [("0", "none of these"), ("c", "cannot judge"), ("s", "skip"), ("b", "broken")]
    assert buttons(page) == [*zip("123456", SIX, strict=True), *others]
    assert "data-classes" not in page and "combobox" not in page
    assert "<b>maths" not in page
    words = read(page).words
    assert "Which class is it?" in words
    assert "Not plants." in words  # the guidelines of classes stand beside the item


def test_yes_and_no_are_the_two_buttons_that_they_were(web: Web) -> None:
    page = web.client("reviewer").get("/review").text
    yes_or_no = [("y", "yes"), ("n", "no"), ("c", "cannot judge")]
    assert buttons(page) == [*yes_or_no, ("s", "skip"), ("b", "broken")]
    assert "classes.css" not in page and "of-classes" not in page


def test_many_classes_come_once_with_their_other_words_and_guidelines(make_web: MakeWeb) -> None:
    names = {f"{name} {number}": each for number in range(2) for name, each in SIX.items()}
    names["botany 0"] = {"guideline": "Plants.", "aliases": ["plants", "flora"]}
    del names["botany 1"]
    web = make_web(**of_classes(names))
    client = web.client("reviewer")
    page = client.get("/review").text
    read(page)
    assert [name for name, _, _ in listed(page)] == list(names)
    assert listed(page)[0] == ["zoology 0", [], "Animals.\nNot plants."]
    assert listed(page)[1] == ["botany 0", ["plants", "flora"], "Plants."]
    assert [key for key, _ in buttons(page)] == ["0", "c", "s", "b"]
    assert "botany" not in turn(web, want=3).text


def test_the_page_says_nothing_of_what_was_predicted(make_web: MakeWeb) -> None:
    """Two campaigns of which all is the same but what is predicted have one page."""
    pages = []
    for number, shift in enumerate((0, 3)):
        given = of_classes(SIX)
        topics = given["predictions"]["topic"]
        given["predictions"]["topic"] = topics[shift:] + topics[:shift]
        web = make_web(storage=None, name=f"spam-{number}", **given)
        page = web.client("reviewer").get("/review").text
        pages.append(re.sub(r'spam-\d|data-campaign-id="[^"]*"', "", page))
        items = turn(web, want=20).json()["items"]
        assert all({"id", "fields"} == set(item) for item in items)
        assert all([field["name"] for field in item["fields"]] == ["subject"] for item in items)
    assert pages[0] == pages[1]


def test_answers_are_classes_and_nothing_else(make_web: MakeWeb) -> None:
    web = make_web(**of_classes(SIX))
    items = [item["id"] for item in turn(web, want=6).json()["items"]]
    said = ["Ökonomie", "none of these", "cannot judge", "broken", "skip", "<b>maths</b>"]
    told = turn(web, *zip(items, said, strict=True))
    assert [each["status"] for each in told.json()["receipts"]] == ["saved"] * 6
    del said[4], items[4]
    assert web.campaign.answers() == {
        item: Answer(word) for item, word in zip(items, said, strict=True)
    }
    before = web.rows()
    for word in ("yes", "no", "fysics", "BOTANY", "plants", "", 3, None, ["botany"]):
        refused = turn(web, (items[0], word))
        assert refused.status_code == 422
        assert "zoology, botany, law" in refused.json()["error"]
    assert web.rows() == before


def test_the_dashboard_of_classes(make_web: MakeWeb) -> None:
    web = make_web(**of_classes(SIX))
    owner, campaign = web.client("owner"), web.campaign
    empty = read(owner.get("/owner").text)
    assert "No labels yet" in empty.words
    names = list(SIX)
    for number, item in enumerate(campaign.ask(30)):
        campaign.tell({item.id: names[number % 2]})
    page = read(owner.get("/owner").text)
    assert "(6 classes)" in page.words
    metrics = page.tables["Metrics, intervals and goals"]
    assert [row[0] for row in metrics[1:]] == ["accuracy", "macro f1"]
    assert page.tables["Labels by stratum"][0][3:5] == ["Correct", "Share correct"]
    assert "Yes" not in page.words
    confused = campaign.confusion().confused
    assert confused
    first = page.tables["Confused most"][1]
    assert first[:2] == [confused[0].predicted, confused[0].truth]


@pytest.mark.parametrize("classes", [True, False])
def test_there_is_a_way_to_the_curve_where_there_is_one(make_web: MakeWeb, classes: bool) -> None:
    web = make_web(**of_classes(SIX)) if classes else make_web()
    assert ('href="/owner/curve"' in web.client("owner").get("/owner").text) != classes
