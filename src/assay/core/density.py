"""The density of the scores, and the cuts at equal steps of its cumulated root.

References
----------
.. [1] Dalenius and Hodges (1959). Minimum variance stratification. JASA 54, 88-101.
.. [2] Singh (1971). Approximately optimum stratification on the auxiliary variable. JASA 66,
   829-833.
.. [3] Scott (1992). Multivariate Density Estimation. Wiley.
"""

import numpy as np

from assay.core.types import Floats
from assay.errors import InputError

_FEWEST_POINTS = 1024
_MOST_POINTS = 65536
_POINTS_PER_BANDWIDTH = 8
_KERNEL_REACH = 8.0  # bandwidths; beyond, a Gaussian is below 1e-14 of its peak


def kernel_density(z: Floats, W: Floats) -> tuple[Floats, Floats]:
    """Estimate the density of a weighted sample with Gaussian kernels, on a grid.

    Parameters
    ----------
    z : array, shape (M,)
        Ascending scores, not all equal.
    W : array, shape (M,)
        How many items have each score.

    Returns
    -------
    grid, f : array, shape (G,)
        Equally spaced scores from the smallest to the largest, and the density at each.

    Notes
    -----
    The bandwidth is Scott's, N**(-1/5) standard deviations [3]_: what
    `scipy.stats.gaussian_kde` takes for the N items one by one. Each count is shared between
    its two neighbours on the grid and the grid is smoothed once, so the cost depends on neither
    N nor M. The grid has 8 points in a bandwidth; where that would take more than 65536 points,
    the scores have outliers beyond thousands of bandwidths, and a bandwidth has fewer.

    Examples
    --------
    >>> grid, f = kernel_density(np.array([0.0, 1.0]), np.array([3.0, 1.0]))
    >>> float(f[0] / f[-1]) > 2
    True
    """
    reach = z[-1] - z[0]
    if not reach > 0:
        raise InputError(
            f"the scores run from {z[0]} to {z[-1]}",
            details="a density needs two scores that differ",
        )
    N = W.sum()
    center = W @ z / N
    bandwidth = N**-0.2 * np.sqrt(W @ (z - center) ** 2 / (N - 1))
    wanted = _POINTS_PER_BANDWIDTH * reach / bandwidth
    points = int(np.clip(wanted, _FEWEST_POINTS, _MOST_POINTS))
    step = reach / (points - 1)
    from scipy.ndimage import gaussian_filter1d  # takes long to load, and few commands need it

    place = (z - z[0]) / step
    left = np.minimum(place.astype(np.int64), points - 2)
    right_share = place - left
    mass = np.bincount(left, W * (1 - right_share), points)
    mass += np.bincount(left + 1, W * right_share, points)
    smooth = gaussian_filter1d(mass, bandwidth / step, mode="constant", truncate=_KERNEL_REACH)
    # Rounding of the shares can leave a zero mass negative by one part in 1e16.
    return np.linspace(z[0], z[-1], points), np.maximum(smooth, 0.0) / (N * step)


def equal_root_parts(z: Floats, W: Floats, K: int, root: int) -> Floats:
    """Return the scores that cut the cumulated root of the density into K equal parts.

    Parameters
    ----------
    z, W : array, shape (M,)
        Ascending scores, not all equal, and how many items have each.
    K : int
        The number of parts.
    root : int
        2 for cum sqrt f [1]_, 3 for cum cube-root f [2]_.

    Returns
    -------
    array, shape (K - 1,)
        The cuts, ascending.

    Examples
    --------
    >>> z = np.linspace(0, 1, 1001)
    >>> equal_root_parts(z, np.ones(1001), 4, 2).round(2)
    array([0.26, 0.5 , 0.74])
    """
    from scipy.integrate import cumulative_trapezoid  # takes long to load, as above

    grid, f = kernel_density(z, W)
    cumulated = cumulative_trapezoid(f ** (1 / root), grid, initial=0)
    parts: Floats = np.interp(cumulated[-1] * np.arange(1, K) / K, cumulated, grid)
    return parts
