"""Allocation of labels to strata: Neyman, exploration, and the draw of a round.

Real-valued shares (`proportional`, `equal`, `neyman`) are rounded to whole numbers by
`round_to_total`; paper 1 draws whole counts at random instead (`draw`). Neither exceeds `room`, the
items left in a stratum.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.core.types import LARGEST_EXACT, Bools, Floats, Ints, amounts
from assay.errors import InputError


def proportional(N: Floats, n: ArrayLike) -> Floats:
    """Labels per stratum in proportion to its size: n_h = n N_h / N (paper 2, section 3.3.1).

    >>> proportional(np.array([900.0, 100.0]), 20)
    array([18.,  2.])
    """
    return np.asarray(np.asarray(n)[..., None] * N / N.sum(axis=-1, keepdims=True))


def normalised(weights: Floats) -> Floats:
    """Weights divided by their sum; 0 if all are 0."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1.0))


def equal(N: Floats, n: ArrayLike) -> Floats:
    """Equal number of labels for every stratum: n_h = n / K (paper 2, section 3.3.2).

    >>> equal(np.array([900.0, 100.0]), 20)
    array([10., 10.])
    """
    return np.asarray(np.asarray(n)[..., None] / N.shape[-1] * np.ones_like(N))


def neyman(N: Floats, sd: Floats, n: ArrayLike) -> Floats:
    """Labels per stratum that minimise the variance of the stratified mean.

    `N`, `sd`, (..., H): stratum sizes, and the outcome's standard deviation in each; `n`, (...):
    labels to allocate.

    Real-valued shares with sum `n`; `round_to_total` rounds them.

    n_h = n * N_h S_h / sum(N_h S_h)  (paper 2, Eq. 9). Where every S_h is zero the outcome is known
    to be constant in each stratum and the shares fall back to proportional.

    >>> neyman(np.array([900.0, 100.0]), np.array([0.1, 0.5]), 28)
    array([18., 10.])
    """
    weight = N * sd
    flat = weight.sum(axis=-1, keepdims=True) <= 0
    return proportional(np.where(flat, N, weight), n)


def round_to_total(shares: ArrayLike, total: ArrayLike, room: ArrayLike) -> Ints:
    """Whole numbers closest to the shares, given their sum and the room.

    `shares`, (..., H): what each stratum should get, up to a common factor; `total`, (...): the sum
    to reach; at most what the strata hold; `room`, (..., H): the most a stratum can take. The
    excess goes to the others by their shares, or by their room if no other has a share.

    Largest remainders; ties go to the first stratum.

    >>> round_to_total([5.0, 3.0, 2.0], 7, room=[2, 10, 10])
    array([2, 3, 2])
    """
    want = amounts("shares", shares)
    most = np.minimum(np.floor(amounts("room", room)), LARGEST_EXACT)
    if want.ndim == 0 or want.size == 0 or want.shape[-1:] != most.shape[-1:]:
        raise InputError(f"shares {want.shape} and room {most.shape} are not of the same strata")
    sum_of_most = np.minimum(most.sum(axis=-1), LARGEST_EXACT)
    goal = np.minimum(np.floor(amounts("total", total)), sum_of_most)
    target = _fill(want, goal, most)
    whole = np.minimum(np.floor(target + 1e-9), most)
    rest = target - whole
    while (missing := goal - whole.sum(axis=-1)).any():
        sign = np.sign(missing)[..., None]
        able = np.where(sign > 0, whole < most, whole > 0)
        order = np.argsort(np.where(able, -sign * rest, np.inf), axis=-1, kind="stable")
        rank = np.argsort(order, axis=-1, kind="stable")
        move = sign * (able & (rank < np.abs(missing)[..., None]))
        whole, rest = whole + move, rest - move
    return np.asarray(whole, dtype=np.int64)


def draw(weights: Floats, total: ArrayLike, room: Floats, rng: np.random.Generator) -> Ints:
    """Draw counts from Mult(total; weights): paper 1, Figure 1.

    The excess over a stratum's room is redrawn among the others, so the sum is kept.

    `weights`, (..., H): N_h sigma_h for ``opt``, N_h for ``pps``, 1 for ``uni``; `total`, (...):
    the sum to draw; at most what the strata hold; `room`, (..., H): the most a stratum can take.

    >>> rng = np.random.default_rng(1)
    >>> int(draw(np.array([3.0, 1.0]), 8, np.array([5.0, 9.0]), rng).sum())
    8
    """
    counts = np.zeros(room.shape, dtype=np.int64)
    missing = np.minimum(total, room.sum(axis=-1)).astype(np.int64)
    while missing.any():
        left = room - counts
        drawn = rng.multinomial(missing, _probabilities(weights, left > 0, left))
        fits = np.minimum(drawn, left).astype(np.int64)
        counts = counts + fits
        missing = missing - fits.sum(axis=-1)
    return counts


def _probabilities(weights: Floats, able: Bools, otherwise: Floats) -> Floats:
    """Weights over the available strata, normalised to 1; `otherwise` where no weight is left."""
    kept = np.where(able, weights, 0.0)
    most = kept.max(axis=-1, keepdims=True)
    if not (most > 0).all():
        kept = np.where(most > 0, kept, np.where(able, otherwise, 0.0))
        kept = np.where(kept.max(axis=-1, keepdims=True) > 0, kept, 1.0)  # no stratum left: unused
        most = kept.max(axis=-1, keepdims=True)
    kept = kept / most  # the sum of huge weights would overflow
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def _fill(shares: Floats, goal: Floats, room: Floats) -> Floats:
    """Shares that sum to `goal`; those above their room are cut and the rest redistributed."""
    closed = room <= 0
    for _ in range(shares.shape[-1]):  # every pass but the last closes a stratum
        left = goal - np.where(closed, room, 0.0).sum(axis=-1)
        spread = left[..., None] * _probabilities(shares, ~closed, room)
        target = np.where(closed, room, spread)
        over = target > room
        if not over.any():
            break
        closed = closed | over
    return np.minimum(target, room)


# Allocation that goes where the errors are, as far as they have been seen to be anywhere.
#
# Neyman's allocation from a stratum's own counts follows luck as well as errors: strata that looked
# clean early are starved, and errors hidden there are never found. Three rules prevent that here.
#
# A stratum's own rate is shrunk towards that of all strata, as in James and Stein's estimator [1]_:
# if the counts differ no more than by chance (a chi-square of about H - 1), labels go by weight
# alone, and the more they differ the more each stratum's own rate counts. So uninformative strata
# cost little, even if they are many.
#
# A part of the labels always goes by weight: the part that makes the interval narrowest. Labels by
# weight bound what strata that look clean may hide; the others make the estimate vary less. With s
# = sum_h w_h sqrt(q_h (1 - q_h)) and n labels, a share kappa of them by weight, the two ends of
# the interval (`core.stratified`) lie about
#
#     z s / sqrt((1 - kappa) n)  and  kappa s^2 / (2 (1 - kappa)) + z^2 / (2 kappa n)
#
# from the estimate, of which the second grows with what the clean strata may hide. Their sum is
# least near kappa = k / (1 + k) with k = c / sqrt(1 + c) and c = z / (s sqrt(n)).
#
# As a population is used up, allocation returns to weight: the standard error of the remaining
# items shrinks, but errors hidden by luck do not. The share that would go elsewhere is multiplied
# by F, the finite population correction (docs/certainty.md).
#
# The remaining luck biases the estimate: a stratum with too many errors gets more labels, which
# correct it; one with too few gets none. `Exploration.pull` is the strength with which labels
# follow errors, so that `core.stratified` can correct for it.
#
# References
# ----------
# .. [1] B. Efron and C. Morris (1973). Stein's estimation rule and its competitors: an empirical
#    Bayes approach. Journal of the American Statistical Association 68, 117-130.

_Z = 1.96  # of the interval that the shares are optimal for; other confidences differ little
_FLOOR = 0.05  # the share of labels that always goes by weight
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Exploration:
    """Where the next labels should go, and how that affects the estimate; shape (..., H)."""

    shares: Floats  # the share of all labels that each stratum should have had; sum 1
    # By how many percent a stratum's share rises when its outcomes rise by one percent, from 0
    # (labels go by weight) to 1/2 (Neyman's allocation of rare outcomes). Where the outcome is the
    # more frequent one of a stratum, the same of the other one, with a minus. 0 where every item is
    # labelled.
    pull: Floats


def _inside(rate: Floats) -> Floats:
    """Rates clipped to exclude 0 and 1; twice as fast as np.clip."""
    return np.asarray(np.minimum(np.maximum(rate, _TINY), 1 - _TINY))


def explore(w: Floats, n: Floats, x: Floats, left: Floats | float = 1.0) -> Exploration:
    """Shares of labels, and how they follow the outcomes.

    `w`, `n`, `x`, (..., H): a stratum's weight in the metric; its labels; and its labels with the
    rarer outcome; `left`, (..., H): the finite population correction, (N - n)/(N - 1); 1 if drawn
    with replacement.

    Twenty outcomes of each of two strata say nothing about where to look; forty and none do.

    >>> w, n = np.full(2, 0.5), np.array([100.0, 100.0])
    >>> explore(w, n, np.array([20.0, 20.0])).shares.round(2)
    array([0.5, 0.5])
    >>> explore(w, n, np.array([40.0, 0.0])).shares.round(2)
    array([0.74, 0.26])
    """
    w = w / w.sum(axis=-1, keepdims=True)
    labels, outcomes = n.sum(axis=-1, keepdims=True), x.sum(axis=-1, keepdims=True)
    rate = (w * x / np.maximum(n, 1.0)).sum(axis=-1, keepdims=True)
    overall = _inside((labels * rate + 0.5) / (labels + 1))
    pooled = _inside((outcomes + 0.5) / (labels + 1))
    off = (x - n * pooled) ** 2 / np.maximum(n * pooled * (1 - pooled), _TINY)
    chi2 = off.sum(axis=-1, keepdims=True)
    believed = 1 - np.minimum(1.0, (w.shape[-1] - 1) / np.maximum(chi2, _TINY))
    own = (x + 0.5) / (n + 1)
    q = _inside((1 - believed) * overall + believed * own)
    spread = w * np.sqrt(q * (1 - q))
    total = spread.sum(axis=-1, keepdims=True)
    c = _Z / (total * np.sqrt(np.maximum(labels, 1.0)))
    k = c / np.sqrt(1 + c)
    remains = (w * left).sum(axis=-1, keepdims=True)
    by_weight = 1 - (1 - np.maximum(k / (1 + k), _FLOOR)) * remains
    neyman = (1 - by_weight) * spread / total
    shares = neyman + by_weight * w
    # The chain rule through q, the square root, the sum of the spreads and the part by weight.
    rare = believed * (own / q) * x / (x + 0.5) * np.maximum(0.5 - q, 0.0) / (1 - q)
    y = n - x
    other = believed * ((1 - own) / (1 - q)) * y / (y + 0.5) * np.maximum(q - 0.5, 0.0) / q
    pull = (rare - other) * (1 - spread / total) * neyman / np.maximum(shares, _TINY)
    # A fully labelled stratum gets no more labels, whatever was found in it.
    return Exploration(np.asarray(shares), np.where(np.asarray(left) > 0, pull, 0.0))
