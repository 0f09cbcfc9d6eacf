"""K-means of scores on a line, solved exactly.

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

import numpy as np

from assay.core.types import Floats, Ints
from assay.errors import InputError

Cost = Callable[[Ints, Ints], Floats]


def kmeans(z: Floats, W: Floats, K: int) -> Ints:
    """Cluster weighted scores so that the sum of squares within clusters is the least possible.

    Parameters
    ----------
    z, W : array, shape (M,)
        Ascending scores, and how many items have each.
    K : int
        The number of clusters, 1 to M.

    Returns
    -------
    array of int64, shape (M,)
        The cluster of each score, ascending from 0; all K of them occur.

    Notes
    -----
    D_k(j) = min over i < j of D_{k-1}(i) + cost(i, j), with cost(i, j) the sum of squares of the
    scores i, ..., j - 1 around their mean [1]_. The best i never falls when j grows [2]_, so a
    search between the best i of the neighbours takes O(M log M) for each k.

    Examples
    --------
    >>> kmeans(np.array([0.0, 0.1, 0.5, 0.9, 1.0]), np.ones(5), 3)
    array([0, 0, 1, 2, 2])
    """
    M = z.size
    if not 1 <= K <= M:
        raise InputError(f"K is {K}", details=f"{M} scores make 1 to {M} clusters")
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
    """Return the function of (i, j) that gives the sum of squares of the scores i, ..., j - 1."""
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
