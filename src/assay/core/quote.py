"""The value that is quoted: the metric at rates that allow for how the labels were drawn.

At the stop of an adaptive evaluation the plain estimate, sum_h N_h x_h / n_h, leans towards what
luck showed, for two reasons: labels followed the errors (`core.allocation`), so that strata which
looked clean stayed so; and the evaluation stopped because its interval was narrow (`core.drift`).
What allocation hid is given back, and so is the shift that the stop makes. Nothing is added where
all items are labelled: the value is then the metric itself.
"""

import numpy as np

from assay.core.allocation import explore
from assay.core.drift import drift_of
from assay.core.forms import Metric
from assay.core.stratified import weigh
from assay.core.tallies import Tallies
from assay.core.types import Floats


def quoted_value(
    tallies: Tallies, metric: Metric, *, replacement: bool, explored: bool, stops: bool
) -> Floats:
    """Return the metric's value, as it is to be quoted, of shape (...).

    Parameters
    ----------
    tallies : Tallies
    metric : Metric
    replacement : bool
        Whether the correction for a finite population is left out.
    explored : bool
        Whether labels followed the errors, as `core.allocation` allocates them.
    stops : bool
        Whether the evaluation stops where its interval is narrow.

    Examples
    --------
    Eight errors in eighty labels of one stratum, and a stop by the width: most of an error more.

    >>> from assay.core.forms import ratio
    >>> tallies = Tallies(N=[1_000_000], n=[80], x=[72])
    >>> precision = ratio("precision", tallies.N, np.array([True]))
    >>> quoted_value(tallies, precision, replacement=False, explored=False, stops=True).round(4)
    np.float64(0.8913)
    """
    N, n, seen = np.broadcast_arrays(tallies.N, tallies.n, tallies.x)
    x = seen
    left = np.ones(n.shape) if replacement else (N - n) / np.maximum(N - 1, 1.0)
    if stops:
        x = drift_of(N, n, x, left, metric).corrected()
    T = _totals(N, n, x)
    if explored:
        now = Tallies.trusted(N, n, x, 0 * n)
        w, common = weigh(now, metric, T)
        turned = metric.rises(T) ^ common  # where the rarer outcome is the other one
        rare = np.where(turned, n - x, x)
        hidden = explore(w, n, rare, left).pull
        given = np.clip(rare + hidden, 0.0, n) - rare
        x = np.where(turned, x - given, x + given)
        T = _totals(N, n, x)
    # No more, and no fewer, than there can be with the items that are left.
    return metric.value(np.where(left < 1, np.clip(T, seen, seen + N - n), T))


def _totals(N: Floats, n: Floats, x: Floats) -> Floats:
    return np.asarray(N * np.where(n > 0, x, 0.5) / np.maximum(n, 1.0))
