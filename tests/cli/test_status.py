"""Commands without a name, and shares in percent."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from assay.cli import status

Fixture = Callable[..., Any]


def test_without_a_name_the_only_campaign_is_meant(create: Fixture, run: Fixture) -> None:
    create()
    assert run("label", input="y\nn\n").exit_code == 0
    assert "2 labels" in run("status").stdout
    assert json.loads(run("status", "--json").stdout)["campaigns"][0]["campaign"] == "spam"
    assert "spam" in run("report").stdout
    create("--name", "other")
    refused = run("label")
    assert "campaigns in the storage: 2, such as 'spam', 'other'" in refused.stderr
    listed = run("status").stdout
    assert "Campaigns" in listed and "other" in listed


@pytest.mark.parametrize(("typed", "within"), [("5%", 0.05), ("2.5 %", 0.025), ("0.04", 0.04)])
def test_a_share_may_be_typed_in_percent(typed: str, within: float, create: Fixture) -> None:
    made = create("--confidence", "99%", "--json", goal=("--within", typed))
    goal = json.loads(made.stdout)["goal"]
    assert (goal["within"], goal["confidence"]) == (within, 0.99)


def test_the_newest_campaigns_are_listed(
    create: Fixture, run: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second", "third"):
        create("--name", name)
    monkeypatch.setattr(status, "_MOST_LISTED", 2)
    shown = run("status").stdout
    assert "third" in shown and "first" not in shown
    assert "older campaigns: 1, with --all" in shown
    assert "first" in run("status", "--all").stdout
