"""What an evaluation of several classifiers is for: targets by name, frozen, checked once.

A target is written ``precision:cnn``, ``prevalence``, or ``recall:new - recall:old``, and may say
how exactly it is wanted: ``precision:cnn within 0.02``. A metric without a name is of every
classifier.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

from assay.core.metrics import canonical_metric
from assay.errors import DesignError, did_you_mean
from assay.fields import between, known_fields
from assay.goal import Goal

__all__ = ["ALONE", "JointGoal", "Target", "parse_targets"]

ALONE = "classifier"  # what a single one is called whose several metrics are asked for

_MINUS = re.compile(r"\s+[-−]\s+")
_WITHIN = re.compile(r"^(?P<what>.*\S)\s+within\s+(?P<within>\S+)$")


@dataclass(frozen=True)
class Target:
    """A metric of one classifier, or the difference between two classifiers' metrics.

    Parameters
    ----------
    metric : str
        As in `Goal`.
    classifier : str
        Whose; empty for prevalence, which is nobody's.
    minus : str, optional
        The classifier whose metric is subtracted.
    within : float, optional
        The half-width to stop at.

    Examples
    --------
    >>> Target("precision", "new", minus="old", within=0.02).name
    'precision:new - precision:old'
    """

    metric: str
    classifier: str
    minus: str | None = None
    within: float | None = None

    def __post_init__(self) -> None:
        set_ = partial(object.__setattr__, self)
        set_("metric", canonical_metric(self.metric))
        if self.metric == "prevalence":
            set_("classifier", "")
            if self.minus is not None:
                raise DesignError("prevalence is the same whatever the classifier says")
        elif not self.classifier:
            raise DesignError(
                f"{self.metric} of which classifier?", details="only prevalence is nobody's"
            )
        if self.minus == self.classifier and self.minus is not None:
            raise DesignError(f"{self.name} is 0: both are of one classifier")
        if self.within is not None:
            hint = "0.02 means ±2 percentage points"
            set_("within", between("within", self.within, 0.0, 0.5, hint=hint))

    @property
    def name(self) -> str:
        """The target as it is written."""
        if not self.classifier:
            return self.metric
        first = f"{self.metric}:{self.classifier}"
        return first if self.minus is None else f"{first} - {self.metric}:{self.minus}"


@dataclass(frozen=True)
class JointGoal:
    """What is wanted of several classifiers at once.

    Parameters
    ----------
    targets : tuple of Target
        No two alike.
    budget : int, optional
        Stop after so many answers; needed where a target does not say how exactly it is wanted.
    confidence : float
        Of each target.
    simultaneous : bool
        Of all targets together: each gets a confidence of 1 - (1 - confidence) / targets
        (Bonferroni).
    """

    targets: tuple[Target, ...]
    budget: int | None = None
    confidence: float = 0.95
    simultaneous: bool = False

    def __post_init__(self) -> None:
        if not self.targets:
            raise DesignError("no metric is asked for", hint="metrics=['precision:cnn', ...]")
        names = [target.name for target in self.targets]
        if twice := [name for name in names if names.count(name) > 1]:
            raise DesignError(f"{twice[0]!r} is asked for twice", hint="leave one of them out")
        open_ended = [target.name for target in self.targets if target.within is None]
        if open_ended and self.budget is None:
            raise DesignError(
                f"no goal: neither `within` nor `budget` was given for {open_ended[0]}",
                hint="within=0.02 stops at ±2% of every metric, budget=500 after 500 labels",
            )
        if not isinstance(self.simultaneous, bool):
            raise DesignError(f"simultaneous must be True or False, got {self.simultaneous!r}")
        set_, hint = partial(object.__setattr__, self), "0.95 means 95%"
        set_("confidence", between("confidence", self.confidence, 0.0, 1.0, hint=hint))
        for goal in self.goals:  # checks the budget
            set_("budget", goal.budget)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Each target's goal, at the confidence that is its own."""
        share = len(self.targets) if self.simultaneous else 1
        each = 1 - (1 - self.confidence) / share
        return tuple(
            Goal(target.metric, target.within, self.budget, each) for target in self.targets
        )

    @property
    def worst_case(self) -> int:
        """Labels that the target that needs most would take at random, at a rate of 1/2."""
        return max(goal.worst_case for goal in self.goals)

    def to_dict(self) -> dict[str, Any]:
        """Return the goal as plain values."""
        return {**asdict(self), "targets": [asdict(target) for target in self.targets]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the goal that `to_dict` was called on."""
        found = known_fields(cls, values)
        targets = tuple(Target(**known_fields(Target, each)) for each in found["targets"])
        return cls(**{**found, "targets": targets})


def parse_targets(
    metrics: Iterable[str] | Mapping[str, float],
    classifiers: Sequence[str],
    *,
    within: float | None = None,
) -> tuple[Target, ...]:
    """Return the targets that are asked for by name.

    Parameters
    ----------
    metrics : names, or mapping of names to half-widths
        As above.
    classifiers : sequence of str
        The names that there are.
    within : float, optional
        The half-width of targets that do not say theirs.

    Examples
    --------
    >>> targets = parse_targets(["precision:a", "recall:a - recall:b within 0.05"], ["a", "b"],
    ...                         within=0.02)
    >>> [(target.name, target.within) for target in targets]
    [('precision:a', 0.02), ('recall:a - recall:b', 0.05)]
    >>> [target.name for target in parse_targets(["f1", "prevalence"], ["a", "b"])]
    ['f1:a', 'f1:b', 'prevalence']
    """
    if isinstance(metrics, str):
        raise DesignError(f"metrics must be several names, got {metrics!r}", hint=f"[{metrics!r}]")
    widths = metrics if isinstance(metrics, Mapping) else None
    targets = []
    for text in metrics:
        if not isinstance(text, str):
            raise DesignError(f"a metric is written like 'precision:cnn', got {text!r}")
        found = _WITHIN.match(text.strip())
        what, said = (found["what"], _number(found["within"], text)) if found else (text, None)
        its_own = None if widths is None else widths[text]
        wanted = next((w for w in (its_own, said, within) if w is not None), None)
        targets += [_target(each, classifiers, wanted) for each in _named(what, classifiers)]
    return tuple(targets)


def _named(text: str, classifiers: Sequence[str]) -> list[str]:
    """Return the same metric of every classifier where none is named."""
    text = text.strip()
    if ":" in text or _MINUS.search(text) or canonical_metric(text) == "prevalence":
        return [text]
    return [f"{text}:{name}" for name in classifiers]


def _target(text: str, classifiers: Sequence[str], within: float | None) -> Target:
    parts = [part.partition(":") for part in _MINUS.split(text)]
    if len(parts) > 2:
        raise DesignError(f"{text!r} is not the difference of two metrics")
    bare = [word.strip() for word, colon, _ in parts if not colon and word.strip() in classifiers]
    if bare or text.count(":") > len(parts):
        raise DesignError(
            f"{text!r} cannot be read",
            details="a metric is METRIC:CLASSIFIER, a difference METRIC:NEW - METRIC:OLD",
            hint=f"say METRIC:{bare[0]}" if bare else "put a space on either side of the minus",
        )
    metrics = [canonical_metric(metric) for metric, _, _ in parts]
    if len(set(metrics)) > 1:
        raise DesignError(
            f"{text!r} is of two different metrics", details="a difference compares like with like"
        )
    names = [
        "" if metric == "prevalence" and not name else _classifier(name.strip(), classifiers, text)
        for metric, (_, _, name) in zip(metrics, parts, strict=True)
    ]
    return Target(metrics[0], names[0], names[1] if len(names) > 1 else None, within)


def _classifier(name: str, classifiers: Sequence[str], text: str) -> str:
    if name in classifiers:
        return name
    problem = f"unknown classifier {name!r} in {text!r}" if name else f"{text!r}: of which?"
    raise DesignError(
        problem,
        details=f"classifiers: {', '.join(classifiers)}",
        hint=did_you_mean(name, classifiers) if name else f"say METRIC:{classifiers[0]}",
    )


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DesignError(
            f"{whole!r}: {text!r} is not a number", hint="for example: precision:cnn within 0.02"
        ) from None
