"""No sentence promises more than is true: only a theorem is right at every look."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.design import MODES
from assay.report.facts import how_facts
from assay.web.dashboard import dashboard_of

ROOT = Path(__file__).parents[2]
EVERY_LOOK = re.compile(
    r"right at (every|each|any) look|however often (one|you) looks?|whenever (one|you) looks?"
    r"|holds? (at|for) (every|each|any) look|stays right|survives? (repeated looks|peeking)"
    r"|made for repeated looks|(may|can) be looked at (again and again|repeatedly)",
    re.IGNORECASE,
)
A_THEOREM = re.compile(r"guaranteed|theorem|betting|bettor|Ville", re.IGNORECASE)
# What measures the promises is being written elsewhere, and quotes what it measures.
PAGES = [
    page
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page.name != "certainty.md" and "reference" not in page.parts
]


def promises_too_much(text: str) -> list[str]:
    """Return the paragraphs that promise every look of something else than a theorem."""
    # A list's entries and a table's rows are paragraphs of their own.
    paragraphs = re.split(r"\n\s*\n|\n(?=\s*[-|*] )", text)
    found = (" ".join(paragraph.split()) for paragraph in paragraphs)
    return [each for each in found if EVERY_LOOK.search(each) and not A_THEOREM.search(each)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_promises_every_look_of_the_default(page: Path) -> None:
    assert promises_too_much(page.read_text()) == []


def make(**changed: Any) -> assay.Campaign:
    score = np.random.default_rng(4).random(2000)
    wanted: dict[str, Any] = {"score": "p", "threshold": 0.5, "within": 0.1, "seed": 1}
    campaign = assay.create_campaign({"p": score}, **{**wanted, **changed})
    while not campaign.done:
        campaign.tell({item.id: score[int(item.id)] > 0.55 for item in campaign.ask(30)})
    return campaign


@pytest.mark.parametrize("mode", ["default", "centred", "guaranteed"])
def test_a_report_and_a_dashboard_promise_what_the_mode_does(mode: str) -> None:
    campaign = make(design=MODES[mode])
    report = campaign.report()
    told = dashboard_of(campaign).metrics[0].estimate
    texts = [report.html, report.markdown, told.interval, told.holds, str(campaign.estimate())]
    texts.append(how_facts(campaign.settings).promise)
    said = [text for text in texts if EVERY_LOOK.search(text)]
    assert bool(said) == (mode == "guaranteed")
    assert ("when the campaign stops" in report.markdown) == (mode != "guaranteed")


def test_a_plan_promises_what_the_mode_does() -> None:
    planning = assay.plan(
        {"p": np.linspace(0.3, 1, 3000)}, score="p", threshold=0.5, within=0.08, seed=1
    )
    lines = [line for line in str(planning).splitlines() if EVERY_LOOK.search(line)]
    assert [line for line in lines if not A_THEOREM.search(line)] == []
    assert "right when it stops" in str(planning)


def test_templates_say_what_the_estimate_says() -> None:
    pages = sorted((ROOT / "src/assay/web/templates").glob("*.html"))
    assert pages
    for page in pages:
        assert not EVERY_LOOK.search(page.read_text()), page.name
