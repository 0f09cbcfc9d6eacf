"""How to sample (`Design`) and what for (`Goal`): frozen, checked once, kept as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from math import ceil
from numbers import Integral, Real
from typing import Any, Literal, Self, cast, get_args

from scipy.special import ndtri

from assay.core.estimate import ESTIMATORS, Estimator
from assay.core.intervals import INTERVALS
from assay.core.metrics import canonical_metric
from assay.core.strata import canonical_method
from assay.core.variable import VARIABLES, Variable
from assay.errors import DesignError, did_you_mean

Allocation = Literal["explore", "uni", "pps", "opt", "pro", "equ", "opt-a1", "opt-a2"]
ALLOCATIONS: tuple[str, ...] = get_args(Allocation)

__all__ = ["ALLOCATIONS", "Allocation", "Design", "Goal"]


@dataclass(frozen=True)
class Design:
    """How to sample: strata, allocation, estimator, interval and rounds, bound together.

    Parameters
    ----------
    strata : str
        How scores are cut: ``perc``, ``equal``, ``sqrt``, ``cbrt``, ``wtmn``, ``km``, ``gmm``
        (and paper 2's ``eqsz`` = perc, ``eqwd`` = equal).
    bins : int
        Strata to make out of each predicted label's scores, 1 to 1000.
    variable : {"score", "confidence"}
        What is cut: the score (paper 1), or how sure the classifier was (paper 2). With accuracy,
        ``confidence`` puts both predicted labels into the same strata.
    allocation : str
        ``explore``, ours: where the errors are, and never quite nowhere else. Paper 1: ``uni``,
        ``pps``, ``opt`` (drawn at random). Paper 2: ``pro``, ``equ``, ``opt-a1``, ``opt-a2``.
    estimator : {"smoothed", "unbiased"}
        Paper 1's m-estimate, or paper 2's Eqs. 4 and 6.
    interval : {"stratified", "wilson", "normal", "jeffreys"}
        How the interval is made. ``stratified`` is made to be looked at after every round; the
        others are right for one look at a number of labels fixed before.
    replacement : bool
        Leave out the finite population correction, as both papers do. A campaign never asks for
        an item twice either way.
    first_per_stratum : int, optional
        Labels a stratum in the first round (paper 1's D_0 is this times the strata; paper 2's
        n_ini). None: as many in all as are asked for.
    round_size : int, optional
        Labels in each later round (paper 1's D, paper 2's n_step). None: as many as are asked for.
    rounds_in_a_row : int
        Rounds in a row that must meet the goal (paper 1's T).

    Examples
    --------
    >>> Design.bennett_carvalho(bins=4).round_size
    8
    >>> Design.from_dict(Design().to_dict()) == Design()
    True
    """

    strata: str = "perc"
    bins: int = 8
    variable: Variable = "score"
    allocation: Allocation = "explore"
    estimator: Estimator = "unbiased"
    interval: str = "stratified"
    replacement: bool = False
    first_per_stratum: int | None = None
    round_size: int | None = None
    rounds_in_a_row: int = 1

    def __post_init__(self) -> None:
        set_ = partial(object.__setattr__, self)
        set_("strata", canonical_method(self.strata))
        set_("bins", _whole("bins", self.bins, 1, 1000))
        _one_of("variable", self.variable, VARIABLES)
        _one_of("allocation", self.allocation, ALLOCATIONS)
        _one_of("estimator", self.estimator, ESTIMATORS)
        _one_of("interval", self.interval, tuple(INTERVALS))
        if not isinstance(self.replacement, bool):
            raise DesignError(f"replacement must be True or False, got {self.replacement!r}")
        for name in ("first_per_stratum", "round_size"):
            if getattr(self, name) is not None:
                set_(name, _whole(name, getattr(self, name), 1))
        set_("rounds_in_a_row", _whole("rounds_in_a_row", self.rounds_in_a_row, 1))
        if self.allocation.startswith("opt-a") and self.first_per_stratum is None:
            raise DesignError(
                f"allocation {self.allocation!r} estimates the strata's spread from a first round",
                hint="give first_per_stratum (paper 2 uses 5 or 10)",
            )

    @classmethod
    def bennett_carvalho(
        cls, *, strata: str = "perc", allocation: Allocation = "opt", bins: int = 4
    ) -> Self:
        """Paper 1 as published: Figure 1 with two labels per bin and round, and T = 2.

        ``bins=1`` is the paper's baseline "Random".
        """
        _whole("bins", bins, 1, 1000)
        _one_of("allocation", allocation, ("uni", "pps", "opt"))
        return cls(
            strata=strata,
            bins=bins,
            allocation=allocation,
            estimator="smoothed",
            interval="normal",
            replacement=True,
            first_per_stratum=2,
            round_size=2 * bins,
            rounds_in_a_row=2,
        )

    @classmethod
    def kumar_raj(
        cls,
        *,
        strata: str = "eqsz",
        allocation: Allocation = "opt-a2",
        bins: int = 6,
        first_per_stratum: int = 5,
        round_size: int = 10,
    ) -> Self:
        """Paper 2 as published: a budget, strata by confidence, unbiased estimates.

        The paper gives no interval; Wilson's on the effective sample size is reported.
        """
        _one_of("allocation", allocation, ("pro", "equ", "opt-a1", "opt-a2"))
        adaptive = allocation.startswith("opt-a")
        return cls(
            strata=strata,
            bins=bins,
            variable="confidence",
            allocation=allocation,
            estimator="unbiased",
            interval="wilson",
            replacement=True,
            first_per_stratum=first_per_stratum if adaptive else None,
            round_size=round_size if allocation == "opt-a2" else None,
        )

    @classmethod
    def simple_random(cls) -> Self:
        """Label items at random, whatever their score: what most people do today."""
        return cls(
            bins=1,
            variable="confidence",  # so that accuracy, too, is drawn from one heap
            allocation="pps",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the design as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the design that `to_dict` was called on."""
        return cls(**_known_fields(cls, values))

    def to_json(self) -> str:
        """Return the design as JSON text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the design that `to_json` was called on."""
        return cls.from_dict(_parse("design", text))


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
        Stop after so many answers. At least one of `within` and `budget` is needed.
    confidence : float
        Between 0 and 1.

    Examples
    --------
    >>> Goal("precision", within=0.02).worst_case
    2401
    """

    metric: str
    within: float | None = None
    budget: int | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        set_ = partial(object.__setattr__, self)
        set_("metric", canonical_metric(self.metric))
        if self.within is None and self.budget is None:
            raise DesignError(
                "no goal: neither `within` nor `budget` was given",
                hint="within=0.02 stops at ±2%, budget=500 after 500 labels",
            )
        if self.within is not None:
            hint = "0.02 means ±2 percentage points"
            set_("within", _between("within", self.within, 0.0, 0.5, hint=hint))
        if self.budget is not None:
            set_("budget", _whole("budget", self.budget, 1))
        hint = "0.95 means 95%"
        set_("confidence", _between("confidence", self.confidence, 0.0, 1.0, hint=hint))

    @property
    def worst_case(self) -> int:
        """Labels that random sampling from an endless population would need at a rate of 1/2."""
        if self.within is None:
            return cast(int, self.budget)
        needed = ceil(ndtri((1 + self.confidence) / 2) ** 2 / (4 * self.within**2))
        return needed if self.budget is None else min(needed, self.budget)

    def to_dict(self) -> dict[str, Any]:
        """Return the goal as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the goal that `to_dict` was called on."""
        return cls(**_known_fields(cls, values))


def check_together(design: Design, goal: Goal, n_strata: int) -> None:
    """Raise where the design cannot serve the goal on so many strata."""
    if goal.budget is None and design.allocation == "opt-a1":
        raise DesignError(
            "allocation 'opt-a1' shares out a fixed budget in one step, and no budget was given",
            hint="give a budget, or use allocation='opt-a2'",
        )
    if goal.budget is not None and design.allocation.startswith("opt-a"):
        first = (design.first_per_stratum or 0) * n_strata
        if goal.budget < first:
            raise DesignError(
                f"a budget of {goal.budget} does not cover the first round",
                details=f"{n_strata} strata with {design.first_per_stratum} labels each: {first}",
                hint=f"use a budget of at least {first}, fewer bins, or a smaller first round",
            )


def _whole(name: str, value: object, low: int, high: int | None = None) -> int:
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if number >= low and (high is None or number <= high):
            return number
    upper = "" if high is None else f" and at most {high}"
    raise DesignError(f"{name} must be a whole number of at least {low}{upper}, got {value!r}")


def _between(name: str, value: object, low: float, high: float, *, hint: str) -> float:
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if low < number < high:
            return number
    raise DesignError(
        f"{name} must be a number between {low:g} and {high:g} (exclusive), got {value!r}",
        hint=hint,
    )


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise DesignError(
            f"unknown {name} {value!r}",
            details=f"{name}: {', '.join(known)}",
            hint=did_you_mean(str(value), known),
        )


def _known_fields(cls: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise DesignError(f"expected the fields of a {cls.__name__}, got {values!r}")
    known = [field.name for field in fields(cls)]
    for name in values:
        _one_of("field", name, tuple(known))
    return dict(values)


def _parse(what: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise DesignError(f"the {what} is not valid JSON: {error}") from None
