"""Labels that targets take, against simulated samples and by hand."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from assay.core.forecast import isotonic_rates, labels_needed, least_variance, random_variance
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


@pytest.mark.parametrize("metric", ["recall", "f1"])
def test_a_share_of_all_items_would_not_pass(metric: str) -> None:
    value = {"recall": 3000 / 4500, "f1": 6000 / 8500}[metric]
    with pytest.raises(AssertionError):
        check(metric, value * (1 - value))


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
