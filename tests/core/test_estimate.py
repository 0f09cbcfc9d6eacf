"""The estimators, over all samples of a tiny population and against simulation."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from assay.core.estimate import Estimator, estimate, m_estimate, rates, stratum_sd
from assay.core.forms import Ratio, ratio
from assay.core.metrics import METRICS
from assay.core.tallies import Tallies
from assay.core.types import Floats

OUTCOMES = ([1, 1, 0, 1], [0, 0, 1, 0, 0])
DRAWN = (2, 3)
SIZES = np.array([4.0, 5.0])
TRUTH = sum(map(sum, OUTCOMES)) / 9


def every_sample(*, replacement: bool) -> Iterator[tuple[int, int]]:
    """Yield the outcomes found in each stratum, once for each equally likely sample."""

    def draws(items: list[int], n: int) -> list[int]:
        if replacement:
            return [sum(sample) for sample in itertools.product(items, repeat=n)]
        return [sum(sample) for sample in itertools.combinations(items, n)]

    per_stratum = [draws(items, n) for items, n in zip(OUTCOMES, DRAWN, strict=True)]
    yield from itertools.product(*per_stratum)


@pytest.mark.parametrize("replacement", [True, False])
def test_over_all_samples_estimate_and_variance_are_unbiased(replacement: bool) -> None:
    found = np.array(list(every_sample(replacement=replacement)), dtype=float)
    tallies = Tallies(N=SIZES, n=np.array(DRAWN, dtype=float), x=found)
    precision = ratio("precision", SIZES, np.array([True, True]))
    moments = estimate(tallies, precision, "unbiased", replacement=replacement)
    assert moments.value.mean() == pytest.approx(TRUTH, rel=1e-12)
    assert moments.variance.mean() == pytest.approx(moments.value.var(), rel=1e-12)


def test_the_m_estimate_by_hand() -> None:
    # m = 2 at n = 0; m = 1/sqrt(n) after; prior 1/2 (paper 1, section 5).
    values = m_estimate(np.array([0.0, 1.0, 9.0]), np.array([0.0, 0.0, 6.0]))
    np.testing.assert_allclose(values, [1 / 2, 0.5 / 2, (6 + 1 / 6) / (9 + 1 / 3)], rtol=1e-15)


def check_linearised_variance(variance_of: Callable[[Tallies, Ratio], Floats], name: str) -> None:
    """Check the mean estimated variance against the variance of 20,000 real draws.

    The variance of so many draws has a relative error of about sqrt(2/20000) = 1%; the margin of 5%
    is five of these: a right formula fails with probability below 1e-6 (and the seed is fixed).
    """
    rng = np.random.default_rng(20)
    sizes, positives = np.array([20_000, 80_000]), np.array([17_000, 4_000])
    n = np.array([1500, 3000])
    x = rng.hypergeometric(positives, sizes - positives, n, size=(20_000, 2))
    tallies = Tallies(N=sizes, n=n, x=x)
    metric = ratio(name, sizes.astype(float), np.array([True, False]))
    values = estimate(tallies, metric, "unbiased", replacement=False).value
    assert variance_of(tallies, metric).mean() == pytest.approx(values.var(), rel=0.05)


@pytest.mark.parametrize("name", ["recall", "f1", "accuracy", "prevalence"])
def test_the_linearised_variance_is_that_of_real_draws(name: str) -> None:
    def ours(tallies: Tallies, metric: Ratio) -> Floats:
        return estimate(tallies, metric, "unbiased", replacement=False).variance

    check_linearised_variance(ours, name)
    if name not in ("recall", "f1"):
        return

    def as_if_the_denominator_were_known(tallies: Tallies, metric: Ratio) -> Floats:
        totals = tallies.N * tallies.x / tallies.n
        fixed = Ratio(metric.a0, metric.a, float(metric.denominator(totals).mean()), 0 * metric.b)
        return estimate(tallies, fixed, "unbiased", replacement=False).variance

    with pytest.raises(AssertionError):
        check_linearised_variance(as_if_the_denominator_were_known, name)


def test_a_stratum_without_labels_is_bounded_and_told() -> None:
    tallies = Tallies(N=[500, 500], n=[50, 0], x=[50, 0])
    precision = ratio("precision", tallies.N, np.array([True, True]))
    for estimator in ("unbiased", "smoothed"):
        moments = estimate(tallies, precision, estimator, replacement=False)
        assert moments.bounded.tolist() == [False, True]
        # half the population could be anything: the standard error says so
        assert float(np.sqrt(moments.variance)) >= 0.25
        assert float(moments.value) == pytest.approx(0.75, abs=0.001)


def test_strata_without_labels_may_all_be_wrong_the_same_way() -> None:
    tallies = Tallies(N=[250] * 4, n=[100, 100, 0, 0], x=[90, 90, 0, 0])
    precision = ratio("precision", tallies.N, np.ones(4, dtype=bool))
    moments = estimate(tallies, precision, "unbiased", replacement=True)
    # Half of the population is a guess of 1/2: off by up to 1/4, not by sqrt(2) / 8.
    sampled = 2 * (1 / 16) * 0.09 / 99
    assert float(moments.variance) == pytest.approx(1 / 16 + sampled)
    for truth in (0.0, 1.0):
        exact = 0.5 * 0.9 + 0.5 * truth
        assert abs(float(moments.value) - exact) <= np.sqrt(float(moments.variance))


def test_one_label_bounds_the_variance_of_an_unbiased_estimate() -> None:
    tallies = Tallies(N=[500], n=[1], x=[1])
    precision = ratio("precision", tallies.N, np.array([True]))
    moments = estimate(tallies, precision, "unbiased", replacement=False)
    assert float(moments.variance) == 0.25
    assert moments.bounded.tolist() == [True]


@pytest.mark.parametrize("estimator", ["unbiased", "smoothed"])
@pytest.mark.parametrize("metric", METRICS)
def test_a_fully_labelled_population_is_known(estimator: Estimator, metric: str) -> None:
    sizes, found = np.array([1.0, 3.0, 6.0]), np.array([1.0, 2.0, 1.0])
    says_yes = np.array([True, True, False])
    form = ratio(metric, sizes, says_yes)
    tallies = Tallies(N=sizes, n=sizes, x=found)
    moments = estimate(tallies, form, estimator, replacement=False)
    assert float(moments.value) == float(form.value(found))
    assert float(moments.variance) == 0.0
    assert not moments.bounded.any()


def test_spread_for_the_next_allocation() -> None:
    tallies = Tallies(N=[100, 100, 100], n=[0, 1, 4], x=[0, 1, 1])
    smoothed = stratum_sd(tallies, "smoothed", replacement=True)
    p = rates(tallies, "smoothed", replacement=True)
    np.testing.assert_allclose(smoothed, np.sqrt(p * (1 - p)))
    unbiased = stratum_sd(tallies, "unbiased", replacement=True)
    np.testing.assert_allclose(unbiased, [0.5, 0.5, np.sqrt(4 / 3 * 0.25 * 0.75)])  # Eq. 3


def test_without_any_label_nothing_is_defined() -> None:
    tallies = Tallies.start([10, 10])
    recall = ratio("recall", tallies.N, np.array([True, False]))
    moments = estimate(tallies, recall, "unbiased", replacement=False)
    assert not moments.defined
    assert float(moments.variance) == 0.25
