"""Clusters, densities and mixtures of scores, against brute force, scipy and scikit-learn."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import gaussian_kde, norm
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from assay.core.clustering import (
    Mixture,
    equal_root_parts,
    gaussian_mixture,
    kernel_density,
    kmeans,
)
from assay.core.profile import profile_of
from assay.core.types import Floats, Ints

SAMPLES: dict[str, Callable[[np.random.Generator], Floats]] = {
    "two heaps": lambda rng: np.concatenate([rng.normal(0, 1, 300), rng.normal(6, 0.5, 100)]),
    "narrow in wide": lambda rng: np.concatenate([rng.normal(0, 3, 500), rng.normal(0, 0.1, 500)]),
    "probabilities": lambda rng: rng.beta(2, 5, 800),
    "rounded": lambda rng: rng.normal(0.5, 0.2, 900).round(2),
}
OTHERS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "nearly sure": lambda rng: rng.beta(0.3, 0.5, 500),
    "coarse": lambda rng: rng.beta(2, 5, 400).round(1),
    "two": lambda rng: rng.random(2),
}


def made(make: Callable[[np.random.Generator], Floats]) -> Floats:
    return np.sort(make(np.random.default_rng(11)))


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Floats:
    return made(SAMPLES[request.param])


@pytest.fixture(params=["two heaps", *OTHERS])
def scores(request: pytest.FixtureRequest) -> Floats:
    return made({**SAMPLES, **OTHERS}[request.param])


def inertia(z: Floats, W: Floats, cluster: Ints) -> float:
    total = 0.0
    for k in range(cluster.max() + 1):
        part, weight = z[cluster == k], W[cluster == k]
        total += float(weight @ (part - np.average(part, weights=weight)) ** 2)
    return total


def brute_force(z: Floats, W: Floats, K: int) -> float:
    least = np.inf
    for edges in combinations(range(1, z.size), K - 1):
        cluster = np.searchsorted(np.array(edges), np.arange(z.size), side="right")
        least = min(least, inertia(z, W, cluster))
    return least


def check_optimal(z: Floats, W: Floats, cluster: Ints, least: float) -> None:
    spread = inertia(z, W, np.zeros(z.size, dtype=np.int64))
    assert inertia(z, W, cluster) <= least + 1e-12 * spread


@given(
    st.lists(
        st.tuples(st.integers(-40, 40), st.integers(1, 9)),
        min_size=1,
        max_size=9,
        unique_by=lambda pair: pair[0],
    ),
    st.data(),
)
def test_no_partition_is_better(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    z, W = np.array(sorted(pairs), dtype=np.float64).T
    K = data.draw(st.integers(1, len(pairs)))
    cluster = kmeans(z, W, K)
    np.testing.assert_array_equal(np.unique(cluster), np.arange(K))
    assert (np.diff(cluster) >= 0).all()
    check_optimal(z, W, cluster, brute_force(z, W, K))


@pytest.mark.parametrize("K", [2, 3, 8, 20])
@pytest.mark.parametrize("M", [40, 777])
def test_scikit_learn_finds_no_better_clusters(M: int, K: int) -> None:
    rng = np.random.default_rng(M + K)
    z, W = np.sort(rng.beta(0.4, 0.7, M)), rng.integers(1, 20, M).astype(np.float64)
    theirs = KMeans(K, n_init=20, random_state=0).fit(z[:, None], sample_weight=W)
    check_optimal(z, W, kmeans(z, W, K), theirs.inertia_)


def test_scores_far_from_zero_are_told_apart() -> None:
    z = 1e6 + np.array([0.0, 1e-3, 5e-3, 6e-3])
    np.testing.assert_array_equal(kmeans(z, np.ones(4), 2), [0, 0, 1, 1])


# Densities


def check_density(density: Floats, grid: Floats, values: Floats) -> None:
    """The density is scipy's, which sums the kernels of all values one by one."""
    expected = gaussian_kde(values)(grid)
    assert np.abs(density - expected).max() < 2e-3 * expected.max()


def weighted(values: Floats) -> tuple[Floats, Floats]:
    distinct, count = np.unique(values, return_counts=True)
    return distinct, count.astype(np.float64)


def test_density_is_that_of_scipy(scores: Floats) -> None:
    grid, density = kernel_density(*weighted(scores))
    assert (grid[0], grid[-1]) == (scores[0], scores[-1])
    check_density(density, grid, scores)


@pytest.mark.parametrize("root", [2, 3])
@pytest.mark.parametrize("K", [1, 2, 5, 9])
def test_parts_have_equal_cumulated_roots(scores: Floats, K: int, root: int) -> None:
    points = equal_root_parts(*weighted(scores), K, root)
    grid = np.linspace(scores[0], scores[-1], 20001)
    rooted = gaussian_kde(scores)(grid) ** (1 / root)
    share = np.bincount(np.searchsorted(points, grid, side="right"), rooted, K) / rooted.sum()
    np.testing.assert_allclose(share, 1 / K, atol=2e-3)


def test_an_outlier_beyond_the_grid_leaves_a_finite_density() -> None:
    z = np.concatenate([np.linspace(0, 1e-9, 50), [1.0]])
    W = np.concatenate([np.full(50, 1e12), [1.0]])
    grid, density = kernel_density(z, W)
    assert np.isfinite(density).all()
    assert density.sum() * (grid[1] - grid[0]) == pytest.approx(1)


# Mixtures


def fitted(values: Floats, K: int) -> Mixture:
    profile = profile_of(values)
    return gaussian_mixture(profile.mean, profile.count.astype(np.float64), K)


def log_likelihood(mixture: Mixture, values: Floats) -> float:
    return float(np.mean(logsumexp(mixture.log_joint(values), axis=1)))


def scikit_learn(values: Floats, K: int) -> GaussianMixture:
    """Scikit-learn's mixture, on the values one by one, from the same start."""
    start = kmeans(values, np.ones(values.size), K)
    parts = [values[start == k] for k in range(K)]
    model = GaussianMixture(
        K,
        tol=1e-5,
        max_iter=500,
        reg_covar=0.0,
        weights_init=[part.size / values.size for part in parts],
        means_init=[[part.mean()] for part in parts],
        precisions_init=[[[1 / part.var()]] for part in parts],
    )
    return model.fit(values[:, None])


@pytest.mark.parametrize("K", [1, 2, 3])
def test_mixture_is_that_of_scikit_learn(sample: Floats, K: int) -> None:
    theirs, ours = scikit_learn(sample, K), fitted(sample, K)
    assert ours.converged
    assert ours.weight.sum() == pytest.approx(1)
    assert log_likelihood(ours, sample) >= theirs.score(sample[:, None]) - 1e-4
    agree = ours.most_probable(sample) == theirs.predict(sample[:, None])
    assert agree.mean() > 0.99


def test_joint_is_weight_times_normal_density() -> None:
    mixture = Mixture(np.array([0.3, 0.7]), np.array([0.0, 2.0]), np.array([1.0, 4.0]), True)
    z = np.array([-1.0, 0.5, 9.0])
    expected = np.log([0.3, 0.7]) + norm.logpdf(z[:, None], [0.0, 2.0], [1.0, 2.0])
    np.testing.assert_allclose(mixture.log_joint(z), expected)


def test_no_component_is_narrower_than_the_floor() -> None:
    values = np.concatenate([np.zeros(1000), np.linspace(1, 2, 100)])
    mixture = fitted(values, 2)
    assert mixture.variance.min() == pytest.approx(1e-6 * values.var())
    assert np.isfinite(log_likelihood(mixture, values))


def test_iterations_end() -> None:
    assert not fitted(np.linspace(0, 1, 500) ** 4, 8).converged
