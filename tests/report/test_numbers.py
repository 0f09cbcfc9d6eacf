"""The numbers of a report, against what can be worked out, and the same wherever they are shown."""

import json
import re
from collections import Counter
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import assay
from assay.audit.recompute import Form, Stratum, left_of, quoted
from assay.storage import Label
from assay.web.dashboard import dashboard_of, details_of
from tests.report.campaigns import Made, make


def by_hand(made: Made) -> dict[str, Any]:
    """Work out precision from the log and the scores alone."""
    (layer,) = made.campaign.settings.strata.to_dict()["layers"]
    edges = layer["cuts"]["points"]
    said = made.score >= 0.5
    sizes = np.bincount(np.searchsorted(edges, made.score[said], "right"))
    n, x = np.zeros_like(sizes, dtype=float), np.zeros_like(sizes, dtype=float)
    for event in made.campaign.events():
        stratum = np.searchsorted(edges, made.score[int(event.item_id)], "right")
        n[stratum] += event.answer in ("yes", "no")
        x[stratum] += event.answer == "yes"
    weight, rate = sizes / sizes.sum(), x / n
    variance = weight**2 * rate * (1 - rate) / (n - 1) * (1 - n / sizes)
    strata = [
        Stratum(*each, left_of(*each[:2]))
        for each in zip(sizes.tolist(), n.tolist(), x.tolist(), strict=True)
    ]
    form = Form(0, [1] * len(strata), float(sizes.sum()), [0] * len(strata))
    (value,) = quoted([form], strata, explored=True, stops=False)
    return {
        "value": value,
        "plain": float((weight * rate).sum()),
        "standard_error": float(np.sqrt(variance.sum())),
        "sizes": sizes.tolist(),
        "labels": n.tolist(),
        "outcomes": x.tolist(),
    }


def test_one_metric_by_hand() -> None:
    made = make(design=assay.Design(bins=4))
    made.label(120)
    told, hand = made.campaign.report().to_dict(), by_hand(made)
    metric = told["metrics"]["precision"]
    for name in ("value", "standard_error"):
        assert metric[name] == pytest.approx(hand[name])
    for name in ("labels", "outcomes"):
        assert [row[name] for row in told["strata"]] == hand[name]
    assert [row["size"] for row in told["strata"]] == hand["sizes"]
    about, value, error = sum(hand["sizes"]), hand["value"], hand["standard_error"]
    assert told["population"]["sampled"] == metric["items"] == about < told["population"]["items"]
    # What a random sample without replacement would need to vary as much.
    n = metric["effective_labels"]
    assert value * (1 - value) * (1 / n - 1 / about) == pytest.approx(error**2)
    assert metric["effective_labels"] != pytest.approx(value * (1 - value) / error**2)
    # Wilson's interval from so many labels at random is as wide, but for the finite population.
    z2 = NormalDist().inv_cdf(0.975) ** 2
    endless = 1 / (1 / metric["random_labels"] - 1 / about)
    spread = z2 * endless * value * (1 - value) + z2**2 / 4
    assert spread**0.5 / (endless + z2) == pytest.approx(metric["half_width"], rel=0.03)  # 2 digits
    unweighted = sum(hand["outcomes"]) / sum(hand["labels"])
    assert metric["value"] != pytest.approx(unweighted)
    assert metric["value"] == pytest.approx(hand["plain"], abs=0.01)  # which is not what is quoted
    assert metric["value"] != pytest.approx(hand["plain"])


def test_items_without_an_answer() -> None:
    made = make(budget=100)
    made.label(60, lambda item: ["yes", "no", "cannot judge", "broken"][item % 4])
    made.campaign.ask(20)
    told = made.campaign.report().to_dict()
    said = Counter(event.answer for event in made.campaign.events())
    answers = told["answers"]
    assert answers["labels"] == said["yes"] + said["no"]
    assert (answers["cannot_judge"], answers["broken"]) == (said["cannot judge"], said["broken"])
    assert (answers["drawn"], answers["unanswered"]) == (80, 20)
    assert sum(row["cannot_judge"] for row in told["strata"]) == said.total() - answers["labels"]
    assert sum(row["drawn"] for row in told["strata"]) == 80
    low, high = told["metrics"]["precision"]["worst_case"]
    assert low < told["metrics"]["precision"]["value"] < high


def test_what_did_not_go_straight() -> None:
    made = make(budget=60, design=assay.Design(bins=3))
    made.label(40)
    before = made.campaign.report().to_dict()
    assert before["deviations"]["revised_items"] == 0
    first = {event.item_id: event.answer for event in made.campaign.events()}
    changed = [int(item) for item, answer in first.items() if answer == "yes"][:3]
    made.campaign.tell(dict.fromkeys(changed, "no"), revise=True)
    made.campaign.tell({changed[0]: "yes"}, revise=True)
    told = made.campaign.report().to_dict()
    assert told["deviations"]["revised_items"] == 2
    assert told["deviations"]["revised"] == 4
    now, old = told["metrics"]["precision"], before["metrics"]["precision"]
    assert now["first_value"] == old["value"] > now["value"]


def test_several_reviewers() -> None:
    made = make(reviewers_per_item=2, overlap=1.0, budget=30)
    campaign = made.campaign
    batch = campaign.ask(10, reviewer="zoe")
    campaign.desk.record([Label(str(item.id), assay.Answer.YES, "zoe") for item in batch[:6]])
    campaign.desk.record([Label(str(item.id), assay.Answer.YES, "ann") for item in batch[:3]])
    campaign.desk.record([Label(str(item.id), assay.Answer.NO, "ann") for item in batch[3:5]])
    campaign.rule(batch[3].id, "no", reviewer="Ruthven", key="r1")
    campaign.review(
        [Label(str(campaign.ask(1, reviewer="bob")[0].id), "skip", key="k")], reviewer="bob"
    )
    told = campaign.report().to_dict()
    assert [row["name"] for row in told["reviewers"]] == ["reviewer 1", "reviewer 2", "reviewer 3"]
    assert [row["answers"] for row in told["reviewers"]] == [6, 5, 0]
    assert [row["skipped"] for row in told["reviewers"]] == [0, 0, 1]
    assert told["agreement"]["raw"] == pytest.approx(3 / 5)
    answers = told["answers"]
    assert (answers["labels"], answers["disputed"], answers["half_reviewed"]) == (4, 1, 1)
    assert told["deviations"]["rulings"] == 1
    named = campaign.report(names=True).to_dict()["reviewers"]
    assert [row["name"] for row in named] == ["zoe", "ann", "bob"]
    for secret in ("zoe", "Ruthven"):
        assert secret not in campaign.report().html
        assert secret not in campaign.report().json


def test_a_rebase_is_told(storage: str) -> None:
    old = make(300, storage=storage, budget=60)
    old.label(40)
    new = {"id": np.arange(200), "p": old.score[:200]}
    campaign = assay.rebase_campaign(storage=storage, predictions=new)
    told = campaign.report().to_dict()["deviations"]
    judged = {int(event.item_id) for event in old.campaign.events()}
    assert told["before"]["judged"] == 40
    assert told["before"]["gone"] == sum(item >= 200 for item in judged) > 0
    assert told["waiting"] == 40 - len(campaign.desk.reviews()) > 0
    assert "of items not drawn yet" in campaign.report().markdown
    assert f"Replaces | {told['before']['campaign']}: 40 judged" in plain(campaign)


def plain(campaign: assay.Campaign) -> str:
    """Return a report's Markdown without its marks."""
    return campaign.report().markdown.replace("*", "").replace("\\", "")


def test_all_of_a_weighted_campaign_may_be_labelled() -> None:
    score = np.linspace(0.5, 0.99, 12)
    columns = {"p": score, "w": np.arange(1.0, 13.0)}
    campaign = assay.create_campaign(
        columns, score="p", threshold=0.5, sample_weight="w", within=0.001
    )
    while batch := campaign.ask(5):
        campaign.tell({item.id: int(item.id) % 3 > 0 for item in batch})
    told = campaign.report().to_dict()["metrics"]["precision"]
    assert told["value"] == pytest.approx(np.average(np.arange(12) % 3 > 0, weights=columns["w"]))
    assert (told["standard_error"], told["low"]) == (0, pytest.approx(told["high"]))
    assert told["effective_labels"] is told["random_labels"] is None


@pytest.mark.parametrize("interval", ["stratified", "normal"])
def test_no_spread_seen_is_not_all_seen(interval: str) -> None:
    """Two pure strata: 60 labels are not worth all items."""
    design = assay.Design(bins=2, interval=interval)
    made = make(design=design, budget=60)
    middle = made.campaign.settings.strata.to_dict()["layers"][0]["cuts"]["points"][-1]
    made.label(60, lambda item: bool(made.score[item] >= middle))
    report = made.campaign.report()
    told = report.to_dict()["metrics"]["precision"]
    assert 0 < told["value"] < 1 and told["standard_error"] == 0
    assert told["effective_labels"] is None
    # The normal formula would be a point, which no random sample of fewer than all items has.
    assert told["random_labels"] is not None
    assert told["half_width"] > 0
    assert "It is not given if the standard error is 0" in report.markdown


SIZE = 3_000
SCORE = np.random.default_rng(1).random(SIZE).round(3)
TRUTH = np.random.default_rng(2).random(SIZE) < SCORE
TOPIC = np.array(["a", "b", "c"])[np.random.default_rng(3).choice(3, SIZE, p=[0.6, 0.3, 0.1])]
LANG = np.where(np.arange(SIZE) % 3 == 0, "de", "en")
COLUMNS = {"p": SCORE, "lang": LANG, "views": 1 + np.arange(SIZE) % 7}


def labelled(campaign: assay.Campaign, answers: Any = TRUTH, *, rounds: int = 6) -> assay.Campaign:
    for _ in range(rounds):
        campaign.tell({item.id: answers[int(item.id)].item() for item in campaign.ask(40)})
    return campaign


def created(**kwargs: Any) -> assay.Campaign:
    given: dict[str, Any] = {"score": "p", "threshold": 0.4, "metric": "precision", "within": 0.02}
    return labelled(assay.create_campaign(COLUMNS, seed=3, **given, **kwargs))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_stratum_has_one_share_and_one_interval(weighted: bool) -> None:
    campaign = created(**({"sample_weight": "views"} if weighted else {}))
    rows = campaign.strata()
    page = " ".join(re.sub("<[^>]*>", " ", details_of(campaign).strata.html).split())
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
    campaign = created()
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
    labelled(campaign, TOPIC)
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
    labelled(campaign)
    every = campaign.estimates()
    name = next(name for name in every if "lang=de" in name)
    told, row = every[name], campaign.slices("lang")["de"]
    assert (row.value, row.low, row.high) == (told.value, told.low, told.high)
