"""A fixed number of labels for several targets: a compromise between them.

With n_h labels of the most_h items of stratum h, target t has the variance

    Q_t = sum_h A_th (1/n_h - 1/most_h),

and R_t = Q_t / V_t sets it against what it should be. No n with sum n_h = total serves every target
best. This one makes sum_t R_t^p smallest: p = 1 is the mean of the relative variances, and the
larger p the more the worst target counts, up to the minimax [1]_.

Of all allocations Neyman's for a mixture of the targets,

    n_h = clip(s sqrt(sum_t lambda_t A_th / V_t), least_h, most_h), with s such that their sum fits,

has the least sum_t lambda_t R_t. From any n, with lambda_t = R_t^(p - 1) there, the way to that
allocation leads down, as all R_t are convex in n. So one goes a part of the way, half as far where
that was too far, and begins again. By the same convexity sum_t R_t^p is above its smallest value by
at most p sum_t lambda_t (R_t - R_t'), with R_t' at the end of the way. That says when to stop, and
that the result is as good as the best, however it was found.

References
----------
.. [1] W. G. Cochran, Sampling Techniques, third edition (1977), chapter 5A: compromises between the
   allocations that suit each of several variables.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.core.types import Floats, amounts
from assay.errors import InputError

TOLERANCE = 1e-4  # of the p-th root of the sum, which is flat there: n is known to about 1%
# The worst target counts, and so does every other one (docs/several.md has p = 1, 2, 4 and 32).
_POWER = 2.0
_MOST_STEPS = 200
_LEAST_COUNT = 1e-12  # where there is variance no count can be 0, and less than this is no label


@dataclass(frozen=True, eq=False)
class Compromise:
    """Labels per stratum, and how each target fares with them.

    Attributes
    ----------
    n : array, shape (..., H)
        Real-valued counts within their bounds.
    ratio : array, shape (..., T)
        R_t, each target's variance over what it should be.
    gap : array, shape (...)
        The share by which (sum_t R_t^p)^(1/p) may exceed the least possible.
    """

    n: Floats
    ratio: Floats
    gap: Floats


def compromise_allocation(
    A: ArrayLike,
    V: ArrayLike,
    total: ArrayLike,
    least: ArrayLike,
    most: ArrayLike,
    *,
    power: float = _POWER,
) -> Compromise:
    """Return the n with sum `total` that makes sum_t R_t^power smallest.

    The gap is at most `TOLERANCE`, if 200 steps are enough; it is stated either way.

    Parameters
    ----------
    A : array, shape (..., T, H)
        The variance that target t has from stratum h with one label there.
    V : array, broadcast to shape (..., T)
        What target t's variance is set against, above 0.
    total : array, broadcast to shape (...)
        The labels to share out. Where the bounds forbid it, the nearest that they allow.
    least, most : array, broadcast to shape (..., H)
        The bounds of n. A stratum where no target has variance gets `least`.
    power : float
        p, at least 1.

    Examples
    --------
    Two targets are about the first stratum, one about the second. The mean serves the two better;
    the more the worst counts, the more alike they fare.

    >>> A = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> for p in (1, 2, 32):
    ...     print(compromise_allocation(A, 1.0, 120, 1, 1e9, power=p).n.round())
    [70. 50.]
    [67. 53.]
    [61. 59.]
    """
    A = amounts("A", A)
    if A.ndim < 2 or A.size == 0:
        raise InputError(
            f"A of shape {A.shape} cannot be used", details="targets by strata: (..., T, H)"
        )
    if not power >= 1:
        raise InputError(f"power must be at least 1, got {power!r}")
    lead, T, H = A.shape[:-2], A.shape[-2], A.shape[-1]
    should = _fit("V", V, (*lead, T))
    if not (should > 0).all():
        raise InputError(f"V must be above 0, got {V!r}")
    low, high = _fit("least", least, (*lead, H)), _fit("most", most, (*lead, H))
    if (low > high).any():
        raise InputError("least is above most", details="each stratum needs least <= most")
    whole, B = _fit("total", total, lead)[..., None], A / should[..., None]
    n = _fill(np.sqrt(B.sum(axis=-2)), whole, low, high)
    ratio, way = _ratios(B, n, high), np.full((*lead, 1), min(1.0, 2 / power))
    for _ in range(_MOST_STEPS):
        unit = np.maximum(ratio.max(axis=-1, keepdims=True), _LEAST_COUNT)  # powers stay below 1
        weight = (ratio / unit) ** (power - 1)
        end = _fill(np.sqrt(_mix(weight, B)), whole, low, high)
        now = (weight * ratio).sum(axis=-1)
        gap = 1 - (weight * _ratios(B, end, high)).sum(axis=-1) / np.maximum(now, _LEAST_COUNT)
        gap = np.where(now > 0, np.maximum(gap, 0.0), 0.0)
        if (gap <= TOLERANCE).all():
            break
        trial = n + way * (end - n)
        there = _ratios(B, trial, high)
        with np.errstate(over="ignore"):  # far too far is too far
            better = (((there / unit) ** power).sum(axis=-1) < now / unit[..., 0])[..., None]
        n = np.where(better & (gap > TOLERANCE)[..., None], trial, n)
        way = np.where(better, np.minimum(1.5 * way, 1.0), way / 2)
        ratio = _ratios(B, n, high)
    return Compromise(n, ratio, gap)


def _ratios(B: Floats, n: Floats, most: Floats) -> Floats:
    # A stratum without any item has nothing to vary, and nothing to divide by.
    over = 1 / np.maximum(n, _LEAST_COUNT) - 1 / np.maximum(most, _LEAST_COUNT)
    return np.asarray((B @ over[..., None])[..., 0])


def _mix(weight: Floats, B: Floats) -> Floats:
    return np.asarray((weight[..., None, :] @ B)[..., 0, :])


def _fill(shares: Floats, total: Floats, least: Floats, most: Floats) -> Floats:
    """Return clip(s shares, least, most) with the s that makes their sum `total`.

    The sum grows with s along straight lines: stratum h begins to count at s = least_h / shares_h
    and ends at most_h / shares_h.
    """
    peak = shares.max(axis=-1, keepdims=True)
    shares = shares / np.where(peak > 0, peak, 1.0)
    some = shares > _LEAST_COUNT
    ends = np.concatenate([least, most], axis=-1) / np.tile(np.where(some, shares, 1.0), 2)
    turns = np.concatenate([np.where(some, shares, 0.0), np.where(some, -shares, 0.0)], axis=-1)
    order = np.argsort(ends, axis=-1, kind="stable")
    s = np.take_along_axis(ends, order, axis=-1)
    slope = np.take_along_axis(turns, order, axis=-1).cumsum(axis=-1)
    rise = (slope[..., :-1] * np.diff(s, axis=-1)).cumsum(axis=-1)
    reached = np.concatenate([np.zeros_like(peak), rise], axis=-1)
    missing = total - least.sum(axis=-1, keepdims=True)
    place = np.maximum((reached <= missing).sum(axis=-1, keepdims=True) - 1, 0)
    at, got, rate = (np.take_along_axis(each, place, axis=-1) for each in (s, reached, slope))
    climbs = rate > _LEAST_COUNT
    beyond = np.where(climbs, missing - got, 0.0) / np.where(climbs, rate, 1.0)
    return np.where(some, np.clip((at + beyond) * shares, least, most), least)


def _fit(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return the values, one for each place of the shape, or raise."""
    array = amounts(name, value)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise InputError(
            f"{name} of shape {array.shape} does not fit A", details=f"it must fit {shape}"
        ) from None
