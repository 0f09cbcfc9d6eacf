"""``assay report`` and ``assay status``: on the screen, in files, as JSON."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import assay

Fixture = Callable[..., Any]


@pytest.fixture
def labelled(create: Fixture) -> assay.Report:
    """The report of the campaign `spam`, with all its labels."""
    create()
    campaign = assay.load_campaign("spam", storage="sqlite:///assay.db")
    answers = ("yes", "no", "cannot judge")
    campaign.tell({item.id: answers[at % 3] for at, item in enumerate(campaign.ask(30))})
    return campaign.report()


def test_files_are_written_as_their_names_end(
    labelled: assay.Report, run: Fixture, folder: Path
) -> None:
    told = run("report", "spam", "-o", "a.html", "-o", "b.md", "-o", "c.JSON", "--bundle", "d.zip")
    assert told.exit_code == 0, told.output
    assert "saved: a.html" in told.stdout
    assert "saved: d.zip" in told.stdout
    written = [(folder / name).read_text(encoding="utf-8") for name in ("a.html", "b.md", "c.JSON")]
    assert written == [labelled.html, labelled.markdown, labelled.json]
    again = json.loads(run("report", "spam", "-o", "a.html", "--json").stdout)
    assert again == {"campaign": "spam", "files": ["a.html"], "bundle": None}
    assert run("verify", "d.zip").exit_code == 0


def test_reviewers_are_named_only_when_asked_for(create: Fixture, run: Fixture) -> None:
    create()
    campaign = assay.load_campaign("spam", storage="sqlite:///assay.db")
    campaign.tell({item.id: True for item in campaign.ask(5)}, reviewer="Ruthven")
    assert "Ruthven" not in run("report", "spam").stdout
    assert "Ruthven" in run("report", "spam", "--names").stdout


@pytest.mark.usefixtures("labelled")
@pytest.mark.parametrize(
    ("error", "told"), [(MemoryError, "not enough memory"), (RecursionError, "too deeply")]
)
def test_what_nobody_foresaw_is_told_in_words(
    error: type[Exception], told: str, run: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    for name in ("verify_bundle", "verify_campaign"):
        monkeypatch.setattr(import_module("assay.cli.report"), name, fail)
    for name in ("spam", "audit.zip"):
        found = run("verify", name)
        assert (found.exit_code, told in found.stderr) == (1, True)
        found = run("verify", name, "--json")
        assert told in json.loads(found.stderr)["error"]["problem"]


@pytest.mark.parametrize(
    "words",
    ["status", "status x", "label x", "export x", "rebase --name x", "extend predictions.csv"],
)
def test_looking_makes_no_storage(words: str, run: Fixture, folder: Path) -> None:
    before = set(folder.iterdir())
    result = run(*words.split())
    assert result.exit_code == 1
    assert "there is no storage at sqlite:///assay.db" in result.stderr
    assert set(folder.iterdir()) == before
    assert "problem" in json.loads(run(*words.split(), "--json").stderr)["error"]
