"""Tokens and cookies: who gets in, with what, and how they get out again, or are put out."""

import hashlib
import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.storage import open_store
from assay.web import Options, is_same, new_token
from tests.web.conftest import ADDRESS, MakeWeb, Web, revoke
from tests.web.serving import PATIENCE, add_token, in_thread


def log_in(client: TestClient, token: object, **headers: str) -> tuple[int, str]:
    """Return the status, and the cookie as it is set."""
    body = json.dumps({"token": token}).encode()  # which escapes what UTF-8 cannot write
    kind = {"content-type": "application/json", "origin": ADDRESS}
    answer = client.post("/login", content=body, headers={**kind, **headers})
    return answer.status_code, answer.headers.get("set-cookie", "")


@pytest.mark.parametrize(("role", "home"), [("owner", "/owner"), ("reviewer", "/review")])
def test_a_token_is_exchanged_for_a_cookie(web: Web, role: str, home: str) -> None:
    browser = web.client(None, origin=ADDRESS)
    assert browser.get("/").status_code == 401
    answer = browser.post("/login", json={"token": web.tokens[role]})
    assert answer.json() == {"next": home}
    assert browser.get("/").headers["location"] == home
    left = browser.post("/logout")
    assert (left.status_code, left.headers["location"]) == (303, "/login")
    assert browser.get("/").status_code == 401


def test_the_cookie_is_out_of_reach(web: Web) -> None:
    status, cookie = log_in(web.client(), web.tokens["owner"])
    assert status == 200
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= parts
    assert "secure" not in parts
    assert not any(part.startswith("domain") for part in parts)
    over_tls = web.client()
    over_tls.base_url = "https://127.0.0.1"
    status, cookie = log_in(over_tls, web.tokens["owner"], origin="https://127.0.0.1")
    assert status == 200
    assert "secure" in cookie.lower()


def test_wrong_tokens_get_nothing(web: Web) -> None:
    token = web.tokens["owner"]
    for wrong in (token[:-1], token + "A", token.swapcase(), digest(token), "ä", "x" * 200):
        assert log_in(web.client(), wrong) == (401, "")
    for odd in (None, 7, "", [token], {"token": token}, "x" * 201, "\ud800", "\0", True):
        assert log_in(web.client(), odd) == (422, "")


def test_a_revoked_token_opens_nothing_from_then_on(web: Web) -> None:
    browser = web.browser("reviewer")
    assert browser.get("/").status_code == 303
    revoke(web.storage)
    assert browser.get("/").status_code == 401
    assert browser.post("/api/review", json={"submits": []}).json()["error"]
    assert log_in(web.client(), web.tokens["reviewer"])[0] == 401


def test_a_token_of_another_campaign_opens_nothing(make_web: MakeWeb, storage: str) -> None:
    one = make_web(storage=storage)
    other = make_web(storage=storage, name="other")
    assert one.client("owner").get("/").status_code == 303
    one.tokens, other.tokens = other.tokens, one.tokens
    assert one.client("owner").get("/").status_code == 401
    assert other.client("owner").get("/").status_code == 401


def test_the_token_of_a_run_is_its_owners_and_kept_nowhere(make_web: MakeWeb) -> None:
    token = new_token()
    web = make_web(Options(local_token=token))
    web.tokens["local"] = token
    assert web.client("local").get("/").headers["location"] == "/owner"
    assert log_in(web.client(), token)[0] == 200
    assert token not in repr(web.options)
    assert token not in str(web.rows())
    assert digest(token) not in str(web.rows())
    other = make_web(Options(local_token=new_token()), name="other")
    other.tokens["local"] = token
    assert other.client("local").get("/").status_code == 401


def test_the_storage_holds_digests_only(web: Web) -> None:
    database = Path(web.storage.removeprefix("sqlite:///"))
    kept = b"".join(file.read_bytes() for file in database.parent.glob("web.db*"))
    for token in web.tokens.values():
        assert token.encode() not in kept
        assert digest(token).encode() in kept  # so the search would have found the token, too


def test_a_header_is_asked_before_the_cookie(web: Web) -> None:
    """Whoever sends a wrong header is not let in by a cookie that another page knows of."""
    browser = web.browser("owner", authorization="Bearer wrong")
    assert browser.get("/").status_code == 401


@pytest.mark.parametrize("header", ["Basic YW5uOnNlY3JldA==", "Negotiate x", "Basic", ""])
def test_a_proxys_own_password_does_not_hide_the_cookie(web: Web, header: str) -> None:
    browser = web.browser("owner", authorization=header)
    assert browser.get("/").status_code == 303
    assert browser.post("/api/review", json={}).status_code == 200
    # And as it is the cookie that lets in, other sites are refused as ever.
    elsewhere = web.browser("owner", authorization=header, origin="http://evil.example")
    assert elsewhere.post("/api/review", json={}).status_code == 403
    assert web.client(None, authorization=header).get("/").status_code == 401


def test_two_servers_on_one_host_do_not_log_each_other_out(
    make_web: MakeWeb, tmp_path: Path
) -> None:
    """Browsers do not tell ports apart: they send each server the cookies of both."""
    jar: dict[str, str] = {}
    servers = {}
    for port in (8000, 8001):
        web = make_web(storage=f"sqlite:///{tmp_path / str(port)}.db")
        client = web.client(None)
        client.base_url = f"http://127.0.0.1:{port}"
        _, cookie = log_in(client, web.tokens["owner"], origin=f"http://127.0.0.1:{port}")
        name, _, value = cookie.partition(";")[0].partition("=")
        jar[name] = value
        servers[port] = client
    assert len(jar) == 2
    sent = {"cookie": "; ".join(f"{name}={value}" for name, value in jar.items())}
    for port, client in servers.items():
        client.cookies.clear()
        assert client.get("/", headers=sent).status_code == 303
        own = {**sent, "origin": f"http://127.0.0.1:{port}"}
        left = client.post("/logout", headers=own).headers["set-cookie"]
        assert left.startswith(f"assay_token_{port}=")


def test_tokens_are_long_and_random() -> None:
    tokens = {new_token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert min(len(token) for token in tokens) == 43  # 256 bits in base64
    assert is_same("a", "a")
    assert not is_same("a", "b")


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


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
