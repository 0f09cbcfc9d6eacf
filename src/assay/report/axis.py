"""A line with evenly spaced round numbers along it."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Self

_STEPS = 5  # between the numbers, at most
_TINY = 1e-9


@dataclass(frozen=True)
class Axis:
    """From where to where a line goes, in whole steps.

    Examples
    --------
    >>> Axis.over([0.52, 0.7, 1.0]).texts
    ('0.5', '0.6', '0.7', '0.8', '0.9', '1.0')
    >>> Axis.over([-1.5, 2.5]).at(0.5)
    0.5
    """

    first: int
    last: int
    step: float

    @classmethod
    def over(cls, values: Iterable[float]) -> Self:
        """Return the shortest line that holds all values."""
        given = list(values)
        low, high = min(given), max(given)
        width = (high - low) or abs(low) or 1.0
        power = 10.0 ** floor(log10(width / _STEPS))
        for step in (digit * power for digit in (1, 2, 5, 10, 20)):
            first, last = floor(low / step + _TINY), ceil(high / step - _TINY)
            if last - first <= _STEPS:
                break
        return cls(first, max(last, first + 1), step)

    @property
    def start(self) -> float:
        """Where it begins."""
        return self.first * self.step

    @property
    def end(self) -> float:
        """Where it ends."""
        return self.last * self.step

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers along it."""
        return tuple(self.step * place for place in range(self.first, self.last + 1))

    @property
    def texts(self) -> tuple[str, ...]:
        """The same as they are read."""
        digits = max(0, -floor(log10(self.step) + _TINY))
        return tuple(f"{value + 0.0:,.{digits}f}" for value in self.values)

    def at(self, value: float) -> float:
        """Return where a value lies: 0 at the start, 1 at the end."""
        return (value - self.start) / (self.end - self.start)
