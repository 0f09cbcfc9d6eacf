"""Small things that a new user meets first: names, tables, pairs of columns, and storage."""

import ast
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import assay
from assay.cli import app
from assay.cli.render import view
from assay.cli.status import standing_of
from assay.results import plain_words

ROOT = Path(__file__).parents[1]


def rows(size: int = 400) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    score = rng.uniform(size=size)
    return {"p": score, "q": score**2, "said": score > 0.5, "truth": rng.uniform(size=size) < score}


def test_a_pair_of_columns_is_a_classifier() -> None:
    table = rows()
    pairs = assay.create_campaign(
        table, classifiers={"a": ("p", "said"), "b": ("q", 0.3)}, metric="precision", budget=20
    )
    whole: dict[str, Any] = {
        "a": {"score": "p", "predicted": "said"},
        "b": {"score": "q", "threshold": 0.3},
    }
    same = assay.create_campaign(table, classifiers=whole, metric="precision", budget=20)
    assert pairs.settings.commitment == same.settings.commitment
    assert pairs.settings.source.columns["classifiers"] == whole
    with pytest.raises(assay.PredictionsError, match="mapping of some of"):
        assay.create_campaign(table, classifiers={"a": "p"}, metric="precision", budget=20)


def test_the_environment_does_not_redirect_a_campaign_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs.db"
    monkeypatch.setenv("ASSAY_STORAGE", f"sqlite:///{theirs}")
    for _ in range(2):  # a second of the same name is no trouble either
        assay.create_campaign(rows(), score="p", threshold=0.5, budget=5)
    old = {"id": [1, 2], "p": [0.9, 0.1]}
    assay.compare_campaign(
        old, old | {"p": [0.1, 0.9]}, id="id", score="p", threshold=0.5, budget=2
    )
    assert not theirs.exists()


def test_plan_plans_every_metric(tmp_path: Path) -> None:
    table = rows(200)
    file = tmp_path / "rows.csv"
    lines = [f"{p:.4f},{int(said)}" for p, said in zip(table["p"], table["said"], strict=True)]
    file.write_text("\n".join(["p,said", *lines]) + "\n")
    words = ["plan", str(file), "--score", "p", "--predicted", "said", "--budget", "50"]
    both = [*words, "--metric", "precision", "--metric", "recall", "--replications", "3", "--json"]
    told = json.loads(CliRunner().invoke(app, both).stdout)
    assert [each["metric"] for each in told["plans"]] == ["precision", "recall"]
    one = CliRunner().invoke(app, [*words, "--replications", "3", "--json"])
    assert json.loads(one.stdout)["metric"] == "precision"


def labelled(**goal: Any) -> assay.Campaign:
    table = rows(6000)
    campaign = assay.create_campaign(table, score="p", threshold=0.5, **goal)
    while batch := campaign.ask(100):
        campaign.tell({item.id: bool(table["truth"][item.id]) for item in batch})
    return campaign


def test_a_sentence_comes_first_wherever_a_result_is_shown() -> None:
    campaign = labelled(metric="recall", within=0.04)
    now = campaign.estimate()
    said = plain_words(campaign.estimates())
    assert said.startswith(
        f"Recall is between {now.low:.3f} and {now.high:.3f} (95% confidence); "
        f"best estimate {now.value:.3f}. {now.labels:,} labels; a random sample would"
    )
    lines = str(campaign).splitlines()
    assert lines[1] == said and lines[2].startswith("recall 0.")
    assert said in campaign._repr_html_()
    assert said in campaign.report().markdown
    buffer = io.StringIO()
    Console(file=buffer, width=400).print(
        view(standing_of(campaign.estimates(), campaign.settings.goal))
    )
    assert buffer.getvalue().splitlines()[0].rstrip() == said
    several = labelled(metrics=["precision", "recall"], budget=100)
    assert "\nprecision:classifier     0." in str(several)
    assert plain_words(several.estimates()).startswith("Precision is between")


def test_nothing_is_said_of_a_random_sample_that_is_not_known() -> None:
    table = rows()
    campaign = assay.create_campaign(table, score="p", threshold=0.5, budget=30)
    assert plain_words(campaign.estimates()) == "No estimate of precision yet. 0 labels."
    campaign.tell({item.id: True for item in campaign.ask(5)})
    assert "random" not in str(campaign) and "So far: precision is between" in str(campaign)


def wilson_width(among: Any, about: Any, hit: Any, size: float) -> float:
    """Return the mean half-width of Wilson's interval in simple random samples of a size."""
    rng, z, halves = np.random.default_rng(7), 1.959964, []
    for _ in range(200):
        drawn = rng.choice(among, round(size), replace=False)
        n, share = about[drawn].sum(), hit[drawn][about[drawn]].mean()
        halves.append(z * np.sqrt(n * share * (1 - share) + z * z / 4) / (n + z * z))
    # Of a finite population less is left open.
    return float(np.mean(halves) * np.sqrt(1 - size / among.size))


@pytest.mark.parametrize("metric", ["precision", "recall"])
def test_a_random_sample_of_the_size_that_is_told_is_as_narrow(metric: str) -> None:
    table = rows(6000)
    now = labelled(metric=metric, within=0.05).estimate()
    said, everything = table["p"] >= 0.5, np.ones(6000, dtype=bool)
    if metric == "recall":
        drawn = (np.arange(6000), table["truth"], said)
    else:
        drawn = (np.flatnonzero(said), everything, table["truth"])
    assert now.random_labels is not None
    assert wilson_width(*drawn, now.random_labels) == pytest.approx(now.half_width, rel=0.12)
    # Half as many, a wrong figure, is not as narrow.
    assert wilson_width(*drawn, now.random_labels / 2) > 1.3 * now.half_width


def test_a_yes_shows_the_one_sided_bound_that_decided() -> None:
    table = {"p": np.linspace(0.5, 1, 3000)}
    campaign = assay.create_campaign(table, score="p", threshold=0.5, at_least=0.9)
    while batch := campaign.ask(20):
        campaign.tell({item.id: int(item.id) % 100 > 0 for item in batch})
    now = campaign.estimate()
    assert now.verdict is True and now.bound is not None
    assert now.low <= 0.9 <= now.bound <= (now.value or 0)
    assert plain_words(campaign.estimates()).startswith(
        f"Yes: precision is at least {now.bound:.3f}"
    )
    assert f"one-sided bound: at least {now.bound:.3f} at 95%" in str(now)


def test_the_note_on_sizes_of_strata_comes_only_where_they_differ_much() -> None:
    even = {"p": np.linspace(0, 1, 4001)}
    uneven = {"p": np.concatenate([np.full(3000, 0.75), np.linspace(0.5, 1, 1000)])}
    told = [
        assay.create_campaign(table, score="p", threshold=0.5, budget=9).settings.strata.notes
        for table in (even, uneven)
    ]
    assert not told[0] and any("strata hold" in note for note in told[1])


# Phrases that sound translated, and what to write.
NEVER = {
    r"^[Ll]eft out: ": "Default: ",
    r"is told of by": "has the description",
    r"\bmend\b": "fix",
    r"like with like": "the same metric",
    r"as they are now": "current",
    r"the old name goes away": "the old name will be removed",
    r"is another column meant": "is this the right column?",
    r"otherwise than": "differently from",
    r"where (it|they) lies?\b": "in place",
    r"is no (text|JSON|answer|number|verdict|list|table)\b": "is not a …",
    r"\bgo on (with|from)": "continue with",
    r"\bseldom\b": "rarely",
    r"looks? on the way": "intervals shown before",
    r"made again": "reproduced",
    r"for nobody": "for no one",
    r"(^|\W)say (scale|score_of|encoding|positive)=": "pass …=",
}


def messages_in(path: Path) -> str:
    """Return the texts of a module, without its docstrings."""
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    bodies = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
    constants = [
        each for each in nodes if isinstance(each, ast.Constant) and id(each) not in bodies
    ]
    return "\n".join(each.value for each in constants if isinstance(each.value, str))


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    modules = {path.name: messages_in(path) for path in (ROOT / "src/assay").rglob("*.py")}
    return modules | {page.name: page.read_text() for page in (ROOT / "docs").rglob("*.md")}


@pytest.mark.parametrize("phrase", NEVER)
def test_no_message_or_page_has_a_phrase_that_sounds_translated(
    phrase: str, texts: dict[str, str]
) -> None:
    wrong = [name for name, text in texts.items() if re.search(phrase, text, re.MULTILINE)]
    assert not wrong, f"write: {NEVER[phrase]}"
