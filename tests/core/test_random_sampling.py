"""What labels are worth at random, against scipy's intervals, other formulas and draws."""

from math import inf

import numpy as np
import pytest
from scipy.stats import binomtest

from assay.core.forecast import (
    effective_labels,
    labels_at_random,
    labels_per_share,
    random_variance,
)

EVERY = ["precision", "recall", "f1", "accuracy", "false_omission_rate", "prevalence"]


@pytest.mark.parametrize(("yes", "n"), [(0, 40), (3, 40), (55, 100), (930, 1000), (77, 77)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_so_many_labels_have_a_wilson_interval_as_narrow(
    yes: int, n: int, confidence: float
) -> None:
    ends = binomtest(yes, n).proportion_ci(confidence, method="wilson")
    half_width = (ends.high - ends.low) / 2
    told = labels_at_random(yes / n, half_width, confidence=confidence, per_share=1.0, items=1e15)
    assert told == pytest.approx(n, rel=1e-6)
    # The normal approximation, which would say that near 0 and 1 next to no labels are needed.
    wald = 3.84 * yes / n * (1 - yes / n) / half_width**2
    assert abs(wald - n) > 0.001 * n


def test_nothing_is_needed_for_an_interval_as_wide_as_all_and_everything_for_none() -> None:
    share = {"confidence": 0.95, "per_share": 1.0, "items": 300.0}
    assert labels_at_random(0.4, 0.5, **share) == 0
    assert labels_at_random(0.4, 0.0, **share) == 300
    assert labels_at_random(0.5, 1e-9, **share) == pytest.approx(300)


def test_a_share_costs_what_its_linearised_variance_says() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        sizes = rng.integers(10, 500, 4).astype(float)
        totals = np.floor(rng.random(4) * sizes)
        yes = np.array([True, True, False, False])
        hits, said, positives = totals[:2].sum(), sizes[:2].sum(), totals.sum()
        value = {"recall": hits / positives, "f1": 2 * hits / (said + positives)}
        denominator = {"recall": positives, "f1": said + positives}
        for metric, share in value.items():
            each = labels_per_share(metric, share, sizes.sum(), denominator[metric])
            expected = random_variance(metric, sizes, totals, yes)
            assert each * share * (1 - share) == pytest.approx(expected)
            assert share * (1 - share) != pytest.approx(expected)
    assert {labels_per_share(each, 0.3, 9.0, 2.0) for each in EVERY if each not in value} == {1.0}


def test_a_random_sample_of_the_effective_size_varies_as_much() -> None:
    """20,000 samples: the standard deviation is within 3% but in one run of a million."""
    items, positives, n = 400, 90, 120
    found = np.random.default_rng(2).hypergeometric(positives, items - positives, n, 20_000) / n
    share = positives / items
    spread = float(found.std())
    told = effective_labels(share, spread, per_share=1.0, items=items)
    assert told == pytest.approx(n, rel=0.045)
    without_end = effective_labels(share, spread, per_share=1.0, items=1e15)
    assert without_end is not None
    assert without_end > 1.3 * n  # that the population is finite must not be left out
    assert effective_labels(1.0, 0.0, per_share=1.0, items=items) is None
    # That no spread was seen is no claim that all was.
    for among in (20_000.0, inf):
        assert effective_labels(0.5, 0.0, per_share=1.0, items=among) is None
