"""A token that is revoked while its holder works: what they hold, send and see from then on."""

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.storage import open_store
from assay.web import Options
from tests.web.conftest import Web, revoke
from tests.web.serving import PATIENCE, add_token, in_thread


def ask(client: TestClient, *sent: dict[str, str], want: int = 3) -> Any:
    return client.post("/api/review", json={"submits": list(sent), "want": want})


def test_what_is_sent_after_the_revocation_is_not_recorded(web: Web) -> None:
    for connect in (web.client, web.browser):
        client = connect("reviewer")
        held = [item["id"] for item in ask(client).json()["items"]]
        assert len(held) == 3
        assert ask(client, answer_to(held[0])).json()["receipts"][0]["status"] == "saved"
        before = web.rows()
        revoke(web.storage, "reviewer ann")
        revoked = web.rows()
        assert {name for name in before if before[name] != revoked[name]} == {"token"}
        for response in (
            ask(client, answer_to(held[1])),
            ask(client, {"key": f"k{held[0]}", "item": held[0], "answer": "yes"}),  # sent before
            ask(client, {"key": "w", "item": held[0], "answer": "withdrawn"}),
            ask(client, want=0),
        ):
            assert response.status_code == 401
            assert set(response.json()) == {"error", "details", "hint"}
        assert client.get("/review").status_code == 401
        assert web.rows() == revoked
        # A new link of the same name goes on where they were, with what waits in the page.
        web.tokens["reviewer"] = add_token(web.storage, "reviewer", "reviewer ann")
        back = web.client("reviewer")
        assert ask(back, answer_to(held[1])).json()["receipts"][0]["status"] == "saved"


def answer_to(item: str) -> dict[str, str]:
    return {"key": f"k{item}", "item": item, "answer": "yes"}


def test_what_they_held_is_given_to_others_when_the_lease_is_over(
    make_web: Callable[..., Web],
) -> None:
    web = make_web(Options(lease=0.5), budget=20, items=20)
    held = {item["id"] for item in ask(web.client("reviewer"), want=20).json()["items"]}
    web.tokens["bob"] = add_token(web.storage, "reviewer", "bob")
    bob = web.client("bob")
    revoke(web.storage, "reviewer ann")
    assert ask(web.client("reviewer"), want=20).status_code == 401  # and renews nothing
    deadline = time.monotonic() + 20
    got: set[str] = set()
    while got != held and time.monotonic() < deadline:
        got |= {item["id"] for item in ask(bob, want=20).json()["items"]}
        time.sleep(0.05)
    assert got == held


def test_an_owners_page_that_asks_again_is_told_nothing(web: Web) -> None:
    owner = web.browser("owner")
    live = owner.get("/owner/live")
    assert live.status_code == 200
    known = {"If-None-Match": live.headers["etag"]}
    assert owner.get("/owner/live", headers=known).status_code == 304
    revoke(web.storage, "owner ann")
    for headers in (known, {}):
        told = owner.get("/owner/live", headers=headers)
        assert told.status_code == 401
        assert "etag" not in told.headers
        assert "precision" not in told.text
    before = web.rows()
    ruling = {"key": "r", "item": "m001", "answer": "yes"}
    assert owner.post("/api/ruling", json=ruling).status_code == 401
    assert owner.get("/owner").status_code == 401
    assert web.rows() == before


def test_a_body_that_was_begun_before_is_not_recorded_either(web: Web) -> None:
    (item,) = ask(web.client("reviewer"), want=1).json()["items"]
    body = json.dumps({"submits": [answer_to(item["id"])]}).encode()
    head = (
        f"POST /api/review HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {web.tokens['reviewer']}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with in_thread(web.campaign) as address:
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as calling:
            calling.sendall(head.encode() + body[:10])
            time.sleep(0.8)
            revoke(web.storage, "reviewer ann")
            revoked = web.rows()
            calling.sendall(body[10:])
            assert calling.recv(65_536).startswith(b"HTTP/1.1 401")
    assert web.rows() == revoked


@pytest.mark.parametrize("role", ["owner", "reviewer"])
def test_one_of_two_links_of_a_person_stays(web: Web, role: str) -> None:
    first, second = (add_token(web.storage, role, "zoë") for _ in range(2))
    web.tokens |= {"first": first, "second": second}
    assert ask(web.client("first")).status_code == 200
    with open_store(web.storage).write() as session:
        mine = [token.id for token in session.tokens(web.campaign.name) if token.name == "zoë"]
        session.revoke_token(web.campaign.name, mine[0])
    assert ask(web.client("first")).status_code == 401
    assert ask(web.client("second")).status_code == 200
