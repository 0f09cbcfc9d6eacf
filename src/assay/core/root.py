"""Roots of many rising functions at once: secants, kept inside a bracket."""

from collections.abc import Callable

import numpy as np

from assay.core.types import Floats, Ints

_SECANTS, _TURNS = 20, 80  # after so many secants only halves are taken
_CLOSE, _NARROW = 1e-6, 1e-9


def find_root(
    rising: Callable[[Floats, Ints], Floats],
    low: Floats,
    high: Floats,
    guess: Floats,
    *,
    slope: float = 1.0,
) -> Floats:
    """Return where each of R functions that rise from `low` to `high` is 0, shape (R,).

    Parameters
    ----------
    rising : callable
        Given points, and the numbers of the functions that they belong to, their values.
    low, high : array, shape (R,)
        A bracket. Where a function does not change its sign in it, the nearer end is returned.
    guess : array, shape (R,)
        Where to begin.
    slope : float
        About how steep they are.

    Notes
    -----
    scipy's `elementwise.find_root` (Chandrupatla) does the same. Here functions that are nearly
    straight take half as many evaluations, and those that are done are not evaluated again.

    Examples
    --------
    >>> numbers = np.array([2.0, 9.0])
    >>> find_root(lambda x, which: x * x - numbers[which], 0 * numbers, 0 * numbers + 10, numbers)
    array([1.41421356, 3.        ])
    """
    a, b, here = low.astype(np.float64), high.astype(np.float64), guess.astype(np.float64)
    found, left = here.copy(), np.arange(here.size)
    before = at_before = here
    for turn in range(_TURNS if left.size else 0):
        at = rising(here, left)
        up = at > 0
        a, b = np.where(up, a, here), np.where(up, here, b)
        done = (np.abs(at) <= _CLOSE) | (b - a <= _NARROW)
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = (at - at_before) / (here - before) if turn else slope
            step = here - at / rise
        good = (step > a) & (step < b) & (turn < _SECANTS)
        before, at_before = here, at
        here = np.where(good, step, (a + b) / 2)
        if done.any():
            found[left[done]] = before[done]
            on = ~done
            left = left[on]
            if not left.size:
                return found
            a, b, here, before, at_before = (each[on] for each in (a, b, here, before, at_before))
    found[left] = here
    return found
