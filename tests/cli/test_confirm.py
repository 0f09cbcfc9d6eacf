"""`assay confirm`, and `assay serve` on a machine where nobody has confirmed anything."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import Result

from tests.cli.conftest import Run, Terminal

Create = Callable[..., Result]


@pytest.fixture
def elsewhere(create: Create, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a campaign, and become another user; return the list of what that one has confirmed."""
    create()
    monkeypatch.setenv("ASSAY_CONFIG_HOME", str(folder / "other"))
    return folder / "other/confirmed"


def test_it_is_shown_and_refused_where_nobody_can_be_asked(run: Run, elsewhere: Path) -> None:
    for command in ("confirm", "serve"):
        result = run(command, "spam", input="y\n")
        told = " ".join(result.stderr.split())
        assert result.exit_code == 1
        assert "are not confirmed on this machine" in told
        assert "predictions.csv" in told
        assert "assay confirm spam --storage sqlite:///assay.db" in told
    assert (
        "are not confirmed" in json.loads(run("serve", "spam", "--json").stderr)["error"]["problem"]
    )
    assert not elsewhere.exists()
    for command in ("status", "report", "verify"):
        assert run(command, "spam").exit_code == 0


def test_scripts_confirm_with_yes(run: Run, elsewhere: Path) -> None:
    told = run("confirm", "spam", "--yes").output
    assert "predictions.csv" in told
    assert "is confirmed on this machine" in told
    assert "next: assay serve spam" in told
    assert len(list(elsewhere.iterdir())) == 1
    again = json.loads(run("confirm", "spam", "--json").output)
    assert again["confirmed_before"] is True
    assert "columns: p, said, id" in again["source"]


def test_who_says_no_serves_nothing(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(import_module("assay.cli.confirm"), "sys", terminal)
    for command in ("serve", "confirm"):
        result = run(command, "spam", input="n\n")
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
