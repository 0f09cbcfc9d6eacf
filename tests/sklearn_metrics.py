"""Every metric by scikit-learn: what Assay must say when every item is labelled."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from sklearn import metrics as sk

from assay.core.metrics import METRICS
from assay.core.types import Bools


def complement(score: float) -> float:
    """Return 1 - score, rounded once: both are fractions with small denominators."""
    return float(1 - Fraction(score).limit_denominator(10**6))


SKLEARN: dict[str, Callable[[Bools, Bools], float]] = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "accuracy": sk.accuracy_score,
    "false_omission_rate": lambda truth, said: complement(sk.precision_score(~truth, ~said)),
    "prevalence": lambda truth, _said: float(np.mean(truth)),
    "specificity": lambda truth, said: sk.recall_score(~truth, ~said),
    "false_positive_rate": lambda truth, said: complement(sk.recall_score(~truth, ~said)),
    "negative_predictive_value": lambda truth, said: sk.precision_score(~truth, ~said),
    "balanced_accuracy": sk.balanced_accuracy_score,
    "matthews_correlation": sk.matthews_corrcoef,
}
assert SKLEARN.keys() == METRICS.keys()
