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
    f"{', '.join(METRICS)}; repeatable. Of several classifiers: precision:cnn, 'recall:cnn within "
    "0.05', 'f1:new - f1:old'; a bare name is of each. Left out: precision."
)
_FLOORS = (
    'Find the threshold that keeps a floor: "precision >= 0.95", "recall >= 0.9", or several with '
    "and."
)
_ALL = "The predictions are a random sample of so many items: the answer is about all."


@dataclass(frozen=True)
class Asked:
    """What an evaluation is to tell, how exactly or at what cost; `Goal` is this, understood."""

    metric: Annotated[
        str | Iterable[str] | Mapping[str, float] | None, _goal(_METRICS, "METRIC", list[str])
    ] = None
    # As `metric`, of several: what that is when it is no single name.
    metrics: Iterable[str] | Mapping[str, float] | None = None
    within: Annotated[float | None, _number("Stop at this half-width; 0.02 is ±2 points.")] = None
    budget: Annotated[int | None, _goal("Stop after so many answers.", typed=int)] = None
    confidence: Annotated[float, _number("How sure the answer must be.")] = 0.95
    simultaneous: Annotated[
        bool, _goal("Be so sure of all metrics at once, not of each.", typed=bool)
    ] = False
    at_least: Annotated[float | None, _number("Stop at a sure yes or no: is it at least this?")] = (
        None
    )
    threshold_for: Annotated[str | None, _goal(_FLOORS, "FLOOR")] = None
    gain: Annotated[
        float, _number("With --threshold-for: over when no other has so much more.", "SHARE")
    ] = 0.05
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
