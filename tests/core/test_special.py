"""What is done without scipy is what scipy does, and scipy's functions are scipy's."""

import numpy as np
import pytest
from scipy import special as of_scipy

from assay.core import special


def test_normal_quantiles_are_those_of_scipy() -> None:
    usual = (0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
    for confidence in (*np.linspace(0.0, 0.999_999, 2_001).tolist(), *usual, 1e-9, 1 - 1e-12, 1.0):
        # The last bit differs by processor.
        np.testing.assert_array_max_ulp(
            special.z_of(confidence), of_scipy.ndtri((1 + confidence) / 2), maxulp=2
        )
    assert special.z_of(0.9) != pytest.approx(of_scipy.ndtri(0.9))  # one tail in place of two


def test_x_log_y_is_scipys_also_at_0() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, (40, 50)).astype(float), rng.random((40, 50))
    y[:, :5] = 0.0
    with np.errstate(divide="ignore"):
        found = special.xlogy(x, y)
    np.testing.assert_allclose(found, of_scipy.xlogy(x, y), rtol=4e-16)
    assert (found[x == 0] == 0).all()
    assert np.isneginf(found[(x > 0) & (y == 0)]).all()


def test_scipys_own_are_scipys() -> None:
    shares = np.linspace(0.01, 0.99, 99)
    np.testing.assert_array_equal(special.ndtri(shares), of_scipy.ndtri(shares))
    np.testing.assert_array_equal(special.ndtr(4 * shares - 2), of_scipy.ndtr(4 * shares - 2))
    np.testing.assert_array_equal(special.expit(9 * shares - 4), of_scipy.expit(9 * shares - 4))
    np.testing.assert_array_equal(
        special.betaincinv(9 * shares, 7 * shares, 0.2),
        of_scipy.betaincinv(9 * shares, 7 * shares, 0.2),
    )
    assert special.chdtrc(3, 4.5) == of_scipy.chdtrc(3, 4.5)
