"""What the reviewer's page gets: next items, the truth about answers, comments, and no hint."""

import json
import re
from collections.abc import Callable
from html import unescape
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from assay.campaign.extend import rebase_campaign
from assay.core.answers import Answer
from assay.storage import Label
from assay.web import Options
from assay.web.auth import role_needed
from assay.web.serve import ROUTES
from tests.web.conftest import MakeWeb, Web
from tests.web.reading import read
from tests.web.serving import make_campaign_without_predictions


def turn(client: TestClient, *submits: tuple[str, str, str], want: int = 3, **more: Any) -> Any:
    sent = [{"key": key, "item": item, "answer": answer} for key, item, answer in submits]
    answer = client.post("/api/review", json={"submits": sent, "want": want, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_answers_are_recorded_once_and_the_next_items_come(web: Web) -> None:
    client = web.client("reviewer")
    first = turn(client)
    assert first["state"] == "go on"
    assert len(first["items"]) == 3
    ids = [item["id"] for item in first["items"]]
    submits = [("k0", ids[0], "yes"), ("k1", ids[1], "cannot judge")]
    second = turn(client, *submits)
    assert [(each["key"], each["status"]) for each in second["receipts"]] == [
        ("k0", "saved"),
        ("k1", "saved"),
    ]
    assert second["items"][0]["id"] == ids[2]
    assert not {item["id"] for item in second["items"]} & set(ids[:2])
    again = turn(client, *submits, ("k0", ids[0], "no"))
    assert [each["status"] for each in again["receipts"]] == ["again", "again", "conflict"]
    assert (again["yours"], again["team"]) == (2, 2)
    assert web.campaign.answers() == {ids[0]: Answer.YES, ids[1]: Answer.CANNOT_JUDGE}


def test_a_page_that_was_opened_for_somebody_or_something_else_changes_nothing(web: Web) -> None:
    client = web.client("reviewer")
    [item] = turn(client, want=1)["items"]
    submits = [{"key": "k", "item": item["id"], "answer": "yes"}]
    before = web.rows()
    for mistaken in (
        {"reviewer": "bob"},
        {"campaign": "ham"},
        {"campaign_id": "ham"},
        {"reviewer": 5},
        {"campaign_id": None},
    ):
        answer = client.post("/api/review", json={"submits": submits, **mistaken})
        assert answer.status_code == 409
        assert "reload" in answer.json()["error"]
    assert web.rows() == before
    assert turn(client, ("k", item["id"], "yes"), campaign="spam", reviewer="reviewer ann")


def campaign_id(web: Web) -> str:
    """Return what the reviewer's page says of the campaign that it is for."""
    page = web.client("reviewer").get("/review").text
    (found,) = re.findall(r'data-campaign-id="([^"]+)"', page)
    return unescape(found)


def test_campaigns_of_one_name_in_two_storages_are_two(make_web: MakeWeb, tmp_path: Path) -> None:
    one, other = (make_web(storage=f"sqlite:///{tmp_path / name}.db") for name in "ab")
    client = other.client("reviewer")
    [item] = turn(client, want=1)["items"]  # the same as in the other: all is the same but the file
    submits = [{"key": "k", "item": item["id"], "answer": "yes"}]
    of_one = {"campaign": "spam", "campaign_id": campaign_id(one)}
    answer = client.post("/api/review", json={"submits": submits, **of_one})
    assert (answer.status_code, other.campaign.events()) == (409, [])
    assert "another campaign" in answer.json()["error"]
    told = turn(client, ("k", item["id"], "yes"), campaign_id=campaign_id(other))
    assert told["receipts"][0]["status"] == "saved"


def test_after_a_rebase_the_pages_that_are_open_go_on(web: Web) -> None:
    known = campaign_id(web)
    [item] = turn(web.client("reviewer"), want=1)["items"]
    columns = {"id": [f"m{n:03d}" for n in range(60)], "p": [0.5 + n / 200 for n in range(60)]}
    subjects = {"subject": [f"subject of item {n}" for n in range(60)]}
    after = rebase_campaign("spam", predictions=columns | subjects, storage=web.storage)
    after.tell({each.id: True for each in after.ask(1, reviewer="bob")}, reviewer="bob")
    assert read(web.client("owner").get("/owner/live").text).texts["labels"] == "1"
    told = turn(web.client("reviewer"), ("k", item["id"], "yes"), campaign_id=known)
    assert told["receipts"][0]["status"] == "saved"


def test_no_more_items_is_said_without_a_hint_and_the_owner_hears_why(storage: str) -> None:
    web = Web(storage, make_campaign_without_predictions(storage), Options(), ROUTES)
    client, owner = web.client("reviewer"), web.client("owner")
    before = owner.get("/owner/live")
    assert "no more items" not in before.text
    given = 0
    while (answer := client.post("/api/review", json={"want": 20})).status_code == 200:
        submits = [(item["id"], item["id"], "yes") for item in answer.json()["items"]]
        told = turn(client, *submits, want=0)
        assert [each["status"] for each in told["receipts"]] == ["saved"] * len(submits)
        given += len(submits)
    assert (answer.status_code, given) == (503, 40)
    assert answer.json()["error"].startswith("there are no more items now")
    assert hints(web, answer.text) == []
    # A wrong page that passes on what the library says is noticed.
    assert "predict" in hints(web, web.campaign.desk.labelling.trouble)
    told_owner = owner.get("/owner/live", headers={"if-none-match": before.headers["etag"]})
    for word in (*web.campaign.desk.labelling.trouble.split(), "600"):
        assert word in unescape(told_owner.text)
    known = {"if-none-match": told_owner.headers["etag"]}
    assert owner.get("/owner/live", headers=known).status_code == 304


SECURE = ("https://a.example/x?y=1#z", "https://ä.example/", "HTTPS://a.example/")
OTHERS = (
    "http://a.example/",
    "javascript:alert(1)",
    "https://me@a.example/",
    "https://",
    "https://[",
    " https://a.example/",
    "https:\\\\a.example\\",
    "https://a.example/\u202egnp",
    "",
)


def test_links_and_images_are_https_and_all_else_is_text(make_web: MakeWeb) -> None:
    texts = (*SECURE, *OTHERS)
    columns = {"id": list(range(len(texts))), "p": [0.9] * len(texts)}
    columns |= {name: list(texts) for name in "abc"}
    web = make_web(Options(links=("a",), images=("b",)), predictions=columns, show=list("abc"))
    items = turn(web.client("reviewer"), want=20)["items"]
    assert len(items) == len(texts)
    for item in items:
        text = texts[int(item["id"])]
        kinds = ("link", "image", "text") if text in SECURE else ("text",) * 3
        shown = [(field["name"], field["kind"], field["value"]) for field in item["fields"]]
        assert shown == [(name, kind, text) for name, kind in zip("abc", kinds, strict=True)]


def test_values_that_are_no_texts(make_web: MakeWeb) -> None:
    columns = {"id": [7], "p": [0.9], "n": [1.5], "b": [True], "l": [["x", "ä"]], "m": [None]}
    web = make_web(predictions=columns, show=["n", "b", "l", "m"])
    [item] = turn(web.client("reviewer"))["items"]
    assert [field["value"] for field in item["fields"]] == ["1.5", "true", '["x", "ä"]', ""]


def test_the_question(make_web: MakeWeb) -> None:
    for given, asked in (
        ({"question": "Is this <spam>?"}, "Is this &lt;spam&gt;?"),
        ({"predicted": "said", "positive": "sp&m", "threshold": None}, "Is it sp&amp;m?"),
    ):
        columns = {"id": [7, 8], "p": [0.9, 0.1], "said": ["sp&m", "ham"], "subject": ["a", "b"]}
        web = make_web(storage=None, predictions=columns, name=asked, **given)
        assert f'dir="auto">{asked}</h1>' in web.client("reviewer").get("/review").text


# Blind ------------------------------------------------------------------------------------------

SAID = "quixotic"  # the predicted label of the predictions
OTHER = "zebulon"  # another reviewer
ITEMS = 200


def planted(**changed: Any) -> dict[str, Any]:
    """Return a campaign in which all that would sway a reviewer can be told from all else."""
    scores = [0.5 + number * 0.00137731 for number in range(ITEMS)]
    columns = {
        "id": [f"m{number}" for number in range(ITEMS)],
        "p": scores,
        "said": [SAID] * ITEMS,
        "subject": [f"subject {number}" for number in range(ITEMS)],
    }
    show = ["subject", "p", "said"]  # asked for, and yet not shown
    given: dict[str, Any] = {"predictions": columns, "predicted": "said", "positive": SAID}
    given |= {"threshold": None, "show": show, "question": "Is it?", "budget": 60}
    return given | changed


def hints(web: Web, body: str) -> list[str]:
    """Return what a body holds that would sway a reviewer."""
    estimate = web.campaign.estimate()
    numbers = [estimate.value, estimate.low, estimate.high, estimate.standard_error]
    secret = [SAID, OTHER, "stratum", "score", "predict", "estimate", "interval"]
    secret += [f"{number:.9f}"[:6] for number in numbers if number]
    secret += re.findall(r"0\.\d{4,}", str(planted()["predictions"]["p"]))
    secret += [row.stratum for row in web.campaign.strata()]
    return sorted({each for each in secret if each.lower() in body.lower()})


def bodies(web: Web) -> dict[str, str]:
    """Return what a reviewer gets from every route that there is for them."""
    client = web.client("reviewer")
    found = {}
    for route in ROUTES:
        if isinstance(route, Route) and role_needed(route.endpoint) == "reviewer":
            for method in route.methods or ():
                sent = client.request(method, route.path, json={"want": 20, "submits": []})
                found[f"{method} {route.path}"] = sent.text
    return found


def test_nothing_that_would_sway_a_reviewer_leaves_the_server(make_web: MakeWeb) -> None:
    web = make_web(**planted(reviewers_per_item=2, overlap=1.0))
    said = [Label(str(item.id), Answer.YES, OTHER) for item in web.campaign.ask(20, reviewer=OTHER)]
    web.campaign.desk.record(said)
    sent = bodies(web)
    assert {"GET /review", "POST /api/review"} <= set(sent)
    assert len(json.loads(sent["POST /api/review"])["items"]) == 20
    assert {route: hints(web, body) for route, body in sent.items()} == {
        route: [] for route in sent
    }


_numbers = count()
# The 60th answer decides: with "yes" the interval is narrow enough, with "no" it is not.
DECIDES: dict[str, Any] = {"items": 300, "seed": 3, "within": 0.09, "budget": None}


def last_turn(
    client: TestClient, item: str = "", answer: str = "", want: int = 20
) -> dict[str, Any]:
    """Send an answer, and return what the page is told, without the key."""
    sent = [{"key": f"k{next(_numbers)}", "item": item, "answer": answer}] if item else []
    response = client.post("/api/review", json={"submits": sent, "want": want})
    assert response.status_code == 200
    told: dict[str, Any] = response.json()
    for receipt in told["receipts"]:
        del receipt["key"]
    return told


def to_the_last(client: TestClient) -> str:
    """Answer all items of three rounds but one, and return that one."""
    for number in range(3):
        ids = [item["id"] for item in last_turn(client)["items"]]
        assert len(ids) == 20
        sent = [
            {"key": item, "item": item, "answer": "yes" if int(item[1:]) % 7 else "no"}
            for item in (ids if number < 2 else ids[:-1])
        ]
        assert client.post("/api/review", json={"submits": sent}).status_code == 200
    return str(ids[-1])


@pytest.mark.parametrize("want", [0, 20])
@pytest.mark.parametrize(("first", "second", "ends"), [("yes", "no", True), ("no", "yes", False)])
def test_trying_both_answers_tells_what_one_of_them_does(
    make_web: Callable[..., Web], first: str, second: str, ends: bool, want: int
) -> None:
    web = make_web(**DECIDES)
    reviewer, owner = web.client("reviewer"), web.client("owner")
    last = to_the_last(reviewer)
    told = last_turn(reviewer, last, first, want)
    assert (told["state"] == "done") is ends
    said = web.rows()["label_event"]
    for word in ("withdrawn", second, "withdrawn", "cannot judge", first):
        again = last_turn(reviewer, last, word, want)
        status = "saved" if word == first else "refused"
        assert [receipt["status"] for receipt in again["receipts"]] == [status]
        assert {**again, "receipts": []} == {**told, "receipts": []}
    assert [row[:5] for row in web.rows()["label_event"]][: len(said)] == [row[:5] for row in said]
    assert web.campaign.answers()[last] == first

    # Mistakes are mended by the owner, who sees the estimate anyway.
    answer = {"key": "owner", "item": last, "answer": second}
    assert owner.post("/api/ruling", json=answer).json()["receipt"]["status"] == "saved"
    assert web.campaign.answers()[last] == second
    assert web.campaign.done is not ends


def test_answers_of_an_open_round_are_changed_and_taken_back(make_web: Callable[..., Web]) -> None:
    web = make_web(**DECIDES)
    reviewer = web.client("reviewer")
    item = last_turn(reviewer)["items"][0]["id"]
    for word in ("yes", "no", "withdrawn", "yes"):
        assert last_turn(reviewer, item, word)["receipts"][0]["status"] == "saved"
    assert web.campaign.answers() == {item: "yes"}


def test_an_owner_who_judges_may_change_their_mind(make_web: Callable[..., Web]) -> None:
    web = make_web(**DECIDES)
    owner = web.client("owner")
    last = to_the_last(owner)
    assert last_turn(owner, last, "yes")["state"] == "done"
    assert last_turn(owner, last, "withdrawn")["state"] == "go on"
