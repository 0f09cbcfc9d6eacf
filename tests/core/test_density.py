from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from assay.core.clustering import equal_root_parts, kernel_density
from assay.core.types import Floats
from assay.errors import InputError

SAMPLES: dict[str, Callable[[np.random.Generator], Floats]] = {
    "two heaps": lambda rng: np.concatenate([rng.normal(0, 1, 300), rng.normal(6, 0.5, 100)]),
    "probabilities": lambda rng: rng.beta(0.3, 0.5, 500),
    "rounded": lambda rng: rng.beta(2, 5, 400).round(1),
    "two": lambda rng: rng.random(2),
}


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Floats:
    values: Floats = np.sort(SAMPLES[request.param](np.random.default_rng(7)))
    return values


def check_density(density: Floats, grid: Floats, values: Floats) -> None:
    """The density is scipy's, which sums the kernels of all values one by one."""
    expected = gaussian_kde(values)(grid)
    assert np.abs(density - expected).max() < 2e-3 * expected.max()


def weighted(values: Floats) -> tuple[Floats, Floats]:
    scores, count = np.unique(values, return_counts=True)
    return scores, count.astype(np.float64)


def test_density_is_that_of_scipy(sample: Floats) -> None:
    grid, density = kernel_density(*weighted(sample))
    assert (grid[0], grid[-1]) == (sample[0], sample[-1])
    check_density(density, grid, sample)
    silverman = gaussian_kde(sample, "silverman")(grid)
    with pytest.raises(AssertionError):
        check_density(silverman, grid, sample)


@pytest.mark.parametrize("root", [2, 3])
@pytest.mark.parametrize("K", [1, 2, 5, 9])
def test_parts_have_equal_cumulated_roots(sample: Floats, K: int, root: int) -> None:
    def check_parts(points: Floats) -> None:
        grid = np.linspace(sample[0], sample[-1], 20001)
        rooted = gaussian_kde(sample)(grid) ** (1 / root)
        share = np.bincount(np.searchsorted(points, grid, side="right"), rooted, K) / rooted.sum()
        np.testing.assert_allclose(share, 1 / K, atol=2e-3)

    points = equal_root_parts(*weighted(sample), K, root)
    check_parts(points)
    if K > 1:
        with pytest.raises(AssertionError):
            check_parts(points + 0.02 * np.ptp(sample))


def test_an_outlier_beyond_the_grid_leaves_a_finite_density() -> None:
    z = np.concatenate([np.linspace(0, 1e-9, 50), [1.0]])
    W = np.concatenate([np.full(50, 1e12), [1.0]])
    grid, density = kernel_density(z, W)
    assert np.isfinite(density).all()
    assert density.sum() * (grid[1] - grid[0]) == pytest.approx(1)


def test_a_single_score_has_no_density() -> None:
    with pytest.raises(InputError, match=r"from 0\.5 to 0\.5"):
        kernel_density(np.array([0.5]), np.array([3.0]))
