"""Section 6's route and printed numbers: values against scikit-learn, variances against draws."""

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from assay.core.metrics import METRICS
from assay.core.recycling.route import Route
from assay.core.recycling.samples import expected_savings, sample_size
from assay.core.targets import Target
from assay.core.types import Floats
from tests.sklearn_metrics import SKLEARN

YES, N = np.array([1000.0, 1400.0, 300.0]), 10_000.0
P, F = np.array([0.9, 0.7, 0.95]), 0.02


def route(metric: str, yes: ArrayLike, N: float) -> Route:
    sizes = np.asarray(yes, dtype=np.float64)
    names = tuple("abc"[: sizes.size])
    return Route(names, sizes, int(N), tuple(Target(metric, name) for name in names))


def totals(p: ArrayLike, f: ArrayLike, yes: ArrayLike, N: float) -> Floats:
    """(T_1, ..., T_K, M): the hits of each, and what the first misses."""
    sizes = np.asarray(yes, dtype=np.float64)
    shares = np.concatenate([np.asarray(p), np.asarray(f)[..., None]], axis=-1)
    return np.asarray(shares * np.append(sizes, N - sizes[0]))


def values(metric: str, p: ArrayLike, f: ArrayLike, *, yes: ArrayLike, N: float) -> Floats:
    return route(metric, yes, N).values(totals(p, f, yes, N))


def variances(
    metric: str,
    p: Floats,
    f: float,
    *,
    covariance: Floats,
    f_variance: float,
    yes: Floats,
    N: float,
) -> Floats:
    """By the delta method, from the slopes of the route's metrics."""
    scale = np.append(yes, N - yes[0])
    whole = np.zeros((scale.size, scale.size))
    whole[:-1, :-1], whole[-1, -1] = covariance, f_variance
    spread = whole * scale[:, None] * scale
    slopes = [each.gradient(totals(p, f, yes, N)) for each in route(metric, yes, N).metrics]
    return np.array([slope @ spread @ slope for slope in slopes])


def random_covariance(rng: np.random.Generator) -> Floats:
    root = rng.normal(size=(3, 3))
    return np.asarray(1e-4 * root @ root.T)


# Values


def test_every_metric_of_a_labelled_population_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(2000) < 0.3
    says_yes = rng.random((3, 2000)) < np.where(truth, 0.8, 0.1)
    p = [SKLEARN["precision"](truth, yes) for yes in says_yes]
    f = float(truth[~says_yes[0]].mean())
    for metric, score in SKLEARN.items():
        expected = [score(truth, yes) for yes in says_yes]
        np.testing.assert_allclose(
            values(metric, p, f, yes=says_yes.sum(axis=1), N=2000), expected, rtol=1e-12
        )


def test_recalls_are_those_of_the_paper_s_formulas() -> None:
    first = P[0] * YES[0] / (P[0] * YES[0] + F * (N - YES[0]))
    others = first * P[1:] * YES[1:] / (P[0] * YES[0])
    np.testing.assert_allclose(values("recall", P, F, yes=YES, N=N), [first, *others])


def test_values_stay_between_0_and_1() -> None:
    p, yes = [0.5, 1.0], [10, 1000]  # the second has more hits than the first leaves positives
    assert values("recall", p, 0.0, yes=yes, N=2000).tolist() == [1.0, 1.0]
    assert values("false_omission_rate", p, 0.0, yes=yes, N=2000).tolist() == [0.0, 0.0]


# Variances


def test_a_correlation_may_be_below_0() -> None:
    """Of a classifier whose yes is more often wrong than its no; a cut at 0 would hide it."""
    said, truth = np.repeat([True, False], [100, 300]), np.zeros(400, dtype=bool)
    truth[[*range(10), *range(100, 250)]] = True
    (found,) = values("matthews_correlation", [0.1], 0.5, yes=[100], N=400)
    assert found == pytest.approx(SKLEARN["matthews_correlation"](truth, said))
    assert found < -0.3


@pytest.mark.parametrize("metric", METRICS)
def test_the_gradient_is_that_of_finite_differences(metric: str) -> None:
    at, step = np.append(P, F), 1e-6
    moved = at + step * np.array([[1.0], [-1.0]])[..., None] * np.eye(4)  # (2, 4, 4)
    up, down = values(metric, moved[..., :3], moved[..., 3], yes=YES, N=N)
    slopes = (up - down) / (2 * step)  # (4 inputs, 3 classifiers)
    covariance = random_covariance(np.random.default_rng(2))
    f_variance = 3e-6
    whole = np.block([[covariance, np.zeros((3, 1))], [np.zeros((1, 3)), np.array([[f_variance]])]])
    got = variances(metric, P, F, covariance=covariance, f_variance=f_variance, yes=YES, N=N)
    np.testing.assert_allclose(got, np.diag(slopes.T @ whole @ slopes), rtol=1e-6)


# Sample size


@pytest.mark.parametrize(("p0", "printed"), [(0.5, 1068), (0.9, 385), (0.93, 278)])
def test_sample_sizes_are_those_printed(p0: float, printed: int) -> None:
    assert sample_size(0.03, 0.05, p0) == printed


@pytest.mark.parametrize("p0", [0.0, 0.3, 0.5, 0.8, 0.99])
@pytest.mark.parametrize("epsilon", [0.01, 0.03, 0.1])
def test_it_is_the_least_size_that_will_do(epsilon: float, p0: float) -> None:
    n = sample_size(epsilon, 0.1, p0)
    precisions = np.linspace(p0, 1, 1001)
    widest = np.sqrt(precisions * (1 - precisions)).max()
    inside = [1 - 2 * stats.norm.sf(epsilon * np.sqrt(size) / widest) for size in (n - 1, n)]
    assert inside[0] < 0.9 <= inside[1]


# Savings


@pytest.mark.parametrize(
    ("n_P", "n_C", "pir", "cir"),
    [(5, 5, 0.4, 0.3), (7, 2, 1.0, 0.5), (4, 9, 0.0, 0.7), (0, 3, 1, 1)],
)
def test_expected_savings_are_the_mean_of_case_b_and_c(
    n_P: int, n_C: int, pir: float, cir: float
) -> None:
    total = 0.0
    for X in range(n_P + 1):
        case_b = X / n_C <= cir
        total += stats.binom.pmf(X, n_P, pir) * (X if case_b else n_C * cir)
    assert expected_savings(n_P, n_C, pir, cir) == pytest.approx(total, abs=1e-12)
