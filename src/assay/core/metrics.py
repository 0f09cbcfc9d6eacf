"""Metrics, each a linear form in the stratum totals over a function of another.

`METRICS` is the one table. A row says how often a true positive, a false positive, a false negative
and a true negative count in the numerator, and how often in the denominator; all else follows. With
T_h the number of positives in stratum h (T_h = N_h p_h), and no stratum straddling a predicted
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

import numpy as np

from assay.core.types import Bools, Floats
from assay.errors import DesignError, did_you_mean

_TOP = re.compile(r"top_?([0-9]{1,5})(_accuracy)?")


@dataclass(frozen=True)
class Kind:
    """A metric in the table: what counts in it, which way is better, and what it is."""

    # top, bottom: how often true positives, false positives, false negatives and true negatives
    # count in the numerator and in the denominator. What counts in the numerator counts as often in
    # the denominator, and all else that does, once.
    top: tuple[int, int, int, int]
    bottom: tuple[int, int, int, int]
    text: str  # the metric in a line
    better: int = 1  # whether higher is better, lower, or neither
    # Of a metric that sets the two predicted labels against each other. Its numerator is TP TN - FP
    # FN, its denominator (positives * negatives)^power * (said yes * said no)^(1 - power), and
    # `top` and `bottom` say what raises it, and what it is about.
    power: float | None = None
    lowest: float = 0.0  # the least that it can be; the most is 1

    def counts(self, *, said: bool, positive: bool) -> tuple[int, int]:
        """Return how often an item counts in the numerator, and in the denominator."""
        place = 2 * (not said) + (not positive)
        return self.top[place], self.bottom[place]

    def slopes(self, *, said: bool) -> tuple[int, int]:
        """Return what a positive changes in both, where items are predicted so: a_h and b_h."""
        (top, bottom), (top_no, bottom_no) = (
            self.counts(said=said, positive=positive) for positive in (True, False)
        )
        return top - top_no, bottom - bottom_no

    @property
    def forms(self) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
        """What counts in the numerator, and what in the denominator."""
        return self.top, self.bottom

    @property
    def sides(self) -> tuple[bool, ...]:
        """The predicted labels whose items it needs labels for."""
        return tuple(said for said in (True, False) if any(self.slopes(said=said)))

    @property
    def bends(self) -> bool:
        """Whether its denominator depends on the labels."""
        return self.power is not None or any(self.slopes(said=said)[1] for said in (True, False))

    @property
    def depends_on(self) -> str:
        """The class of items that a random sample must find for it: nothing if any will do."""
        if not self.bends:
            return ""
        if self.power is not None:
            return "positives or negatives"
        return "positives" if self.bottom[0] else "negatives"

    @property
    def counts_misses(self) -> bool:
        """Whether it depends on how many positives the classifier misses: recall and F1."""
        return self.bends and self.bottom[2] > 0

    @property
    def is_of_classifier(self) -> bool:
        """Whether it depends on what the classifier says."""
        return any(
            self.counts(said=True, positive=positive) != self.counts(said=False, positive=positive)
            for positive in (True, False)
        )

    def is_told_by(self, *, said: bool) -> bool:
        """Tell whether labels say anything of it where every item is predicted so.

        They do not where its numerator is a constant share of its denominator, or there is none.
        """
        if self.power is not None:
            return False
        (top, bottom), (top_no, bottom_no) = (
            self.counts(said=said, positive=positive) for positive in (True, False)
        )
        return top * bottom_no != top_no * bottom

    def rises(self, *, said: bool) -> bool:
        """Tell whether a positive that is predicted so raises it."""
        a, b = self.slopes(said=said)
        return 2 * a > b  # the slope a - value b, at value 1/2: its sign is the same at any

    def lacks(self, counts: Floats) -> str:
        """Return what it has no value without and `counts` have less than one item of, if any.

        `counts` are the true positives, false positives, false negatives and true negatives.
        """
        if self.power is None:
            return self.depends_on.removesuffix("s") if counts @ np.array(self.bottom) < 1 else ""
        classes = {"positive": counts[0] + counts[2], "negative": counts[1] + counts[3]}
        return next((each for each, items in classes.items() if items < 1), "")

    def value(self, counts: Floats) -> Floats:
        """Return the metric of true and false positives, false and true negatives, (..., 4).

        Where it is not defined, 0; of both classes, the middle of its range.

        >>> METRICS["matthews_correlation"].value(np.array([40.0, 10.0, 10.0, 40.0])).round(3)
        np.float64(0.6)
        """
        top, under, _ = self._parts(counts)
        shift, scale = (0.0, 1.0) if self.power is None else self.scale
        return np.asarray(shift + scale * np.where(under > 0, top, 0.0) / _or_1(under))

    def defined(self, counts: Floats) -> Bools:
        """Tell where the four counts, (..., 4), have a value: the denominator is above 0."""
        return np.asarray(self._parts(counts)[1] > 0)

    def gradient(self, counts: Floats) -> Floats:
        """Return by how much it grows with each of the four counts, (..., 4); 0 where undefined."""
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
        """Its middle, and half of its range: where it is, and by what it is, -1 to 1 times."""
        return (1 + self.lowest) / 2, (1 - self.lowest) / 2

    def _parts(self, counts: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the numerator, the denominator, and the slopes of the latter's logarithm."""
        tp, fp, fn, tn = np.moveaxis(counts, -1, 0)
        if self.power is None:
            bottom = np.array(self.bottom, dtype=np.float64)
            under = counts @ bottom
            return counts @ np.array(self.top), under, bottom / _or_1(under)[..., None]
        sums = (tp + fn, fp + tn, tp + fp, fn + tn)
        powers = (self.power, self.power, 1 - self.power, 1 - self.power)
        under = np.prod([each**power for each, power in zip(sums, powers, strict=True)], axis=0)
        under = np.where(np.min(sums, axis=0) > 0, under, 0.0)
        yes, no, said, unsaid = (
            power / _or_1(each) for each, power in zip(sums, powers, strict=True)
        )
        relative = np.stack([yes + said, no + said, yes + unsaid, no + unsaid], axis=-1)
        return tp * tn - fp * fn, under, relative


def _or_1(values: Floats) -> Floats:
    """Return the values, and 1 for those that are no divisor."""
    return np.asarray(np.where(values > 0, values, 1.0))


METRICS: dict[str, Kind] = {
    "precision": Kind(
        (1, 0, 0, 0), (1, 1, 0, 0), "of what the classifier calls yes, the share that is yes"
    ),
    "recall": Kind(
        (1, 0, 0, 0), (1, 0, 1, 0), "of what is yes, the share that the classifier calls yes"
    ),
    "f1": Kind((2, 0, 0, 0), (2, 1, 1, 0), "the harmonic mean of precision and recall"),
    "accuracy": Kind((1, 0, 0, 1), (1, 1, 1, 1), "the share of predictions that are correct"),
    "false_omission_rate": Kind(
        (0, 0, 1, 0), (0, 0, 1, 1), "of what the classifier calls no, the share that is yes", -1
    ),
    "prevalence": Kind(
        (1, 0, 1, 0), (1, 1, 1, 1), "the share that is yes, whatever the classifier says", 0
    ),
    "specificity": Kind(
        (0, 0, 0, 1), (0, 1, 0, 1), "of what is no, the share that the classifier calls no"
    ),
    "false_positive_rate": Kind(
        (0, 1, 0, 0), (0, 1, 0, 1), "of what is no, the share that the classifier calls yes", -1
    ),
    "negative_predictive_value": Kind(
        (0, 0, 0, 1), (0, 0, 1, 1), "of what the classifier calls no, the share that is no"
    ),
    "balanced_accuracy": Kind(
        (1, 0, 0, 1), (1, 1, 1, 1), "the mean of recall and specificity", power=1.0
    ),
    "matthews_correlation": Kind(
        (1, 0, 0, 1),
        (1, 1, 1, 1),
        "the correlation of what the classifier says with what is so, from -1 to 1",
        power=0.5,
        lowest=-1.0,
    ),
}


def canonical_metric(name: str) -> str:
    """Return the metric's one spelling, or raise.

    >>> canonical_metric("False omission rate"), canonical_metric("F1")
    ('false_omission_rate', 'f1')
    """
    known = str(name).strip().lower().replace(" ", "_").replace("-", "_")
    if known not in METRICS:
        raise DesignError(
            f"unknown metric {name!r}",
            details=f"metrics: {', '.join(METRICS)}",
            hint=did_you_mean(known, METRICS),
        )
    return known


def sides(metric: str) -> tuple[bool, ...]:
    """Return the predicted labels whose items the metric needs labels for.

    >>> sides("precision"), sides("recall")
    ((True,), (True, False))
    """
    return METRICS[canonical_metric(metric)].sides


def top_of(metric: object) -> int | None:
    """Return the k of a metric that is top-k accuracy, however it is spelt; None for others.

    >>> top_of("top_5_accuracy"), top_of("Top-5 accuracy"), top_of("top5"), top_of("accuracy")
    (5, 5, 5, None)
    """
    known = str(metric).strip().lower().replace(" ", "_").replace("-", "_")
    found = _TOP.fullmatch(known)
    return None if found is None else int(found[1])


def asks_for_top(metrics: Iterable[object]) -> bool:
    """Tell whether top-k accuracy is among metrics as they are asked for.

    >>> asks_for_top(["accuracy", "top-5-accuracy:new within 0.02"])
    True
    """
    words = (str(text).partition(":")[0].partition(" within ")[0] for text in metrics)
    return any(top_of(word) is not None for word in words)


def refuse_bad_top(metric: str, classes: int) -> None:
    """Raise where top-k accuracy is 1 whatever is labelled, or there is no k.

    >>> refuse_bad_top("top_3_accuracy", 3)
    Traceback (most recent call last):
    assay.errors.DesignError: top_3_accuracy of 3 classes is 1 whatever the labels say
    k is at least 1 and less than the number of classes
    hint: say top_2_accuracy
    """
    k = top_of(metric)
    if k is not None and not 1 <= k < classes:
        told = "has no class" if k < 1 else "is 1 whatever the labels say"
        raise DesignError(
            f"{metric} of {classes:,} classes {told}",
            details="k is at least 1 and less than the number of classes",
            hint=f"say top_{min(max(k, 1), classes - 1)}_accuracy",
        )
