"""Draws that put back what was drawn, of items that are soon all known.

Where impressions are drawn in proportion to weight (`core.arrivals`), a few items may be most of
what there is: they come again and again, at no cost. Draws with replacement never say that all is
known. But a stratum whose every item has been looked at is known, as by a census, and `settle`
says so in the tallies: the statistics then treat it as they do any stratum that was labelled to its
last item. And of any other stratum the outcomes that were found, by weight, and the weight that is
left leave only so much possible.
"""

from dataclasses import dataclass

import numpy as np

from assay.core.metrics import Ratio
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats

_GRID = 2.0**20  # parts of a draw; so that what is judged and what is not add up to the last bit


@dataclass(frozen=True, eq=False)
class Once:
    """The items behind the draws, each counted once, by stratum; arrays of shape (H,).

    Parameters
    ----------
    dealt : array
        Items that were drawn at all.
    judged, unjudged : array
        Those with a yes or no, and those that could not be judged.
    judged_weight, outcome_weight, unjudged_weight : array
        The impressions of the former, of those of them with the outcome, and of the latter.
    """

    dealt: Floats
    judged: Floats
    unjudged: Floats
    judged_weight: Floats
    outcome_weight: Floats
    unjudged_weight: Floats

    def is_known(self, items: Floats) -> Bools:
        """Return the strata, of so many items, that were looked at to the last one."""
        return np.asarray(self.judged + self.unjudged >= items)


@dataclass(frozen=True, eq=False)
class Settled:
    """Tallies and the metric of them, with what is known of the items told in them.

    `least` and `most` are the fewest and the most outcomes that each stratum can have.
    """

    tallies: Tallies
    metric: Ratio
    least: Floats
    most: Floats


def settle(tallies: Tallies, metric: Ratio, once: Once, items: Floats) -> Settled:
    """Return the tallies, and the metric of them, with what is known in full told so.

    Parameters
    ----------
    tallies : Tallies
        Of draws, with N in impressions.
    metric : Ratio
        Of totals in impressions.
    once : Once
        The items behind the draws.
    items : array, shape (H,)
        The items of each stratum.

    Notes
    -----
    A stratum that is known is counted in draws instead of impressions: N is the number n + u of
    draws from it, and of these the same share is judged, and has the outcome, as of its
    impressions. A draw then weighs N_impressions / N_draws times as much in the metric.

    Examples
    --------
    Two items of weights 3 and 1, drawn four times: a yes and a no. The share is 3/4 exactly.

    >>> from assay.core.metrics import ratio
    >>> tallies = Tallies(N=[4000], n=[4], x=[2])
    >>> precision = ratio("precision", tallies.N, np.array([True]))
    >>> one, three = np.array([1000.0]), np.array([3000.0])
    >>> two = np.array([2.0])
    >>> once = Once(two, two, 0 * two, one + three, three, 0 * two)
    >>> known = settle(tallies, precision, once, items=two)
    >>> known.tallies.N, known.tallies.n, known.tallies.x, known.metric.value(known.tallies.x)
    (array([4.]), array([4.]), array([3.]), array(0.75))
    """
    known = once.is_known(items)
    N = np.where(known, tallies.n + tallies.u, tallies.N)
    share = N / tallies.N
    u = np.rint(once.unjudged_weight * share * _GRID) / _GRID
    u = np.where(known, u, tallies.u)
    n = np.where(known, N - u, tallies.n)
    rate = once.outcome_weight / np.maximum(once.judged_weight, 1.0)
    x = np.where(known, n * rate, tallies.x)
    return Settled(
        Tallies.trusted(N, n, x, u),
        Ratio(metric.a0, metric.a / share, metric.b0, metric.b / share),
        least=np.where(known, x, once.outcome_weight),
        most=np.where(known, x + u, tallies.N - once.judged_weight + once.outcome_weight),
    )
