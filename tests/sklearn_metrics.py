"""Every metric by scikit-learn: what Assay must say when every item is labelled."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn import metrics as sk

from assay.core.metrics import METRICS


def complement(score: float) -> float:
    """Return 1 - score, rounded once where both are fractions with small denominators."""
    near = Fraction(score).limit_denominator(10**6)
    return float(1 - near) if float(near) == score else 1 - score


SKLEARN: dict[str, Callable[..., float]] = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "accuracy": sk.accuracy_score,
    "false_omission_rate": lambda truth, said, **of: complement(
        sk.precision_score(~truth, ~said, **of)
    ),
    "prevalence": lambda truth, _said, sample_weight=None: float(
        np.average(truth, weights=sample_weight)
    ),
    "specificity": lambda truth, said, **of: sk.recall_score(~truth, ~said, **of),
    "false_positive_rate": lambda truth, said, **of: complement(
        sk.recall_score(~truth, ~said, **of)
    ),
    "negative_predictive_value": lambda truth, said, **of: sk.precision_score(~truth, ~said, **of),
    "balanced_accuracy": sk.balanced_accuracy_score,
    "matthews_correlation": sk.matthews_corrcoef,
}
assert SKLEARN.keys() == METRICS.keys()


def value_of(metric: str, truth: Any, said: Any, **of: Any) -> float:
    """Return a metric of yes and no, over all classes, or of one class, as in "recall:cs"."""
    name, _, label = metric.partition(":")
    if label:
        return SKLEARN[name](truth == label, said == label, **of)
    mean, _, score = name.partition("_")
    if mean in ("macro", "weighted"):
        return SKLEARN[score](truth, said, average=mean, zero_division=0, **of)
    if name == "cohen_kappa":
        return float(sk.cohen_kappa_score(truth, said, **of))
    return SKLEARN[name](truth, said, **of)
