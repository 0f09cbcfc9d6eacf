"""Campaigns whose targets are slices: from labels of their own, to the end."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import assay
from assay.core.types import Bools
from tests.kinds import finish, shallow

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
