"""The first page of a report: counts, and errors before the method."""

import re
from typing import Any

import numpy as np
import pytest

import assay

RNG = np.random.default_rng(5)
SCORE = RNG.uniform(size=3_000)
TRUTH = RNG.uniform(size=3_000) < SCORE
TABLE = {"p": SCORE, "text": [f"page {n}" for n in range(3_000)]}


def labelled(**goal: Any) -> assay.Campaign:
    """Return a campaign that is done."""
    campaign = assay.create_campaign(TABLE, score="p", threshold=0.5, show=["text"], **goal)
    while batch := campaign.ask(50):
        campaign.tell({item.id: bool(TRUTH[int(item.id)]) for item in batch})
    return campaign


def numbers(text: str) -> list[int]:
    return [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", text)]


def test_counts_follow_from_the_interval() -> None:
    campaign = labelled(metric="precision", within=0.05)
    now = campaign.estimate()
    found = re.search(
        r"Of ([\d,]+) items predicted positive, about .* are wrong, .*", campaign.report().markdown
    )
    assert found is not None
    items, wrong, low, high = numbers(found[0])
    assert items == (SCORE >= 0.5).sum()
    assert wrong == pytest.approx(items * (1 - (now.value or 0)), rel=0.05)
    assert low == pytest.approx(items * (1 - now.high), rel=0.05)
    assert high == pytest.approx(items * (1 - now.low), rel=0.05)
    recall = labelled(metric="recall", within=0.1).report().markdown
    assert re.search(r"Of 100 positive items, about \d+ are missed by the classifier", recall)
    accuracy = labelled(metric="accuracy", within=0.1).report().markdown
    assert re.search(r"Of 3,000 items, about \d+ are predicted wrongly, between", accuracy)


def test_the_first_page_comes_before_the_method() -> None:
    report = labelled(metric="precision", within=0.05).report()
    heads = re.findall(r"^## (.*)", report.markdown, re.MULTILINE)
    assert heads[:4] == ["The estimate", "Most confident errors", "Interval", "Savings"]
    errors = report.markdown.partition("## Most confident errors")[2].partition("##")[0]
    rows = [line.split("|") for line in errors.splitlines() if "false positive" in line]
    assert len(rows) == 5
    scores = [float(row[3]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(row[4].strip() == f"page {row[1].strip()}" for row in rows)
    assert not any(TRUTH[int(row[1])] for row in rows)
    assert 'class="strip" role="img" aria-label="The interval from' in report.html
    assert "page " not in report.json  # what reviewers saw is not part of the figures
