"""Goals and targets: what an evaluation is to estimate, and how closely. Frozen, checked once."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from math import ceil
from numbers import Integral, Real
from typing import Any, Self, cast

from scipy.special import ndtri

from assay.core.metrics import METRICS, canonical_metric
from assay.errors import DesignError, did_you_mean

# Checks of the fields of designs and goals: each returns the field as it is kept, or raises.


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return a whole number from `low` to `high`.

    Parameters
    ----------
    name : str
        Of the parameter, for the error.
    value
        What was given.
    low, high : int
        The least and, where there is one, the most.
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if number >= low and (high is None or number <= high):
            return number
    upper = "" if high is None else f" and at most {high}"
    raise DesignError(f"{name} must be a whole number of at least {low}{upper}, got {value!r}")


def between(name: str, value: object, low: float, high: float, *, hint: str) -> float:
    """Return a number strictly between two others.

    Parameters
    ----------
    name : str
        Of the parameter, for the error.
    value
        What was given.
    low, high : float
        What it must lie between.
    hint : str
        What to do about it.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if low < number < high:
            return number
    raise DesignError(
        f"{name} must be a number between {low:g} and {high:g} (exclusive), got {value!r}",
        hint=hint,
    )


def one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse a word that is none of those known."""
    if not isinstance(value, str) or value not in known:
        raise DesignError(
            f"unknown {name} {value!r}",
            details=f"{name}: {', '.join(known)}",
            hint=did_you_mean(str(value), known),
        )


def known_names(what: str, values: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """Return stored values, all of which have the name of a field."""
    if not isinstance(values, Mapping):
        raise DesignError(f"expected the fields of a {what}, got {values!r}")
    for name in values:
        one_of("field", name, known)
    return dict(values)


def parse(what: str, text: str) -> Any:
    """Return what JSON text holds."""
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise DesignError(f"the {what} is not valid JSON: {error}") from None


# What an evaluation is for: targets by name, frozen, checked once.
#
# A target is written ``precision:cnn``, ``prevalence``, or ``recall:new - recall:old``, and may
# say how exactly it is wanted: ``precision:cnn within 0.02``. A metric without a name is of every
# classifier. It may be about a slice: ``precision:cnn[lang=de]``; ``precision:cnn[lang]`` is one
# target for every value of the column.

ALONE = "classifier"  # what a single one is called whose several metrics are asked for

_MINUS = re.compile(r"\s+[-−]\s+")
_SLICE = re.compile(r"\[\s*([^\[\]]*?)\s*\]")
_WITHIN = re.compile(r"^(?P<what>.*\S)\s+within\s+(?P<within>\S+)$")


@dataclass(frozen=True)
class Target:
    """A metric of one classifier, or the difference between two classifiers' metrics.

    Parameters
    ----------
    metric : str
        A name of `core.metrics.METRICS`.
    classifier : str, optional
        Whose; empty for prevalence, which is nobody's. None for the only one, which has no name.
    minus : str, optional
        The classifier whose metric is subtracted.
    within : float, optional
        The half-width to stop at.
    slice : str, optional
        The group of items that it is about; otherwise all.

    Examples
    --------
    >>> Target("precision", "new", minus="old", within=0.02).name
    'precision:new - precision:old'
    >>> Target("recall", "new", slice="lang=de").name
    'recall:new[lang=de]'
    """

    metric: str
    classifier: str | None = None
    minus: str | None = None
    within: float | None = None
    slice: str | None = None

    def __post_init__(self) -> None:
        set_ = partial(object.__setattr__, self)
        set_("metric", canonical_metric(self.metric))
        if not METRICS[self.metric].is_of_classifier:
            if self.classifier:
                set_("classifier", "")
            if self.minus is not None:
                raise DesignError(f"{self.metric} is the same whatever the classifier says")
        elif self.classifier == "":
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
        among = "" if self.slice is None else f"[{self.slice}]"
        if not self.classifier:
            return f"{self.metric}{among}"
        first = f"{self.metric}:{self.classifier}{among}"
        return first if self.minus is None else f"{first} - {self.metric}:{self.minus}{among}"


@dataclass(frozen=True, init=False)
class Goal:
    """What is wanted: one metric or several, how exactly or at what cost, and how surely.

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
    ) -> None:
        set_ = partial(object.__setattr__, self)
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
        self._refuse_bad_targets()
        self._refuse_open_end()

    def _refuse_bad_targets(self) -> None:
        if not self.targets:
            raise DesignError("no metric is asked for", hint="metrics=['precision:cnn', ...]")
        names = [target.name for target in self.targets]
        if twice := [name for name in names if names.count(name) > 1]:
            raise DesignError(f"{twice[0]!r} is asked for twice", hint="leave one of them out")
        if self.at_least is None:
            return
        if len(names) > 1:
            raise DesignError(
                f"at_least={self.at_least:g} with {len(names)} metrics",
                details="a sure yes or no rests on bets, and cards are drawn with the chances that "
                "make the bets on one metric fair; drawn for several, they are fair for none",
                hint="make a campaign for the metric that is asked about, or leave out at_least",
            )
        if (within := self.targets[0].within) is not None:
            raise DesignError(
                f"at_least={self.at_least:g} and within={within} are two questions",
                details="a yes or no needs no narrow interval, and usually far fewer labels",
                hint="leave one out; the interval is reported with either",
            )

    def _refuse_open_end(self) -> None:
        if self.budget is not None or self.at_least is not None:
            return
        for target in self.targets:
            if target.within is None and self.single:
                raise DesignError(
                    "no goal: neither `within` nor `budget` nor `at_least` was given",
                    hint="within=0.02 stops at ±2%, budget=500 after 500 labels, "
                    "at_least=0.95 at a sure yes or no",
                )
            if target.within is None:
                raise DesignError(
                    f"no goal: neither `within` nor `budget` was given for {target.name}",
                    hint="within=0.02 stops at ±2% of every metric, budget=500 after 500 labels",
                )

    @property
    def single(self) -> bool:
        """Whether it is one metric of one classifier without a name.

        Its items are then cut by score, and labels go where this metric alone needs them
        (`engine.plan`). Named targets are cut by rank and allocated jointly (`core.joint`), also
        where there is one: draws of campaigns that are stored rest on it.
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
    def _only(self) -> Target:
        (target,) = self.targets
        return target

    @property
    def goals(self) -> tuple["Goal", ...]:
        """Each target's goal, at the confidence that is its own."""
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
        """Labels that the target that needs most would take at random, at a rate of 1/2.

        From an endless population. A yes or no has no worst case; it counts as an interval of
        ±0.02, which tells most apart.
        """
        return max(self._worst_case(target.within) for target in self.targets)

    def _worst_case(self, within: float | None) -> int:
        if within is None and self.at_least is None:
            return cast(int, self.budget)
        needed = ceil(ndtri((1 + self._each) / 2) ** 2 / (4 * (within or 0.02) ** 2))
        return needed if self.budget is None else min(needed, self.budget)

    def to_dict(self) -> dict[str, Any]:
        """Return the goal as plain values."""
        values = {name: getattr(self, name) for name in _FIELDS[self.single]}
        if not self.single:
            values["targets"] = [asdict(target) for target in self.targets]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the goal that `to_dict` was called on."""
        single = not isinstance(values, Mapping) or "targets" not in values
        found = known_names(cls.__name__, values, _FIELDS[single])
        if not single:
            known = tuple(field.name for field in fields(Target))
            each = [known_names("Target", target, known) for target in found["targets"]]
            found["targets"] = tuple(Target(**target) for target in each)
        return cls(**found)


# What is stored of a goal, in this order: of a single metric, and of targets by name.
_FIELDS = {
    True: ("metric", "within", "budget", "confidence", "at_least"),
    False: ("targets", "budget", "confidence", "simultaneous"),
}


def parse_targets(
    metrics: Iterable[str] | Mapping[str, float],
    classifiers: Sequence[str],
    *,
    within: float | None = None,
    slices: Sequence[str] = (),
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
    slices : sequence of str
        Those that there are, such as ``lang=de``.

    Examples
    --------
    >>> targets = parse_targets(["precision:a", "recall:a - recall:b within 0.05"], ["a", "b"],
    ...                         within=0.02)
    >>> [(target.name, target.within) for target in targets]
    [('precision:a', 0.02), ('recall:a - recall:b', 0.05)]
    >>> [target.name for target in parse_targets(["f1", "prevalence"], ["a", "b"])]
    ['f1:a', 'f1:b', 'prevalence']
    >>> targets = parse_targets(["f1:a[lang]"], ["a"], slices=["lang=de", "lang=en"])
    >>> [target.name for target in targets]
    ['f1:a[lang=de]', 'f1:a[lang=en]']
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
        targets += [
            _target(each, classifiers, wanted, about)
            for about in _slices(what, slices)
            for each in _named(_SLICE.sub("", what), classifiers)
        ]
    return tuple(targets)


def without_slices(name: str) -> str:
    """Return a target's name without the slices that it is about.

    Examples
    --------
    >>> without_slices("f1:new[lang=de] - f1:old[lang=de]")
    'f1:new - f1:old'
    """
    return _SLICE.sub("", name)


def is_difference(name: str) -> bool:
    """Tell whether a target of that name is the difference of two.

    Examples
    --------
    >>> is_difference("f1:new - f1:old"), is_difference("f1:new[site=a - b]")
    (True, False)
    """
    return " - " in without_slices(name)


def slices_in(metrics: Iterable[str]) -> tuple[str, ...]:
    """Return the slices that metrics are asked for of, each once, as they are written.

    Examples
    --------
    >>> slices_in(["f1:a[lang]", "f1:a", "f1:b[lang] within 0.1", "f1:a[site=x]"])
    ('lang', 'site=x')
    """
    found = (each for text in metrics if isinstance(text, str) for each in _SLICE.findall(text))
    return tuple(dict.fromkeys(found))


def _slices(text: str, known: Sequence[str]) -> list[str | None]:
    """Return the slices that one metric is asked for of: one, all values of a column, or none."""
    written, around = _SLICE.findall(text), _SLICE.sub("", text)
    if not written and not set("[]") & set(around):
        return [None]
    sides = len(_MINUS.split(around))
    if len(written) != sides or len(set(written)) > 1 or set("[]") & set(around) or not written[0]:
        raise DesignError(
            f"{text!r} cannot be read",
            details="a metric of a slice is METRIC:CLASSIFIER[COLUMN=VALUE]; both sides of a "
            "difference are of the same one",
        )
    meant = [name for name in known if name == written[0] or name.startswith(f"{written[0]}=")]
    if not meant:
        raise DesignError(
            f"unknown slice {written[0]!r} in {text!r}",
            details=f"slices: {', '.join(known) or 'none'}",
            hint=did_you_mean(written[0], known),
        )
    return [*meant]


def _named(text: str, classifiers: Sequence[str]) -> list[str]:
    """Return the same metric of every classifier where none is named."""
    text = text.strip()
    if ":" in text or _MINUS.search(text) or not METRICS[canonical_metric(text)].is_of_classifier:
        return [text]
    return [f"{text}:{name}" for name in classifiers]


def _target(
    text: str, classifiers: Sequence[str], within: float | None, slice: str | None
) -> Target:
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
        _classifier(name.strip(), classifiers, text)
        if name or METRICS[metric].is_of_classifier
        else ""
        for metric, (_, _, name) in zip(metrics, parts, strict=True)
    ]
    return Target(metrics[0], names[0], names[1] if len(names) > 1 else None, within, slice)


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
