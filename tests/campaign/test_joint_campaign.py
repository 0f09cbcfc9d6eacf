"""Campaigns of several classifiers or slices: one set of labels for all targets, to the end."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import assay
from assay.core.metrics import METRICS
from assay.core.types import Bools
from tests.joint_population import exact
from tests.kinds import finish, shallow

Table = dict[str, Any]
CLASSIFIERS: dict[str, dict[str, object]] = {
    "old": {"score": "p_old", "predicted": "said_old"},
    "new": {"score": "p_new", "threshold": 0.5},
    "vote": {"predicted": "vote"},
}
GOALS = [
    "precision:old",
    "recall:new within 0.08",
    "f1:vote",
    "accuracy:vote",
    "precision:old - precision:new",
    "prevalence",
]


def population(size: int = 3000, seed: int = 0) -> tuple[Table, dict[str, Bools], Bools]:
    """Return a table, what each classifier says, and the truth; `old` is worse than `new`."""
    rng = np.random.default_rng(seed)
    truth = rng.random(size) < 0.35
    noisy = {
        name: 1 / (1 + np.exp(-np.where(truth, 1.2, -1.2) - rng.normal(0, noise, size)))
        for name, noise in (("old", 2.0), ("new", 1.1), ("third", 1.5))
    }
    said = {name: score >= 0.5 for name, score in noisy.items()}
    vote = np.asarray(sum(each.astype(int) for each in said.values())) >= 2
    table = {"p_old": noisy["old"], "said_old": said["old"], "p_new": noisy["new"], "vote": vote}
    return table, {"old": said["old"], "new": said["new"], "vote": vote}, truth


def estimated(campaign: assay.Campaign, truth: Bools, batch: int = 50) -> assay.Estimates:
    finish(campaign, truth, batch)
    assert campaign.done
    return campaign.estimates()


def check_against(
    estimates: Mapping[str, assay.Estimate], said: Mapping[str, Bools], truth: Bools
) -> None:
    for name, estimate in estimates.items():
        assert estimate.within is not None
        assert estimate.half_width <= estimate.within
        assert estimate.low <= exact(name, said, truth) <= estimate.high, name


def test_every_target_is_met_and_true() -> None:
    table, said, truth = population()
    campaign = assay.create_campaign(
        table, classifiers=CLASSIFIERS, metrics=GOALS, within=0.06, confidence=0.999
    )
    estimates = estimated(campaign, truth)
    assert list(estimates) == [goal.partition(" within ")[0] for goal in GOALS]
    assert estimates["recall:new"].within == 0.08
    assert {each.stopped for each in estimates.values()} == {"measured to the requested width"}
    assert len(campaign.answers()) < 1500
    # Six intervals at 99.9%: over random seeds at most 0.6% of runs would miss one.
    check_against(estimates, said, truth)
    assert estimates["precision:old - precision:new"].high < 0
    with pytest.raises(AssertionError):
        check_against(estimates, {**said, "old": said["new"], "new": said["old"]}, truth)
    assert campaign.estimate().metric == max(
        estimates, key=lambda name: estimates[name].half_width / (estimates[name].within or 1)
    )


EVERY = [f"{metric}:{name}" for metric in METRICS if metric != "prevalence" for name in CLASSIFIERS]
DIFFERENCES = [f"{metric}:old - {metric}:vote" for metric in METRICS if metric != "prevalence"]


def check_exact(
    estimates: Mapping[str, assay.Estimate], said: Mapping[str, Bools], truth: Bools
) -> None:
    for name, estimate in estimates.items():
        assert estimate.value == pytest.approx(exact(name, said, truth), rel=1e-12, abs=1e-15), name
        assert estimate.low == estimate.high == estimate.value


def test_labelling_everything_gives_scikit_learns_values() -> None:
    table, said, truth = population(300, seed=1)
    wanted = ["prevalence", *EVERY, *DIFFERENCES]
    campaign = assay.create_campaign(table, classifiers=CLASSIFIERS, metrics=wanted, budget=10_000)
    estimates = estimated(campaign, truth, batch=100)
    assert {each.stopped for each in estimates.values()} == {"every item has been reviewed"}
    check_exact(estimates, said, truth)


def test_the_worst_case_holds_whatever_the_unjudged_are() -> None:
    table, said, truth = population(120, seed=5)
    unjudged = [3, 40, 77, 101]
    wanted = ["precision:old", "recall:new", "f1:vote"]
    campaign = assay.create_campaign(table, classifiers=CLASSIFIERS, metrics=wanted, budget=10_000)
    while not campaign.done:
        campaign.tell(
            {
                item.id: "cannot judge" if item.id in unjudged else truth[int(item.id)]
                for item in campaign.ask(60)
            }
        )
    for name, estimate in campaign.estimates().items():
        possible = []
        for answers in product((False, True), repeat=len(unjudged)):
            maybe = truth.copy()
            maybe[unjudged] = answers
            possible.append(exact(name, said, maybe))
        # Precision needs no label of what its classifier says no to.
        needed = [i for i in unjudged if name != "precision:old" or said["old"][i]]
        assert estimate.cannot_judge == len(needed)
        assert estimate.worst_case == pytest.approx((min(possible), max(possible)))


def test_several_metrics_of_one_classifier() -> None:
    table, said, truth = population(300, seed=8)
    columns: Any = {"score": "p_old", "predicted": "said_old", "budget": 10_000}
    campaign = assay.create_campaign(table, metrics=["recall", "f1"], **columns)
    estimates = estimated(campaign, truth, batch=100)
    assert list(estimates) == ["recall:classifier", "f1:classifier"]
    check_exact(estimates, {"classifier": said["old"]}, truth)
    # Their strata are cut as finely as those of a single metric.
    single = assay.create_campaign(table, metric="recall", **columns)
    sizes = (each.settings.strata.sizes.tolist() for each in (campaign, single))
    assert sorted(next(sizes)) == sorted(next(sizes))
    with pytest.raises(assay.AssayError, match="'recall:old' is not estimated"):
        campaign.estimate("recall:old")


CNN: dict[str, Any] = {"score": "p", "threshold": 0.5}


class Made:
    """A classifier that is better in one language than in the other."""

    def __init__(self, size: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.language = rng.choice(["en", "de", "fr"], size, p=[0.6, 0.3, 0.1])
        self.score = rng.beta(0.6, 0.6, size).round(4)
        right = np.where(self.language == "en", self.score, 0.15 + 0.6 * self.score)
        self.truth = rng.random(size) < right

    @property
    def said(self) -> Bools:
        return np.asarray(self.score >= 0.5)

    def table(self) -> dict[str, Any]:
        return {"id": np.arange(self.score.size), "p": self.score, "lang": self.language}

    def precision(self, language: str | None) -> float:
        here = self.said & ((self.language == language) if language else True)
        return float(self.truth[here].mean())

    def recall(self, language: str) -> float:
        return float(self.said[self.truth & (self.language == language)].mean())


def test_slices_at_full_labelling_are_those_of_their_own_items(tmp_path: Path) -> None:
    made, storage = Made(600), f"sqlite:///{tmp_path}/labels.db"
    campaign = assay.create_campaign(
        made.table(),
        id="id",
        classifiers={"cnn": CNN},
        metrics=["precision:cnn[lang]", "recall:cnn[lang=de]", "precision:cnn"],
        budget=600,
        storage=storage,
    )
    finish(campaign, made.truth, 600)
    told = {name: estimate.value for name, estimate in campaign.estimates().items()}
    expected = {f"precision:cnn[lang={word}]": made.precision(word) for word in ("en", "de", "fr")}
    expected |= {"recall:cnn[lang=de]": made.recall("de"), "precision:cnn": made.precision(None)}
    assert list(told) == list(expected)
    assert told == pytest.approx(expected, abs=1e-12)
    # Nobody is asked about an item that is in no slice's way: not yes, and not German.
    judged = np.array(sorted(map(int, campaign.answers())))
    needed = np.flatnonzero(made.said | (made.language == "de"))
    assert judged.tolist() == needed.tolist()
    assert assay.verify_campaign(storage=storage).clean


def test_a_rebase_on_which_languages_change_places_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which bit means which slice must not depend on how frequent it has become."""
    made, storage = Made(400), f"sqlite:///{tmp_path}/labels.db"
    path = str(tmp_path / "predictions.csv")
    pd.DataFrame(made.table()).to_csv(path, index=False)
    options: dict[str, Any] = {
        "classifiers": {"cnn": CNN},
        "metrics": ["precision:cnn[lang]"],
        "budget": 300,
    }
    campaign = assay.create_campaign(path, id="id", storage=storage, **options)
    finish(campaign, made.truth, 30, most=30)
    made.language = np.where(made.language == "en", "de", np.where(made.said, "en", "it"))
    made.language[:50] = "fr"
    pd.DataFrame(made.table()).to_csv(path, index=False)
    shallow(monkeypatch, 1, "extend")
    assay.rebase_campaign(storage=storage)
    campaign = assay.load_campaign(storage=storage)
    finish(campaign, made.truth, 300)  # reads the file again
    for word in ("de", "en", "fr"):
        estimate = campaign.estimate(f"precision:cnn[lang={word}]")
        assert estimate.value == pytest.approx(made.precision(word), abs=1e-12)
    assert assay.verify_campaign(storage=storage).clean
