"""Variances of a stratified estimate when the stratum rates are known (paper 2, Eqs. 2-13).

Notation: W_h = N_h / N, p_h the stratum's true rate, S_h^2 its variance with divisor N_h - 1.

A decision. Paper 2 states Eq. 2, V = S^2/n, "assuming sampling with replacement". Exactly, a
draw with replacement has variance p(1-p)/n, which is S^2/n times (N-1)/N, and a draw without
replacement has S^2/n times (1 - n/N). Equation 2 as printed is neither, though the difference
vanishes as N grows. `of_rate` gives the two exact values, each checked against enumeration; the
closed forms `proportional`, `equal` and `optimal` are Eqs. 7, 8 and 10 as printed.
"""

import numpy as np

from assay.core.types import Floats


def stratum_variance(N: Floats, p: Floats) -> Floats:
    """Return S^2 = N/(N-1) p(1-p) (paper 2, Lemma 1); 0 in a stratum of one item.

    Examples
    --------
    >>> stratum_variance(np.array([4.0, 1.0]), np.array([0.5, 1.0]))
    array([0.33333333, 0.        ])
    """
    return np.asarray(p * (1 - p) * N / np.maximum(N - 1, 1))


def of_rate(N: Floats, p: Floats, n: Floats, *, replacement: bool) -> Floats:
    """Return the exact variance of x/n, per stratum, for n >= 1 labels.

    With replacement p(1-p)/n; without, S^2/n (1 - n/N) (paper 1, section 4; paper 2, after Eq. 2).

    Parameters
    ----------
    N, p, n : array, shape (..., H)
        Sizes, rates and labels of the strata.
    replacement : bool
    """
    if replacement:
        return np.asarray(p * (1 - p) / n)
    return np.asarray(stratum_variance(N, p) / n * (1 - n / N))


def _weights(N: Floats) -> Floats:
    return np.asarray(N / N.sum(axis=-1, keepdims=True))


def proportional(N: Floats, S2: Floats, n: float) -> Floats:
    """Return V_pro = sum W_h S_h^2 / n (paper 2, Eq. 7)."""
    return np.asarray((_weights(N) * S2).sum(axis=-1) / n)


def equal(N: Floats, S2: Floats, n: float) -> Floats:
    """Return V_equ = K sum W_h^2 S_h^2 / n (paper 2, Eq. 8)."""
    return np.asarray(N.shape[-1] * (_weights(N) ** 2 * S2).sum(axis=-1) / n)


def optimal(N: Floats, S2: Floats, n: float) -> Floats:
    """Return V_opt = (sum W_h S_h)^2 / n (paper 2, Eq. 10): no allocation of n labels has less."""
    return np.asarray((_weights(N) * np.sqrt(S2)).sum(axis=-1) ** 2 / n)
