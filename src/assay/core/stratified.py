"""An interval that is made to be right when it stops, for strata of any kind.

At a value m of the metric an outcome in stratum h weighs |c_h|, c = a - m b, and the metric is at
least m where E = sum_h w_h e_h is at most B(m): e_h is the rate of the outcomes that lower the
metric, w_h = |c_h| N_h / sum |c| N. The interval has the values that a test at that very value does
not reject: its low end is where the upper end of E meets B(m), its high end where the lower end
does. Where the weights do not depend on m one step finds each; else the root is searched for.
Metrics of both classes (balanced accuracy) are not linear at any m, but weigh the strata as a
recall does: the root is then the level of recall whose weights lead to totals of that level.

Both ends of E come from the profile likelihood (`core.likelihood`), which does not collapse when
few errors have been seen. Four things make it honest for few labels, adaptive allocation and
peeking.

- Half an outcome is added before the upper end is sought: the likelihood of a count falls short of
  its exact tail by about that much. It is shared out as the outcomes themselves are.
- b outcomes more are added there, and b are taken away before the lower end is sought: what a stop
  at the first narrow look costs. They are shared out as the variance is, because a stop misleads
  each stratum by its part of that (`core.drift`).
- Where labels followed the errors (`core.allocation`), each stratum gets back what its luck has
  hidden: x/n with n growing as x^eta falls short of the rate by about eta/n, so eta is added to x;
  and the spread of few labels is taken with n - 1.
- A metric whose denominator is estimated stops early where that came out too large. Half of the
  shift that this makes (`core.drift`) is allowed for at the end that it would spoil.

Found right in simulation, not by a theorem: see docs/certainty.md.
"""

from collections.abc import Iterator

import numpy as np

from assay.core.differences import Gap
from assay.core.drift import drift_of
from assay.core.forms import Metric, Ratio
from assay.core.likelihood import Sample, end_rates, find_root, shares
from assay.core.tallies import Tallies, plain_totals
from assay.core.types import Bools, Floats, Ints

# What peeking costs, in outcomes. Found by simulation, and by dynamic programming for a single
# stratum (docs/certainty.md).
_PEEKING = 0.5
_PLANES = 4  # times that a difference of two ratios is made linear anew
_NEAR = 1e-3  # so near to the least or most that there is, that is tried itself
_ASIDE = 1e-9  # from where some weights are 0


def extra_outcomes(stop: str) -> float:
    """Return the outcomes b that keep the interval right under a stopping rule.

    A stop at the estimate ± delta waits for the farther end, and needs none.

    >>> [extra_outcomes(stop) for stop in ("width", "centred", "budget")]
    [0.5, 0.0, 0.0]
    """
    return _PEEKING if stop == "width" else 0.0


def weigh(tallies: Tallies, metric: Metric, T: Floats) -> tuple[Floats, Bools]:
    """Return what a stratum's rate weighs in the metric, and whether bad outcomes are the rule.

    Both at the totals T. Weights have sum 1, shape (..., H); a bad outcome is one that lowers the
    metric. The second has shape (..., 1).
    """
    w = shares(metric.weights(T) * tallies.N)
    bad = np.where(metric.rises(T), tallies.n - tallies.x, tallies.x)
    return w, _is_common(w, tallies.n, bad)


def rarer(tallies: Tallies, metric: Metric, T: Floats) -> tuple[Floats, Floats]:
    """Return what a stratum's rate weighs in the metric, and its labels with the rarer outcome."""
    w, common = weigh(tallies, metric, T)
    return w, np.where(metric.rises(T) ^ common, tallies.n - tallies.x, tallies.x)


class ValueTests:
    """Tests of a metric's values, by the tallies of evaluations side by side."""

    def __init__(
        self,
        tallies: Tallies,  # of shape (..., H)
        metric: Metric,
        *,
        replacement: bool,  # whether the correction for a finite population is left out
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
        """Return the interval's ends, of shape (...)."""
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
        """Return the metric at both ends of E, with the weights of two values, shape (2, R).

        The upper end of E comes first, which makes the metric low. Both are found at once, since a
        call of numpy takes nearly as long for one.
        """
        every = np.arange(len(self.N))
        upper = np.repeat([True, False], every.size)
        m = np.concatenate([low, high])
        return self._reached(m, np.tile(every, 2), upper=upper, exactly=exactly).reshape(2, -1)

    def beyond(self, low: Floats, high: Floats) -> Bools:
        """Tell where the interval reaches below `low` and above `high`, by a test at each."""
        reached = self._both(low, high, exactly=False)
        return np.asarray((low > reached[0]) & (high < reached[1]))

    def _root(self, guess: Floats, *, upper: bool = False) -> Floats:
        lowest, highest = self.metric.extremes(0 * self.N, self.N)
        inside = np.clip(guess, lowest + 1e-3 * (highest - lowest), highest)
        found = find_root(
            lambda m, which: m - self._reached(m, which, upper=upper), lowest, highest, inside
        )
        # What the metric cannot exceed is not merely come near to: 1 is a value like any other.
        edge = lowest if upper else highest
        near = np.flatnonzero(np.abs(found - edge) < _NEAR)
        if near.size:
            at = self._reached(edge[near] + (_ASIDE if upper else -_ASIDE), near, upper=upper)
            kept = near[at <= edge[near] + _ASIDE if upper else at >= edge[near] - _ASIDE]
            found[kept] = edge[kept]
        if isinstance(self.metric, Gap) and not self.metric.first.straight:
            # Planes may swing between two ends; what either reaches is not rejected.
            every = np.arange(len(self.N))
            values = [self.metric.value(T) for T in self._planes(found, every, upper=upper)]
            farther = (np.minimum if upper else np.maximum).reduce([found, *values])
            found = np.where(np.abs(values[-1] - values[-2]) > _NEAR, farther, found)
        return found

    def _of_classes(self, metric: Ratio, *, upper: bool = False) -> Floats:
        """Return an end of a metric of both classes, by the level of its slopes (`Ratio.level`)."""

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
        """Return the metric at the end of E that is found with the weights of the value m.

        It is m itself where m is an end of the interval, and on the other side of an end it is on
        the other side of m: c0 + c.T = (metric - m) D, with D the denominator. That side is all
        that is told unless `exactly`.
        """
        *_, T = self._planes(m, which, upper=upper, exactly=exactly)
        return self.metric.of(which).value(T)

    def _planes(
        self, m: Floats, which: Ints, *, upper: Bools | bool, exactly: bool = True
    ) -> Iterator[Floats]:
        """Go from totals to the plane that touches there, and from that to totals."""
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
        """Return the totals at the end of E, with the weights |c|; or, with c0, on the way there.

        `c`, (R, H): what the metric gains by an outcome, up to a factor; `which`, (R,): the
        evaluations; `upper`, (R,): which end of E: the upper one makes the metric low; `c0`, (R,):
        where it is only asked on which side of c0 + c.T = 0 that end lies.
        """
        N, n, x, other = (each[which] for each in (self.N, self.n, self.x, self._other))
        rises, w = c > 0, shares(np.abs(c) * N)
        B = None
        if c0 is not None:  # E where the metric is what it is tested for, to first order
            B = (c0 + np.where(rises, c * N, 0.0).sum(axis=-1)) / (np.abs(c) * N).sum(axis=-1)
        either = [np.where(rises, n - each, each) for each in (x, other)]
        up = np.broadcast_to(upper, which.shape)
        bad = np.where(up[:, None], np.maximum(*either), np.minimum(*either))
        common = _is_common(w, n, bad)  # the walks are made for the rarer outcome
        sample = Sample(w, n, np.where(common, n - bad, bad), self.left[which])
        sample = sample.evened() if self.explored else sample
        swapped = common[..., 0]
        beyond = None if B is None else np.where(swapped, 1 - B, B)
        found = end_rates(sample, self._confidence, self._b, upper=up ^ swapped, beyond=beyond)
        q = np.where(common, 1 - found, found)
        return np.asarray(N * np.where(rises, 1 - q, q))


def _is_common(w: Floats, n: Floats, bad: Floats) -> Bools:
    """Tell where an outcome is more common than its opposite, (..., 1)."""
    rate = np.where(n > 0, bad, 0.5) / np.maximum(n, 1.0)
    return np.asarray((w * rate).sum(axis=-1, keepdims=True) > 0.5)
