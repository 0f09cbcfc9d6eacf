"""Each quantity is one number, wherever it is shown."""

import json
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import assay
from assay.web.dashboard import Node, dashboard_of

SIZE = 3_000
SCORE = np.random.default_rng(1).random(SIZE).round(3)
TRUTH = np.random.default_rng(2).random(SIZE) < SCORE
TOPIC = np.array(["a", "b", "c"])[np.random.default_rng(3).choice(3, SIZE, p=[0.6, 0.3, 0.1])]
LANG = np.where(np.arange(SIZE) % 3 == 0, "de", "en")
COLUMNS = {"p": SCORE, "lang": LANG, "views": 1 + np.arange(SIZE) % 7}


def label(campaign: assay.Campaign, answers: Any = TRUTH, *, rounds: int = 6) -> assay.Campaign:
    for _ in range(rounds):
        campaign.tell({item.id: answers[int(item.id)].item() for item in campaign.ask(40)})
    return campaign


def make(**kwargs: Any) -> assay.Campaign:
    given: dict[str, Any] = {"score": "p", "threshold": 0.4, "metric": "precision", "within": 0.02}
    return label(assay.create_campaign(COLUMNS, seed=3, **given, **kwargs))


def nodes_text(node: Node) -> str:
    """Return the words of elements."""
    words = (each if isinstance(each, str) else nodes_text(each) for each in node.parts)
    return " ".join(" ".join(words).split())


@pytest.mark.parametrize("weighted", [False, True])
def test_a_stratum_has_one_share_and_one_interval(weighted: bool) -> None:
    campaign = make(**({"sample_weight": "views"} if weighted else {}))
    rows = campaign.strata()
    page = nodes_text(dashboard_of(campaign).parts[0].node)
    report = json.loads(campaign.report().json)["strata"]
    for row in rows:
        assert f"{row.rate:.3f} [{row.low:.3f}, {row.high:.3f}]" in page
    for row, told in zip(rows, report, strict=True):
        ends = (row.rate, row.low, row.high)
        assert ends == (told["rate"], told["low"], told["high"])
        exact, wilson = (
            binomtest(told["outcomes"], told["counted"]).proportion_ci(0.95, method)
            for method in ("exact", "wilson")
        )
        assert row.low == pytest.approx(wilson.low)
        assert row.low != pytest.approx(exact.low, abs=1e-3)  # the wrong variant
    if weighted:  # another: the share of items, and not of weight
        assert any(row.rate != row.positives / row.labels for row in rows)


def test_what_a_random_sample_takes_is_one_number() -> None:
    campaign = make()
    told = campaign.estimate().random_labels
    report = campaign.report()
    assert told is not None
    words = f"a random sample would have needed about {told:,}."
    assert words in dashboard_of(campaign).sentence
    assert words in report.markdown
    in_table = re.search(r"^\| precision \|.*\| ([\d,]+)( \(.*\))? \|$", report.markdown, re.M)
    assert in_table is not None
    assert in_table[1] == f"{told:,}"  # the wrong variant had all digits here
    assert json.loads(report.json)["metrics"]["precision"]["random_labels"] == told
    assert told % 10 == 0


def test_a_class_that_is_a_target_has_one_estimate() -> None:
    columns = {**COLUMNS, "said": np.where(SCORE < 0.8, TOPIC, "a")}
    campaign = assay.create_campaign(
        columns, predicted="said", metrics=["precision:a", "recall:b"], within=0.05, seed=3
    )
    label(campaign, TOPIC)
    campaign.ask(40)  # open items, too
    every, table = campaign.estimates(), campaign.by_class()
    for name, metric in (("a", "precision"), ("b", "recall")):
        told, row = every[f"{metric}:{name}"], table[name]
        figures = [getattr(row, each) for each in (metric, f"{metric}_low", f"{metric}_high")]
        assert figures == [told.value, told.low, told.high]


def test_a_slice_that_is_a_target_has_one_estimate() -> None:
    campaign = assay.create_campaign(
        COLUMNS,
        score="p",
        threshold=0.4,
        metrics=["precision", "precision[lang=de]"],
        within=0.03,
        slices=["lang"],
        seed=3,
    )
    label(campaign)
    every = campaign.estimates()
    name = next(name for name in every if "lang=de" in name)
    told, row = every[name], campaign.slices("lang")["de"]
    assert (row.value, row.low, row.high) == (told.value, told.low, told.high)
