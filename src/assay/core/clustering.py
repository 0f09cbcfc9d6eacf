"""Clustering of scores on a line: k-means solved exactly, mixtures, densities.

On a line the clusters are intervals, so the best K of them follow from the best K - 1 of every
beginning of the line. No random start, no local optimum.

References
----------
.. [1] Wang and Song (2011). Ckmeans.1d.dp: optimal k-means clustering in one dimension by
   dynamic programming. The R Journal 3(2), 29-33.
.. [2] Grønlund et al. (2017). Fast exact k-means, k-medians and Bregman divergence clustering in
   1D. arXiv:1701.07204.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from assay.core.types import Floats, Ints

Cost = Callable[[Ints, Ints], Floats]


def kmeans(z: Floats, W: Floats, K: int) -> Ints:
    """Cluster weighted scores with the least sum of squares within clusters.

    `z`, `W`, (M,): ascending scores, and how many items have each.

    The cluster of each score, ascending from 0; all K of them occur.

    D_k(j) = min over i < j of D_{k-1}(i) + cost(i, j), with cost(i, j) the sum of squares of the
    scores i, ..., j - 1 around their mean [1]_. The best i never falls when j grows [2]_, so a
    search between the best i of the neighbours takes O(M log M) for each k.

    >>> kmeans(np.array([0.0, 0.1, 0.5, 0.9, 1.0]), np.ones(5), 3)
    array([0, 0, 1, 2, 2])
    """
    M = z.size
    cost = _sum_of_squares(z, W)
    ends = np.arange(M + 1)
    best = np.concatenate([[0.0], cost(np.zeros(M, dtype=np.int64), ends[1:])])
    last_starts = []
    for k in range(2, K + 1):
        best, last_start = _add_cluster(best, cost, k)
        last_starts.append(last_start)
    edges = [M]
    for last_start in reversed(last_starts):
        edges.append(int(last_start[edges[-1]]))
    edges.append(0)
    return np.repeat(np.arange(K), np.diff(edges[::-1]))


def _sum_of_squares(z: Floats, W: Floats) -> Cost:
    """Make a function of (i, j): the sum of squares of the scores i, ..., j - 1."""
    around_mean = z - W @ z / W.sum()  # keeps the difference of sums below from cancelling
    S0, S1, S2 = (np.concatenate([[0.0], np.cumsum(W * around_mean**power)]) for power in (0, 1, 2))

    def cost(i: Ints, j: Ints) -> Floats:
        total = S1[j] - S1[i]
        squares: Floats = np.maximum(S2[j] - S2[i] - total * total / (S0[j] - S0[i]), 0.0)
        return squares

    return cost


def _add_cluster(best: Floats, cost: Cost, k: int) -> tuple[Floats, Ints]:
    """Go from the best k - 1 clusters of the first j scores, for each j, to the best k.

    Also returns where the last of the k clusters starts. First the middle j is solved, then the
    quarters, and so on: each between the starts found for its two neighbours.
    """
    M = best.size - 1
    last_start = np.full(M + 2, M)  # the entry past the end bounds the searches from above
    last_start[k - 1] = k - 1
    least = np.full(M + 1, np.inf)
    stride = 1 << (M - k + 1).bit_length()
    while stride := stride // 2:
        j = np.arange(k - 1 + stride, M + 1, 2 * stride)
        lower = last_start[j - stride]
        upper = np.minimum(last_start[np.minimum(j + stride, M + 1)], j - 1)
        least[j], last_start[j] = _search(best, cost, j, lower, upper)
    return least, last_start


def _search(best: Floats, cost: Cost, j: Ints, lower: Ints, upper: Ints) -> tuple[Floats, Ints]:
    """Minimise best[i] + cost(i, j) over lower <= i <= upper, for all j at once."""
    length = upper - lower + 1
    begin = np.cumsum(length) - length
    i = np.arange(length.sum()) - np.repeat(begin - lower, length)
    value = best[i] + cost(i, np.repeat(j, length))
    least = np.minimum.reduceat(value, begin)
    hits = np.flatnonzero(value == np.repeat(least, length))
    first_hit = hits[np.searchsorted(hits, begin)]
    return least, i[first_hit]


# The density of the scores, and the cuts at equal steps of its cumulated root.
#
# References
# ----------
# .. [1] Dalenius and Hodges (1959). Minimum variance stratification. JASA 54, 88-101.
# .. [2] Singh (1971). Approximately optimum stratification on the auxiliary variable. JASA 66,
#    829-833.
# .. [3] Scott (1992). Multivariate Density Estimation. Wiley.

_FEWEST_POINTS = 1024
_MOST_POINTS = 65536
_POINTS_PER_BANDWIDTH = 8
_KERNEL_REACH = 8.0  # bandwidths; beyond, a Gaussian is below 1e-14 of its peak


def kernel_density(z: Floats, W: Floats) -> tuple[Floats, Floats]:
    """Estimate the density of a weighted sample with Gaussian kernels, on a grid.

    `z`, (M,): ascending scores, not all equal; `W`, (M,): how many items have each score.

    Equally spaced scores from the smallest to the largest, and the density at each.

    The bandwidth is Scott's, N**(-1/5) standard deviations [3]_: what
    `scipy.stats.gaussian_kde` takes for the N items one by one. Each count is shared between
    its two neighbours on the grid and the grid is smoothed once, so the cost depends on neither
    N nor M. The grid has 8 points in a bandwidth; where that would take more than 65536 points,
    the scores have outliers beyond thousands of bandwidths, and a bandwidth has fewer.

    >>> grid, f = kernel_density(np.array([0.0, 1.0]), np.array([3.0, 1.0]))
    >>> float(f[0] / f[-1]) > 2
    True
    """
    reach = z[-1] - z[0]
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
    """Scores that cut the cumulated root of the density into K equal parts.

    `z`, `W`, (M,): ascending scores, not all equal, and how many items have each.

    The cuts, ascending.

    >>> z = np.linspace(0, 1, 1001)
    >>> equal_root_parts(z, np.ones(1001), 4, 2).round(2)
    array([0.26, 0.5 , 0.74])
    """
    from scipy.integrate import cumulative_trapezoid  # takes long to load, as above

    grid, f = kernel_density(z, W)
    cumulated = cumulative_trapezoid(f ** (1 / root), grid, initial=0)
    parts: Floats = np.interp(cumulated[-1] * np.arange(1, K) / K, cumulated, grid)
    return parts


# A Gaussian mixture of scores on a line.
#
# References
# ----------
# .. [1] Dempster, Laird and Rubin (1977). Maximum likelihood from incomplete data via the EM
#    algorithm. JRSS B 39, 1-38.

_MOST_ITERATIONS = 500
_TOLERANCE = 1e-5  # gain in log-likelihood per item below which the iterations stop
_VARIANCE_FLOOR = 1e-6  # of the variance of all scores; a tie would draw a component to zero width
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Mixture:
    """K Gaussian components."""

    # weight, mean, variance, (K,): the components; the weights have sum 1.
    weight: Floats
    mean: Floats
    variance: Floats
    converged: bool  # whether the iterations converged before the limit

    def log_joint(self, z: Floats) -> Floats:
        """log(weight_k * density_k(z_i)), shape (M, K)."""
        constant = np.log(np.maximum(self.weight, _TINY)) - 0.5 * np.log(2 * np.pi * self.variance)
        joint: Floats = constant - (z[:, None] - self.mean) ** 2 / (2 * self.variance)
        return joint

    def most_probable(self, z: Floats) -> Ints:
        """Find the most probable component of each score."""
        return np.asarray(np.argmax(self.log_joint(z), axis=1))


def gaussian_mixture(z: Floats, W: Floats, K: int) -> Mixture:
    """Fit a mixture of K Gaussians to weighted scores.

    `z`, `W`, (M,): ascending scores, not all equal, and how many items have each.

    Expectation maximisation [1]_ that starts from the exact K-means clusters, so that the same
    scores always give the same mixture: a local optimum, as in scikit-learn. No variance falls
    below a millionth of that of all scores.

    >>> mixture = gaussian_mixture(np.array([0.0, 0.1, 0.9, 1.0]), np.ones(4), 2)
    >>> mixture.mean.round(2)
    array([0.05, 0.95])
    """
    share = W / W.sum()
    floor = _VARIANCE_FLOOR * float(share @ (z - share @ z) ** 2)
    mixture = _maximise(z, share, np.eye(K)[kmeans(z, W, K)], floor)
    before = -np.inf
    for _ in range(_MOST_ITERATIONS):
        responsibility, likelihood = _expect(mixture, z, share)
        if likelihood - before < _TOLERANCE:
            return replace(mixture, converged=True)
        before = likelihood
        mixture = _maximise(z, share, responsibility, floor)
    return mixture


def _expect(mixture: Mixture, z: Floats, share: Floats) -> tuple[Floats, float]:
    """Each component's probability given each score, and the mean log-likelihood."""
    joint = mixture.log_joint(z)
    peak = joint.max(axis=1, keepdims=True)
    joint -= peak
    np.exp(joint, out=joint)
    total = joint.sum(axis=1, keepdims=True)
    joint /= total
    return joint, float(share @ (np.log(total) + peak)[:, 0])


def _maximise(z: Floats, share: Floats, responsibility: Floats, floor: float) -> Mixture:
    """Maximum likelihood mixture for given responsibilities."""
    part = share[:, None] * responsibility
    weight = part.sum(axis=0)
    divisor = np.maximum(weight, _TINY)
    mean = z @ part / divisor
    variance = np.einsum("ik,ik->k", part, (z[:, None] - mean) ** 2) / divisor
    return Mixture(weight, mean, np.maximum(variance, floor), converged=False)
