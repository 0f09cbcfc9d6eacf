"""Stakes of a bettor on the next card: enough to reach the goal in time, never everything.

Any stake that is fixed before the card is drawn keeps the theorem of `core.betting`; its size
decides only how many labels are needed. All quantities of this file are therefore estimates, made
from the labels before a round.

A stake that is best in the long run (Kelly's) needs 2 ln(2/alpha) = 7.4 sigma^2/delta^2 labels at
95%; a test at one fixed time needs 1.96^2 = 3.8. A bettor who has to reach a goal by a deadline
comes near to the latter: its stake follows the chance, under the hypothesis it bets against, of
reaching the goal in the time that is left [1]_. The deadline is a forecast of the label at which
the interval will be narrow enough, and moves with it. A question about one point has no such
forecast: how far the point is from the truth is what is asked. There stakes are Kelly's.

References
----------
.. [1] M. Kulldorff (1993). Optimal control of favorable games with a time limit. SIAM Journal on
   Control and Optimization 31(1), 52-69. For a random walk the stake is phi(z)/(w sigma
   sqrt(T - t)), with w = Phi(z) the wealth as a share of the goal.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtri

from assay.core.forms import Ratio
from assay.core.tallies import Tallies
from assay.core.types import Floats

_PRIOR = 2.0  # labels that the overall rate weighs in each stratum's
_MOST = 0.65  # of its wealth a bettor may lose on one card
_LATE = 1.5  # the deadline, over the forecast: who aims too early has lost all when it matters
_AHEAD = 0.05  # the deadline is never nearer than this share of the labels so far
_MARGIN = 0.2  # what bettors aim at above the goal: a walk comes near its aim sooner than to it
_DESPAIR = 5.0  # log of goal over wealth; who is further behind stakes no more for that
_TINY = 1e-12  # keeps a division by what is never quite 0 finite

# phi(z)/w at w = exp(-gap), for gaps up to _DESPAIR; a stake need not be more exact than this.
_GAPS = np.linspace(0.0, _DESPAIR, 1001)
_Z = ndtri(np.exp(-_GAPS[1:]))
_BOLDNESS = np.append(0.0, np.exp(_GAPS[1:] - _Z**2 / 2) / np.sqrt(2 * np.pi))


def guesses(tallies: Tallies, metric: Ratio) -> Floats:
    """Return a guess of every stratum's rate, never 0 or 1: its labels and two more of the mean.

    The mean is over strata that have labels, by size, of the rate of outcomes that lower the
    metric: where the classifier says no these are the positives, so both sides share it.

    Examples
    --------
    >>> from assay.core.forms import ratio
    >>> tallies = Tallies(N=[500, 500], n=[18, 0], x=[17, 0])
    >>> guesses(tallies, ratio("precision", tallies.N, np.array([True, True]))).round(3)
    array([0.942, 0.921])
    """
    N, n = tallies.N, tallies.n
    bad = np.where(metric.a > 0, n - tallies.x, tallies.x)
    labels = n.sum(axis=-1, keepdims=True)
    seen = np.where(n > 0, N, 0.0)
    found = (seen * bad / np.maximum(n, 1.0)).sum(axis=-1, keepdims=True)
    rate = found / np.maximum(seen.sum(axis=-1, keepdims=True), 1.0)
    mean = (labels * rate + 0.5) / (labels + 1)
    q = (bad + _PRIOR * mean) / (n + _PRIOR)
    return np.asarray(np.where(metric.a > 0, 1 - q, q))


@dataclass(frozen=True, eq=False)
class Stakes:
    """What the stakes of one round rest on.

    Parameters
    ----------
    edge : array, shape (..., G)
        The guessed metric minus the point: what a card should pay.
    variance, at_point : array, shape (..., G)
        Of what a card pays, at the guessed rates and if the point were the metric's value.
    most_up, most_down : array, shape (..., G)
        The largest stakes of the two bettors.
    deadline : array, shape (..., 1)
        Cards after which the goal should be reached, had the population no end.
    spent, left : array, shape (..., 1)
        Cards so far, and the share of the population that is left.
    """

    edge: Floats
    variance: Floats
    at_point: Floats
    most_up: Floats
    most_down: Floats
    deadline: Floats
    spent: Floats
    left: Floats

    @classmethod
    def of_round(
        cls,
        points: Floats,
        metric: Ratio,
        tallies: Tallies,
        chances: Floats,
        *,
        cards: int,
        within: float | None,
        confidence: float,
        replacement: bool,
    ) -> Self:
        """Return what the stakes of a round of `cards` rest on: the labels before it.

        Parameters
        ----------
        points : array, shape (P,)
            The values that are bet against.
        metric, tallies : Ratio, Tallies
            What is estimated, and the labels before the round.
        chances : array, shape (..., H)
            With which each stratum is drawn.
        cards : int
            Of the round.
        within : float, optional
            The half-width that is wanted.
        confidence : float
        replacement : bool
        """
        q = guesses(tallies, metric)
        N, R = tallies.N, tallies.N if replacement else tallies.N - tallies.n
        T = N * q if replacement else tallies.x + R * q
        scale = np.maximum(metric.denominator(T), _TINY)[..., None]
        value = metric.value(T)[..., None]
        # Where the denominator is known the coefficients are the same at every point.
        c = metric.a - points[:, None] * metric.b if metric.b.any() else metric.a[None, :]
        over = np.where(chances > 0, 1 / np.where(chances > 0, chances, 1.0), 0.0)
        pays = c * (R * over / scale)[..., None, :]
        spread = (chances * q * (1 - q))[..., None, :]
        variance = np.maximum((pays**2 * spread).sum(axis=-1), _TINY)
        shape = np.maximum(value * (1 - value), _TINY)
        edge = (value - points) * np.ones_like(variance)
        # The totals move by less than 1 with every card of the round, and the edge with them.
        moves = 0.0 if replacement else cards * np.abs(c).max(axis=-1) / scale
        gain = np.maximum(pays * (1 - q)[..., None, :], -pays * q[..., None, :]).max(axis=-1)
        loss = np.maximum(pays * q[..., None, :], -pays * (1 - q)[..., None, :]).max(axis=-1)
        spent = tallies.n.sum(axis=-1)[..., None]
        size = N.sum(axis=-1)[..., None]
        endless = ((metric.gradient(T) * N) ** 2 * q * (1 - q) * over).sum(axis=-1)[..., None]
        needed = value * 0 if within is None else _labels_needed(value, within, confidence)
        return cls(
            edge=edge,
            variance=variance,
            at_point=np.maximum(variance * points * (1 - points) / shape, _TINY),
            most_up=_MOST / np.maximum(loss - edge + moves, _TINY),
            most_down=_MOST / np.maximum(gain + edge + moves, _TINY),
            deadline=_LATE * endless / shape * needed,
            spent=spent,
            left=np.ones_like(size) if replacement else np.maximum(1 - spent / size, 1 / size),
        )

    def in_time(self, gap: Floats, most: Floats, cards: int) -> Floats:
        """Return stakes that close the gap (log of goal over wealth) by the deadline.

        `cards` of the round have been drawn. Past the deadline the next one is set as far ahead
        as the last was missed by.
        """
        # Without replacement later cards tell more: count in cards of an endless population.
        spent = (self.spent + cards) / self.left
        remaining = np.maximum(np.abs(self.deadline - spent), _AHEAD * spent + 1) * self.left**2
        boldness = np.interp(gap + _MARGIN, _GAPS, _BOLDNESS)
        stakes = np.minimum(boldness / np.sqrt(self.at_point * remaining), most)
        return np.where(gap > 0, stakes, 0.0)

    def in_the_long_run(self, sign: int, most: Floats) -> Floats:
        """Return the stakes by which wealth grows fastest if the guesses are right (Kelly's).

        For who bets that the metric is above the point (sign +1) or below it (-1).
        """
        edge = np.maximum(sign * self.edge, 0.0)
        return np.asarray(np.minimum(edge / (self.variance + edge**2), most))


def _labels_needed(value: Floats, within: float, confidence: float) -> Floats:
    """Return the size of a random sample whose Wilson interval has half-width `within`.

    The larger root of within^2 (n + z^2)^2 = z^2 s n + z^4/4, with s = value (1 - value).
    """
    z2, s, d2 = float(ndtri((1 + confidence) / 2)) ** 2, value * (1 - value), within**2
    root = np.sqrt(np.maximum(s**2 - 4 * s * d2 + d2, 0.0))
    return np.asarray(z2 * np.maximum(s - 2 * d2 + root, 0.0) / (2 * d2))
