"""Campaigns to report on, and their truth."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import assay
from assay.core.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class Made:
    """Scores, the truth, and a campaign of them."""

    score: Floats
    truth: Bools
    campaign: assay.Campaign

    def label(self, items: int, answer: Callable[[int], object] | None = None) -> None:
        """Judge so many items by the truth, in batches of 20, or otherwise."""
        left = items
        while left and (batch := self.campaign.ask(min(left, 20))):
            told = {each.id: self._said(int(each.id), answer) for each in batch}
            self.campaign.tell(told)
            left -= len(batch)

    def _said(self, item: int, answer: Callable[[int], object] | None) -> object:
        return bool(self.truth[item]) if answer is None else answer(item)


def make(size: int = 600, *, seed: int = 5, **changed: Any) -> Made:
    """Return a campaign of a calibrated score, cut at 0.5."""
    rng = np.random.default_rng(seed)
    score = rng.random(size).round(6)
    truth = rng.random(size) < score
    how: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "budget": 200, "seed": 3}
    columns = {"id": np.arange(size), "p": score}
    return Made(score, truth, assay.create_campaign(columns, **{**how, **changed}))


def make_several(size: int = 400, **changed: Any) -> Made:
    """Return a campaign of two classifiers, the second with a score that is half noise."""
    rng = np.random.default_rng(11)
    score = rng.random(size).round(6)
    truth = rng.random(size) < score
    other = ((score + rng.random(size)) / 2).round(6)
    how: dict[str, Any] = {
        "id": "id",
        "classifiers": {
            "new": {"score": "p", "threshold": 0.5},
            "old": {"score": "q", "threshold": 0.5},
        },
        "metrics": ["precision", "recall", "f1:new", "accuracy:new - accuracy:old", "prevalence"],
        "budget": 100,
    }
    columns = {"id": np.arange(size), "p": score, "q": other}
    return Made(score, truth, assay.create_campaign(columns, **{**how, **changed}))
