"""Campaigns of items that are a random sample of more."""

import re
from math import sqrt
from typing import Any

import numpy as np
import pytest

import assay
from tests.kinds import finish

TABLE = {
    "id": np.arange(3_000),
    "p": np.random.default_rng(4).random(3_000),
    "judge": np.random.default_rng(5).random(3_000),
}
TRUTH = np.random.default_rng(6).random(3_000) < TABLE["p"]


def campaign(**options: Any) -> assay.Campaign:
    """Return a campaign of accuracy."""
    given = {"within": 0.04, **options}
    return assay.create_campaign(
        TABLE, id="id", score="p", threshold=0.5, metric="accuracy", seed=1, **given
    )


def labelled(made: assay.Campaign) -> assay.Campaign:
    finish(made, TRUTH, 20)
    return made


def test_the_interval_is_for_all_items() -> None:
    alone, sampled = labelled(campaign()), labelled(campaign(sample_of=60_000))
    found = sampled.estimate()
    assert found.half_width <= 0.04
    assert found.labels > alone.estimate().labels  # what the part leaves open, labels make up for
    value = found.value or 0.0
    first = 1.96 * sqrt(value * (1 - value) * (1 / 3_000 - 1 / 60_000))
    (note,) = (each for each in found.notes if "random sample of 60,000" in each)
    (told,) = re.findall("±(0[.][0-9]+) of it is the sample's own", note)
    assert float(told) == pytest.approx(first, rel=0.05)
    assert "random sample" not in " ".join(alone.estimate().notes)


def test_strata_that_are_cut_anew_and_a_stored_campaign_keep_it(storage: str) -> None:
    made = labelled(campaign(sample_of=60_000, aux=["judge"], storage=storage, name="part"))
    again = assay.load_campaign("part", storage=storage)
    assert again.settings.goal.sample_size == 3_000
    assert again.estimate().half_width == made.estimate().half_width <= 0.04


def test_a_part_that_is_too_small_says_so() -> None:
    made = campaign(sample_of=10**7, within=0.015)
    finish(made, TRUTH, 20, most=60)
    assert "the sample of items alone contributes" in made.outlook().text
