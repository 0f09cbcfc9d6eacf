"""Campaigns whose targets are slices: from labels of their own, to the end."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import assay
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import parse_targets
from assay.core.types import Bools, Floats
from assay.predictions.read import read_predictions
from assay.simulation import of_several, replay
from tests.kinds import finish, shallow

RUNS = 300
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


def test_intervals_of_slices_hold_as_often_as_they_say() -> None:
    """Of 300 runs at 95% more than 28 miss with a chance of 0.05% a target."""
    made = Made(8_000, seed=2)
    found = read_predictions(made.table(), id="id", classifiers={"cnn": CNN}, groups=["lang"])
    metrics = ["precision:cnn[lang=de]", "recall:cnn[lang=fr]"]
    goal = Goal(targets=parse_targets(metrics, ["cnn"], within=0.07, slices=found.groups.names))
    strata = cell_strata(found, goal, Design())
    decks = found.deal(strata, scale="probability", seed=0, counts=strata.sizes.tolist())
    outcomes: Floats = np.zeros(len(strata.parts))
    for stratum, deck in enumerate(decks):
        for card in deck:
            outcomes[strata.part_of(stratum, int(card.predicted))] += made.truth[int(card.id)]
    runs = replay(
        *of_several(joint_of(Design(), goal, strata), outcomes),
        replications=RUNS,
        rng=np.random.default_rng(3),
    )

    def missed(truth: list[float]) -> list[int]:
        covered = (runs.low <= truth) & (truth <= runs.high)
        return [int(count) for count in (~covered).sum(axis=0)]

    assert max(missed([made.precision("de"), made.recall("fr")])) <= 28
    assert missed([made.precision(None), made.recall("en")])[0] > 150
    assert runs.labels.mean() < 1000
