"""What an evaluation is for: frozen, checked once, kept as plain values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from math import ceil
from typing import Any, Self, cast

from scipy.special import ndtri

from assay.core.fields import between, known_fields, whole
from assay.core.metrics import canonical_metric
from assay.errors import DesignError


@dataclass(frozen=True)
class Goal:
    """What is wanted: a metric, how exactly or at what cost, and how surely.

    Parameters
    ----------
    metric : str
        ``precision``, ``recall``, ``f1``, ``accuracy``, ``false_omission_rate``, ``prevalence``.
    within : float, optional
        Stop when the interval's half-width is at most this.
    budget : int, optional
        Stop after so many answers.
    confidence : float
        Between 0 and 1.
    at_least : float, optional
        Stop when it is sure whether the metric is at least this. One of `within`, `budget` and
        `at_least` is needed, and `within` and `at_least` are different questions.

    Examples
    --------
    >>> Goal("precision", within=0.02).worst_case
    2401
    """

    metric: str
    within: float | None = None
    budget: int | None = None
    confidence: float = 0.95
    at_least: float | None = None

    def __post_init__(self) -> None:
        set_ = partial(object.__setattr__, self)
        set_("metric", canonical_metric(self.metric))
        if self.within is None and self.budget is None and self.at_least is None:
            raise DesignError(
                "no goal: neither `within` nor `budget` nor `at_least` was given",
                hint="within=0.02 stops at ±2%, budget=500 after 500 labels, "
                "at_least=0.95 at a sure yes or no",
            )
        if self.at_least is not None:
            hint = "0.95 asks whether it is 95% or more"
            set_("at_least", between("at_least", self.at_least, 0.0, 1.0, hint=hint))
            if self.within is not None:
                raise DesignError(
                    f"at_least={self.at_least:g} and within={self.within} are two questions",
                    details="a yes or no needs no narrow interval, and usually far fewer labels",
                    hint="leave one out; the interval is reported with either",
                )
        if self.within is not None:
            hint = "0.02 means ±2 percentage points"
            set_("within", between("within", self.within, 0.0, 0.5, hint=hint))
        if self.budget is not None:
            set_("budget", whole("budget", self.budget, 1))
        hint = "0.95 means 95%"
        set_("confidence", between("confidence", self.confidence, 0.0, 1.0, hint=hint))

    @property
    def worst_case(self) -> int:
        """Labels that random sampling from an endless population would need at a rate of 1/2.

        A yes or no has no worst case; it counts as an interval of ±0.02, which tells most apart.
        """
        if self.within is None and self.at_least is None:
            return cast(int, self.budget)
        within = self.within or 0.02
        needed = ceil(ndtri((1 + self.confidence) / 2) ** 2 / (4 * within**2))
        return needed if self.budget is None else min(needed, self.budget)

    def to_dict(self) -> dict[str, Any]:
        """Return the goal as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the goal that `to_dict` was called on."""
        return cls(**known_fields(cls, values))
