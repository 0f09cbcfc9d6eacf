"""Asked: what is asked of predictions, before it is known what they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Self

from assay.core.goal import Goal
from assay.core.metrics import METRICS
from assay.core.targets import written
from assay.errors import DesignError
from assay.options import Told

_goal = partial(Told, panel="Goal")
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
    """What an evaluation is to tell, how exactly or at what cost; `Goal` is this, understood."""

    metric: Annotated[
        str | Iterable[str] | Mapping[str, float] | None, _goal(_METRICS, "METRIC", list[str])
    ] = None
    # As `metric`, of several: what that is when it is no single name.
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
        """Take several metrics by either name."""
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
        """The single metric that is asked for by its name."""
        return self.metric if isinstance(self.metric, str) else None

    def goal_of(self, metric: str) -> Goal:
        """Return the goal of one metric, or of a threshold."""
        names = ("within", "budget", "confidence", "at_least", "threshold_for", "gain", "sample_of")
        said = {name: getattr(self, name) for name in names}
        return Goal(None if self.threshold_for else metric, **said)

    @classmethod
    def again(cls, goal: Goal) -> Self:
        """Return what was asked for, where a goal is known."""
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
