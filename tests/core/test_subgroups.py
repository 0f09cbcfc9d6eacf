"""A metric of a slice: against scipy, scikit-learn, and all samples of a tiny population."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import binomtest

from assay.core.metrics import METRICS
from assay.core.subgroups import (
    Domain,
    Doubt,
    as_metric,
    clopper_pearson,
    domain,
    doubts,
    kinds,
    share_of,
    spread,
)
from assay.core.types import Bools, Floats
from tests.sklearn_metrics import SKLEARN


def pair(d: Floats, x: Floats) -> Floats:
    """Labels in the numerator, and those in the denominator only."""
    return np.stack([x, d - x], axis=-1)


def of(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def everywhere(strata: int, number: int = 2) -> Bools:
    return np.ones((strata, number), dtype=np.bool_)


@pytest.mark.parametrize(("n", "d", "x"), [(80, 80, 70), (400, 45, 45), (60, 31, 1), (50, 2, 1)])
def test_one_stratum_is_clopper_and_pearson(n: int, d: int, x: int) -> None:
    """Exactly, whatever was added for caution; and not with the labels outside of the slice."""
    found = domain(
        of(1e6), of(n), pair(of(d), of(x)), possible=everywhere(1), confidence=0.9, left=of(1)
    )
    exact = binomtest(x, d).proportion_ci(0.9, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert found.effective == pytest.approx(d)
    if d < n:
        wrong = binomtest(x, n).proportion_ci(0.9, method="exact")
        assert abs(found.low - wrong.low) + abs(found.high - wrong.high) > 0.01


def test_the_interval_is_that_of_scipy_at_whole_sizes() -> None:
    for n, x in product((1, 7, 300), (0, 1)):
        low, high = clopper_pearson(of(x / n), of(n), 0.95)
        exact = binomtest(x, n).proportion_ci(0.95, method="exact")
        assert (low[0], high[0]) == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_the_variance_is_right_on_average_over_all_samples() -> None:
    """E[v] is the variance of the estimated total, with zeros for labels outside of the slice."""
    inside = [np.array([1, 1, 0, 1, 0]), np.array([0, 1, 1, 1])]
    hit = [np.array([1, 0, 0, 1, 0]), np.array([0, 0, 1, 0])]
    value, drawn = 0.4, (3, 2)
    z = [h - value * d for h, d in zip(hit, inside, strict=True)]
    N, n = of(5, 4), of(*drawn)
    totals, right, wrong = [], [], []
    for picks in product(*(combinations(range(5), 3), combinations(range(4), 2))):
        chosen = [list(pick) for pick in picks]
        x = of(*(h[pick].sum() for h, pick in zip(hit, chosen, strict=True)))
        d = of(*(i[pick].sum() for i, pick in zip(inside, chosen, strict=True)))
        totals.append(sum(N[h] * z[h][pick].mean() for h, pick in enumerate(chosen)))
        left = N**2 / n * (1 - n / N)
        slopes, none = of(1 - value, -value), np.zeros(2)
        right.append((left * spread(slopes, pair(d, x), n, more=none)).sum())
        # As if the slice's labels were all that was drawn.
        only = spread(slopes, pair(d, x), np.maximum(d, 1.0), more=none)
        wrong.append((left * only).sum())
    assert np.mean(right) == pytest.approx(np.var(totals), rel=1e-12)
    assert np.mean(wrong) != pytest.approx(np.var(totals), rel=0.1)


@pytest.mark.parametrize("metric", METRICS)
def test_what_is_counted_makes_the_metric(metric: str) -> None:
    rng = np.random.default_rng(3)
    says, positive = rng.random(500) < 0.4, rng.random(500) < 0.5
    number, share = share_of(metric)
    kind = kinds(metric, says, positive)
    counts = of(*((kind == each).sum() for each in range(number)))[None]
    found = domain(
        of(500), of(500), counts, possible=everywhere(1, number), confidence=0.95, share=share
    )
    assert as_metric(metric, found).value == pytest.approx(SKLEARN[metric](positive, says))
    assert found.low == found.high == found.value  # every item has its label
    assert np.isinf(found.effective)
    assert doubts(found) == Doubt.NONE


@pytest.mark.parametrize("metric", METRICS)
def test_slopes_of_what_is_counted_are_those_of_small_differences(metric: str) -> None:
    number, share = share_of(metric)
    sums = of(40, 7, 11, 55)[:number]

    def value(at: Floats) -> float:
        return float(share(at)[0])

    assert share(sums)[1] == pytest.approx(approx_fprime(sums, value, 1e-6), abs=1e-6)


def test_an_unseen_stratum_of_many_items_is_not_taken_to_be_pure() -> None:
    """All 58 positives found were predicted; among a million others, 100 labels saw none."""
    possible = np.array([[True, False], [False, True]])
    x = of(58, 0)
    found = domain(of(1000, 1e6), of(60, 100), pair(x, x), possible=possible, confidence=0.95)
    assert found.value == found.high == 1.0
    assert found.low < 0.2
    assert doubts(found) == Doubt.FEW_EFFECTIVE
    assert binomtest(58, 58).proportion_ci(0.95, method="exact").low > 0.9  # what 58 of 58 say


def test_intervals_hold_where_labels_are_out_of_proportion() -> None:
    """At 95%, 4,000 samples: coverage below 0.94 has a chance of 1 in 500 at 0.95.

    The unweighted share of the same labels is wrong nearly always.
    """
    rng = np.random.default_rng(11)
    runs = 4000
    N, n = of(90_000, 10_000), of(200, 600)
    inside, rate = of(0.2, 0.3), of(0.97, 0.5)
    d = rng.binomial(n.astype(np.int64), inside, (runs, 2)).astype(np.float64)
    x = rng.binomial(d.astype(np.int64), rate).astype(np.float64)
    true = (N * inside * rate).sum() / (N * inside).sum()
    drawn = np.broadcast_to(n, d.shape)
    found = domain(N, drawn, pair(d, x), possible=everywhere(2), confidence=0.95)
    covers = (found.low <= true) & (true <= found.high)
    assert covers.mean() > 0.94
    assert found.value.mean() == pytest.approx(true, abs=0.003)
    share = x.sum(axis=-1) / d.sum(axis=-1)
    low, high = clopper_pearson(share, d.sum(axis=-1), 0.95)
    assert ((low <= true) & (true <= high)).mean() < 0.05


def test_an_effective_size_never_exceeds_the_labels_but_for_a_finite_population() -> None:
    N, n = of(50_000, 50_000), of(100, 100)
    d, x = of(50, 50), of(50, 0)  # strata tell all: random labels would say less
    both = everywhere(2)
    large = domain(N, n, pair(d, x), possible=both, confidence=0.95, left=of(1, 1))
    assert large.effective == pytest.approx(100)
    small = domain(of(200, 200), n, pair(d, x), possible=both, confidence=0.95)
    assert small.effective == pytest.approx(200)


@pytest.mark.parametrize(
    ("labels", "effective", "known", "doubt"),
    [  # each number on either side of its rule
        (29, 29, (0.5, 0.4, 0.6), Doubt.FEW_LABELS),
        (30, 29.9, (0.5, 0.4, 0.6), Doubt.FEW_EFFECTIVE),
        (30, 30, (0.5, 0.35, 0.65), Doubt.WIDE),
        (30, 30, (0.5, 0.36, 0.65), Doubt.NONE),
        (99, 99, (0.05, 0.02, 0.09), Doubt.WIDE_FOR_ITS_VALUE),
        (99, 99, (0.06, 0.02, 0.09), Doubt.NONE),
        (999, 999, (0.01, 0.0, 0.04), Doubt.NONE),
    ],
)
def test_the_rules_for_too_few(
    labels: float, effective: float, known: tuple[float, float, float], doubt: Doubt
) -> None:
    value, low, high = known
    assert doubts(Domain(*map(of, (value, 0.0, low, high, labels, effective)))) == doubt


def test_no_label_says_nothing() -> None:
    found = domain(of(10, 10), of(5, 0), np.zeros((2, 2)), possible=everywhere(2), confidence=0.95)
    assert (float(found.low), float(found.high), float(found.effective)) == (0, 1, 0)
    assert doubts(found) == Doubt.FEW_LABELS
