"""Allocation that goes where the errors are and never quite stops looking elsewhere."""

import numpy as np

from assay.core.types import Floats

__all__ = ["exploring_shares"]

_PRIOR = 2.0  # labels that the overall rate weighs in each stratum's
_FLOOR = 0.1  # the share of labels that always goes by weight alone
_TRUST = 32.0  # outcomes seen at which half of the labels still go by weight alone


def exploring_shares(w: Floats, n: Floats, x: Floats) -> Floats:
    """Return the share of all labels that each stratum should have had, of shape (..., H).

    Neyman's allocation from a stratum's own counts starves strata that looked clean early, and an
    error hidden there is then never found. Here a stratum's spread is that of a Beta posterior
    whose prior leans on the overall rate, and a part kappa of the labels goes by weight alone:
    all at first, half once 32 outcomes have been seen, and never less than a tenth.

    Parameters
    ----------
    w, n, x : array, shape (..., H)
        What a stratum's rate weighs in the metric; its labels; and those with the outcome, the
        rarer of the two.

    Examples
    --------
    >>> w = np.full(2, 0.5)
    >>> exploring_shares(w, np.array([100.0, 100.0]), np.array([40.0, 0.0])).round(2)
    array([0.65, 0.35])
    """
    w = w / w.sum(axis=-1, keepdims=True)
    labels, found = n.sum(axis=-1, keepdims=True), x.sum(axis=-1, keepdims=True)
    rate = (w * np.where(n > 0, x, 0.0) / np.maximum(n, 1.0)).sum(axis=-1, keepdims=True)
    overall = (labels * rate + 0.5) / (labels + 1)
    a, b = x + _PRIOR * (1 + overall), n - x + _PRIOR * (1 - overall)
    spread = w * np.sqrt(a * b / ((a + b) * (a + b + 1)))
    kappa = np.maximum(_FLOOR, 1 / (1 + found / _TRUST))
    return np.asarray((1 - kappa) * spread / spread.sum(axis=-1, keepdims=True) + kappa * w)
