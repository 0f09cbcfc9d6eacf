"""Drift of the rates by a stop at a narrow interval, to first order, and the value without it.

An evaluation that stops when its interval is narrow stops sooner where luck has made it narrow. If
V is the metric's variance at a given number of labels, as a function of the stratum totals T, the
time of the stop is in proportion to V, and the totals at the stop are off by

    E[T_k at the stop] - T_k = -Var(T_k) d ln V / d T_k,

to first order (as in Woodroofe's expansions for sequential estimates [1]_). With one stratum, of
rate p, that is -(1 - 2p)/n: at the stop there is about one error too few. For a metric whose
denominator is estimated the slope has two more terms: with G_h = (a_h - m b_h) N_h / D, v_h the
variance of the rate, and D the denominator,

    d ln V / d T_k = G_k^2 (1 - 2 p_k) / (n_k N_k V)
                     - 2 g_k sum_h (G_h N_h v_h b_h) / (D V) - 2 b_k / D.

A recall that is underestimated has a large denominator, and so a narrow interval: such an
evaluation stops too soon.

The formula holds without replacement, too, with the smaller Var(T_k): (x_n - n p)/(N - n) is a
martingale, and where V is to be the same the odds n/(N - n) follow p (1 - p) as n does otherwise.

The interval counts about one outcome more than was seen (`core.stratified`), so its width follows
what was seen a little less than V does: of the first term V/(V + V_1) remains, V_1 the variance of
a single outcome. Of the other two, half is allowed for: that removes the lean in simulation
(docs/certainty.md), and we know no argument for it.

References
----------
.. [1] M. Woodroofe (1982). Nonlinear Renewal Theory in Sequential Analysis. SIAM.
"""

from dataclasses import dataclass

import numpy as np

from assay.core.forms import Metric
from assay.core.types import Floats

_SHARE = 0.5  # of the shift that an estimated denominator makes: what is allowed for


@dataclass(frozen=True, eq=False)
class Drift:
    """By how much the stop has misled each stratum's rate, to first order; shape (..., H)."""

    # n, x: labels, and those with the outcome.
    n: Floats
    x: Floats
    # plain, bent: what is to be added to the rates: for the variances of the rates, and for the
    # metric's own denominator. The latter is 0 where the denominator is known.
    plain: Floats
    bent: Floats

    def corrected(self, *, plain: bool = True) -> Floats:
        """Return the outcomes with the shift made good; without `plain`, the bent part of it.

        Rates move by their odds, so that they stay between 0 and 1 where few labels would have
        them leave.
        """
        shift = _SHARE * self.bent + (self.plain if plain else 0.0)
        p = (self.x + 0.5) / (self.n + 1)
        down = self.x / (1 + np.maximum(-shift, 0.0) / p)
        up = self.n - (self.n - self.x) / (1 + np.maximum(shift, 0.0) / (1 - p))
        return np.where(shift < 0, down, up)


def drift_of(N: Floats, n: Floats, x: Floats, left: Floats, metric: Metric) -> Drift:
    """Return what the stop has done to the rates, up to sign: what is to be added to them.

    `N`, `n`, `x`, (..., H): stratum sizes, labels and outcomes; `left`, (..., H): the share of each
    stratum's variance that is left; 0 where all is known.

    One stratum, eight errors in eighty: somewhat less than one error is missing.

    >>> from assay.core.forms import ratio
    >>> N, n, x = np.array([1e6]), np.array([80.0]), np.array([72.0])
    >>> drift = drift_of(N, n, x, np.ones(1), ratio("precision", N, np.array([True])))
    >>> (n * drift.plain).round(2), drift.corrected().round(2), drift.bent
    (array([-0.7]), array([71.3]), array([-0.]))
    """
    # What strata that look clean may hide is no reason why luck has narrowed the interval.
    seen = np.where(n > 0, x, 0.5) / np.maximum(n, 1.0)
    slope = metric.gradient(N * seen) * N
    each = slope**2 * seen * (1 - seen) / np.maximum(n, 1.0) * left
    total = each.sum(axis=-1, keepdims=True)
    share = each / np.where(total > 0, total, 1.0)
    one = (share * (slope / np.maximum(n, 1.0)) ** 2 * left).sum(axis=-1, keepdims=True)
    follows = total / np.where(total > 0, total + one, 1.0)
    plain = follows * share * (1 - 2 * seen) / np.maximum(n, 1.0) * left
    p = (x + 0.5) / (n + 1)
    v = p * (1 - p) / np.maximum(n, 1.0) * left
    bent = v * N * metric.slope_of_variance(N * p, N * N * v)
    return Drift(n, x, np.asarray(plain), np.asarray(bent))
