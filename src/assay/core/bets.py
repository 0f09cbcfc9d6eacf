"""What the bettors of `core.betting` own, and what follows from it: an interval, a verdict."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from assay.core.types import Bools, Floats, Ints
from assay.errors import DesignError

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
