"""How many labels each stratum gets.

Real-valued shares (`proportional`, `equal`, `neyman`) are made whole by `round_to_total`; paper 1
draws whole counts at random instead (`draw`). Both keep to `room`, what a stratum still holds.
"""

import numpy as np
from numpy.typing import ArrayLike

from assay.core.types import LARGEST_EXACT, Bools, Floats, Ints, amounts
from assay.errors import InputError


def proportional(N: Floats, n: ArrayLike) -> Floats:
    """Labels per stratum in proportion to its size: n_h = n N_h / N (paper 2, section 3.3.1).

    Examples
    --------
    >>> proportional(np.array([900.0, 100.0]), 20)
    array([18.,  2.])
    """
    return np.asarray(np.asarray(n)[..., None] * N / N.sum(axis=-1, keepdims=True))


def equal(N: Floats, n: ArrayLike) -> Floats:
    """Return the same number of labels for every stratum: n_h = n / K (paper 2, section 3.3.2).

    Examples
    --------
    >>> equal(np.array([900.0, 100.0]), 20)
    array([10., 10.])
    """
    return np.asarray(np.asarray(n)[..., None] / N.shape[-1] * np.ones_like(N))


def neyman(N: Floats, sd: Floats, n: ArrayLike) -> Floats:
    """Labels per stratum that make the stratified mean vary least.

    Parameters
    ----------
    N, sd : array, shape (..., H)
        Stratum sizes, and the outcome's standard deviation in each.
    n : float or array, shape (...)
        Labels to share out.

    Returns
    -------
    array, shape (..., H)
        Real-valued shares with sum `n`; `round_to_total` makes them whole.

    Notes
    -----
    n_h = n * N_h S_h / sum(N_h S_h)  (paper 2, Eq. 9). Where every S_h is zero the outcome is known
    to be constant in each stratum and the shares fall back to proportional.

    Examples
    --------
    >>> neyman(np.array([900.0, 100.0]), np.array([0.1, 0.5]), 28)
    array([18., 10.])
    """
    weight = N * sd
    flat = weight.sum(axis=-1, keepdims=True) <= 0
    return proportional(np.where(flat, N, weight), n)


def round_to_total(shares: ArrayLike, total: ArrayLike, room: ArrayLike) -> Ints:
    """Whole numbers as near to the shares as their sum and the room allow.

    Parameters
    ----------
    shares : array, shape (..., H)
        What each stratum should get, up to a common factor.
    total : int or array, shape (...)
        The sum to reach; where the strata hold less than that, all they hold.
    room : array, shape (..., H)
        The most a stratum can take. What it cannot take goes to the others by their shares, and,
        where no other wants any, by their room.

    Notes
    -----
    Largest remainders; equal remainders go to the first stratum.

    Examples
    --------
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

    What a stratum cannot take is drawn again among the others, so the sum is kept.

    Parameters
    ----------
    weights : array, shape (..., H)
        N_h sigma_h for ``opt``, N_h for ``pps``, 1 for ``uni``.
    total : int or array, shape (...)
        The sum to draw; where the strata hold less than that, all they hold.
    room : array, shape (..., H)
        The most a stratum can take.
    rng : numpy.random.Generator
        Where the randomness comes from.

    Examples
    --------
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
    """Return weights over the able strata, summing to 1; by `otherwise` where no weight is left."""
    kept = np.where(able, weights, 0.0)
    kept = np.where(kept.max(axis=-1, keepdims=True) > 0, kept, np.where(able, otherwise, 0.0))
    kept = np.where(kept.max(axis=-1, keepdims=True) > 0, kept, 1.0)  # nothing able: unused
    kept = kept / kept.max(axis=-1, keepdims=True)  # the sum of huge weights would overflow
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def _fill(shares: Floats, goal: Floats, room: Floats) -> Floats:
    """Return shares that sum to `goal`, with those above their room cut and redistributed."""
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
