"""A period of a series and a comparison tell as much about the next period as any campaign.

Seeds are fixed. What is compared rests on the same labels but for the few that are drawn otherwise,
and on 60 evaluations each, whose mean has a standard error of 1 to 2%.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.types import Bools, Floats
from assay.core.venn import CellStrata
from assay.planning.by_rank import RankEvidence, SideByRank
from assay.planning.supposed import Supposed

N, RUNS, WITHIN, NEAR = 8_000, 60, 0.05, 0.10
COLUMNS: dict[str, Any] = {"score": "p", "threshold": 0.4}


def scores(seed: int) -> Floats:
    return np.random.default_rng(seed).beta(2, 1, N)


def truth_of(score: Floats) -> Bools:
    """Scores are far too low: at 0.4, nine in ten are positive."""
    rate = np.where(score < 0.4, 0.3, 0.9 + 0.1 * (score - 0.4) / 0.6)
    return np.random.default_rng(2).random(score.size) < rate


def answered(campaign: assay.Campaign, truth: dict[int, bool]) -> assay.Campaign:
    while not campaign.done:
        campaign.tell({item.id: truth[int(item.id)] for item in campaign.ask(40)})
    return campaign


def table(seed: int, first: int) -> tuple[dict[str, object], dict[int, bool]]:
    score = scores(seed)
    ids = np.arange(first, first + N)
    truth = dict(zip(ids.tolist(), truth_of(score).tolist(), strict=True))
    return {"id": ids, "p": score}, truth


def planned(like: assay.Campaign | None, seed: int = 3) -> float:
    planning = assay.plan(
        {"p": scores(seed)}, **COLUMNS, within=WITHIN, like=like, replications=RUNS
    )
    assert planning.labels is not None
    return planning.labels.mean


def test_periods_of_a_series_tell_what_a_plain_campaign_tells() -> None:
    monday, truth = table(1, 0)
    tuesday, later = table(4, N // 2)  # half of the ids are the same, and have other scores
    truth |= {item: said for item, said in later.items() if item not in truth}
    storage = "sqlite://"
    with_ids: dict[str, Any] = {**COLUMNS, "id": "id"}
    plain = answered(
        assay.create_campaign(monday, **with_ids, within=0.03, design=assay.Design(bins=8)), truth
    )
    del storage
    series = answered(
        assay.create_campaign(
            monday, **with_ids, metrics=["precision"], within=0.03, design=assay.Design(bins=8)
        ),
        truth,
    )
    assert isinstance(series.settings.strata, CellStrata)
    expected = planned(plain)
    assert abs(planned(series) / expected - 1) < NEAR
    assert planned(None) / expected - 1 > 3 * NEAR  # the scores alone are no match
