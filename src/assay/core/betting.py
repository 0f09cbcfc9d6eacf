"""Betting intervals: wealth that grows only if the metric is not what was bet against (a theorem).

For every value m that the metric might have, two people bet, card by card: one that the metric is
above m, one that it is below. Nobody can hope to get rich by betting against the truth, however
often it is looked at and however the strata are chosen: the chance that a fair bettor's wealth
ever reaches k times what it was is at most 1/k [1]_. So the values at which somebody did are
rejected, and what is left is an interval that is right at every look [2]_.

"The metric is m" says sum_h c_h T_h + a0 - m b0 = 0, with c_h = a_h - m b_h and T_h the outcomes
of stratum h (`core.forms`). Let S_h be the outcomes found, R_h the cards left, and q_h any guess
of the rate among these. A card of stratum k, drawn with chance pi_k, with outcome x, pays

    D = a0 - m b0 + sum_h c_h (S_h + R_h q_h) + c_k (R_k / pi_k) (x - q_k),

which is 0 on average if the metric is m, whatever the guesses: exactly so without replacement [3]_
(with replacement S = 0 and R = N). A stake lambda that is fixed before the card is drawn
multiplies wealth by 1 + lambda D, or by 1 - lambda D for who bets that the metric is below.
`core.stakes` says how stakes are chosen. If the metric is below m the first bettor loses on
average, and if it is above the second does, so the values between two points need no bettors.

References
----------
.. [1] J. Ville (1939). Étude critique de la notion de collectif. Gauthier-Villars.
.. [2] I. Waudby-Smith and A. Ramdas (2024). Estimating means of bounded random variables by
   betting. Journal of the Royal Statistical Society B 86(1), 1-27.
.. [3] I. Waudby-Smith and A. Ramdas (2020). Confidence sequences for sampling without replacement.
   Advances in Neural Information Processing Systems 33.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from assay.core.allocation import explore
from assay.core.forms import Ratio
from assay.core.stakes import Stakes, guesses
from assay.core.stratified import rarer
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints
from assay.errors import DesignError, InputError

# What the bettors of `core.betting` own, and what follows from it: an interval, a verdict.

_FINEST, _COARSEST = 0.0005, 0.05  # the half-widths whose twentieth is the distance of points


@dataclass(frozen=True, eq=False)
class Bets:
    """What the bettors own, as logarithms of multiples of what they began with.

    Parameters
    ----------
    points : array, shape (G,)
        Values of the metric that are bet against, ascending.
    up, down : array, shape (..., G)
        Wealth of who bets that the metric is above the point, and of who bets that it is below.
    best_up, best_down : array, shape (..., G)
        The most they ever owned.

    Examples
    --------
    >>> bets = Bets.start(grid(0.05), ())
    >>> [float(end) for end in bets.ends(0.95)]
    [0.0, 1.0]
    """

    points: Floats
    up: Floats
    down: Floats
    best_up: Floats
    best_down: Floats

    @classmethod
    def start(cls, points: Floats, shape: tuple[int, ...]) -> Self:
        """Return the bets before the first card, for evaluations side by side in this shape."""
        nothing = np.zeros((*shape, len(points)))
        return cls(points, nothing, nothing, nothing, nothing)

    def take(self, which: Bools) -> Self:
        """Return the bets of some of the evaluations side by side."""
        kept = (self.up, self.down, self.best_up, self.best_down)
        return type(self)(self.points, *(wealth[which] for wealth in kept))

    def ends(self, confidence: float) -> tuple[Floats, Floats]:
        """Return the interval's ends: the innermost points that are rejected from outside in.

        The ends are themselves rejected; the truth lies between two points, and is outside only
        if the nearer of them was rejected in its direction: a chance of alpha/2 on either side.
        """
        rich = np.log(2 / (1 - confidence))
        below = np.logical_and.accumulate(self.best_up >= rich, axis=-1).sum(axis=-1)
        above = np.logical_and.accumulate(self.best_down[..., ::-1] >= rich, axis=-1).sum(axis=-1)
        bounds = np.concatenate([[0.0], self.points, [1.0]])
        low, high = bounds[below], bounds[len(bounds) - 1 - above]
        return np.minimum(low, high), np.maximum(low, high)

    def verdict(self, index: int, confidence: float) -> Ints:
        """Tell whether the metric is above `points[index]` (+1), below (-1), or not yet known (0).

        Each answer is wrong with a chance of at most alpha: only one of them can be wrong.
        """
        up, down = self.best_up[..., index], self.best_down[..., index]
        known = np.maximum(up, down) >= np.log(1 / (1 - confidence))
        return np.where(known, np.where(up >= down, 1, -1), 0)


def grid(within: float | None, extra: float | None = None) -> Floats:
    """Return the points to bet against: a twentieth of `within` apart, and `extra`.

    Examples
    --------
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
_BY_SIZE = 0.05  # the share of cards that goes by size: the weights below hold at one point only


def chances(tallies: Tallies, metric: Ratio) -> Floats:
    """Return the chances with which the next card is of each stratum, (..., H); sum 1.

    Where the errors are, and never quite nowhere else (`core.allocation`), among strata with cards
    left. What a card pays is divided by its chance, so strata must not be starved.

    Examples
    --------
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
    bets: Bets,
    metric: Ratio,
    before: Tallies,
    kinds: Ints,
    *,
    chances: Floats,
    within: float | None,
    confidence: float,
    replacement: bool,
) -> Bets:
    """Return what the bettors own after a round of cards.

    Parameters
    ----------
    bets : Bets
        What they owned before it.
    metric : Ratio
        What is bet on.
    before : Tallies
        The labels before the round.
    kinds : array of int, shape (..., B)
        The cards in the order drawn: 2 h + outcome for one of stratum h, -1 for none.
    chances : array, shape (..., H)
        The chances with which the stratum of each card was drawn, independently. No stratum may
        run out before the round's last card, nor have cards and no chance.
    within : float or None
        The half-width that is aimed at; None if the question is about single points.
    confidence : float
        What is aimed at; any other may be asked for.
    replacement : bool
        Whether cards were put back.

    Examples
    --------
    >>> from assay.core.forms import ratio
    >>> before = Tallies(N=[5000, 5000], n=[30, 30], x=[29, 30])  # not bet on, but learnt from
    >>> precision = ratio("precision", before.N, np.array([True, True]))
    >>> bets = fold(Bets.start(grid(0.05), ()), precision, before, np.array([1, 3] * 30),
    ...             chances=np.array([0.5, 0.5]), within=0.05, confidence=0.95, replacement=False)
    >>> low, high = bets.ends(0.95)
    >>> bool(0.85 < low < 0.97), float(high)
    (True, 1.0)
    """
    _check(before, kinds, chances, metric, replacement=replacement)
    rich = np.log(2 / (1 - confidence))
    near = _undecided(bets, float(rich))
    points = bets.points[near]
    new = replace(
        bets,
        up=bets.up.copy(),
        down=bets.down.copy(),
        best_up=bets.best_up.copy(),
        best_down=bets.best_down.copy(),
    )
    top, bottom = _payments(metric, before, kinds, chances, replacement=replacement)
    stakes = Stakes.of_round(
        points,
        metric,
        before,
        chances,
        cards=kinds.shape[-1],
        within=within,
        confidence=confidence,
        replacement=replacement,
    )
    # A point that is decided here may be open in another evaluation, and so still among these.
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
    """Return the points that some evaluation has not rejected: the others need no more bets."""
    open_up = (bets.best_up < rich).reshape(-1, len(bets.points)).any(axis=0)
    open_down = (bets.best_down < rich).reshape(-1, len(bets.points)).any(axis=0)
    open_ = np.flatnonzero(open_up & open_down)
    return slice(0, 0) if open_.size == 0 else slice(int(open_[0]), int(open_[-1]) + 1)


def _payments(
    metric: Ratio, before: Tallies, kinds: Ints, chances: Floats, *, replacement: bool
) -> tuple[Floats, Floats]:
    """Return (..., B) arrays such that a card pays top - m bottom, over the guessed denominator."""
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
    scale = np.where(drawn, metric.denominator(T)[..., None], 1.0)  # 0 only if nothing is unknown

    def paid(constant: float, c: Floats) -> Floats:
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
            hint="nothing can be learnt about it: give every stratum with cards a chance",
        )
