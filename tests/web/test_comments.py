"""Comments over the page's interface: kept with the answer, bounded, and shown to owners alone."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.web.conftest import Web
from tests.web.serving import add_token

MakeWeb = Callable[..., Web]
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def team(make_web: MakeWeb) -> Web:
    return make_web(reviewers_per_item=2, overlap=1.0)


def send(web: Web, who: str, *submits: dict[str, Any], want: int = 1) -> Any:
    if who not in web.tokens:
        web.tokens[who] = add_token(web.storage, "reviewer", who, web.campaign.name)
    return web.client(who).post("/api/review", json={"submits": list(submits), "want": want})


def test_a_comment_is_kept_with_its_answer(web: Web) -> None:
    [item] = send(web, "ann").json()["items"]
    said = {"key": "k", "item": item["id"], "answer": "yes", "comment": " =1+1 😀 "}
    assert send(web, "ann", said).json()["receipts"][0]["status"] == "saved"
    assert send(web, "ann", said).json()["receipts"][0]["status"] == "again"
    other = {**said, "comment": "another"}
    assert send(web, "ann", other).json()["receipts"][0]["status"] == "conflict"
    [label] = web.campaign.events()
    assert (label.reviewer, label.comment) == ("ann", "=1+1 😀")


@pytest.mark.parametrize("comment", ["x" * 2_001, 5, None, ["x"], {"text": "x"}])
def test_what_is_no_comment_is_refused_with_the_reason(web: Web, comment: object) -> None:
    [item] = send(web, "ann").json()["items"]
    answer = send(web, "ann", {"key": "k", "item": item["id"], "answer": "yes", "comment": comment})
    assert answer.status_code == 422
    assert answer.json()["error"] == "'comment' must be a text of at most 2,000 characters"
    assert web.campaign.events() == []


def test_other_reviewers_get_none_and_the_owner_gets_text(team: Web) -> None:
    for who, answer in (("ann", "yes"), ("bob", "no")):
        [item] = send(team, who).json()["items"]
        said = {"key": who, "item": item["id"], "answer": answer, "comment": f"{who} {SCRIPT}"}
        assert "alert" not in send(team, who, said).text
    assert "alert" not in send(team, "carol", want=20).text
    assert "alert(" not in team.client("carol").get("/review").text
    owner = team.client("owner")
    page = owner.get("/owner/disputes").text
    assert "<script>alert" not in page and "<img src=x" not in page
    assert page.count("ann &lt;script&gt;alert(1)") == 2  # among the comments, and by who wrote it
    ruling = {"key": "r", "item": item["id"], "answer": "yes"}
    assert owner.post("/api/ruling", json={**ruling, "comment": "x" * 2_001}).status_code == 422
    assert owner.post("/api/ruling", json={**ruling, "comment": "by the book"}).status_code == 200
    assert team.campaign.events()[-1].comment == "by the book"
    assert "by the book" not in send(team, "ann", want=20).text
