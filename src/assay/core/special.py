"""Special functions: those of scipy, and those that every look needs without it.

Loading ``scipy.special`` takes a quarter of a second, more than the rest of a campaign's status. It
is loaded when one of its functions is first used. x log y is numpy's. Normal quantiles are scipy's
to the last bit, since the reports of a campaign must be reproducible forever; those of the usual
confidences are constants.
"""

from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.types import Floats

_USUAL = {
    0.8: 1.2815515655446004,
    0.9: 1.644853626951472,
    0.95: 1.959963984540054,
    0.98: 2.3263478740408408,
    0.99: 2.5758293035489004,
    0.999: 3.290526731491926,
}


@lru_cache(maxsize=1_000)
def z_of(confidence: float) -> float:
    """Convert a confidence to the standard errors on either side of a normal interval.

    >>> round(z_of(0.95), 6), z_of(0.0), z_of(1.0)
    (1.959964, 0.0, inf)
    """
    if confidence in _USUAL:
        return _USUAL[confidence]
    upper = (1 + confidence) / 2
    return float(ndtri(np.array(upper))) if upper < 1 else inf


def xlogy(x: Floats, y: Floats) -> Floats:
    """Product x log(y), 0 where x is 0; the caller ignores divisions by 0.

    >>> xlogy(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    array([0., 0.])
    """
    return np.asarray(x * np.log(np.where(x != 0, y, 1.0)))


def ndtri(share: Floats) -> Floats:
    """Compute normal quantiles of shares, as in scipy."""
    from scipy.special import ndtri as of_scipy

    return np.asarray(of_scipy(share))


def ndtr(z: Floats) -> Floats:
    """Shares of the normal distribution below z, as in scipy."""
    from scipy.special import ndtr as of_scipy

    return np.asarray(of_scipy(z))


def expit(log_odds: NDArray[np.floating[Any]]) -> Floats:
    """Probabilities of log odds, as in scipy."""
    from scipy.special import expit as of_scipy

    return np.asarray(of_scipy(log_odds))


def betaincinv(a: Floats, b: Floats, share: float) -> Floats:
    """Quantiles of beta distributions, as in scipy."""
    from scipy.special import betaincinv as of_scipy

    return np.asarray(of_scipy(a, b, share))


def chdtrc(freedom: int, statistic: float) -> float:
    """Share of a chi-squared distribution above a value, as in scipy."""
    from scipy.special import chdtrc as of_scipy

    return float(of_scipy(freedom, statistic))
