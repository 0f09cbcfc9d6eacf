"""First phase: items that are themselves a random sample of more items.

A judge that costs money is asked about a random part of the items, and the campaign is of that
part alone. Its labels tell the metric of the part. For all items, the part's own metric varies,
too, as the mean of a simple random sample does, and an interval must allow for both [1]_::

    V = V(labels within the part) + (1 - n/N) S^2 / n

with n of N items in the part, and S^2 the variance of what an item adds to the metric, to first
order (`core.forecast.random_variance`); v (1 - v) for a share.

The two errors are independent. Each end of the part's interval goes outwards to the root of the sum
of squares, as for a difference of two samples [2]_. S^2 is worked out at the rates that the labels
show, and again with all rates moved as far as the end is away; the larger counts, so that a part
without a single error seen does not pass for one without variance.

References
----------
.. [1] Cochran, Sampling techniques (3rd ed., 1977), section 12.2.
.. [2] Zou and Donner, Construction of confidence limits about effect measures, Statistics in
   Medicine 27 (2008).
"""

import numpy as np

from assay.core.forecast import by_place
from assay.core.forms import Ratio
from assay.core.metrics import METRICS
from assay.core.special import z_of
from assay.core.tallies import Tallies, plain_totals
from assay.core.types import Floats


def part_variance(name: str, metric: Ratio, N: Floats, T: Floats, share: float) -> Floats:
    """Return the variance of the metric of a random part of all items, shape (...).

    `N`, `T`, (..., H): the part's items that the metric is about, and the outcomes in each stratum.

    Of 10,000 items 1,000 were drawn, and 900 are right: 0.9 * 0.1 * (1/1000 - 1/10000).

    >>> from assay.core.forms import ratio
    >>> N, T = np.array([600.0, 400.0]), np.array([560.0, 340.0])
    >>> both = ratio("precision", N, np.array([True, True]))
    >>> float(part_variance("precision", both, N, T, 0.1)).__round__(9)
    8.1081e-05
    """
    said = np.ones(N.shape[-1], dtype=np.bool_) if metric.said is None else metric.said
    count = by_place(N, T, said)
    items = count.sum(axis=-1)
    mean_square = (count * METRICS[name].gradient(count) ** 2).sum(axis=-1)
    return np.asarray((1 - share) * mean_square * items / np.maximum(items - 1, 1.0))


def of_all_items(
    name: str,
    metric: Ratio,
    tallies: Tallies,  # the part's
    *,
    ends: tuple[Floats, Floats, Floats],  # the part's, each of shape (...)
    share: float,
    confidence: float,
) -> tuple[Floats, Floats]:
    """Return an interval for all items, from that of a random part of them."""
    low, value, high = ends
    z, N = z_of(confidence), tallies.N
    T = plain_totals(N, tallies.n, tallies.x)
    way = np.where(metric.rises(T), 1.0, -1.0)
    moved_by_all = (np.abs(metric.gradient(T)) * N).sum(axis=-1)
    here = part_variance(name, metric, N, T, share)
    lowest, highest = metric.extremes(0 * N, N)
    found = []
    for end, sign in ((low, -1.0), (high, 1.0)):
        off = np.abs(end - value)
        by = off / np.where(moved_by_all > 0, moved_by_all, 1.0)
        there = np.clip(T / N + sign * way * by[..., None], 0.0, 1.0) * N
        most = np.maximum(here, part_variance(name, metric, N, there, share))
        found.append(value + sign * np.sqrt(off**2 + z**2 * most))
    return np.maximum(found[0], lowest), np.minimum(found[1], highest)
