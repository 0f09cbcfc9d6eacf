"""`assay serve`, `assay token` and `status --confirm`: what they refuse, print and keep."""

import hashlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
import segno
from starlette.testclient import TestClient
from starlette.types import ASGIApp
from typer.testing import Result

from assay.storage import open_store
from assay.web.connections import Listener
from tests.cli.conftest import PATIENCE, Run, Terminal

Create = Callable[..., Result]

OTHERS = ("--host", "0.0.0.0", "--allow-host", "labels.local")


def refused(result: Result) -> str:
    """Return what was said, on one line."""
    assert result.exit_code == 1, result.output
    return " ".join(result.stderr.split())


def test_tokens_are_made_listed_and_revoked(run: Run, create: Create) -> None:
    create()
    assert "No tokens yet" in run("token", "list", "spam").output
    made = json.loads(
        run("token", "add", "spam", "--role", "reviewer", "--who", " Zoë ", "--json").output
    )
    shown = run("token", "add", "spam", "--role", "owner", "--who", "max").output
    token = re.search(r"token: (\S{43})\n", shown)
    assert token
    assert "It is not shown again" in shown
    listed = json.loads(run("token", "list", "spam", "--json").output)["tokens"]
    assert [(each["role"], each["name"]) for each in listed] == [
        ("reviewer", "Zoë"),
        ("owner", "max"),
    ]
    told = run("token", "list", "spam").output
    assert "Zoë" in told
    assert token[1] not in told + str(listed)
    with open_store("sqlite:///assay.db").read() as session:
        for text, name in ((made["token"], "Zoë"), (token[1], "max")):
            digest = hashlib.sha256(text.encode()).hexdigest()
            assert session.tokens_with("spam", [digest])[digest].name == name
    number = str(made["id"])
    assert "is revoked" in run("token", "revoke", "spam", number).output
    assert "no valid token with id" in refused(run("token", "revoke", "spam", number))
    assert "no valid token with id 77" in refused(run("token", "revoke", "spam", "77"))
    listed = json.loads(run("token", "list", "spam", "--json").output)["tokens"]
    assert [each["revoked_at"] is not None for each in listed] == [True, False]


def test_tokens_that_make_no_sense_are_refused(run: Run, create: Create) -> None:
    create()
    assert "did you mean 'reviewer'" in refused(
        run("token", "add", "spam", "--role", "reviewr", "--who", "ann")
    )
    blank = ("ann\u3164", "\u2800", "ann\ufe0f", "a\u034fnn", "ann\u200b", "\u202enna")
    for name in ("", "  ", "x" * 101, "a\nb", "a\x00b", "a\x1b[2J", *blank):
        assert "is not a name" in refused(
            run("token", "add", "spam", "--role", "owner", "--who", name)
        )
    assert "no campaign named 'ham'" in refused(run("token", "list", "ham"))


def test_names_that_would_be_mistaken_for_another_are_refused(run: Run, create: Create) -> None:
    def add(who: str) -> Result:
        return run("token", "add", "spam", "--role", "reviewer", "--who", who, "--json")

    create()
    assert json.loads(add("Zoe\u0308 B").output)["who"] == "Zoë B"
    for alike in ("zoë b", "ZOËB", "Zoë  B", "Zoe\u0308 b", "\uff3aoë B"):
        told = refused(run("token", "add", "spam", "--role", "reviewer", "--who", alike))
        assert "by case or spaces only" in told
        assert "--who 'Zoë B'" in told
    assert add("Zoë B").exit_code == 0  # another link for the same person
    assert add("Zoe B").exit_code == 0  # somebody else
    for number in "12":
        run("token", "revoke", "spam", number)
    assert add("zoë b").exit_code == 0
    for reserved in ("before", " Before "):
        assert "reserved for labels that are older" in refused(
            run("token", "add", "spam", "--role", "reviewer", "--who", reserved)
        )


def test_names_that_are_no_persons_are_refused(run: Run, create: Create) -> None:
    create()
    for role in ("reviewer", "owner"):
        for name in ("owner", " Owner ", "ASSAY", "sys tem", "\uff4f\uff57ner", "Reviewer"):
            told = refused(run("token", "add", "spam", "--role", role, "--who", name))
            assert "is reserved" in told
            assert "--who ann" in told
        for name in ("\u043ewner", "ann\u03bf"):
            told = refused(run("token", "add", "spam", "--role", role, "--who", name))
            assert "mixes letters that look alike" in told
        assert (
            run("token", "add", "spam", "--role", role, "--who", f"Анна {len(role)}").exit_code == 0
        )


def test_a_name_is_one_persons_in_one_role(run: Run, create: Create) -> None:
    create()
    for who, role in (("ann", "reviewer"), ("max", "owner")):
        assert run("token", "add", "spam", "--role", role, "--who", who).exit_code == 0
    for who, role in (("ann", "owner"), ("Ann", "owner"), ("\uff4dax", "reviewer")):
        told = refused(run("token", "add", "spam", "--role", role, "--who", who))
        assert "could be mistaken for the same person" in told
        assert "assay token revoke" in told
    listed = json.loads(run("token", "list", "spam", "--json").output)["tokens"]
    assert len(listed) == 2
    run("token", "revoke", "spam", str(listed[0]["id"]))  # ann is to be an owner now
    assert run("token", "add", "spam", "--role", "owner", "--who", "ann").exit_code == 0


ALLOWED = ("--allow-host", "labels.local:8000")
STARTS = {  # how it is started: the name that people type, and whether a proxy would go unheard
    OTHERS: ("labels.local", True),
    (*OTHERS, "--proxy", "10.0.0.7"): ("labels.local", False),
    ALLOWED: ("127.0.0.1", True),
    (*ALLOWED, "--proxy", "10.0.0.7"): ("127.0.0.1", True),
    (*ALLOWED, "--proxy", "127.0.0.1"): ("127.0.0.1", False),
}


def test_where_people_log_in_and_whether_a_proxy_is_heard(
    run: Run, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    create()
    run("token", "add", "spam", "--role", "reviewer", "--who", "ann")
    monkeypatch.setattr("assay.web.serve.run", lambda *given, **_options: given[1].close())
    for args, (name, warned) in STARTS.items():
        told = json.loads(run("serve", "spam", "--port", "0", "--json", *args).output)
        assert re.fullmatch(rf"http://{re.escape(name)}:\d+/login", told["login"])
        assert any("--proxy 127.0.0.1" in warning for warning in told["warnings"]) == warned
        said = " ".join(run("serve", "spam", "--port", "0", *args).output.split())
        assert ("warning: the page is sent as it is" in said) == warned


def test_others_are_served_only_with_tokens(run: Run, create: Create) -> None:
    create()
    for more in (OTHERS, ("--allow-host", "labels.local"), ("--proxy", "127.0.0.1")):
        told = refused(run("serve", "spam", *more))
        assert "nobody has a token" in told
        assert "assay token add spam --role reviewer --who ann" in told
    run("token", "add", "spam", "--role", "reviewer", "--who", "ann")
    # Now it gets as far as the next thing that is wrong.
    assert "--allow-host" in refused(run("serve", "spam", "--host", "0.0.0.0"))
    run("token", "revoke", "spam", "1")
    assert "nobody has a token" in refused(run("serve", "spam", *OTHERS))


def test_all_campaigns_are_served_to_people_with_tokens(
    run: Run, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    create()
    create("--name", "ham")
    served: list[TestClient] = []

    def serve(app: ASGIApp, listening: Listener, **_options: object) -> None:
        listening.close()
        served.append(TestClient(app, base_url="http://labels.local", follow_redirects=False))

    monkeypatch.setattr("assay.web.serve.run", serve)
    every = ("serve", "--all-campaigns", "--port", "0", "--json")
    assert "nobody has a token" in refused(run(*every, *OTHERS))
    assert "need the name of a campaign" in refused(run(*every, "--link", "url"))
    made = run("token", "add", "ham", "--role", "reviewer", "--who", "ann", "--json").output
    assert json.loads(run(*every, *OTHERS).output)["login"].endswith("/login")
    served[0].headers["Authorization"] = f"Bearer {json.loads(made)['token']}"
    assert served[0].get("/").headers["location"] == "/c/ham/"
    assert served[0].get("/c/ham/review").status_code == 200
    assert served[0].get("/c/spam/review").status_code == 401


def test_a_port_in_use_is_said(run: Run, create: Create) -> None:
    create()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = refused(run("serve", "spam", "--port", port))
        assert f"127.0.0.1, port {port}, is in use" in told
        assert "--port 0" in told
        error = json.loads(run("serve", "spam", "--port", port, "--json").stderr)["error"]
        assert "is in use" in error["problem"]


def test_on_this_machine_a_link_logs_the_owner_in(
    create: Create, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create()
    browser, page = folder / "browser", folder / "page.html"
    browser.write_text('#!/bin/sh\necho "$@" > opened\ncp "${1#file://}" new && mv new page.html\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with subprocess.Popen(
        [sys.executable, "-m", "assay", "serve", "spam", "--port", "0", "--open"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as serving:
        deadline = time.monotonic() + PATIENCE
        while not page.exists():
            assert serving.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        serving.send_signal(signal.SIGINT)
        told, _ = serving.communicate(timeout=PATIENCE)
    assert serving.returncode == 0
    assert "Open this link to log in (this machine only):" in told
    links = re.findall(r"http://127\.0\.0\.1:\d+/login#\S{43}", told)
    assert len(links) == 1
    assert links[0] in page.read_text()
    assert links[0].partition("#")[2] not in (folder / "opened").read_text()  # others see that
    opened = Path((folder / "opened").read_text().strip().removeprefix("file://"))
    assert not opened.exists()


@pytest.fixture
def elsewhere(create: Create, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a campaign, and become another user; return the list of what that one has confirmed."""
    create()
    monkeypatch.setenv("ASSAY_CONFIG_HOME", str(folder / "other"))
    return folder / "other/confirmed"


def test_it_is_shown_and_refused_where_nobody_can_be_asked(run: Run, elsewhere: Path) -> None:
    for line in (["status", "spam", "--confirm"], ["serve", "spam"]):
        result = run(*line, input="y\n")
        told = " ".join(result.stderr.split())
        assert result.exit_code == 1
        assert "are not confirmed on this machine" in told
        assert "predictions.csv" in told
        assert "assay status spam --confirm --storage sqlite:///assay.db" in told
    assert (
        "are not confirmed" in json.loads(run("serve", "spam", "--json").stderr)["error"]["problem"]
    )
    assert not elsewhere.exists()
    for command in ("status", "report", "verify"):
        assert run(command, "spam").exit_code == 0


def test_scripts_confirm_with_yes(run: Run, elsewhere: Path) -> None:
    assert "--yes applies only to --confirm" in run("status", "spam", "--yes").stderr
    told = run("status", "spam", "--confirm", "--yes").output
    assert "predictions.csv" in told
    assert "is confirmed on this machine" in told
    assert "next: assay serve spam" in told
    assert len(list(elsewhere.iterdir())) == 1
    again = json.loads(run("status", "--confirm", "--json").output)
    assert again["confirmed_before"] is True
    assert "columns: p, said, id" in again["source"]


def test_who_says_no_serves_nothing(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(import_module("assay.cli.confirm"), "sys", terminal)
    for command in (["serve", "spam"], ["status", "spam", "--confirm"]):
        result = run(*command, input="n\n")
        assert result.exit_code == 1
        assert "were not confirmed" in result.stderr
        assert "log in" not in result.output
    assert not elsewhere.exists()


def test_a_person_is_asked_before_anything_is_served(
    elsewhere: Path, terminal: Callable[..., Terminal]
) -> None:
    yes = terminal("serve", "spam", "--port", "0")
    yes.wait_for("Allow Assay to read them on this machine, now and later?")
    assert "predictions.csv" in yes.seen
    assert "log in" not in yes.seen
    yes.press("y\r")
    yes.wait_for("Open this link to log in")
    assert len(list(elsewhere.iterdir())) == 1


def test_a_token_is_printed_as_a_link_and_as_a_qr_code(create: Create, run: Run) -> None:
    create()
    words = ["token", "add", "spam", "--role", "reviewer", "--who"]
    told = run(*words, "ann", "--url", "https://labels.example.org/").stdout
    found = re.search(r"^  (https://labels\.example\.org/login#[\w-]{43})$", told, re.MULTILINE)
    assert found is not None
    lines = [line for line in told.splitlines() if line and set(line) <= set(" ▀▄█")]
    light = [[sign in pair for sign in line] for line in lines for pair in ("▀█", "▄█")]
    code = segno.make_qr(found[1], error="m")
    expected = [[not dark for dark in row] for row in code.matrix_iter(border=4)]
    assert light[: len(expected)] == expected
    here = run(*words, "bob").stdout
    assert "http://127.0.0.1:8000/login#" in here and "█" not in here and "--url ADDRESS" in here
    document = json.loads(run(*words, "eve", "--url", "http://x:80/a", "--json").stdout)
    assert document["link"] == f"http://x:80/a/login#{document['token']}"
    refused = run(*words, "dan", "--url", "labels.example.org")
    assert "is not the address of a server" in refused.stderr
    assert "dan" not in run("token", "list", "spam").stdout
