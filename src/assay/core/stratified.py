"""An interval calibrated to be valid when it stops, for strata of any kind.

At a value m of the metric an outcome in stratum h weighs |c_h|, c = a - m b, and the metric is at
least m where E = sum_h w_h e_h is at most B(m): e_h is the rate of the outcomes that lower the
metric, w_h = |c_h| N_h / sum |c| N. The interval has the values m that a test of m does not reject:
its low end is where the upper end of E meets B(m), its high end where the lower end does. If the
weights do not depend on m, one step finds each end; otherwise a root search does. Metrics of both
classes (balanced accuracy) are not linear at any m, but weigh the strata as a recall does: the root
is then the level of recall whose weights lead to totals of that level.

Both ends of E come from the profile likelihood (`core.likelihood`), which does not collapse with
few observed errors. Four corrections make it valid for few labels, adaptive allocation and peeking.

- Half an outcome is added for the upper end: the likelihood of a count is short of its exact tail
  by about that much. It is distributed like the outcomes.
- b more outcomes are added there, and b are removed for the lower end: the cost of a stop at the
  first narrow look. They are distributed like the variance, because a stop biases each stratum by
  its part of that (`core.stratified`).
- If labels followed the errors (`core.allocation`), each stratum is corrected for its luck: x/n
  with n growing as x^eta is short of the rate by about eta/n, so eta is added to x; and the spread
  of few labels is computed with n - 1.
- A metric with an estimated denominator stops early if that is too large. Half of the resulting
  shift (`core.stratified`) is corrected at the end that it affects.

Its coverage is verified by simulation, not by a theorem: see docs/certainty.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.core.differences import Gap
from assay.core.forms import Metric, Ratio
from assay.core.likelihood import Sample, end_rates, find_root, shares
from assay.core.tallies import Tallies, plain_totals
from assay.core.types import Bools, Floats, Ints

# The cost of peeking, in outcomes. Found by simulation, and by dynamic programming for a single
# stratum (docs/certainty.md).
_PEEKING = 0.5
_PLANES = 4  # number of linearisations of a difference of two ratios
_NEAR = 1e-3  # this close to the least or most possible value, that value itself is tried
_ASIDE = 1e-9  # from where some weights are 0


def extra_outcomes(stop: str) -> float:
    """Outcomes b that keep the interval valid under a stopping rule.

    A stop at the estimate ± delta waits for the farther end, and needs no correction.

    >>> [extra_outcomes(stop) for stop in ("width", "centred", "budget")]
    [0.5, 0.0, 0.0]
    """
    return _PEEKING if stop == "width" else 0.0


def weigh(tallies: Tallies, metric: Metric, T: Floats) -> tuple[Floats, Bools]:
    """Weights of the strata's rates in the metric, and whether bad outcomes are the majority.

    Both at the totals T. Weights have sum 1, shape (..., H); a bad outcome is one that lowers the
    metric. The second has shape (..., 1).
    """
    w = shares(metric.weights(T) * tallies.N)
    bad = np.where(metric.rises(T), tallies.n - tallies.x, tallies.x)
    return w, _is_common(w, tallies.n, bad)


def rarer(tallies: Tallies, metric: Metric, T: Floats) -> tuple[Floats, Floats]:
    """Weights of the strata's rates in the metric, and labels with the rarer outcome."""
    w, common = weigh(tallies, metric, T)
    return w, np.where(metric.rises(T) ^ common, tallies.n - tallies.x, tallies.x)


class ValueTests:
    """Tests of a metric's values, by the tallies of parallel evaluations."""

    def __init__(
        self,
        tallies: Tallies,  # of shape (..., H)
        metric: Metric,
        *,
        replacement: bool,  # whether to omit the finite population correction
        confidence: float,
        b: float,  # outcomes for peeking (`extra_outcomes`)
        # Whether labels followed the errors, as `core.allocation` allocates them.
        explored: bool = False,
        stops: bool = True,  # whether the evaluation stops where its interval is narrow
    ) -> None:
        self.shape = np.broadcast_shapes(tallies.N.shape, tallies.n.shape)
        flat = (np.broadcast_to(each, self.shape) for each in (tallies.N, tallies.n, tallies.x))
        self.N, self.n, self.x = (each.reshape(-1, self.shape[-1]) for each in flat)
        self.left = np.ones_like(self.N)
        if not replacement:
            self.left = (self.N - self.n) / np.maximum(self.N - 1, 1.0)
        self.metric, self.explored = metric, explored
        self._confidence, self._b = confidence, b
        self._start = plain_totals(self.N, self.n, self.x)
        self._other = self.x
        if metric.bends and stops:
            shift = drift_of(self.N, self.n, self.x, self.left, metric)
            self._other = shift.corrected(plain=False)

    def ends(self) -> tuple[Floats, Floats]:
        """Interval's ends, shape (...)."""
        value = self.metric.value(self._start)
        if not self.metric.bends:  # the weights are the same at every value
            low, high = self._both(value, value)
        elif isinstance(self.metric, Ratio) and not self.metric.straight:
            low, high = self._of_classes(self.metric, upper=True), self._of_classes(self.metric)
        else:
            g = self.metric.gradient(self._start) * self.N
            p = (self.x + 0.5) / (self.n + 1)
            se = np.sqrt((g * g * p * (1 - p) / np.maximum(self.n, 1.0)).sum(axis=-1))
            low, high = self._root(value - 2 * se, upper=True), self._root(value + 2 * se)
        return low.reshape(self.shape[:-1]), high.reshape(self.shape[:-1])

    def _both(self, low: Floats, high: Floats, *, exactly: bool = True) -> Floats:
        """Metric at both ends of E, with the weights of two values, shape (2, R).

        The upper end of E, which makes the metric low, comes first. Both are computed together,
        since a call of numpy takes nearly as long for one.
        """
        every = np.arange(len(self.N))
        upper = np.repeat([True, False], every.size)
        m = np.concatenate([low, high])
        return self._reached(m, np.tile(every, 2), upper=upper, exactly=exactly).reshape(2, -1)

    def beyond(self, low: Floats, high: Floats) -> Bools:
        """Whether the interval reaches below `low` and above `high`, by a test at each."""
        reached = self._both(low, high, exactly=False)
        return np.asarray((low > reached[0]) & (high < reached[1]))

    def _root(self, guess: Floats, *, upper: bool = False) -> Floats:
        lowest, highest = self.metric.extremes(0 * self.N, self.N)
        inside = np.clip(guess, lowest + 1e-3 * (highest - lowest), highest)
        root = find_root(
            lambda m, which: m - self._reached(m, which, upper=upper), lowest, highest, inside
        )
        # The upper bound of a metric must be attainable: 1 is a value like any other.
        edge = lowest if upper else highest
        near = np.flatnonzero(np.abs(root - edge) < _NEAR)
        if near.size:
            at = self._reached(edge[near] + (_ASIDE if upper else -_ASIDE), near, upper=upper)
            kept = near[at <= edge[near] + _ASIDE if upper else at >= edge[near] - _ASIDE]
            root[kept] = edge[kept]
        if isinstance(self.metric, Gap) and not self.metric.first.straight:
            # Planes may oscillate between two ends; values that either reaches are not rejected.
            every = np.arange(len(self.N))
            values = [self.metric.value(T) for T in self._planes(root, every, upper=upper)]
            farther = (np.minimum if upper else np.maximum).reduce([root, *values])
            root = np.where(np.abs(values[-1] - values[-2]) > _NEAR, farther, root)
        return root

    def _of_classes(self, metric: Ratio, *, upper: bool = False) -> Floats:
        """One end for a metric of both classes, by the level of its slopes (`Ratio.level`)."""

        def end(level: Floats, which: Ints) -> Floats:
            return self._totals(metric.slopes_at(level), which, upper=upper)

        none, guess = np.zeros(len(self.N)), metric.level(self._start)
        level = find_root(
            lambda level, which: level - metric.level(end(level, which)), none, none + 1.0, guess
        )
        return metric.value(end(level, np.arange(level.size)))

    def _reached(
        self, m: Floats, which: Ints, *, upper: Bools | bool = False, exactly: bool = True
    ) -> Floats:
        """Metric at the end of E for the weights at the value m.

        It equals m at an end of the interval; beyond an end it is on the other side of m: c0 + c.T
        = (metric - m) D, with D the denominator. Unless `exactly`, only that side is reliable.
        """
        *_, T = self._planes(m, which, upper=upper, exactly=exactly)
        return self.metric.of(which).value(T)

    def _planes(
        self, m: Floats, which: Ints, *, upper: Bools | bool, exactly: bool = True
    ) -> Iterator[Floats]:
        """Iterate from totals to the plane that touches there, and from that to totals."""
        T, turns = self._start[which], 1 if self.metric.straight else _PLANES
        metric = self.metric.of(which)
        for turn in range(turns):
            last = turn == turns - 1
            c, c0 = metric.plane(m, T)
            T = self._totals(c, which, upper=upper, c0=None if exactly or not last else c0)
            yield T

    def _totals(
        self, c: Floats, which: Ints, *, upper: Bools | bool, c0: Floats | None = None
    ) -> Floats:
        """Totals at the end of E, with the weights |c|; or, with c0, on the way there.

        `c`, (R, H): the metric's gain from an outcome, up to a factor; `which`, (R,): the
        evaluations; `upper`, (R,): which end of E: the upper one makes the metric low; `c0`, (R,):
        if the question is only on which side of c0 + c.T = 0 that end lies.
        """
        N, n, x, other = (each[which] for each in (self.N, self.n, self.x, self._other))
        rises, w = c > 0, shares(np.abs(c) * N)
        B = None
        if c0 is not None:  # E at the tested value of the metric, to first order
            B = (c0 + np.where(rises, c * N, 0.0).sum(axis=-1)) / (np.abs(c) * N).sum(axis=-1)
        either = [np.where(rises, n - each, each) for each in (x, other)]
        up = np.broadcast_to(upper, which.shape)
        bad = np.where(up[:, None], np.maximum(*either), np.minimum(*either))
        common = _is_common(w, n, bad)  # the walks are made for the rarer outcome
        sample = Sample(w, n, np.where(common, n - bad, bad), self.left[which])
        sample = sample.evened() if self.explored else sample
        swapped = common[..., 0]
        beyond = None if B is None else np.where(swapped, 1 - B, B)
        rates = end_rates(sample, self._confidence, self._b, upper=up ^ swapped, beyond=beyond)
        q = np.where(common, 1 - rates, rates)
        return np.asarray(N * np.where(rises, 1 - q, q))


def _is_common(w: Floats, n: Floats, bad: Floats) -> Bools:
    """Whether an outcome is more common than its opposite, (..., 1)."""
    rate = np.where(n > 0, bad, 0.5) / np.maximum(n, 1.0)
    return np.asarray((w * rate).sum(axis=-1, keepdims=True) > 0.5)


# Drift of the rates by a stop at a narrow interval, to first order, and the value without it.
#
# An evaluation that stops when its interval is narrow stops sooner where luck has made it narrow.
# If V is the metric's variance at a given number of labels, as a function of the stratum totals
# T, the time of the stop is in proportion to V, and the totals at the stop are off by
#
#     E[T_k at the stop] - T_k = -Var(T_k) d ln V / d T_k,
#
# to first order (as in Woodroofe's expansions for sequential estimates [1]_). With one stratum, of
# rate p, that is -(1 - 2p)/n: at the stop there is about one error too few. For a metric whose
# denominator is estimated the slope has two more terms: with G_h = (a_h - m b_h) N_h / D, v_h the
# variance of the rate, and D the denominator,
#
#     d ln V / d T_k = G_k^2 (1 - 2 p_k) / (n_k N_k V)
#                      - 2 g_k sum_h (G_h N_h v_h b_h) / (D V) - 2 b_k / D.
#
# A recall that is underestimated has a large denominator, and so a narrow interval: such an
# evaluation stops too soon.
#
# The formula holds without replacement, too, with the smaller Var(T_k): (x_n - n p)/(N - n) is a
# martingale, and where V is to be the same the odds n/(N - n) follow p (1 - p) as n does otherwise.
#
# The interval counts about one outcome more than was seen (`core.stratified`), so its width
# follows what was seen a little less than V does: of the first term V/(V + V_1) remains, V_1 the
# variance of a single outcome. Of the other two, half is allowed for: that removes the lean in
# simulation (docs/certainty.md), and we know no argument for it.
#
# References
# ----------
# .. [1] M. Woodroofe (1982). Nonlinear Renewal Theory in Sequential Analysis. SIAM.


_SHARE = 0.5  # corrected part of the shift from an estimated denominator


@dataclass(frozen=True, eq=False)
class Drift:
    """Bias of each stratum's rate from the stop, to first order; shape (..., H)."""

    # n, x: labels, and those with the outcome.
    n: Floats
    x: Floats
    # plain, bent: corrections of the rates: for the variances of the rates, and for the metric's
    # own denominator. The latter is 0 if the denominator is known.
    plain: Floats
    bent: Floats

    def corrected(self, *, plain: bool = True) -> Floats:
        """Outcomes corrected for the bias; without `plain`, for its bent part only.

        Rates move by their odds, so that they stay between 0 and 1 even with few labels.
        """
        shift = _SHARE * self.bent + (self.plain if plain else 0.0)
        p = (self.x + 0.5) / (self.n + 1)
        down = self.x / (1 + np.maximum(-shift, 0.0) / p)
        up = self.n - (self.n - self.x) / (1 + np.maximum(shift, 0.0) / (1 - p))
        return np.where(shift < 0, down, up)


def drift_of(N: Floats, n: Floats, x: Floats, left: Floats, metric: Metric) -> Drift:
    """Correction of the rates for the bias from the stop.

    `N`, `n`, `x`, (..., H): stratum sizes, labels and outcomes; `left`, (..., H): the finite
    population correction; 0 where all is known.

    One stratum, eight errors in eighty: somewhat less than one error is missing.

    >>> from assay.core.forms import ratio
    >>> N, n, x = np.array([1e6]), np.array([80.0]), np.array([72.0])
    >>> drift = drift_of(N, n, x, np.ones(1), ratio("precision", N, np.array([True])))
    >>> (n * drift.plain).round(2), drift.corrected().round(2), drift.bent
    (array([-0.7]), array([71.3]), array([-0.]))
    """
    # Errors that may be hidden in clean strata do not explain a narrow interval.
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
