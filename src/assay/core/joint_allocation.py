"""Labels per stratum for several targets: the fewest that serve all, or a compromise.

The fewest are the allocation of Bethel and Chromy; the compromise is for a fixed number of labels.

Minimise sum_h n_h subject to sum_h A_th / n_h <= V_t for every target t and to
least_h <= n_h <= most_h. For multipliers mu_t >= 0 let

    n_h = clip(sqrt(sum_t mu_t A_th / V_t), least_h, most_h)  and  Q_t = sum_h A_th / (n_h V_t).

Then sum_h n_h + sum_t mu_t (Q_t - 1), the dual function, is a lower bound on the labels of every
allocation that meets the targets; the best multipliers make it equal to their least number [1]_.
The same n_h, scaled up until all targets are met, are an upper bound. If the two bounds are close
the allocation is nearly optimal, however it was found.

The multipliers are found in two stages:

- Chromy's fixed point mu_t <- mu_t Q_t^2 [2]_: cheap, and exact for one target without bounds. It
  becomes slow where targets ask for nearly the same labels or most counts are at a bound (40 to 210
  steps for 20 classifiers with 3 metrics each).
- Newton's method on the dual function in log mu, for the last few percent. A step that would lower
  the dual is refused and tried again with more damping; the more damping, the more the step is the
  fixed point's direction, only shorter.

References
----------
.. [1] J. Bethel, "Sample allocation in multivariate surveys", Survey Methodology 15 (1989), 47-57.
.. [2] J. R. Chromy, "Design optimization with multiple objectives", Proceedings of the Section on
   Survey Research Methods, American Statistical Association (1987), 194-199.
.. [3] W. G. Cochran, Sampling Techniques, third edition (1977), chapter 5A: compromises between the
   allocations that suit each of several variables.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.core.types import Bools, Floats

TOLERANCE = 1e-3  # of the total; making the counts whole costs more
MOST_STEPS = 200
FIXED_POINT_STEPS = 3
FIRST_DAMPING, LEAST_DAMPING = 0.1, 1e-9  # as shares of the fixed point's own curvature
LONGEST_STEP = 2.0  # of log mu: the quadratic model is a local one
MARGIN = 1e-9  # slack of targets, so that rounding does not break them
LEAST_COUNT = 1e-12  # with variance no count can be 0, and less than this is no label
# A multiplier is at least this share of its target's cost alone. That cost is at most the total, so
# the lower bound loses a millionth per target; and no target is lost for good.
LEAST_MULTIPLIER = 1e-6


@dataclass(frozen=True, eq=False)
class Allocation:
    """Labels per stratum for several targets, and the gap to the fewest."""

    # (..., H): real-valued counts within their bounds that meet every target that can be met.
    n: Floats
    # (..., T): mu_t, in labels: raising V_t by a small share s saves s mu_t labels. 0 for a target
    # that cannot be met.
    multipliers: Floats
    gap: Floats  # (...): the share of the total by which it may exceed the least possible


def joint_allocation(
    A: ArrayLike,  # (..., T, H): the variance that target t has from stratum h with one label there
    # (..., T): the allowed variance of target t, above 0. A target that is not met even by n = most
    # gets n = most wherever it has variance.
    V: ArrayLike,
    # least, most, (..., H): the bounds of n; `most` is above 0 wherever a target has variance.
    least: ArrayLike,
    most: ArrayLike,
) -> Allocation:
    """Fewest labels with sum_h A_th / n_h <= V_t for every target t.

    Its gap is at most `TOLERANCE`, if 200 steps are enough; the result reports it. A stratum where
    no target has variance gets `least`.

    Two targets share the second stratum. The best for each alone is 25 labels in its own stratum
    and 37.5 in the shared one; together they get more where a label serves both.

    >>> A = [[4.0, 9.0, 0.0], [0.0, 9.0, 4.0]]
    >>> both = joint_allocation(A, V=[0.4, 0.4], least=1, most=100)
    >>> both.n.round(), bool(both.gap <= TOLERANCE)
    (array([21., 44., 21.]), True)
    """
    A, allowed, low, high = _broadcast(A, V, least, most)
    *lead, T, H = A.shape
    A, allowed = A.reshape(-1, T, H), allowed.reshape(-1, T)
    low, high = low.reshape(-1, H), high.reshape(-1, H)
    carries = np.asarray((A > 0).any(axis=1))
    problem = _solvable(A, allowed, low, high, carries)
    alone = np.sqrt(problem.B).sum(axis=-1) ** 2  # what each target costs without the bounds
    mu = np.minimum(alone / T, high.sum(axis=-1, keepdims=True))  # beyond it would only overflow
    n, mu, gap = _solve(problem, mu, LEAST_MULTIPLIER * alone)
    n = np.where(carries, n, low)
    return Allocation(n.reshape(*lead, H), mu.reshape(*lead, T), gap.reshape(lead))


class _Problem(NamedTuple):
    """R problems in units of V, in which every target can be met and no count can be 0."""

    B: Floats  # A / V, (R, T, H)
    low: Floats  # (R, H)
    high: Floats  # (R, H)


class _Point(NamedTuple):
    """Multipliers and derived quantities."""

    mu: Floats  # (R, T)
    n: Floats  # (R, H)
    Q: Floats  # (R, T)
    dual: Floats  # (R, 1)


def _solvable(A: Floats, V: Floats, low: Floats, high: Floats, carries: Bools) -> _Problem:
    """Set every count of an infeasible target to its upper bound, and drop the target."""
    high = np.where(carries, high, np.maximum(low, LEAST_COUNT))
    low = np.where(carries, np.maximum(low, LEAST_COUNT), high)
    with np.errstate(over="ignore"):  # an infinite demand cannot be met, as intended
        B = A / V[..., None]
        hopeless = ((B / high[:, None, :]).sum(axis=-1) >= 1 - 2 * MARGIN)[..., None]
    full = (hopeless & (A > 0)).any(axis=1)
    return _Problem(np.where(hopeless, 0.0, B), np.where(full, high, low), high)


def _solve(problem: _Problem, mu: Floats, floor: Floats) -> tuple[Floats, Floats, Floats]:
    """Solution n, mu and the gap; solved problems drop out of the steps of the others."""
    n, final, gap = np.empty_like(problem.high), np.empty_like(mu), np.empty(len(mu))
    rows = np.arange(len(mu))
    damping = np.full((len(mu), 1), FIRST_DAMPING)
    point = _evaluate(problem, np.maximum(mu, floor))
    for step in range(MOST_STEPS):
        n[rows], final[rows] = _scaled_up(problem, point), point.mu
        gap[rows] = np.maximum(0.0, 1 - point.dual[:, 0] / n[rows].sum(axis=-1))
        going = gap[rows] > TOLERANCE
        if not going.any():
            break
        if not going.all():
            rows, floor, damping = rows[going], floor[going], damping[going]
            problem = _Problem(*(part[going] for part in problem))
            point = _Point(*(part[going] for part in point))
        if step < FIXED_POINT_STEPS:
            point = _evaluate(problem, np.maximum(point.mu * point.Q**2, floor))
        else:
            trial = _evaluate(problem, np.maximum(_newton(problem, point, damping), floor))
            better = trial.dual >= point.dual
            damping = np.maximum(np.where(better, damping / 4, damping * 4), LEAST_DAMPING)
            point = _Point(*(np.where(better, *parts) for parts in zip(trial, point, strict=True)))
    return n, final, gap


def _evaluate(problem: _Problem, mu: Floats) -> _Point:
    squares = (mu[:, None, :] @ problem.B)[:, 0, :]
    n = np.clip(np.sqrt(squares), problem.low, problem.high)
    Q = _times(problem.B, 1 / n)
    return _Point(mu, n, Q, (n.sum(axis=-1) + (mu * (Q - 1)).sum(axis=-1))[:, None])


def _newton(problem: _Problem, point: _Point, damping: Floats) -> Floats:
    """Multipliers after one damped Newton step in log mu.

    With K_ts = sum_h B_th B_sh / (2 n_h^3) over the counts within their bounds, the dual function
    has in log mu the gradient mu_t (Q_t - 1) and the curvature
    mu_t K_ts mu_s + diag(mu_t (1 - Q_t)), of which the diagonal is kept where it is above 0. Both
    are divided by sqrt(mu), so that multipliers of any size can be mixed. The damping is a share of
    diag(mu_t Q_t / 2), which is never below the first term and alone gives the fixed point's step.
    """
    mu, n, Q, _ = point
    free = (n > problem.low) & (n < problem.high)
    parts = problem.B * (np.where(free, np.sqrt(0.5 / n), 0.0) / n)[:, None, :]
    root = np.sqrt(mu)
    curvature = (parts @ parts.swapaxes(1, 2)) * root[:, :, None] * root[:, None, :]
    diagonal = np.arange(mu.shape[1])
    curvature[:, diagonal, diagonal] += np.maximum(1 - Q, 0.0) + damping * Q / 2
    step = np.linalg.solve(curvature, (root * (Q - 1))[..., None])[..., 0]
    step = step / np.where(root > 0, root, 1.0)
    return np.asarray(mu * np.exp(np.clip(step, -LONGEST_STEP, LONGEST_STEP)))


def _scaled_up(problem: _Problem, point: _Point) -> Floats:
    """Allocation min(n / x, high) with the largest x <= 1 that meets every target.

    Each Q_t is convex and piecewise linear in x, so Newton's method comes down to the root from
    above and ends there, once it has found which counts are at their upper bound.
    """
    inverse, floor = 1 / point.n, 1 / problem.high
    x, Q = np.ones((len(inverse), 1)), point.Q
    while (over := Q > 1).any():
        free = inverse * x > floor
        fixed = _times(problem.B, np.where(free, 0.0, floor))
        slope = np.where(over, _times(problem.B, np.where(free, inverse, 0.0)), 1.0)
        roots = np.where(over, (1 - MARGIN - fixed) / slope, 1.0)
        x = np.minimum(x, roots.min(axis=-1, keepdims=True))
        Q = _times(problem.B, np.maximum(inverse * x, floor))
    return np.minimum(point.n / x, problem.high)


def _times(B: Floats, x: Floats) -> Floats:
    return np.asarray((B @ x[..., None])[..., 0])


def _broadcast(
    A: ArrayLike, V: ArrayLike, least: ArrayLike, most: ArrayLike
) -> tuple[Floats, Floats, Floats, Floats]:
    """Broadcast V to every target, and the bounds to every stratum."""
    A = np.asarray(A, dtype=np.float64)
    *lead, T, H = A.shape
    allowed, low, high = (
        np.broadcast_to(np.asarray(each, dtype=np.float64), (*lead, last))
        for each, last in ((V, T), (least, H), (most, H))
    )
    return A, allowed, low, high


# A fixed number of labels for several targets: a compromise between them.
#
# With n_h labels of the most_h items of stratum h, target t has the variance
#
#     Q_t = sum_h A_th (1/n_h - 1/most_h),
#
# and R_t = Q_t / V_t is its ratio to the target variance. No n with sum n_h = total serves every
# target best. This one minimises sum_t R_t^p: p = 1 is the mean of the relative variances, and the
# larger p the more the worst target counts, up to the minimax [3]_.
#
# Of all allocations Neyman's for a mixture of the targets,
#
#     n_h = clip(s sqrt(sum_t lambda_t A_th / V_t), least_h, most_h), s such that their sum fits,
#
# has the least sum_t lambda_t R_t. From any n, with lambda_t = R_t^(p - 1) there, the direction to
# that allocation is a descent direction, as all R_t are convex in n. So the algorithm takes a step
# in it, halves the step if it was too long, and repeats. By the same convexity sum_t R_t^p is above
# its smallest value by at most p sum_t lambda_t (R_t - R_t'), with R_t' at the end of the way. That
# is the stopping criterion, and proves that the result is nearly optimal, however it was found.

NEAR_BEST = 1e-4  # of the p-th root of the sum, which is flat there: n is known to about 1%
# The worst target dominates, but every other one counts (docs/several.md has p = 1, 2, 4 and 32).
_POWER = 2.0


@dataclass(frozen=True, eq=False)
class Compromise:
    """Labels per stratum, and each target's ratio to its goal."""

    n: Floats  # (..., H): real-valued counts within their bounds
    ratio: Floats  # (..., T): R_t, each target's variance over its target variance
    gap: Floats  # (...): the share by which (sum_t R_t^p)^(1/p) may exceed the least possible


def compromise_allocation(
    A: ArrayLike,  # (..., T, H): the variance that target t has from stratum h with one label there
    V: ArrayLike,  # (..., T): the reference variance of target t, above 0
    # (...): the labels to allocate. If the bounds forbid it, the nearest number that they allow.
    total: ArrayLike,
    # least, most, (..., H): the bounds of n. A stratum where no target has variance gets `least`.
    least: ArrayLike,
    most: ArrayLike,
    *,
    power: float = _POWER,  # p, at least 1
) -> Compromise:
    """Allocation n with sum `total` that minimises sum_t R_t^power.

    The gap is at most `NEAR_BEST`, if 200 steps are enough; the result reports it.

    Two targets are about the first stratum, one about the second. The mean favours the two; the
    more the worst counts, the more equal the targets are.

    >>> A = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> for p in (1, 2, 32):
    ...     print(compromise_allocation(A, 1.0, 120, 1, 1e9, power=p).n.round())
    [70. 50.]
    [67. 53.]
    [61. 59.]
    """
    A, should, low, high = _broadcast(A, V, least, most)
    lead = A.shape[:-2]
    whole = np.broadcast_to(np.asarray(total, dtype=np.float64), lead)[..., None]
    B = A / should[..., None]
    n = _fill(np.sqrt(B.sum(axis=-2)), whole, low, high)
    ratio, way = _ratios(B, n, high), np.full((*lead, 1), min(1.0, 2 / power))
    for _ in range(MOST_STEPS):
        unit = np.maximum(ratio.max(axis=-1, keepdims=True), LEAST_COUNT)  # powers stay below 1
        weight = (ratio / unit) ** (power - 1)
        end = _fill(np.sqrt((weight[..., None, :] @ B)[..., 0, :]), whole, low, high)
        now = (weight * ratio).sum(axis=-1)
        gap = 1 - (weight * _ratios(B, end, high)).sum(axis=-1) / np.maximum(now, LEAST_COUNT)
        gap = np.where(now > 0, np.maximum(gap, 0.0), 0.0)
        if (gap <= NEAR_BEST).all():
            break
        trial = n + way * (end - n)
        there = _ratios(B, trial, high)
        with np.errstate(over="ignore"):  # far too far is too far
            better = (((there / unit) ** power).sum(axis=-1) < now / unit[..., 0])[..., None]
        n = np.where(better & (gap > NEAR_BEST)[..., None], trial, n)
        way = np.where(better, np.minimum(1.5 * way, 1.0), way / 2)
        ratio = _ratios(B, n, high)
    return Compromise(n, ratio, gap)


def _ratios(B: Floats, n: Floats, most: Floats) -> Floats:
    # A stratum without items has no variance, and cannot be a divisor.
    over = 1 / np.maximum(n, LEAST_COUNT) - 1 / np.maximum(most, LEAST_COUNT)
    return np.asarray((B @ over[..., None])[..., 0])


def _fill(shares: Floats, total: Floats, least: Floats, most: Floats) -> Floats:
    """Allocation clip(s shares, least, most) with the s that makes their sum `total`.

    The sum grows with s along straight lines: stratum h begins to count at s = least_h / shares_h
    and ends at most_h / shares_h.
    """
    peak = shares.max(axis=-1, keepdims=True)
    shares = shares / np.where(peak > 0, peak, 1.0)
    some = shares > LEAST_COUNT
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
    climbs = rate > LEAST_COUNT
    beyond = np.where(climbs, missing - got, 0.0) / np.where(climbs, rate, 1.0)
    return np.where(some, np.clip((at + beyond) * shares, least, most), least)
