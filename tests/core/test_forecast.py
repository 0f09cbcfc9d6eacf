"""Labels that targets take, and what they are worth at random: against samples and by hand."""

from math import inf

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.isotonic import IsotonicRegression

from assay.core.forecast import (
    effective_labels,
    isotonic_rates,
    labels_at_random,
    labels_needed,
    labels_per_share,
    least_variance,
    random_variance,
)
from assay.core.metrics import METRICS
from assay.core.types import Floats

# Hits, false alarms, misses and right refusals.
COUNTS = np.array([3000.0, 1000.0, 1500.0, 14_500.0])
SIZES, POSITIVES = np.array([4000.0, 16_000.0]), np.array([3000.0, 1500.0])
SAID = np.array([True, False])
LABELS, SAMPLES = 4000, 40_000


def of_samples(metric: str) -> Floats:
    """Return the metric of simple random samples, each from its own labels alone."""
    rng = np.random.default_rng(8)
    drawn = rng.multinomial(LABELS, COUNTS / COUNTS.sum(), SAMPLES).astype(np.float64)
    hits, alarms, misses, refusals = drawn.T
    return np.asarray(
        {
            "recall": hits / (hits + misses),
            "f1": 2 * hits / (2 * hits + alarms + misses),
            "accuracy": (hits + refusals) / LABELS,
            "prevalence": (hits + misses) / LABELS,
            "specificity": refusals / (refusals + alarms),
            "false_positive_rate": alarms / (refusals + alarms),
        }[metric]
    )


def check(metric: str, predicted: float) -> None:
    """Compare n times the variance.

    40,000 samples know a variance to 0.7% (one standard error), and the linearisation at 4,000
    labels is off by less than 1%; a right formula is missed by 4.5% less than once in a million.
    """
    assert LABELS * of_samples(metric).var() == pytest.approx(predicted, rel=0.045)


@pytest.mark.parametrize(
    "metric", ["recall", "f1", "accuracy", "prevalence", "specificity", "false_positive_rate"]
)
def test_random_variance_is_that_of_random_samples(metric: str) -> None:
    check(metric, random_variance(metric, SIZES, POSITIVES, SAID))


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("precision", 0.75),
        ("false_omission_rate", 1.5 / 16),
        ("negative_predictive_value", 14.5 / 16),
    ],
)
def test_a_metric_of_one_side_is_sampled_there(metric: str, value: float) -> None:
    found = random_variance(metric, SIZES, POSITIVES, SAID)
    assert found == pytest.approx(value * (1 - value))


@pytest.mark.parametrize("metric", METRICS)
def test_finer_strata_change_nothing_for_random_sampling(metric: str) -> None:
    sizes = np.array([1000.0, 3000.0, 6000.0, 10_000.0])
    positives = np.array([900.0, 2100.0, 700.0, 800.0])
    said = np.array([True, True, False, False])
    assert random_variance(metric, sizes, positives, said) == pytest.approx(
        random_variance(metric, SIZES, POSITIVES, SAID)
    )


def test_no_allocation_has_less_than_the_least_variance() -> None:
    """Equation 10 of paper 2, over every share that the first of two strata may have."""
    weight, rate = np.array([0.9, 0.1]), np.array([0.95, 0.6])
    variance = rate * (1 - rate)
    share = np.linspace(0.001, 0.999, 9_999)
    every = [weight[h] ** 2 * variance[h] / each for h, each in enumerate((share, 1 - share))]
    found = least_variance(weight, np.sqrt(variance))
    assert found == pytest.approx(sum(every).min(), rel=1e-6)
    assert found != pytest.approx((weight * variance).sum(), rel=1e-3)  # in proportion to size


def test_labels_needed_by_hand() -> None:
    # 1.96^2 * 0.09 / 0.01^2
    needed = labels_needed(np.array(0.09), within=0.01, confidence=0.95)
    assert needed == pytest.approx(3457.3, abs=0.1)


def test_isotonic_rates_are_scikit_learns() -> None:
    rng = np.random.default_rng(1)
    count = rng.integers(1, 50, 200).astype(np.float64)
    outcomes = np.floor(count * rng.random(200) ** 0.5)
    score = np.arange(200)
    theirs = IsotonicRegression().fit(score, outcomes / count, sample_weight=count).predict(score)
    ours = isotonic_rates(count, outcomes)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert (np.diff(ours) >= 0).all()
    assert (ours * count).sum() == pytest.approx(outcomes.sum())


# What labels are worth at random, against scipy's intervals, other formulas and draws.

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
