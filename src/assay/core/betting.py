"""Betting intervals: wealth grows only if the metric is not the value bet against (a theorem).

For every possible value m of the metric two bettors bet, card by card: one that the metric is above
m, one that it is below. The chance that a fair bettor's wealth ever grows k-fold is at most 1/k
[1]_, however many looks there are and however the strata are chosen. So the values at which a
bettor did that are rejected, and the rest is an interval that is valid at every look [2]_.

"The metric is m" says sum_h c_h T_h + a0 - m b0 = 0, with c_h = a_h - m b_h and T_h the outcomes
of stratum h (`core.forms`). Let S_h be the outcomes found, R_h the cards left, and q_h any guess
of the rate among these. A card of stratum k, drawn with chance pi_k, with outcome x, pays

    D = a0 - m b0 + sum_h c_h (S_h + R_h q_h) + c_k (R_k / pi_k) (x - q_k),

which is 0 on average if the metric is m, whatever the guesses: exactly so without replacement [3]_
(with replacement S = 0 and R = N). A stake lambda that is fixed before the card is drawn multiplies
wealth by 1 + lambda D, or by 1 - lambda D for the bettor on "below". If the metric is below m the
first bettor loses on average; if it is above, the second does. So values between two points need no
bettors.

References
----------
.. [1] J. Ville (1939). Étude critique de la notion de collectif. Gauthier-Villars.
.. [2] I. Waudby-Smith and A. Ramdas (2024). Estimating means of bounded random variables by
   betting. Journal of the Royal Statistical Society B 86(1), 1-27.
.. [3] I. Waudby-Smith and A. Ramdas (2020). Confidence sequences for sampling without replacement.
   Advances in Neural Information Processing Systems 33.
.. [4] M. Kulldorff (1993). Optimal control of favorable games with a time limit. SIAM Journal on
   Control and Optimization 31(1), 52-69. For a random walk the stake is phi(z)/(w sigma
   sqrt(T - t)), with w = Phi(z) the wealth as a share of the goal.
"""

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Self

import numpy as np

from assay.core.allocation import explore
from assay.core.forecast import wilson_labels
from assay.core.forms import Ratio
from assay.core.stratified import rarer
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints
from assay.errors import DesignError, InputError

# Stakes of a bettor on the next card: enough to reach the goal in time, never everything.
#
# The theorem holds for any stake that is fixed before the card is drawn; its size only affects the
# number of labels. So stakes may use estimates from the labels before a round.
#
# A stake that is best in the long run (Kelly's) needs 2 ln(2/alpha) = 7.4 sigma^2/delta^2 labels at
# 95%; a test at one fixed time needs 1.96^2 = 3.8. A bettor with a deadline comes near to the
# latter: its stake follows the probability, under the hypothesis it bets against, of reaching the
# goal in the remaining time [4]_. The deadline is a forecast of the label at which the interval
# will be narrow enough, and moves with it. A question about one point has no such forecast, as the
# distance from the truth is unknown. There stakes are Kelly's.

_PRIOR = 2.0  # weight, in labels, of the overall rate in each stratum's
_MOST = 0.65  # largest share of its wealth that a bettor may lose on one card
_LATE = 1.5  # the deadline, over the forecast: aiming too early leaves nothing when it matters
_AHEAD = 0.05  # the deadline is never nearer than this share of the labels so far
_MARGIN = 0.2  # margin above the goal: a random walk is near its target before it reaches it
_TINY = 1e-12  # avoids division by zero


def boldness(gap: Floats) -> Floats:
    """Stake of a bettor with a gap to close in time; unit: standard deviations of what is left."""
    stakes = np.interp(gap + _MARGIN, GAPS, stakes_by_gap())
    return np.where(gap > 0, stakes, 0.0)


def guesses(tallies: Tallies, metric: Ratio) -> Floats:
    """Guess of every stratum's rate, never 0 or 1: its labels and two more of the mean.

    The mean is over strata that have labels, by size, of the rate of outcomes that lower the
    metric: among items predicted no these are the positives, so both sides share it.

    >>> from assay.core.forms import ratio
    >>> tallies = Tallies(N=[500, 500], n=[18, 0], x=[17, 0])
    >>> guesses(tallies, ratio("precision", tallies.N, np.array([True, True]))).round(3)
    array([0.942, 0.921])
    """
    N, n = tallies.N, tallies.n
    bad = np.where(metric.a > 0, n - tallies.x, tallies.x)
    labels = n.sum(axis=-1, keepdims=True)
    seen = np.where(n > 0, N, 0.0)
    adverse = (seen * bad / np.maximum(n, 1.0)).sum(axis=-1, keepdims=True)
    rate = adverse / np.maximum(seen.sum(axis=-1, keepdims=True), 1.0)
    mean = (labels * rate + 0.5) / (labels + 1)
    q = (bad + _PRIOR * mean) / (n + _PRIOR)
    return np.asarray(np.where(metric.a > 0, 1 - q, q))


class Stakes:
    """Quantities that the stakes of one round depend on."""

    def __init__(
        self,
        points: Floats,  # (P,): the values that are bet against
        # metric, tallies: the metric, and the labels before the round.
        metric: Ratio,
        tallies: Tallies,
        chances: Floats,  # (..., H): probability of each stratum
        *,
        cards: int,  # of the round
        within: float | None,  # the target half-width
        confidence: float,
        replacement: bool,
    ) -> None:
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
        # variance, at_point, (..., G): of a card's payment, at the guessed rates and if the point
        # were the metric's value.
        self.variance = np.maximum((pays**2 * spread).sum(axis=-1), _TINY)
        shape = np.maximum(value * (1 - value), _TINY)
        self.at_point = np.maximum(self.variance * points * (1 - points) / shape, _TINY)
        # (..., G): the guessed metric minus the point: the expected payment of a card
        self.edge = (value - points) * np.ones_like(self.variance)
        # The totals move by less than 1 with every card of the round, and the edge with them.
        moves = 0.0 if replacement else cards * np.abs(c).max(axis=-1) / scale
        gain = np.maximum(pays * (1 - q)[..., None, :], -pays * q[..., None, :]).max(axis=-1)
        loss = np.maximum(pays * q[..., None, :], -pays * (1 - q)[..., None, :]).max(axis=-1)
        # (..., G): the largest stakes of the two bettors
        self.most_up = _MOST / np.maximum(loss - self.edge + moves, _TINY)
        self.most_down = _MOST / np.maximum(gain + self.edge + moves, _TINY)
        # (..., 1): cards so far, and the remaining share of the population
        self.spent, size = tallies.n.sum(axis=-1)[..., None], N.sum(axis=-1)[..., None]
        self.left = np.ones_like(size)
        if not replacement:
            self.left = np.maximum(1 - self.spent / size, 1 / size)
        endless = ((metric.gradient(T) * N) ** 2 * q * (1 - q) * over).sum(axis=-1)[..., None]
        needed = value * 0 if within is None else wilson_labels(value, within, confidence)
        # (..., 1): cards after which the goal should be reached in an infinite population
        self.deadline = _LATE * endless / shape * needed

    def in_time(self, gap: Floats, most: Floats, cards: int) -> Floats:
        """Stakes that close the gap (log of goal over wealth) by the deadline.

        `cards` of the round have been drawn. After a missed deadline the next one is as far ahead
        as the last was missed by.
        """
        # Without replacement later cards tell more: count in cards of an infinite population.
        spent = (self.spent + cards) / self.left
        remaining = np.maximum(np.abs(self.deadline - spent), _AHEAD * spent + 1) * self.left**2
        return np.asarray(np.minimum(boldness(gap) / np.sqrt(self.at_point * remaining), most))

    def in_the_long_run(self, sign: int, most: Floats) -> Floats:
        """Stakes that maximise long-run growth if the guesses are right (Kelly).

        Sign +1: the bettor on "above the point"; -1: on "below".
        """
        edge = np.maximum(sign * self.edge, 0.0)
        return np.asarray(np.minimum(edge / (self.variance + edge**2), most))


_FINEST, _COARSEST = 0.0005, 0.05  # the half-widths whose twentieth is the distance of points


@dataclass(frozen=True, eq=False)
class Wealth:
    """Bettors' wealth, (..., G), as logarithms of multiples of the initial wealth."""

    # up, down: of the bettor that the metric is above the point or the floor of a hypothesis, and
    # of the one that it is below.
    up: Floats
    down: Floats
    # best_up, best_down: their maximum so far.
    best_up: Floats
    best_down: Floats

    def take(self, which: Bools) -> Self:
        """Bets of some of the parallel evaluations."""
        return replace(self, **{name: each[which] for name, each in self.owned.items()})

    @property
    def owned(self) -> dict[str, Floats]:
        """The wealth arrays by field name."""
        return {each.name: getattr(self, each.name) for each in fields(Wealth)}


def nothing(shape: tuple[int, ...], hypotheses: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Wealth before the first card, as the fields of `Wealth`."""
    none = np.zeros((*shape, hypotheses))
    return none, none, none, none


@dataclass(frozen=True, eq=False)
class Bets(Wealth):
    """Wealth of the bettors on the values of a metric.

    >>> bets = Bets.start(grid(0.05), ())
    >>> [float(end) for end in bets.ends(0.95)]
    [0.0, 1.0]
    """

    points: Floats  # (G,): values of the metric that are bet against, ascending

    @classmethod
    def start(cls, points: Floats, shape: tuple[int, ...]) -> Self:
        """Bets before the first card, for parallel evaluations of this shape."""
        return cls(*nothing(shape, len(points)), points)

    def ends(self, confidence: float) -> tuple[Floats, Floats]:
        """Compute the ends of the interval: the innermost points that are rejected from outside in.

        The ends are themselves rejected. The truth lies between two points. It is outside only if
        the nearer one was rejected in its direction: a chance of alpha/2 on either side.
        """
        rich = np.log(2 / (1 - confidence))
        below = np.logical_and.accumulate(self.best_up >= rich, axis=-1).sum(axis=-1)
        above = np.logical_and.accumulate(self.best_down[..., ::-1] >= rich, axis=-1).sum(axis=-1)
        bounds = np.concatenate([[0.0], self.points, [1.0]])
        low, high = bounds[below], bounds[len(bounds) - 1 - above]
        return np.minimum(low, high), np.maximum(low, high)

    def verdict(self, index: int, confidence: float) -> Ints:
        """Whether the metric is above `points[index]` (+1), below (-1), or undecided (0).

        Each answer is wrong with a chance of at most alpha: only one of them can be wrong.
        """
        up, down = self.best_up[..., index], self.best_down[..., index]
        known = np.maximum(up, down) >= np.log(1 / (1 - confidence))
        return np.where(known, np.where(up >= down, 1, -1), 0)


def grid(within: float | None, extra: float | None = None) -> Floats:
    """Points to bet against: a twentieth of `within` apart, and `extra`.

    >>> grid(0.04)[:3], grid(None, 0.951).size
    (array([0.002, 0.004, 0.006]), 400)
    """
    if within is not None and within < _FINEST:
        raise DesignError(
            f"within={within:g} is too narrow for an interval from bets",
            details=f"at least {_FINEST:g}",
            hint="use Design(), whose interval is not found point by point",
        )
    steps = round(20 / min(within or _COARSEST, _COARSEST))
    points = np.arange(1, steps) / steps
    return points if extra is None else np.union1d(points, [extra])


_PACE = 5  # cards between two changes of the stakes: 1 to 3% more labels, in half the time
_BY_SIZE = 0.05  # share of the cards that goes by size: the weights below hold at one point only


def chances(tallies: Tallies, metric: Ratio) -> Floats:
    """Probability that the next card is from each stratum, (..., H); sum 1.

    Mostly where the errors are (`core.allocation`), among strata with cards left. A card's payment
    is divided by its probability, so no stratum may be starved.

    >>> from assay.core.forms import ratio
    >>> tallies = Tallies(N=[500, 500], n=[100, 100], x=[60, 100])
    >>> chances(tallies, ratio("precision", tallies.N, np.array([True, True]))).round(2)
    array([0.73, 0.27])
    """
    N, n = tallies.N, tallies.n
    w, rare = rarer(tallies, metric, N * guesses(tallies, metric))
    size = N / N.sum(axis=-1, keepdims=True)
    shares = (1 - _BY_SIZE) * explore(w, n, rare).shares + _BY_SIZE * size
    shares = np.where(n + tallies.u < N, shares, 0.0)
    return np.asarray(shares / np.maximum(shares.sum(axis=-1, keepdims=True), np.finfo(float).tiny))


def fold(
    bets: Bets,  # wealth before the round
    metric: Ratio,  # the metric that is bet on
    before: Tallies,  # the labels before the round
    # (..., B): the cards in the order drawn: 2 h + outcome for one of stratum h, -1 for none.
    kinds: Ints,
    *,
    # (..., H): the probabilities with which the stratum of each card was drawn, independently. No
    # stratum may run out before the round's last card, or have cards and probability 0.
    chances: Floats,
    # The target half-width; None if the question is about single points.
    within: float | None,
    confidence: float,  # the target confidence; any other may be requested
    replacement: bool,  # whether cards were put back
) -> Bets:
    """Wealth after a round of cards."""
    _check(before, kinds, chances, metric, replacement=replacement)
    rich = np.log(2 / (1 - confidence))
    near = _undecided(bets, float(rich))
    points = bets.points[near]
    new = replace(bets, **{name: each.copy() for name, each in bets.owned.items()})
    top, bottom = _payments(metric, before, kinds, chances, replacement=replacement)
    stakes = Stakes(
        points,
        metric,
        before,
        chances,
        cards=kinds.shape[-1],
        within=within,
        confidence=confidence,
        replacement=replacement,
    )
    # A point that is decided here may be open in another evaluation, and so still be included.
    decided = np.maximum(new.best_up, new.best_down)[..., near] >= rich
    most_up, most_down = (np.where(decided, 0.0, m) for m in (stakes.most_up, stakes.most_down))
    for card in range(0, kinds.shape[-1], _PACE):
        few = (..., slice(card, card + _PACE), None)
        pays = top[few] - points * bottom[few]
        for wealth, best, sign, most in (
            (new.up[..., near], new.best_up[..., near], +1, most_up),
            (new.down[..., near], new.best_down[..., near], -1, most_down),
        ):
            stake = (
                stakes.in_the_long_run(sign, most)
                if within is None
                else stakes.in_time(rich - wealth, most, card)
            )
            factors = 1 + sign * stake[..., None, :] * pays
            np.add(wealth, np.log(factors.prod(axis=-2)), out=wealth)
            np.maximum(best, wealth, out=best)
    return new


def _undecided(bets: Bets, rich: float) -> slice:
    """Points that some evaluation has not rejected: the others need no more bets."""
    open_up = (bets.best_up < rich).reshape(-1, len(bets.points)).any(axis=0)
    open_down = (bets.best_down < rich).reshape(-1, len(bets.points)).any(axis=0)
    open_ = np.flatnonzero(open_up & open_down)
    return slice(0, 0) if open_.size == 0 else slice(int(open_[0]), int(open_[-1]) + 1)


def _payments(
    metric: Ratio, before: Tallies, kinds: Ints, chances: Floats, *, replacement: bool
) -> tuple[Floats, Floats]:
    """Arrays (..., B): a card pays top - m bottom, divided by the guessed denominator."""
    drawn = kinds >= 0
    k, x = np.maximum(kinds, 0) // 2, np.maximum(kinds, 0) % 2
    q = guesses(before, metric)
    R = before.N if replacement else before.N - before.n
    T = R * q if replacement else before.x + R * q
    surprise = np.where(drawn, x - np.take_along_axis(q, k, axis=-1), 0.0)
    pi = np.where(drawn, np.take_along_axis(chances, k, axis=-1), 1.0)
    left = np.take_along_axis(R, k, axis=-1)
    if not replacement:
        own = (k[..., None] == np.arange(q.shape[-1])) & drawn[..., None]
        earlier = np.take_along_axis(own.cumsum(axis=-2) - own, k[..., None], axis=-1)[..., 0]
        left = left - earlier
    scale = np.where(drawn, metric.denominator(T)[..., None], 1.0)  # 0 only if everything is known

    def paid(constant: float | Floats, c: Floats) -> Floats:
        known = constant + (c * T).sum(axis=-1)[..., None]
        if not replacement:  # what the round's earlier cards have shown
            moved = c[k] * surprise
            known = known + moved.cumsum(axis=-1) - moved
        return np.where(drawn, known + c[k] * left / pi * surprise, 0.0) / scale

    return paid(metric.a0, metric.a), paid(metric.b0, metric.b)


def _check(
    before: Tallies, kinds: Ints, chances: Floats, metric: Ratio, *, replacement: bool
) -> None:
    """Refuse a round on which no fair bet is possible."""
    drawn = kinds >= 0
    if (kinds >= 2 * chances.shape[-1]).any():
        raise InputError(f"a card of stratum {kinds.max() // 2}; strata: {chances.shape[-1]}")
    if (drawn & (np.take_along_axis(chances, np.maximum(kinds, 0) // 2, axis=-1) <= 0)).any():
        raise InputError("a card of a stratum that had no chance to be drawn")
    room = np.inf if replacement else before.N - before.n - before.u
    counts = (metric.a != 0) | (metric.b != 0)
    if (drawn.any(axis=-1, keepdims=True) & counts & (chances <= 0) & (room > 0)).any():
        raise InputError(
            "a stratum with cards left had no chance to be drawn",
            hint="give every stratum with cards a chance",
        )


# Stakes of a bet, by how far there is to go: the numbers of a formula of `core.betting`.

DESPAIR = 5.0
"""Nobody stakes more if the logarithm of goal over wealth exceeds this."""
GAPS = np.linspace(0.0, DESPAIR, 1001)
"""Gaps of the table; stakes need no finer resolution."""


@cache
def stakes_by_gap() -> Floats:
    """phi(z)/w at w = exp(-gap), with z the normal quantile of w, for each of `GAPS`.

    >>> stakes_by_gap()[[0, 1, 1000]].round(3)
    array([0.   , 0.014, 2.796])
    """
    from statistics import NormalDist  # scipy takes a quarter of a second to load

    z = np.array([NormalDist().inv_cdf(share) for share in np.exp(-GAPS[1:]).tolist()])
    return np.append(0.0, np.exp(GAPS[1:] - z**2 / 2) / np.sqrt(2 * np.pi))
