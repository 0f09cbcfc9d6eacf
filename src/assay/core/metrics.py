"""Every metric as a ratio of two linear forms in the stratum totals.

With T_h the number of positives in stratum h (T_h = N_h p_h), and no stratum straddling a
predicted label,

    metric = (a0 + sum_h a_h T_h) / (b0 + sum_h b_h T_h).

| metric              | a0             | a               | b0              | b            |
|---------------------|----------------|-----------------|-----------------|--------------|
| precision           | 0              | 1 in the yes-set| size of yes-set | 0            |
| accuracy            | size of no-set | +1 yes, -1 no   | N               | 0            |
| recall              | 0              | 1 in the yes-set| 0               | 1 everywhere |
| false omission rate | 0              | 1 in the no-set | size of no-set  | 0            |
| F1                  | 0              | 2 in the yes-set| size of yes-set | 1 everywhere |
| prevalence          | 0              | 1 everywhere    | N               | 0            |

For strata that straddle predicted labels (paper 2) the outcome is "the prediction was correct",
T_h counts correct predictions, and accuracy is their sum over N (paper 2, Eqs. 1 and 4).
"""

from dataclasses import dataclass

import numpy as np

from assay.core.types import Bools, Floats
from assay.errors import DesignError, did_you_mean

__all__ = ["METRICS", "Ratio", "canonical_metric", "ratio", "sides"]

METRICS: dict[str, str] = {
    "precision": "of what the classifier calls yes, the share that is yes",
    "recall": "of what is yes, the share that the classifier calls yes",
    "f1": "the harmonic mean of precision and recall",
    "accuracy": "the share of predictions that are correct",
    "false_omission_rate": "of what the classifier calls no, the share that is yes",
    "prevalence": "the share that is yes, whatever the classifier says",
}


def canonical_metric(name: str) -> str:
    """Return the metric's one spelling, or raise.

    Examples
    --------
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

    Examples
    --------
    >>> sides("precision"), sides("recall")
    ((True,), (True, False))
    """
    one_sided = {"precision": (True,), "false_omission_rate": (False,)}
    return one_sided.get(canonical_metric(metric), (True, False))


@dataclass(frozen=True, eq=False)
class Ratio:
    """A metric: (a0 + a.T) / (b0 + b.T) for stratum totals T of shape (..., H)."""

    a0: float
    a: Floats
    b0: float
    b: Floats

    def denominator(self, T: Floats) -> Floats:
        """Return b0 + b.T; where it is zero the metric is not defined."""
        return np.asarray(self.b0 + (self.b * T).sum(axis=-1))

    def value(self, T: Floats) -> Floats:
        """Return the metric; 0 where it is not defined, as scikit-learn does."""
        top = self.a0 + (self.a * T).sum(axis=-1)
        bottom = self.denominator(T)
        return np.asarray(np.where(bottom > 0, top, 0.0) / np.where(bottom > 0, bottom, 1.0))

    def gradient(self, T: Floats) -> Floats:
        """Return d metric / d T_h = (a_h - metric * b_h) / (b0 + b.T); 0 where not defined."""
        bottom = self.denominator(T)[..., None]
        slope = self.a - self.value(T)[..., None] * self.b
        return np.asarray(np.where(bottom > 0, slope, 0.0) / np.where(bottom > 0, bottom, 1.0))

    @property
    def rises(self) -> Bools:
        """Where more outcomes raise the metric; elsewhere they lower it.

        Each metric of the table rises or falls in each T_h throughout: more positives called yes
        never lower recall, more called no never raise it.
        """
        return np.asarray(np.where(self.a != 0, self.a, -self.b) > 0)

    def extremes(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Return the metric's smallest and largest value when least <= T <= most."""
        lowest = self.value(np.where(self.rises, least, most))
        highest = self.value(np.where(self.rises, most, least))
        return lowest, highest


def ratio(metric: str, N: Floats, says_yes: Bools | None) -> Ratio:
    """Return the metric's coefficients for strata of sizes `N`.

    Parameters
    ----------
    metric : str
        A name of `METRICS`.
    N : array, shape (H,)
        Stratum sizes. For a one-sided metric only that side's strata need be there.
    says_yes : array of bool, shape (H,), or None
        Whether the classifier says yes to the stratum's items. None: strata straddle predicted
        labels and the outcome is "the prediction was correct"; only accuracy can be read off those.

    Examples
    --------
    >>> N, yes = np.array([10.0, 90.0]), np.array([True, False])
    >>> ratio("recall", N, yes).value(np.array([8.0, 2.0]))
    array(0.8)
    """
    name = canonical_metric(metric)
    everywhere = np.ones_like(N)
    if says_yes is None:
        if name != "accuracy":
            raise DesignError(
                f"{name} cannot be read off strata that mix predicted labels",
                hint="use variable='score', which keeps the strata apart, or metric='accuracy'",
            )
        return Ratio(0.0, everywhere, float(N.sum()), np.zeros_like(N))
    yes = says_yes.astype(np.float64)
    size, yes_size = float(N.sum()), float((N * yes).sum())
    no_size = size - yes_size
    table = {
        "precision": (0.0, yes, yes_size, 0 * everywhere),
        "recall": (0.0, yes, 0.0, everywhere),
        "f1": (0.0, 2 * yes, yes_size, everywhere),
        "accuracy": (no_size, 2 * yes - 1, size, 0 * everywhere),
        "false_omission_rate": (0.0, 1 - yes, no_size, 0 * everywhere),
        "prevalence": (0.0, everywhere, size, 0 * everywhere),
    }
    return Ratio(*table[name])
