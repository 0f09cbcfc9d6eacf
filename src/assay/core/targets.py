"""Targets: a metric of one classifier, or a difference of two, and how exactly it is wanted.

A target is written ``precision:cnn``, ``prevalence``, or ``recall:new - recall:old``, and may say
how exactly it is wanted: ``precision:cnn within 0.02``. A metric without a name is of every
classifier. It may be about a slice: ``precision:cnn[lang=de]``; ``precision:cnn[lang]`` is one
target for every value of the column.

Where items are of more classes than yes and no, a metric is of one class, ``precision:fraud``, or
of all, ``macro_f1``; ``precision`` alone is one target for every class. Of several classifiers the
name of one comes last: ``precision:fraud:cnn``. Where an item may have several classes it is the
same, but that no metric is of all.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from assay.core.metrics import (
    MATRIX_METRICS,
    METRICS,
    canonical_metric,
    is_matrix_metric,
    metric_word,
    refuse_bad_top,
    top_of,
)
from assay.core.types import between
from assay.core.vocabulary import YES_OR_NO, Vocabulary
from assay.errors import DesignError, did_you_mean

ALONE = "classifier"  # name of a single classifier with several metrics

_MINUS = re.compile(r"\s+[-−]\s+")

_SLICE = re.compile(r"\[\s*([^\[\]]*?)\s*\]")

_NARROWEST = 1e-9  # half-width
_WITHIN = re.compile(r"^(?P<what>.*\S)\s+within\s+(?P<within>\S+)$")


@dataclass(frozen=True)
class Target:
    """A metric of one classifier, or the difference between two classifiers' metrics.

    >>> Target("precision", "new", minus="old", within=0.02).name
    'precision:new - precision:old'
    >>> Target("recall", "new", slice="lang=de").name
    'recall:new[lang=de]'
    >>> Target("recall", "new", label="fraud").name, Target("Macro F1", "new", label="").name
    ('recall:fraud:new', 'macro_f1:new')
    """

    metric: str  # a name of `core.metrics.METRICS`
    # The classifier; empty for prevalence, which has none. None for a single one without a name.
    classifier: str | None = None
    minus: str | None = None  # the classifier whose metric is subtracted
    within: float | None = None  # the half-width to stop at
    slice: str | None = None  # the group of items that it is about; default: all
    # With more classes than yes and no: the class, or "" for a metric of all
    # (`core.metrics.MATRIX_METRICS`)
    label: str | None = None

    def __post_init__(self) -> None:
        set_ = partial(object.__setattr__, self)
        set_("metric", canonical_metric(self.metric, of_all=self.label == ""))
        if self.label is None and not METRICS[self.metric].is_of_classifier:
            if self.classifier:
                set_("classifier", "")
            if self.minus is not None:
                raise DesignError(f"{self.metric} does not depend on the classifier")
        elif self.classifier == "":
            raise DesignError(
                f"{self.metric} needs a classifier", details="only prevalence needs no classifier"
            )
        if self.minus == self.classifier and self.minus is not None:
            raise DesignError(f"{self.name} is 0: both are of one classifier")
        if self.within is not None:
            hint = "0.02 means ±2 percentage points"
            set_("within", between("within", self.within, 0.0, 0.5, hint=hint))
            if self.within < _NARROWEST:
                raise DesignError(
                    f"within={self.within:g} is less than one item in a billion",
                    hint="0.001 is ±0.1 percentage points",
                )

    @property
    def name(self) -> str:
        """The target in its written form."""
        among = "" if self.slice is None else f"[{self.slice}]"
        metric = f"{self.metric}:{self.label}" if self.label else self.metric
        if not self.classifier or (self.label is not None and not name_of(self.classifier)):
            return f"{metric}{among}"
        first = f"{metric}:{self.classifier}{among}"
        return first if self.minus is None else f"{first} - {metric}:{self.minus}{among}"

    @property
    def k(self) -> int:
        """The k of a top-k accuracy; 0 for other metrics."""
        return (top_of(self.metric) or 0) if self.label == "" else 0

    @property
    def is_class_mean(self) -> bool:
        """Whether it is a plain mean over the classes."""
        known = MATRIX_METRICS.get(self.metric) if self.label == "" else None
        return known is not None and known.mean_of != ""

    def to_dict(self) -> dict[str, Any]:
        """Target as plain values; two-class targets in the original schema."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name != "label" or value is not None
        }


def written(target: str, within: float | None) -> str:
    """Target with its half-width, if any, as `parse_targets` reads it.

    >>> written("f1:new", 0.02), written("f1:new", None)
    ('f1:new within 0.02', 'f1:new')
    """
    return target if within is None else f"{target} within {within!r}"


def name_of(classifier: str) -> str:
    """Name of a classifier for people: empty if it is the only one."""
    return "" if classifier == ALONE else classifier


def parse_targets(
    metrics: Iterable[str] | Mapping[str, float],  # as above
    classifiers: Sequence[str],  # all names
    *,
    within: float | None = None,  # the half-width of targets without their own
    slices: Sequence[str] = (),  # all slices, such as ``lang=de``
    classes: Vocabulary = YES_OR_NO,  # the classes of items
) -> tuple[Target, ...]:
    """Targets from their written form.

    >>> targets = parse_targets(["precision:a", "recall:a - recall:b within 0.05"], ["a", "b"],
    ...                         within=0.02)
    >>> [(target.name, target.within) for target in targets]
    [('precision:a', 0.02), ('recall:a - recall:b', 0.05)]
    >>> [target.name for target in parse_targets(["f1", "prevalence"], ["a", "b"])]
    ['f1:a', 'f1:b', 'prevalence']
    >>> targets = parse_targets(["f1:a[lang]"], ["a"], slices=["lang=de", "lang=en"])
    >>> [target.name for target in targets]
    ['f1:a[lang=de]', 'f1:a[lang=en]']
    >>> targets = parse_targets(["macro-f1", "recall"], ["a"], classes=Vocabulary(("x", "y")))
    >>> [target.name for target in targets]
    ['macro_f1:a', 'recall:x:a', 'recall:y:a']
    """
    if isinstance(metrics, str):
        raise DesignError(f"metrics must be several names, got {metrics!r}", hint=f"[{metrics!r}]")
    widths = metrics if isinstance(metrics, Mapping) else None
    targets = []
    for text in metrics:
        if not isinstance(text, str):
            raise DesignError(f"a metric is written like 'precision:cnn', got {text!r}")
        match = _WITHIN.match(text.strip())
        what, width = (match["what"], _number(match["within"], text)) if match else (text, None)
        own_width = None if widths is None else widths[text]
        wanted = next((w for w in (own_width, width, within) if w is not None), None)
        if not classes.is_yes_or_no:
            targets += class_targets(what, classifiers, classes, wanted)
            continue
        targets += [
            _target(each, classifiers, wanted, about)
            for about in _slices(what, slices)
            for each in _named(_SLICE.sub("", what), classifiers)
        ]
    return tuple(targets)


def without_slices(name: str) -> str:
    """Name of a target without its slices.

    >>> without_slices("f1:new[lang=de] - f1:old[lang=de]")
    'f1:new - f1:old'
    """
    return _SLICE.sub("", name)


def is_difference(name: str) -> bool:
    """Whether a target of that name is a difference of two.

    >>> is_difference("f1:new - f1:old"), is_difference("f1:new[site=a - b]")
    (True, False)
    """
    return " - " in without_slices(name)


def slices_in(metrics: Iterable[str]) -> tuple[str, ...]:
    """Slices of the requested metrics, each once, as written.

    >>> slices_in(["f1:a[lang]", "f1:a", "f1:b[lang] within 0.1", "f1:a[site=x]"])
    ('lang', 'site=x')
    """
    matches = (each for text in metrics if isinstance(text, str) for each in _SLICE.findall(text))
    return tuple(dict.fromkeys(matches))


def class_targets(
    # METRIC, METRIC:CLASS, METRIC:CLASSIFIER, METRIC:CLASS:CLASSIFIER, or a difference of two.
    text: str,
    # classifiers, classes: all of them. A class may have any name, also with colons in it.
    classifiers: Sequence[str],
    vocabulary: Vocabulary,
    within: float | None,  # the target half-width
) -> list[Target]:
    """Targets that one text stands for, with more than two classes."""
    classes = vocabulary.names
    if "[" in text and text.partition(":")[2] not in classes and text.endswith("]"):
        raise DesignError(
            f"{text!r} asks for a slice, and there are more classes than yes and no",
            hint="leave out the slice; Campaign.slices() shows accuracy by slice afterwards",
        )
    sides = [text]
    if not _reads(text, classifiers, classes) and _MINUS.search(text):
        sides = _halves(text, classifiers, classes)
    of_all = MATRIX_METRICS if vocabulary.has_matrix else {}  # of sets, every metric is of one
    each = [_of_class(side.strip(), classifiers, classes, text, of_all) for side in sides]
    for metric, _, _ in each:
        refuse_bad_top(metric, len(classes))
    (metric, label, new), *others = each
    every = [""] if metric in of_all or top_of(metric) else [*classes]
    labels = every if label is None else [label]
    if not others:
        names = [new] if new else list(classifiers)
        return [Target(metric, name, label=of, within=within) for of in labels for name in names]
    ((other, label_before, old),) = others
    if (metric, label) != (other, label_before) or not new or not old:
        raise DesignError(
            f"{text!r} cannot be read",
            details="a difference is of one metric of two classifiers: METRIC:NEW - METRIC:OLD, or "
            "METRIC:CLASS:NEW - METRIC:CLASS:OLD",
        )
    return [Target(metric, new, minus=old, within=within, label=of) for of in labels]


_Read = tuple[str, str | None, str]


def _reads(text: str, classifiers: Sequence[str], classes: Sequence[str]) -> bool:
    rest = text.partition(":")[2]
    before, _, last = rest.rpartition(":")
    return rest in classes or rest in classifiers or (before in classes and last in classifiers)


def _halves(text: str, classifiers: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Both sides of a difference; a class name may contain a minus."""
    splits = [(text[: one.start()], text[one.end() :]) for one in _MINUS.finditer(text)]
    for sides in splits:
        if all(_reads(side, classifiers, classes) for side in sides):
            return [*sides]
    return [*splits[0]]


def _of_class(
    text: str,  # one side of a difference, or the whole text
    classifiers: Sequence[str],
    classes: Sequence[str],
    whole: str,  # the whole text
    of_all: Container[str],  # all metrics of all classes
) -> _Read:
    """Metric, class and classifier that a text names; "" where missing."""
    word, _, rest = text.partition(":")
    known = metric_word(word)
    if not of_all and is_matrix_metric(known) and known not in METRICS:
        raise DesignError(
            f"{whole!r} is of items that have one class each, and an item may have several",
            details="where it may, a metric is of one class: precision:CLASS, recall:CLASS, "
            "f1:CLASS; without a class, one of every class",
        )
    if not rest and known in METRICS and known not in of_all:
        return known, None, ""
    named = partial(canonical_metric, of_all=bool(of_all))
    rest = rest.strip()
    before, _, last = rest.rpartition(":")
    if rest in classes:
        return canonical_metric(word), rest, ""
    if rest in classifiers and name_of(rest):
        if known in METRICS and known not in of_all:
            return known, None, rest
        return named(word), None, rest
    if before in classes and last in classifiers:
        return canonical_metric(word), before, last
    if not rest:
        return named(word), None, ""
    few = ", ".join(classes[:8]) + (", …" if len(classes) > 8 else "")
    names = [name for name in classifiers if name_of(name)]
    if before and last in names:
        rest, names = before, []
    raise DesignError(
        f"unknown class {rest!r} in {whole!r}",
        details=f"{len(classes):,} classes: {few}"
        + (f"; classifiers: {', '.join(names)}" if names else ""),
        hint=did_you_mean(rest, [*classes, *names]),
    )


def _slices(text: str, known: Sequence[str]) -> list[str | None]:
    """Slices of one requested metric: one, all values of a column, or none."""
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
    """Repeat the metric for every classifier if none is named."""
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
            hint=f"write METRIC:{bare[0]}" if bare else "put a space on either side of the minus",
        )
    metrics = [canonical_metric(metric) for metric, _, _ in parts]
    if len(set(metrics)) > 1:
        raise DesignError(
            f"{text!r} is of two different metrics",
            details="a difference needs the same metric on both sides",
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
        hint=did_you_mean(name, classifiers) if name else f"write METRIC:{classifiers[0]}",
    )


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DesignError(
            f"{whole!r}: {text!r} is not a number", hint="for example: precision:cnn within 0.02"
        ) from None
