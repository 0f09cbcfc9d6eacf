from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from assay.core.clustering import kmeans
from assay.core.types import Floats, Ints
from assay.errors import InputError


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


def test_the_check_sees_a_cluster_that_ends_one_score_too_early() -> None:
    z, W = np.array([0.0, 1, 2, 10, 11, 12]), np.ones(6)
    check_optimal(z, W, kmeans(z, W, 2), brute_force(z, W, 2))
    with pytest.raises(AssertionError):
        check_optimal(z, W, np.array([0, 0, 1, 1, 1, 1]), brute_force(z, W, 2))


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


@pytest.mark.parametrize("K", [0, 3])
def test_more_clusters_than_scores_are_refused(K: int) -> None:
    with pytest.raises(InputError, match=f"K is {K}\n2 scores make 1 to 2 clusters"):
        kmeans(np.array([0.0, 1.0]), np.ones(2), K)
