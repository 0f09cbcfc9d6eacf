"""`assay report`, `assay status` and `assay curve`: on the screen, in files, as JSON."""

import csv
import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import assay
from assay.cli import app, status
from tests.cli.conftest import Fixture


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
    ["status", "status x", "label x", "export x", "rebase --name x", "rebase --add new.csv"],
)
def test_looking_makes_no_storage(words: str, run: Fixture, folder: Path) -> None:
    before = set(folder.iterdir())
    result = run(*words.split())
    assert result.exit_code == 1
    assert "there is no storage at sqlite:///assay.db" in result.stderr
    assert set(folder.iterdir()) == before
    assert "problem" in json.loads(run(*words.split(), "--json").stderr)["error"]


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


run = CliRunner().invoke


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("curve")
    rng = np.random.default_rng(3)
    score = rng.beta(0.6, 0.8, 3000)
    truth = rng.random(3000) < score
    file = folder / "p.csv"
    file.write_text("p\n" + "\n".join(map(repr, score.tolist())) + "\n")
    url = f"sqlite:///{folder / 'a.db'}"
    campaign = assay.create_campaign(
        file, score="p", threshold=0.5, metric="accuracy", budget=150, name="spam", storage=url
    )
    while not campaign.done:
        campaign.tell({item.id: bool(truth[int(item.id)]) for item in campaign.ask(50)})
    return url


def test_files_are_written_by_how_their_name_ends(storage: str, tmp_path: Path) -> None:
    for name in ("c.html", "c.csv", "c.png"):
        saved = run(app, ["curve", "spam", "--storage", storage, "-o", str(tmp_path / name)])
        assert saved.exit_code == 0, saved.output
    page = (tmp_path / "c.html").read_text()
    assert 'type="range"' in page
    assert "src=" not in page  # it needs nothing else
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert float(rows[0]["recall"]) == 1.0
    assert set(rows[0]) >= {"precision_band_low", "specificity_high", "share"}
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    again = run(app, ["curve", "spam", "--storage", storage, "-o", str(tmp_path / "c.csv")])
    assert again.exit_code != 0
    assert run(app, ["curve", "spam", "--storage", storage, "-o", "c.pdf"]).exit_code != 0


def test_a_report_has_the_curve_where_it_is_asked_for(storage: str, tmp_path: Path) -> None:
    file = tmp_path / "r.html"
    saved = run(app, ["report", "spam", "--storage", storage, "--curve", "-o", str(file)])
    assert saved.exit_code == 0, saved.output
    page = file.read_text()
    assert "Metrics by threshold" in page
    assert "<script" not in page
    plain = run(app, ["report", "spam", "--storage", storage])
    assert "Metrics by threshold" not in plain.output


def test_the_owner_and_the_trend_are_on_the_first_page(run: Fixture) -> None:
    words = ["--id", "id", "--score", "p", "--predicted", "said", "--positive", "spam"]
    for week in ("one", "two"):
        more = [*words, "--within", "0.2"] if week == "one" else []
        run("follow", "predictions.csv", "--series", "s", "--period", week, *more)
        run("label", f"s/{week}", input="y\nn\n" * 100)
    run("token", "add", "s/two", "--role", "owner", "--who", "Ann")
    printed = run("report", "s/two").stdout
    assert "| Owner | Ann |" in printed
    heads = re.findall(r"^## (.*)", printed, re.MULTILINE)
    assert heads[1] == "precision of s, at 95%"
    assert "precision of s" not in run("report", "s/one").stdout


def test_without_a_browser_the_html_is_named(
    run: Fixture, create: Fixture, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    create()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(folder))
    refused = run("report", "spam", "-o", "report.pdf")
    assert refused.exit_code == 1
    assert "Chromium, Chrome or Edge" in refused.stderr
    assert "-o report.html" in refused.stderr
    assert not Path("report.pdf").exists()


@pytest.mark.slow
def test_a_browser_prints_the_pdf(run: Fixture, create: Fixture) -> None:
    create()
    run("label", "spam", input="y\nn\n" * 15)
    told = run("report", "spam", "-o", "report.pdf")
    if "none is found" in told.stderr:
        pytest.skip("no browser that prints")
    assert told.exit_code == 0, told.output
    content = Path("report.pdf").read_bytes()
    assert content.startswith(b"%PDF-") and content.rstrip().endswith(b"%%EOF")
    assert re.search(rb"/Type\s*/Page\b", content) and len(content) > 20_000
