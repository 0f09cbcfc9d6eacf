"""Bounds on the effect of items without a yes or no: unjudged ones, and open ones.

An estimate assumes that such items are like the rest of their stratum. Nobody knows whether they
are: items that cannot be judged may all be of one kind, and so may those that a reviewer skips. At
worst they all count against the metric, at best all for it. Whatever they are, the counts with all
of them known lie between these two.
"""

from math import ceil

import numpy as np

from assay.core.betting import Bets
from assay.core.differences import Gap
from assay.core.forms import Metric, Ratio
from assay.core.tallies import Tallies, plain_totals
from assay.core.types import Bools, Floats, Ints


def swing(tallies: Tallies, metric: Metric) -> tuple[Floats, Floats]:
    """Estimates with every unjudged item one way, and the other; no sampling error.

    >>> from assay.core.forms import ratio
    >>> tallies = Tallies(N=[1000], n=[8], x=[6], u=[2])
    >>> swing(tallies, ratio("precision", tallies.N, np.array([True])))
    (array(0.6), array(0.8))
    """
    return metric.extremes(
        plain_totals(tallies.N, tallies.n + tallies.u, tallies.x),
        plain_totals(tallies.N, tallies.n + tallies.u, tallies.x + tallies.u),
    )


def movement(tallies: Tallies, metric: Metric) -> Floats:
    """How far the unjudged items alone could move the estimate, up or down, (...).

    Eight labels say 0.75; with two more against it would be 0.6.

    >>> from assay.core.forms import ratio
    >>> tallies = Tallies(N=[1000], n=[8], x=[6], u=[2])
    >>> movement(tallies, ratio("precision", tallies.N, np.array([True]))).round(2)
    np.float64(0.15)
    """
    if not tallies.u.any():
        return np.zeros(tallies.u.shape[:-1])
    value = metric.value(plain_totals(tallies.N, tallies.n, tallies.x))
    least, most = swing(tallies, metric)
    none = (tallies.u == 0).all(axis=-1)
    return np.where(none, 0.0, np.maximum(most - value, value - least))


def least_to_settle(unjudged: int, could_move: float, allowed: float) -> int:
    """Find how many unjudged items need a yes or no to make the rest harmless.

    The possible shift is in proportion to the number of items, if those judged later turn out like
    the rest, and come from all strata equally: m of u then move it by at most m/u of the total
    shift.

    Of 37 that could move it by 0.08, 13 may stay where 0.03 is allowed: 14 could move it by
    0.08 * 14/37 = 0.0303.

    >>> least_to_settle(37, 0.08, 0.03)
    24
    """
    if could_move <= allowed:
        return 0
    return min(max(ceil(unjudged * (1 - allowed / could_move) - 1e-9), 1), unjudged)


def counted_at_worst(tallies: Tallies, metric: Metric, doubtful: Floats) -> tuple[Tallies, Tallies]:
    """Tallies with doubtful items as labels, against the metric and for it, (K, ..., H).

    `doubtful`, (..., H): items without a yes or no.

    K is 1 where every stratum raises or lowers the metric throughout. For a difference, items on
    which both classifiers agree may do either, depending on the totals: for recall those that both
    predict no, and for F1 also those that both predict yes. They are counted first in the direction
    of the estimate, then in the other: K is 2, or 4. The lower end of an interval is the least of
    the K.
    """
    rises = metric.rises(plain_totals(tallies.N, tallies.n, tallies.x))
    ways = rises[None]
    for strata in _unsure(metric):
        ways = np.concatenate([ways, ways ^ strata])
    return as_labels(tallies, doubtful, ~ways), as_labels(tallies, doubtful, ways)


def as_labels(tallies: Tallies, doubtful: Floats, outcome: Bools) -> Tallies:
    """Tallies with doubtful items as labels, which have the outcome in some strata."""
    x = tallies.x + np.where(outcome, doubtful, 0.0)
    counts = (tallies.N, tallies.n + doubtful, np.zeros_like(tallies.u))
    N, n, none = (np.broadcast_to(each, x.shape) for each in counts)
    return Tallies.trusted(N, n, x, none)


def cards_judged(kinds: Ints, outcome: Bools) -> Ints:
    """Cards of a round, as in `engine.fold`, as if all of them had been judged.

    A card of stratum 0 with the outcome, one of stratum 1 that could not be judged, and none.

    >>> cards_judged(np.array([1, -3, -1]), np.array([False, True]))
    array([ 1,  3, -1])
    """
    stratum = np.maximum(-2 - kinds, 0)
    judged = 2 * stratum + np.take_along_axis(outcome, stratum, axis=-1)
    return np.where(kinds < -1, judged, kinds)


def verdict_at_worst(
    bets: Bets,  # on the labels
    # With every unjudged item against the metric, and with every one for it.
    worst: tuple[Bets, Bets] | None,
    # tallies, metric: the labels, and the estimated metric.
    tallies: Tallies,
    metric: Metric,
    *,
    limit: float,  # lower limit of the metric that is asked about
    confidence: float,
) -> tuple[Ints, Bools]:
    """Verdict of the bets on a limit, and where unjudged items alone could turn it.

    1 yes, -1 no, 0 not known: a yes must hold with every unjudged item against it, a no with every
    one for it. `worst` are the bets with these items counted so; None if there is none.
    """
    index = int(np.searchsorted(bets.points, limit))
    verdict = bets.verdict(index, confidence)
    if worst is None:
        return verdict, np.zeros(verdict.shape, dtype=np.bool_)
    against, in_favour = (each.verdict(index, confidence) for each in worst)
    least, most = swing(tallies, metric)
    turned = ((verdict > 0) & (least < limit)) | ((verdict < 0) & (most >= limit))
    return np.where(against > 0, 1, np.where(in_favour < 0, -1, 0)), np.asarray(turned)


def _unsure(metric: Metric) -> list[Bools]:
    """Strata in which the effect of outcomes on a difference depends on the totals.

    Those with the same direction are one entry.
    """
    groups: list[Bools] = []
    if isinstance(metric, Gap):
        # Where outcomes count in the numerator, or raise a metric of both classes.
        one, two = (
            each.a != 0 if each.straight else each.a > 0 for each in (metric.first, metric.second)
        )
        groups = [one & two, ~one & ~two]
    elif isinstance(metric, Ratio) and (metric.a < 0).any():
        groups = [(metric.a == 0) & (metric.b != 0)]
    return [strata for strata in groups if strata.any()]
