"""Cuts of strata: the variable they are made by, the cut points, the stratum of each interval.

Paper 1 cuts by the score. Paper 2 (section 3.5) cuts by z, the probability of the predicted class
for a probabilistic classifier and the magnitude of its output otherwise. The scores of several
classifiers have no common scale, so their ranks are used.
"""

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any, Literal, Self

import numpy as np

from assay.core.bins import Scale
from assay.core.profile import Profile, as_scores, refuse_non_finite
from assay.core.types import Bools, Floats, Ints
from assay.errors import DesignError

# Up to here, comparing all scores with each point in turn is faster than searching for each score.
_FEW_POINTS = 32


@dataclass(frozen=True)
class Cuts:
    """Points that cut the scores into intervals, and the stratum of each interval.

    >>> cuts = Cuts(method="equal", points=(0.25, 0.5), owner=(0, 1, 2))
    >>> cuts.assign(np.array([0.1, 0.25, 0.7]))
    array([0, 1, 2])
    """

    method: str  # the canonical name of the method that made the cuts
    # Strictly ascending. Interval i holds the scores v with points[i - 1] <= v < points[i]; the
    # first and the last are open ended.
    points: tuple[float, ...]
    # The stratum of each interval, one more than there are points. They differ from 0, 1, 2, ...
    # only for a Gaussian mixture: around a narrow component, a wide one has both flanks.
    owner: tuple[int, ...]
    notes: tuple[str, ...] = ()  # notes from cutting, in plain sentences

    def __post_init__(self) -> None:
        """Refuse unordered points, and strata without an interval."""
        points = np.array(self.points, dtype=np.float64)
        if not np.isfinite(points).all() or not (points[:-1] < points[1:]).all():
            raise DesignError(
                f"cut points are {self.points}", details="they must be finite and ascending"
            )
        if len(self.owner) != len(self.points) + 1:
            raise DesignError(
                f"{len(self.points)} cut points with {len(self.owner)} owners",
                details="there is one owner for each interval, one more than points",
            )
        # Compared with the number of intervals first: a number that is stored must not size a set.
        numbered = 0 < self.n_strata <= len(self.owner)
        if not numbered or set(self.owner) != set(range(self.n_strata)):
            raise DesignError(
                f"owners of the intervals are {str(self.owner)[:200]}",
                details="they number the strata 0, 1, 2, ... without a gap",
            )

    @cached_property
    def n_strata(self) -> int:
        """The number of strata."""
        return max(self.owner) + 1

    def assign(self, values: Floats) -> Ints:
        """Stratum of each score.

        `values`, (N,): finite scores.
        """
        scores = as_scores(values)
        refuse_non_finite(scores)
        if len(self.points) > _FEW_POINTS:
            interval = np.searchsorted(self.points, scores, side="right")
        else:
            passed = np.zeros(scores.size, dtype=np.int8)
            for point in self.points:
                passed += scores >= point
            interval = passed.astype(np.int64)
        if self.owner == tuple(range(self.n_strata)):
            return interval
        return np.array(self.owner)[interval]

    def sizes(self, profile: Profile) -> Ints:
        """Count a profile's items in each stratum.

        The counts are those of the items themselves where each point is the lower end of a cell,
        as it is in what `cut` returns for this profile.

        >>> from assay.core.profile import profile_of
        >>> Cuts(method="equal", points=(0.5,), owner=(0, 1)).sizes(profile_of(np.array([0, 1, 1])))
        array([1, 2])
        """
        sizes = np.zeros(self.n_strata, dtype=np.int64)
        np.add.at(sizes, self.assign(profile.low), profile.count)
        return sizes

    def describe(self) -> list[str]:
        """Descriptions of the score range of each stratum.

        >>> Cuts(method="gmm", points=(0.2, 0.3), owner=(1, 0, 1)).describe()
        ['0.2 to 0.3', 'below 0.2 and 0.3 or more']
        """
        points = _distinct_texts(self.points)
        if not points:
            return ["of any value"]
        between = [f"{low} to {high}" for low, high in pairwise(points)]
        intervals = [f"below {points[0]}", *between, f"{points[-1]} or more"]
        owned: list[list[str]] = [[] for _ in range(self.n_strata)]
        for stratum, interval in zip(self.owner, intervals, strict=True):
            owned[stratum].append(interval)
        return [" and ".join(intervals) for intervals in owned]

    def to_dict(self) -> dict[str, Any]:
        """Cuts as JSON values; `from_dict` restores them exactly."""
        return {
            "method": self.method,
            "points": list(self.points),
            "owner": list(self.owner),
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore the result of `to_dict`.

        Raises `KeyError`, `TypeError` or `ValueError` on anything else; `Strata.from_dict` tells
        the user.
        """
        return cls(
            method=str(stored["method"]),
            points=tuple(float(point) for point in stored["points"]),
            owner=tuple(operator.index(stratum) for stratum in stored["owner"]),
            notes=tuple(str(note) for note in stored["notes"]),
        )


def _distinct_texts(points: tuple[float, ...]) -> list[str]:
    """Points as text with three digits, or as many as distinguish neighbours well.

    Scores pile up near 1, where three digits would turn 0.99986 into 1. A text may be wrong by at
    most a twentieth of the distance to the nearest neighbour.
    """
    gaps = [inf, *(high - low for low, high in pairwise(points)), inf]
    nearest = [min(gaps[i : i + 2]) for i in range(len(points))]
    return [_short(point, gap / 20) for point, gap in zip(points, nearest, strict=True)]


def _short(point: float, error: float) -> str:
    for digits in range(3, 17):
        text = f"{point:.{digits}g}"
        if abs(float(text) - point) <= error:
            return text
    return repr(float(point))


Variable = Literal["score", "confidence", "rank"]
# A design chooses between these; several classifiers use the rank.
VARIABLES: tuple[str, ...] = ("score", "confidence")


def confidence(score: Floats, predicted: Bools, scale: Scale, threshold: float = 0.0) -> Floats:
    """Paper 2's stratification variable z (section 3.5).

    `score`, `predicted`, (N,): the classifier's output, and whether it predicted yes; `scale`:
    probability: z is the probability of the predicted class, p or 1 - p. Margin: z is the distance
    from the threshold, the paper's abs(C(x)) at threshold 0.

    >>> confidence(np.array([0.9, 0.25]), np.array([True, False]), "probability")
    array([0.9 , 0.75])
    >>> confidence(np.array([2.5, -0.5]), np.array([True, False]), "margin")
    array([2.5, 0.5])
    """
    if scale == "probability":
        return np.where(predicted, score, 1.0 - score)
    return np.abs(score - threshold)


def rank(score: Floats, profile: Profile) -> Floats:
    """Share of the items that score lower, with half of those in the same cell.

    `score`, (N,): the classifier's output; each value lies in a cell of the profile.

    Between 0 and 1; 1/2 for every item when all scores are equal.

    >>> from assay.core.profile import profile_of
    >>> scores = np.array([0.9, 0.1, 0.9, 0.5])
    >>> rank(scores, profile_of(scores))
    array([0.75 , 0.125, 0.75 , 0.375])
    """
    middle = (np.cumsum(profile.count) - profile.count / 2) / profile.total
    return middle[np.searchsorted(profile.low, score, side="right") - 1]
