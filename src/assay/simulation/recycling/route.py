"""Paper 3's route: every metric of every classifier from precisions and one false omission rate.

Section 6 of [1]_. Let x = (T_1, ..., T_K, M): the hits of each classifier, the parent first, and
the positives that the parent misses. P = T_1 + M are all positives, and among what classifier k
calls no there are P - T_k. A metric is a ratio of linear forms in x (`recall_route`);
here are targets: differences too, and which entries of x each needs.

References
----------
.. [1] RecycleSamplesForPrecision (``papers/recycle-samples-for-precision.txt``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from assay.core.differences import subtract
from assay.core.forms import Metric, Ratio, ratio
from assay.core.goal import Goal
from assay.core.metrics import METRICS, canonical_metric
from assay.core.targets import Target
from assay.core.types import Bools, Floats, amounts
from assay.errors import InputError
from assay.simulation.population import Population

# Section 6 of paper 3 to its end: every metric from precisions and one false omission rate [1]_.
#
# The paper reduces the recalls of several classifiers to their precisions p_k over their yes-sets
# and the false omission rate f_1 of the first over its no-set. It gives no variance; here it is,
# by the delta method. Let A_k and B_k be the sizes of the yes-set and the no-set of classifier k,
# T_k = p_k A_k its hits, M = f_1 B_1 the misses of the first, and P = T_1 + M the positives among
# N items. Then
#
# | metric of k         | is                    |
# |---------------------|-----------------------|
# | precision           | T_k / A_k             |
# | recall              | T_k / P               |
# | F1                  | 2 T_k / (A_k + P)     |
# | accuracy            | (B_k + 2 T_k - P) / N |
# | false omission rate | (P - T_k) / B_k       |
# | prevalence          | P / N                 |
#
# Each is a ratio of linear forms in (T_1, ..., T_K, M), as in `assay.core.forms`, only that
# these totals overlap: labels recycled from one classifier for another make them correlated.
#
# References
# ----------
# .. [1] RecycleSamplesForPrecision (``papers/recycle-samples-for-precision.txt``), section 6.


def route_values(metric: str, p: ArrayLike, f: ArrayLike, *, yes: ArrayLike, N: float) -> Floats:
    """Return the metric of each classifier.

    Parameters
    ----------
    metric : str
        A name of `assay.core.metrics.METRICS`.
    p : array, shape (..., K)
        Precisions.
    f : array, shape (...)
        The false omission rate of the first classifier.
    yes : array, shape (K,)
        A_k, the number of items that each classifier calls yes.
    N : float
        The number of all items.

    Returns
    -------
    array, shape (..., K)
        Cut to what they can be: nothing keeps the estimate of T_k below that of P.

    Examples
    --------
    >>> route_values("recall", [0.9, 0.8], 0.01, yes=[1000, 1050], N=11_000)
    array([0.9 , 0.84])
    """
    totals = _totals(p, f, yes, N)
    values = [form.value(totals) for form in _ratios(metric, totals, yes, N)]
    return np.clip(np.stack(values, axis=-1), METRICS[canonical_metric(metric)].lowest, 1.0)


def route_variances(
    metric: str,
    p: ArrayLike,
    f: ArrayLike,
    *,
    covariance: ArrayLike,
    f_variance: ArrayLike,
    yes: ArrayLike,
    N: float,
) -> Floats:
    """Return the variance of `route_values`, linearised at the estimates.

    Parameters
    ----------
    metric, p, f, yes, N
        As in `route_values`.
    covariance : array, shape (..., K, K)
        Of the precisions. It is diagonal where no label is shared.
    f_variance : array, shape (...)
        Of the false omission rate, whose labels are drawn independently of the precisions'.

    Returns
    -------
    array, shape (..., K)

    Examples
    --------
    A positive covariance helps the second recall: hits of both move T_2 and P together.

    >>> both = dict(p=[0.9, 0.8], f=0.01, f_variance=1e-5, yes=[1000, 1050], N=11_000)
    >>> apart, shared = np.diag([1e-4, 1e-4]), np.full((2, 2), 1e-4)
    >>> np.sqrt(route_variances("recall", **both, covariance=apart)).round(4)
    array([0.0285, 0.0298])
    >>> np.sqrt(route_variances("recall", **both, covariance=shared)).round(4)
    array([0.0285, 0.0266])
    """
    totals = _totals(p, f, yes, N)
    spread = _covariance_of_totals(covariance, f_variance, yes, N)
    variances = []
    for form in _ratios(metric, totals, yes, N):
        slope = form.gradient(totals)
        variances.append((slope * (spread @ slope[..., None])[..., 0]).sum(axis=-1))
    # Rounding can leave a little less than 0.
    return np.asarray(np.maximum(np.stack(variances, axis=-1), 0.0))


def _totals(p: ArrayLike, f: ArrayLike, yes: ArrayLike, N: float) -> Floats:
    """Return (T_1, ..., T_K, M), shape (..., K + 1)."""
    precision, omission = amounts("precision", p), amounts("false omission rate", f)
    sizes = _scale(yes, N)
    if precision.shape[-1:] != (sizes.size - 1,) or precision.shape[:-1] != omission.shape:
        raise InputError(
            f"precisions {precision.shape}, false omission rates {omission.shape} and "
            f"{sizes.size - 1} classifiers do not fit together",
            details="(..., K), (...) and K are needed",
        )
    shares = np.concatenate([precision, omission[..., None]], axis=-1)
    if (shares > 1).any():
        raise InputError(f"the share {shares.max():g} cannot be used", details="0 to 1 is needed")
    return np.asarray(shares * sizes)


def _scale(yes: ArrayLike, N: float) -> Floats:
    """Return (A_1, ..., A_K, B_1), by which shares become totals."""
    size, everything = amounts("yes", yes), amounts("N", N)
    if size.ndim != 1 or size.size == 0 or everything.ndim != 0 or (size > everything).any():
        raise InputError(
            f"yes-sets {yes!r} of {N!r} items cannot be used",
            details="one size for each classifier, none above N",
        )
    return np.append(size, everything - size[0])


def route_ratio(metric: str, k: int, yes: Floats, N: float) -> Ratio:
    """Return the metric of classifier k as a ratio in the totals (T_1, ..., T_K, M).

    Among what k calls yes there are T_k positives, and among what it calls no T_1 + M - T_k.

    Parameters
    ----------
    metric : str
        A name of `core.metrics.METRICS`.
    k : int
        The classifier's place; 0 is the parent.
    yes : array, shape (K,)
        Items that each calls yes.
    N : float
        All items.

    Examples
    --------
    >>> route_ratio("recall", 1, np.array([1000.0, 1050.0]), 11_000).b
    array([1., 0., 1.])
    """
    called = np.zeros((2, yes.size + 1))  # the positives it calls yes, and no
    called[0, k] = 1.0
    called[1, [0, -1]] = 1.0
    called[1, k] -= 1.0
    sizes = np.array([yes[k], N - yes[k]])
    form = ratio(metric, sizes, np.array([True, False]))
    return replace(form, a=form.a @ called, b=form.b @ called)


def _ratios(metric: str, totals: Floats, yes: ArrayLike, N: float) -> list[Ratio]:
    """Return each classifier's metric as a ratio in the totals, or raise where it has no value."""
    size = _scale(yes, N)[:-1]
    ratios = [route_ratio(metric, k, size, N) for k in range(size.size)]
    for k, form in enumerate(ratios):
        if not (form.denominator(totals) > 0).all():
            raise InputError(
                f"{metric} of classifier {k + 1} is not defined",
                details="its denominator is 0: there are no items, or no positives, to take it of",
            )
    return ratios


def _covariance_of_totals(
    covariance: ArrayLike, f_variance: ArrayLike, yes: ArrayLike, N: float
) -> Floats:
    scale, of_f = _scale(yes, N), amounts("f_variance", f_variance)
    K = scale.size - 1
    try:
        of_p = np.asarray(covariance, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"covariance must hold numbers, got {covariance!r}") from None
    if of_p.shape != (*of_f.shape, K, K) or not np.isfinite(of_p).all():
        raise InputError(
            f"covariance of shape {of_p.shape} cannot be used",
            details=f"finite numbers of shape {(*of_f.shape, K, K)} are needed",
        )
    rounding = 1e-9 * np.abs(of_p).max(initial=0.0)
    crooked = np.abs(of_p - of_p.swapaxes(-1, -2)).max(initial=0.0) > rounding
    if crooked or (np.linalg.eigvalsh(of_p) < -rounding).any():
        raise InputError(
            f"covariance {covariance!r} is none",
            details="a covariance matrix is symmetric and gives no sum a variance below 0",
        )
    whole = np.zeros((*of_f.shape, K + 1, K + 1))
    whole[..., :K, :K], whole[..., K, K] = of_p, of_f
    return np.asarray(whole * scale[:, None] * scale)


def choose_parent(population: Population, goal: Goal) -> str:
    """Return the classifier of the goal whose yes-set has most in common with the others'.

    Examples
    --------
    >>> said = {"a": [1, 0, 0, 0], "b": [1, 1, 1, 0], "c": [0, 1, 1, 1]}
    >>> goal = Goal(targets=(Target("prevalence", ""),), budget=1)
    >>> choose_parent(Population(y_true=[1, 1, 0, 0], y_pred=said), goal)
    'b'
    """
    named = [name for target in goal.targets for name in _whose(target)]
    names = list(dict.fromkeys(named)) or list(population.classifiers)
    yes = population.yes_cells(names)
    both = (yes * population.by_cell.sizes) @ yes.T
    own = np.diag(both)
    # Of sets that have nothing in common the largest: it is not empty, unless all are.
    return names[max(range(len(names)), key=lambda k: (both[k].sum() - own[k], own[k]))]


@dataclass(frozen=True, eq=False)
class Route:
    """How a goal's targets are read off x.

    Parameters
    ----------
    names : tuple of str
        The classifiers, the parent first.
    yes : array, shape (K,)
        How many items each says yes to.
    N : int
        All items.
    targets : tuple of Target

    Examples
    --------
    The recall of the second, from the hits of both and what the first misses.

    >>> recall = Target("recall", "old")
    >>> route = Route(("new", "old"), np.array([1000.0, 1050.0]), 11_000, (recall,))
    >>> route.values(np.array([900.0, 840.0, 100.0])), route.needs
    (array([0.84]), array([[ True,  True,  True]]))
    """

    names: tuple[str, ...]
    yes: Floats
    N: int
    targets: tuple[Target, ...]

    @classmethod
    def of(cls, population: Population, goal: Goal, parent: str) -> Self:
        """Return the route of a goal by the false omission rate of `parent`."""
        names = (parent, *(name for name in population.classifiers if name != parent))
        yes = population.yes_cells(names) @ population.by_cell.sizes
        return cls(names, yes, population.truth.size, goal.targets)

    @property
    def no(self) -> float:
        """How many items the parent says no to."""
        return float(self.N - self.yes[0])

    @property
    def metrics(self) -> list[Metric]:
        """Each target as a metric of x, of shape (K + 1,)."""
        return [self._metric(target) for target in self.targets]

    @property
    def needs(self) -> Bools:
        """Which entries of x each target depends on, shape (T, K + 1)."""
        return np.array([metric.counts for metric in self.metrics])

    def values(self, x: Floats) -> Floats:
        """Return the targets at x, (..., T).

        Cut to what they can be: nothing keeps the estimate of T_k below that of P.
        """
        values = np.stack([metric.value(x) for metric in self.metrics], axis=-1)
        lowest = [METRICS[target.metric].lowest for target in self.targets]
        alone = [target.minus is None for target in self.targets]
        least = np.where(alone, lowest, np.subtract(lowest, 1.0))
        return np.asarray(np.clip(values, least, np.where(alone, 1.0, np.subtract(1.0, lowest))))

    def _metric(self, target: Target) -> Metric:
        first, *rest = [
            self._of_one(target.metric, name) for name in _whose(target) or self.names[:1]
        ]
        return subtract(first, rest[0]) if rest else first

    def _of_one(self, metric: str, name: str) -> Ratio:
        return route_ratio(metric, self.names.index(name), self.yes, self.N)


def _whose(target: Target) -> Sequence[str]:
    return [name for name in (target.classifier, target.minus) if name]
