"""Metrics, each a linear form in the stratum totals over a function of another.

`TABLE` is the one table. Of two classes, a row says how often a true positive, a false positive, a
false negative and a true negative count in the numerator, and how often in the denominator; all
else follows. Over all classes of several, it names a function of `core.confusion`.

With T_h the number of positives in stratum h (T_h = N_h p_h), and no stratum straddling a predicted
label, T_h are true positives and N_h - T_h false positives in the yes-set, false and true negatives
in the no-set, so that

    metric = (a0 + sum_h a_h T_h) / (b0 + sum_h b_h T_h),

for precision, for example, a = 1 in the yes-set, b0 its size, a0 = 0 and b = 0.

Balanced accuracy and Matthews correlation compare the two sets: with Y and M items in them, and X
and Z positives among these, both are X/Y - Z/M in units of a spread,

    metric = shift + sum_h a_h T_h / (P (N - P))^power,    a = M and -Y, times a constant,

with P = X + Z all positives: power 1 for balanced accuracy, 1/2 for Matthews correlation. A ratio
is the case of a denominator that is P itself (`Ratio` and `Classes` in `core.forms`). As the set
sizes are known, the numerator is linear, TP TN - FP FN = M X - Y Z, and each rises with X and falls
with Z throughout.

For strata that straddle predicted labels (paper 2) the outcome is "the prediction was correct",
T_h counts correct predictions, and accuracy is their sum over N (paper 2, Eqs. 1 and 4).

Differences of two classifiers' metrics are in `core.differences`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from assay.core.confusion import MatrixKind, accuracy, balanced, kappa, macro, matthews, weighted
from assay.core.types import Bools, Floats
from assay.errors import DesignError, did_you_mean

_TOP = re.compile(r"top_?([0-9]{1,5})(_accuracy)?")

_OF_EACH = {"precision": "precisions", "recall": "recalls", "f1": "F1 scores"}


@dataclass(frozen=True)
class Kind:
    """A metric of two classes: its counts, and which direction is better."""

    # top, bottom: how often true positives, false positives, false negatives and true negatives
    # count in the numerator and in the denominator. Items in the numerator count as often in the
    # denominator, and all others in it once.
    top: tuple[int, int, int, int]
    bottom: tuple[int, int, int, int]
    better: int = 1  # whether higher is better, lower, or neither
    # For metrics that compare the two predicted labels. The numerator is TP TN - FP FN, the
    # denominator (positives * negatives)^power * (predicted yes * predicted no)^(1 - power); `top`
    # and `bottom` only list the counts that raise it, and those it is about.
    power: float | None = None
    beyond_chance: bool = False  # whether the denominator is the disagreement expected by chance
    lowest: float = 0.0  # lower bound; the upper bound is 1

    def counts(self, *, predicted: bool, positive: bool) -> tuple[int, int]:
        """How often an item counts in the numerator, and in the denominator."""
        place = 2 * (not predicted) + (not positive)
        return self.top[place], self.bottom[place]

    def slopes(self, *, predicted: bool) -> tuple[int, int]:
        """a_h and b_h: what a positive among items predicted so adds to both."""
        (top, bottom), (top_no, bottom_no) = (
            self.counts(predicted=predicted, positive=positive) for positive in (True, False)
        )
        return top - top_no, bottom - bottom_no

    @property
    def sides(self) -> tuple[bool, ...]:
        """Predicted labels whose items need labels."""
        return tuple(side for side in (True, False) if any(self.slopes(predicted=side)))

    @property
    def bends(self) -> bool:
        """Whether its denominator depends on the labels."""
        return self.power is not None or any(
            self.slopes(predicted=side)[1] for side in (True, False)
        )

    @property
    def depends_on(self) -> str:
        """The class of items that a random sample must contain; empty if any sample will do."""
        if not self.bends:
            return ""
        if self.power is not None:
            return "positives or negatives"
        return "positives" if self.bottom[0] else "negatives"

    @property
    def counts_misses(self) -> bool:
        """Whether it depends on the number of missed positives: recall and F1."""
        return self.bends and self.bottom[2] > 0

    @property
    def is_of_classifier(self) -> bool:
        """Whether it depends on the classifier's predictions."""
        return any(
            self.counts(predicted=True, positive=each)
            != self.counts(predicted=False, positive=each)
            for each in (True, False)
        )

    def depends_on_labels(self, *, predicted: bool) -> bool:
        """Whether labels are informative if every item has this predicted label.

        They are not if its numerator is a constant share of its denominator, or there is none.
        """
        if self.power is not None:
            return False
        (top, bottom), (top_no, bottom_no) = (
            self.counts(predicted=predicted, positive=positive) for positive in (True, False)
        )
        return top * bottom_no != top_no * bottom

    def rises(self, *, predicted: bool) -> bool:
        """Whether a positive with this predicted label raises it."""
        a, b = self.slopes(predicted=predicted)
        return 2 * a > b  # the slope a - value b, at value 1/2: its sign is the same at any

    def lacks(self, counts: Floats) -> str:
        """Class that it requires and of which `counts` have less than one item, if any.

        `counts` are the true positives, false positives, false negatives and true negatives.
        """
        if self.power is None:
            return self.depends_on.removesuffix("s") if counts @ np.array(self.bottom) < 1 else ""
        classes = {"positive": counts[0] + counts[2], "negative": counts[1] + counts[3]}
        return next((each for each, items in classes.items() if items < 1), "")

    def value(self, counts: Floats) -> Floats:
        """Metric of true and false positives, false and true negatives, (..., 4).

        Where undefined, 0; for metrics of both classes, the middle of the range.

        >>> METRICS["matthews_correlation"].value(np.array([40.0, 10.0, 10.0, 40.0])).round(3)
        np.float64(0.6)
        """
        top, under, _ = self._parts(counts)
        shift, scale = (0.0, 1.0) if self.power is None else self.scale
        return np.asarray(shift + scale * np.where(under > 0, top, 0.0) / _or_1(under))

    def defined(self, counts: Floats) -> Bools:
        """Whether the four counts, (..., 4), have a value: the denominator is above 0."""
        return np.asarray(self._parts(counts)[1] > 0)

    def gradient(self, counts: Floats) -> Floats:
        """Slopes in each of the four counts, (..., 4); 0 where undefined."""
        top, under, relative = self._parts(counts)
        tp, fp, fn, tn = np.moveaxis(counts, -1, 0)
        rise, scale = np.array(self.top, dtype=np.float64), 1.0
        if self.power is not None:
            rise, scale = np.stack([tn, -fn, -fp, tp], axis=-1), self.scale[1]
        slopes = scale * (
            rise / _or_1(under)[..., None] - (top / _or_1(under))[..., None] * relative
        )
        return np.asarray(np.where(under[..., None] > 0, slopes, 0.0))

    @property
    def scale(self) -> tuple[float, float]:
        """The middle of its range and half of its width: it is the middle ± at most this half."""
        return (1 + self.lowest) / 2, (1 - self.lowest) / 2

    def _parts(self, counts: Floats) -> tuple[Floats, Floats, Floats]:
        """Numerator, the denominator, and the slopes of the latter's logarithm."""
        tp, fp, fn, tn = np.moveaxis(counts, -1, 0)
        if self.power is None:
            bottom = np.array(self.bottom, dtype=np.float64)
            under = counts @ bottom
            return counts @ np.array(self.top), under, bottom / _or_1(under)[..., None]
        sums = yes, no, predicted, rejected = (tp + fn, fp + tn, tp + fp, fn + tn)
        if self.beyond_chance:
            under = (predicted * no + yes * rejected) / 2
            moved = (
                np.stack([no + rejected, no + predicted, rejected + yes, predicted + yes], axis=-1)
                / 2
            )
            return tp * tn - fp * fn, under, moved / _or_1(under)[..., None]
        powers = (self.power, self.power, 1 - self.power, 1 - self.power)
        under = np.prod([each**power for each, power in zip(sums, powers, strict=True)], axis=0)
        under = np.where(np.min(sums, axis=0) > 0, under, 0.0)
        yes, no, predicted, rejected = (
            power / _or_1(each) for each, power in zip(sums, powers, strict=True)
        )
        relative = np.stack(
            [yes + predicted, no + predicted, yes + rejected, no + rejected], axis=-1
        )
        return tp * tn - fp * fn, under, relative


def _or_1(values: Floats) -> Floats:
    """Values, with 1 in place of values that are no divisor."""
    return np.asarray(np.where(values > 0, values, 1.0))


@dataclass(frozen=True)
class Row:
    """A metric in the table, as it is of two classes and over all classes of several."""

    text: str  # one-line description
    two: Kind | None = None
    all: MatrixKind | None = None


_BOTH, _EVERY = (1, 0, 0, 1), (1, 1, 1, 1)  # right predictions, all items

TABLE: dict[str, Row] = {
    "precision": Row(
        "share of predicted positives that are positive", Kind((1, 0, 0, 0), (1, 1, 0, 0))
    ),
    "recall": Row(
        "share of positives that are predicted positive", Kind((1, 0, 0, 0), (1, 0, 1, 0))
    ),
    "f1": Row("harmonic mean of precision and recall", Kind((2, 0, 0, 0), (2, 1, 1, 0))),
    "accuracy": Row("share of correct predictions", Kind(_BOTH, _EVERY), MatrixKind(accuracy)),
    "false_omission_rate": Row(
        "share of predicted negatives that are positive", Kind((0, 0, 1, 0), (0, 0, 1, 1), -1)
    ),
    "prevalence": Row("share of positives among all items", Kind((1, 0, 1, 0), _EVERY, 0)),
    "specificity": Row(
        "share of negatives that are predicted negative", Kind((0, 0, 0, 1), (0, 1, 0, 1))
    ),
    "false_positive_rate": Row(
        "share of negatives that are predicted positive", Kind((0, 1, 0, 0), (0, 1, 0, 1), -1)
    ),
    "negative_predictive_value": Row(
        "share of predicted negatives that are negative", Kind((0, 0, 0, 1), (0, 0, 1, 1))
    ),
    **{
        f"macro_{name}": Row(
            f"mean of the classes' {each}", all=MatrixKind(partial(macro, name), mean_of=name)
        )
        for name, each in _OF_EACH.items()
    },
    **{
        f"weighted_{name}": Row(
            f"mean of the classes' {each}, weighted by size",
            all=MatrixKind(partial(weighted, name)),
        )
        for name, each in _OF_EACH.items()
    },
    "balanced_accuracy": Row(
        "mean of recall and specificity",  # of several classes: of the recalls of those that occur
        Kind(_BOTH, _EVERY, power=1.0),
        MatrixKind(balanced, mean_of="recall", only_true=True),
    ),
    "cohen_kappa": Row(
        "agreement of prediction and truth beyond chance", all=MatrixKind(kappa, -1.0)
    ),
    "matthews_correlation": Row(
        "correlation of prediction and truth, from -1 to 1",
        Kind(_BOTH, _EVERY, power=0.5, lowest=-1.0),
        MatrixKind(matthews, -1.0),
    ),
}

METRICS = {name: row.two for name, row in TABLE.items() if row.two}
"""Metrics of two classes, or of one class of several."""

MATRIX_METRICS = {name: row.all for name, row in TABLE.items() if row.all}
"""Metrics over all classes. Micro averages equal accuracy, as each item has one predicted class."""

_SAME = {
    **dict.fromkeys(("micro_f1", "micro_precision", "micro_recall"), "accuracy"),
    "kappa": "cohen_kappa",
    "mcc": "matthews_correlation",
}

KAPPA = Kind(_BOTH, _EVERY, power=1.0, beyond_chance=True, lowest=-1.0)
"""Cohen's kappa of two raters, who say yes or no: of a judge and people."""


def kind_of(metric: str) -> Kind:
    """Definition of a metric, by any spelling of its name; or `KAPPA`."""
    return KAPPA if metric == "kappa" else METRICS[canonical_metric(metric)]


def metric_word(name: object) -> str:
    """Metric's name in canonical spelling, whether it is known or not."""
    return str(name).strip().lower().replace(" ", "_").replace("-", "_")


def canonical_metric(name: str, *, of_all: bool = False) -> str:
    """Canonical name of a metric of two classes, or `of_all` classes; raise if it is unknown.

    >>> canonical_metric("False omission rate"), canonical_metric("F1")
    ('false_omission_rate', 'f1')
    >>> canonical_metric("Macro-F1", of_all=True), canonical_metric("micro f1", of_all=True)
    ('macro_f1', 'accuracy')
    >>> canonical_metric("top-5-accuracy", of_all=True)
    'top_5_accuracy'
    """
    known = metric_word(name)
    words, about, details = [*METRICS], "", "metrics: {}"
    if of_all:
        known = _SAME.get(known, known)
        if (k := top_of(known)) is not None:
            return f"top_{k}_accuracy"
        words, about = [*MATRIX_METRICS, *_SAME, "top_5_accuracy"], " of several classes"
        details = "over all classes: {}; of one, precision:CLASS, recall:CLASS, f1:CLASS"
    if known not in words:
        raise DesignError(
            f"unknown metric {name!r}{about}",
            details=details.format(", ".join(words)),
            hint=did_you_mean(known, words),
        )
    return known


def is_matrix_metric(name: str) -> bool:
    """Whether a metric, by its canonical name, is over all classes."""
    return name in MATRIX_METRICS or top_of(name) is not None


def sides(metric: str) -> tuple[bool, ...]:
    """Predicted labels whose items the metric needs labels for.

    >>> sides("precision"), sides("recall")
    ((True,), (True, False))
    """
    return METRICS[canonical_metric(metric)].sides


def top_of(metric: object) -> int | None:
    """Value k of a top-k accuracy, in any spelling; None for other metrics.

    >>> top_of("top_5_accuracy"), top_of("Top-5 accuracy"), top_of("top5"), top_of("accuracy")
    (5, 5, 5, None)
    """
    known = metric_word(metric)
    match = _TOP.fullmatch(known)
    return None if match is None else int(match[1])


def asks_for_top(metrics: Iterable[object]) -> bool:
    """Whether top-k accuracy is among the requested metrics.

    >>> asks_for_top(["accuracy", "top-5-accuracy:new within 0.02"])
    True
    """
    return any(k is not None for k in _tops(metrics))


def least_top(metrics: Iterable[object]) -> int:
    """Least k of the requested top-k accuracies; 1 if another metric is requested, too.

    Its outcome holds least often, so such a target takes the most labels.

    >>> least_top(["top_5_accuracy:new within 0.02"]), least_top(["top5", "accuracy"])
    (5, 1)
    """
    return min((k or 1 for k in _tops(metrics)), default=1)


def _tops(metrics: Iterable[object]) -> list[int | None]:
    """Value k of each requested metric; None for metrics other than top-k accuracy."""
    return [top_of(str(text).partition(":")[0].partition(" within ")[0]) for text in metrics]


def refuse_bad_top(metric: str, classes: int) -> None:
    """Raise if top-k accuracy is 1 for any labels, or k is missing.

    >>> refuse_bad_top("top_3_accuracy", 3)
    Traceback (most recent call last):
    assay.errors.DesignError: top_3_accuracy of 3 classes is 1 whatever the labels say
    k is at least 1 and less than the number of classes
    hint: use top_2_accuracy
    """
    k = top_of(metric)
    if k is not None and not 1 <= k < classes:
        problem = "has no class" if k < 1 else "is 1 whatever the labels say"
        raise DesignError(
            f"{metric} of {classes:,} classes {problem}",
            details="k is at least 1 and less than the number of classes",
            hint=f"use top_{min(max(k, 1), classes - 1)}_accuracy",
        )
