"""Whoever gives the last answer of a round cannot try which one ends the campaign."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.web.conftest import Web

_numbers = count()
# The 60th answer decides: with "yes" the interval is narrow enough, with "no" it is not.
DECIDES: dict[str, Any] = {"items": 300, "seed": 3, "within": 0.09, "budget": None}


def turn(client: TestClient, item: str = "", answer: str = "", want: int = 20) -> dict[str, Any]:
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
        ids = [item["id"] for item in turn(client)["items"]]
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
    told = turn(reviewer, last, first, want)
    assert (told["state"] == "done") is ends
    said = web.rows()["label_event"]
    for word in ("withdrawn", second, "withdrawn", "cannot judge", first):
        again = turn(reviewer, last, word, want)
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
    item = turn(reviewer)["items"][0]["id"]
    for word in ("yes", "no", "withdrawn", "yes"):
        assert turn(reviewer, item, word)["receipts"][0]["status"] == "saved"
    assert web.campaign.answers() == {item: "yes"}


def test_an_owner_who_judges_may_change_their_mind(make_web: Callable[..., Web]) -> None:
    web = make_web(**DECIDES)
    owner = web.client("owner")
    last = to_the_last(owner)
    assert turn(owner, last, "yes")["state"] == "done"
    assert turn(owner, last, "withdrawn")["state"] == "go on"
