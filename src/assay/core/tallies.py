"""Tallies: labels and outcomes by stratum, the only input of the statistics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from assay.core.types import LARGEST_EXACT, Bools, Floats, Ints, amounts
from assay.errors import InputError

Counts = TypeVar("Counts", Floats, Ints)


@dataclass(frozen=True, eq=False)
class Tallies:
    """Counts per stratum, of shape (..., H): the last axis is the stratum.

    Leading axes are independent evaluations (replications of a simulation, for example).

    >>> tallies = Tallies(N=[900, 100], n=[9, 10], x=[9, 6])
    >>> tallies.add(n=[0, 1], x=[0, 1]).x
    array([9., 7.])
    """

    N: Floats  # items in the stratum
    n: Floats  # items with a yes or no
    x: Floats  # of these, items with the outcome
    u: Floats  # items that were looked at and could not be judged; not in `n`
    # (..., H, K + 1 + M): with more classes than yes and no: of the labels, those of each class, of
    # no class, and last those with each of the M outcomes that targets of top-k accuracy count
    # (`core.ranking`)
    by_class: Floats | None = None

    def __init__(
        self,
        N: ArrayLike,
        n: ArrayLike,
        x: ArrayLike,
        u: ArrayLike = 0,
        *,
        by_class: Floats | None = None,
    ) -> None:
        given = {"N": N, "n": n, "x": x, "u": u}
        arrays = {name: _counts(name, value) for name, value in given.items()}
        try:
            together = np.broadcast_arrays(*arrays.values())
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise InputError(f"tallies of different shapes: {shapes}") from None
        for name, array in zip(arrays, together, strict=True):
            object.__setattr__(self, name, array)
        object.__setattr__(self, "by_class", by_class)
        if self.N.ndim == 0 or self.N.shape[-1] == 0:
            raise InputError("tallies need at least one stratum")
        if (self.N < 1).any():
            raise InputError(f"a stratum with {self.N.min():g} items; every stratum needs one")
        if (self.x > self.n).any():
            h = np.argwhere(self.x > self.n)[0][-1]
            raise InputError(f"stratum {h}: more outcomes than labels (x > n)")

    @classmethod
    def start(cls, N: ArrayLike) -> Self:
        """Tallies before the first label."""
        return cls(N=N, n=0, x=0)

    @classmethod
    def trusted(
        cls, N: Floats, n: Floats, x: Floats, u: Floats, by_class: Floats | None = None
    ) -> Self:
        """Tallies of counts that need no validation: a simulation makes millions of them."""
        new = object.__new__(cls)
        vars(new).update(N=N, n=n, x=x, u=u, by_class=by_class)
        return new

    @classmethod
    def joined(cls, join: Callable[[list[Floats]], Floats], parts: Sequence["Tallies"]) -> Self:
        """Several tallies as one, each count joined by a function such as `np.stack`."""
        return cls.trusted(
            *(join([vars(part)[name] for part in parts]) for name in ("N", "n", "x", "u"))
        )

    def add(self, n: ArrayLike, x: ArrayLike, u: ArrayLike = 0, by_class: Floats | int = 0) -> Self:
        """Add labels, which are not validated."""
        n, x, u = (np.asarray(counts, dtype=np.float64) for counts in (n, x, u))
        classes = None if self.by_class is None else self.by_class + by_class
        return self.trusted(self.N, self.n + n, self.x + x, self.u + u, classes)

    def take(self, which: Bools | int) -> Self:
        """Tallies of some of the parallel evaluations, or of one."""
        classes = None if self.by_class is None else self.by_class[which]
        return self.trusted(self.N[which], self.n[which], self.x[which], self.u[which], classes)

    def read(self, parts: Ints, columns: Ints | int | slice) -> Floats:
        """Labels of some parts with the outcome of a column: of all, or of one for each part."""
        by_class = self.x[..., None] if self.by_class is None else self.by_class
        return np.asarray(by_class[..., parts, columns])

    @property
    def answers(self) -> Floats:
        """Items that a person has looked at, over all strata: the cost of the evaluation."""
        return np.asarray((self.n + self.u).sum(axis=-1))


def at_columns(counts: Counts, columns: Ints) -> Counts:
    """Pick counts of parts by outcome, (..., C, J), each at its own column, (C,)."""
    return np.asarray(counts[..., np.arange(columns.size), columns])


def sums_at(values: Floats, place: Ints, size: int) -> Floats:
    """Sum the values, (..., C), by their places, (C,)."""
    sums = np.zeros((*values.shape[:-1], size))
    np.add.at(np.moveaxis(sums, -1, 0), place, np.moveaxis(values, -1, 0))
    return sums


def plain_totals(N: Floats, n: Floats, x: Floats) -> Floats:
    """Outcomes of whole strata at their labels' rates; rate 1/2 without labels."""
    return np.asarray(N * np.where(n > 0, x, 0.5) / np.maximum(n, 1.0))


def _counts(name: str, value: ArrayLike) -> Floats:
    array = amounts(f"tallies: {name}", value)
    if not ((array <= LARGEST_EXACT) & (np.floor(array) == array)).all():
        raise InputError(f"tallies: {name} must hold whole numbers from 0 to 2**53, got {value!r}")
    return array
