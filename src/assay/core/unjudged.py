"""What items that could not be judged leave open."""

import numpy as np

from assay.core.metrics import Metric
from assay.core.tallies import Tallies
from assay.core.types import Floats

__all__ = ["worst_case"]


def worst_case(tallies: Tallies, metric: Metric) -> tuple[Floats, Floats]:
    """Return the estimate with every unjudged item one way, and the other.

    Examples
    --------
    >>> from assay.core.metrics import ratio
    >>> tallies = Tallies(N=[1000], n=[8], x=[6], u=[2])
    >>> worst_case(tallies, ratio("precision", tallies.N, np.array([True])))
    (array(0.6), array(0.8))
    """
    seen = np.maximum(tallies.n + tallies.u, 1.0)
    unseen = tallies.n + tallies.u == 0

    def totals(outcomes: Floats) -> Floats:
        return np.asarray(tallies.N * np.where(unseen, 0.5, outcomes / seen))

    return metric.extremes(totals(tallies.x), totals(tallies.x + tallies.u))
