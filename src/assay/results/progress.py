"""How a campaign's interval has narrowed: the numbers, whoever draws them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from assay.core.standing import Standing


@dataclass(frozen=True)
class HistoryPoint:
    """What was known of a metric after a complete round; `value` is None where it was nothing."""

    labels: int
    value: float | None
    low: float
    high: float

    @classmethod
    def of(cls, standing: Standing) -> Self:
        """Return where a metric stands."""
        now = standing.look
        value = float(now.moments.value) if now.moments.defined else None
        return cls(standing.labels, value, float(now.low), float(now.high))


def thinned(points: Sequence[HistoryPoint], at_most: int) -> list[HistoryPoint]:
    """Return at most so many of the points, evenly spaced by their labels; the last is kept.

    Examples
    --------
    >>> points = [HistoryPoint(labels, 0.5, 0.4, 0.6) for labels in (3, 5, 6, 50, 60, 90, 100)]
    >>> [point.labels for point in thinned(points, 4)]
    [6, 50, 60, 100]
    """
    if len(points) <= at_most:
        return list(points)
    most = points[-1].labels
    # Of every stretch of labels the last point that lies in it.
    by_stretch = {-(-point.labels * at_most // max(most, 1)): point for point in points}
    by_stretch.pop(0, None)  # before the first label
    return list(by_stretch.values())
