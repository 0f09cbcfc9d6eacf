"""Goals: what to estimate, how closely, with floors. Frozen, checked once."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from math import ceil
from typing import Annotated, Any, Self

from assay.core.metrics import METRICS, canonical_metric
from assay.core.rules import refuse
from assay.core.special import z_of
from assay.core.targets import Target, written
from assay.core.types import between, known_names, whole
from assay.errors import DesignError, did_you_mean
from assay.options import CliOption

# Questions for a threshold: the floors that it must keep, as people write them.


FLOORS = ("precision", "recall", "specificity", "negative_predictive_value")
"""Metrics that can have a floor: those that are one linear sum away from it."""

OUTWARD = ("precision", "specificity")
"""Metrics that are harder to keep above a floor the more items are predicted yes."""

EVERY_SCORE = -sys.float_info.max
"""A threshold below every score: while it is searched for, any item may be predicted yes."""

_FLOOR = re.compile(r"([a-z][a-z0-9_ ]*?)\s*(?:>=|≥|is at least)\s*([0-9.]+%?)", re.IGNORECASE)
_MOST_OF = re.compile(r"the most (recall|precision)", re.IGNORECASE)


@dataclass(frozen=True)
class ThresholdQuestion:
    """Floors that a threshold must keep, and the metric to maximise among those that do.

    >>> question = ThresholdQuestion.parse("precision >= 0.9 and the most recall")
    >>> question.floors, question.most, str(question)
    ((('precision', 0.9),), 'recall', 'precision >= 0.9')
    >>> ThresholdQuestion.parse("recall >= 90%").most
    'precision'
    """

    floors: tuple[tuple[str, float], ...]  # metrics, and the floor of each
    # Among the thresholds that keep all floors, the one with the most of it: the lowest, or the
    # highest.
    most: str

    @classmethod
    def parse(cls, text: object) -> Self:
        """Parse a question in its written form."""
        floors, most = [], None
        for part in re.split(r"\s+and\s+|,", str(text).strip()):
            if wanted := _MOST_OF.fullmatch(part.strip()):
                most = wanted[1].lower()
            elif floor := _FLOOR.fullmatch(part.strip()):
                floors.append((_metric(floor[1]), _limit(floor[2])))
            else:
                raise DesignError(
                    f"threshold_for={text!r} is not understood at {part.strip()!r}",
                    details="a floor is a metric, >= and a number",
                    hint="as in threshold_for='precision >= 0.95', 'recall >= 0.9', or 'precision "
                    ">= 0.9 and recall >= 0.5 and the most precision'",
                )
        if not floors or len({metric for metric, _ in floors}) < len(floors):
            raise DesignError(
                f"threshold_for={text!r} has {'no floor' if not floors else 'two of one metric'}",
                hint="as in threshold_for='precision >= 0.95'",
            )
        outward = floors[0][0] in OUTWARD
        return cls(tuple(floors), most or ("recall" if outward else "precision"))

    def __str__(self) -> str:
        floors = " and ".join(f"{metric} >= {limit:g}" for metric, limit in self.floors)
        outward = self.floors[0][0] in OUTWARD
        usual = "recall" if outward else "precision"
        return floors if self.most == usual else f"{floors} and the most {self.most}"


def _metric(name: str) -> str:
    metric = canonical_metric(name.strip().lower().replace(" ", "_"))
    if metric not in FLOORS:
        raise DesignError(
            f"threshold_for= cannot keep a floor under {metric}",
            details=f"metrics that can have a floor: {', '.join(FLOORS)}",
            hint=did_you_mean(metric, FLOORS) or "precision and recall are the usual ones",
        )
    return metric


def _limit(text: str) -> float:
    try:
        limit = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise DesignError(f"threshold_for= has a floor of {text!r}", hint="as in 0.95") from None
    return between("a floor of threshold_for", limit, 0.0, 1.0, hint="0.95 means 95%")


@dataclass(frozen=True, init=False)
class Goal:
    """The goal: one metric or several, with the precision or budget, and the confidence.

    Parameters
    ----------
    metric : str, optional
        Of one metric of one classifier: ``precision``, ``recall``, ``f1``, ``accuracy``,
        ``false_omission_rate``, ``prevalence``, ``specificity``, ``false_positive_rate``,
        ``negative_predictive_value``, ``balanced_accuracy`` or ``matthews_correlation``.
    within : float, optional
        Of one metric: stop when the interval's half-width is at most this.
    budget : int, optional
        Stop after so many answers; needed where a target does not say how exactly it is wanted.
    confidence : float
        Of each target, between 0 and 1.
    at_least : float, optional
        Stop when it is sure whether the metric is at least this. One of `within`, `budget` and
        `at_least` is needed, and `within` and `at_least` are different questions.
    targets : sequence of Target
        Instead of a metric: metrics of classifiers by name, no two alike.
    threshold_for : str, optional
        Another question: for the threshold that keeps floors, ``precision >= 0.95``. It stops when
        no other can have `gain` more of what is wanted, or at the budget.
    gain : float
        As a share: 0.05 is a twentieth more recall.
    sample_of, sample_size : int, optional
        The items are a random sample, so large, of so many, and the metric is that of all these
        (`core.double_sampling`).
    simultaneous : bool
        The confidence is of all targets together: each gets 1 - (1 - confidence) / targets
        (Bonferroni).

    Examples
    --------
    >>> Goal("precision", within=0.02).worst_case
    2401
    >>> goal = Goal(targets=[Target("f1", "new"), Target("f1", "old")], budget=300)
    >>> [target.name for target in goal.targets]
    ['f1:new', 'f1:old']
    """

    targets: tuple[Target, ...]
    budget: int | None
    confidence: float
    simultaneous: bool
    at_least: float | None
    threshold_for: str | None = None
    gain: float = 0.05
    sample_of: int | None = None
    sample_size: int | None = None

    def __init__(
        self,
        metric: str | None = None,
        within: float | None = None,
        budget: int | None = None,
        confidence: float = 0.95,
        at_least: float | None = None,
        *,
        targets: Sequence[Target] = (),
        simultaneous: bool = False,
        threshold_for: str | None = None,
        gain: float = 0.05,
        sample_of: int | None = None,
        sample_size: int | None = None,
    ) -> None:
        set_ = partial(object.__setattr__, self)
        question = None if threshold_for is None else ThresholdQuestion.parse(threshold_for)
        if question is not None and not targets:
            metric = question.floors[0][0]
        set_("threshold_for", None if question is None else str(question))
        set_("gain", between("gain", gain, 0.0, 1.0, hint="0.05 stops where a twentieth is left"))
        set_("targets", tuple(targets) if metric is None else (Target(metric, within=within),))
        set_("budget", None if budget is None else whole("budget", budget, 1))
        hint = "0.95 means 95%"
        set_("confidence", between("confidence", confidence, 0.0, 1.0, hint=hint))
        hint = "0.95 asks whether it is 95% or more"
        limit = None if at_least is None else between("at_least", at_least, 0.0, 1.0, hint=hint)
        set_("at_least", limit)
        if not isinstance(simultaneous, bool):
            raise DesignError(f"simultaneous must be True or False, got {simultaneous!r}")
        set_("simultaneous", simultaneous)
        set_("sample_of", None if sample_of is None else whole("sample_of", sample_of, 1))
        set_("sample_size", None if sample_size is None else whole("sample_size", sample_size, 1))
        self._refuse_bad_targets()
        self._refuse_bad_sample()
        self._refuse_open_end()

    def _refuse_bad_targets(self) -> None:
        if not self.targets:
            raise DesignError("no metric is requested", hint="metrics=['precision:cnn', ...]")
        names = [target.name for target in self.targets]
        if twice := [name for name in names if names.count(name) > 1]:
            raise DesignError(f"{twice[0]!r} is requested twice", hint="leave one of them out")
        if self.threshold_for is not None:
            self._refuse_beside_threshold()
        if self.at_least is None:
            return
        refuse({"at_least": self.at_least, "several": not self.single or len(names) > 1})
        if (within := self.targets[0].within) is not None:
            raise DesignError(
                f"at_least={self.at_least:g} and within={within} cannot be combined",
                details="a yes or no usually needs far fewer labels than a narrow interval",
                hint="leave one out; the interval is reported with either",
            )

    def _refuse_beside_threshold(self) -> None:
        given = {"at_least": self.at_least, "within": self.targets[0].within}
        for name, value in given.items():
            if value is not None:
                raise DesignError(
                    f"{name}={value:g} and threshold_for={self.threshold_for!r} cannot be combined",
                    details="which threshold to take, and how good a classifier is at its own",
                    hint=f"leave out {name}=, or threshold_for=",
                )
        if not self.single or len(self.targets) > 1:
            raise DesignError(
                f"threshold_for={self.threshold_for!r} works with one unnamed classifier",
                hint="leave out classifiers= and metrics=, and give its score=",
            )

    def _refuse_bad_sample(self) -> None:
        if self.sample_of is None:
            return
        bet = self.at_least is not None or self.threshold_for is not None
        refuse({"sample_of": self.sample_of, "several": not self.single, "bet": bet})
        if self.sample_size is not None and self.sample_size > self.sample_of:
            raise DesignError(
                f"{self.sample_size:,} items cannot be a sample of {self.sample_of:,}",
                details="sample_of= is the number of items that these were drawn from",
            )

    def _refuse_open_end(self) -> None:
        ends = (self.budget, self.at_least, self.threshold_for)
        if any(each is not None for each in ends):
            return
        for target in self.targets:
            if target.within is None and self.single:
                raise DesignError(
                    "no goal: give `within`, `budget` or `at_least`",
                    hint="within=0.02 stops at ±2%, budget=500 after 500 labels, "
                    "at_least=0.95 at a sure yes or no",
                )
            if target.within is None:
                raise DesignError(
                    f"no goal for {target.name}: give `within` or `budget`",
                    hint="within=0.02 stops at ±2% of every metric, budget=500 after 500 labels",
                )

    @property
    def single(self) -> bool:
        """Whether it is one metric of one unnamed classifier.

        Its items are then cut by score, and labels are allocated for this metric alone
        (`engine.plan`). Named targets are cut by rank and allocated jointly (`core.joint`), even a
        single one: draws of stored campaigns depend on it.
        """
        return self.targets[0].classifier is None

    @property
    def metric(self) -> str:
        """The metric of the only target."""
        return self._only.metric

    @property
    def within(self) -> float | None:
        """The half-width of the only target."""
        return self._only.within

    @property
    def sampled(self) -> float | None:
        """Share of all items that the campaign's items are a sample of; None if they are all."""
        if self.sample_of is None or self.sample_size is None:
            return None
        return self.sample_size / self.sample_of

    @property
    def question(self) -> ThresholdQuestion | None:
        """The floors of a question for a threshold, if there is one."""
        return None if self.threshold_for is None else ThresholdQuestion.parse(self.threshold_for)

    @property
    def _only(self) -> Target:
        (target,) = self.targets
        return target

    @property
    def goals(self) -> tuple["Goal", ...]:
        """Each target's goal, with its own confidence."""
        own = replace(self, confidence=self._each, simultaneous=False)
        return tuple(replace(own, targets=(target,)) for target in self.targets)

    @property
    def _each(self) -> float:
        """The confidence of each target."""
        if not self.simultaneous:
            return self.confidence
        return 1 - (1 - self.confidence) / len(self.targets)

    @property
    def worst_case(self) -> int:
        """Random labels for the target that needs most, at a rate of 1/2.

        From an infinite population. A yes-or-no question has no worst case; it counts as an
        interval of ±0.02, which distinguishes most values.
        """
        return max(self._worst_case(target.within) for target in self.targets)

    def _worst_case(self, within: float | None) -> int:
        if within is None and self.at_least is None and self.budget is not None:
            return self.budget
        needed = ceil(z_of(self._each) ** 2 / (4 * (within or 0.02) ** 2))
        return needed if self.budget is None else min(needed, self.budget)

    def to_dict(self) -> dict[str, Any]:
        """Goal as plain values."""
        values = {name: getattr(self, name) for name in _FIELDS[self.single]}
        if self.threshold_for is not None:
            values |= {name: getattr(self, name) for name in _OF_THRESHOLDS}
        if self.sample_of is not None:
            values |= {name: getattr(self, name) for name in _OF_SAMPLES}
        if not self.single:
            values["targets"] = [target.to_dict() for target in self.targets]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Goal from the result of `to_dict`."""
        single = not isinstance(values, Mapping) or "targets" not in values
        further = (*_OF_THRESHOLDS, *_OF_SAMPLES)
        known_fields = (*_FIELDS[single], *(further if single else ()))
        settings = known_names(cls.__name__, values, known_fields)
        if not single:
            known = tuple(field.name for field in fields(Target))
            each = [known_names("Target", target, known) for target in settings["targets"]]
            settings["targets"] = tuple(Target(**target) for target in each)
        return cls(**settings)


# Stored fields of a goal, in this order: of a single metric, and of named targets.
_FIELDS = {
    True: ("metric", "within", "budget", "confidence", "at_least"),
    False: ("targets", "budget", "confidence", "simultaneous"),
}
_OF_THRESHOLDS = ("threshold_for", "gain")  # and of one that asks for a threshold
_OF_SAMPLES = ("sample_of", "sample_size")  # and of one about more items than there are


_goal = partial(CliOption, panel="Goal")
_number = partial(_goal, typed=float)
_METRICS = (
    f"{', '.join(METRICS)}; repeatable. For several classifiers: precision:cnn, 'recall:cnn within "
    "0.05', 'f1:new - f1:old'; a bare name applies to each. Default: precision."
)
_FLOORS = (
    'Find the threshold that meets a floor: "precision >= 0.95", "recall >= 0.9", or several '
    "joined by and."
)
_WITHIN = "Stop at this half-width of the interval; 0.02 is ±2 points."
_AT_LEAST = "Stop when it is clear whether the metric is at least this."
_GAIN = "With --threshold-for: stop when no threshold can be better by this share."
_ALL = "The predictions are a random sample of this many items; the result is for all of them."


@dataclass(frozen=True)
class Asked:
    """Arguments of a question: what to estimate, how exactly or at what cost; see `Goal`."""

    metric: Annotated[
        str | Iterable[str] | Mapping[str, float] | None, _goal(_METRICS, "METRIC", list[str])
    ] = None
    # As `metric`, for several metrics.
    metrics: Iterable[str] | Mapping[str, float] | None = None
    within: Annotated[float | None, _number(_WITHIN)] = None
    budget: Annotated[int | None, _goal("Stop after this many labels.", typed=int)] = None
    confidence: Annotated[float, _number("Confidence of the interval.")] = 0.95
    simultaneous: Annotated[
        bool, _goal("Apply the confidence to all metrics together, not to each.", typed=bool)
    ] = False
    at_least: Annotated[float | None, _number(_AT_LEAST)] = None
    threshold_for: Annotated[str | None, _goal(_FLOORS, "FLOOR")] = None
    gain: Annotated[float, _number(_GAIN, "SHARE")] = 0.05
    sample_of: Annotated[int | None, _goal(_ALL, "N", int)] = None

    def __post_init__(self) -> None:
        """Accept several metrics under either name."""
        if self.metric is None or isinstance(self.metric, str):
            return
        if self.metrics is not None:
            raise DesignError(
                f"metric={self.metric!r} and metrics={self.metrics!r} both name several",
                hint="leave one of the two out",
            )
        object.__setattr__(self, "metrics", self.metric)
        object.__setattr__(self, "metric", None)

    @property
    def name(self) -> str | None:
        """The single metric, if requested by name."""
        return self.metric if isinstance(self.metric, str) else None

    def goal_of(self, metric: str) -> Goal:
        """Goal for one metric, or for a threshold."""
        names = ("within", "budget", "confidence", "at_least", "threshold_for", "gain", "sample_of")
        options = {name: getattr(self, name) for name in names}
        return Goal(None if self.threshold_for else metric, **options)

    @classmethod
    def again(cls, goal: Goal) -> Self:
        """Arguments that lead to a goal."""
        same = {
            field.name: getattr(goal, field.name)
            for field in fields(cls)
            if field.name not in ("metric", "metrics", "within")
        }
        first, *_ = goal.targets
        if goal.single:
            return cls(first.metric, within=first.within, **same)
        metrics = [written(target.name, target.within) for target in goal.targets]
        return cls(first.metric, metrics, **same)
