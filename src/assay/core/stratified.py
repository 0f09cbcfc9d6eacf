"""An interval that stays right when it is looked at again and again, for strata of any kind.

What is bounded is E = sum_h w_h e_h, with e_h the rate of the rarer outcome (an error, say). Three
refinements make it honest under adaptive allocation and peeking. Its ends come from a stratified
score test (upper) and the profile likelihood (lower), which do not collapse when few errors have
been seen. Before each, a fraction b of a label is added to the stratum where that hurts most, as if
the next one there went wrong. And where labels followed the errors (`core.explore`), each stratum
gets back what its luck has hidden: x/n with n growing as x^eta falls short of the rate by about
eta/n, so eta is added to x; and the spread of few labels is taken with n - 1.

Among all rates with the same E, the likeliest are q_h(lambda), the root in [0, 1] of

    lambda w q^2 - (n + lambda w) q + x = 0,

so each end is found by walking along lambda. Found right in simulation, not by a theorem: see
docs/certainty.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, xlogy

from assay.core.explore import explore
from assay.core.metrics import Metric
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats

__all__ = [
    "Sample",
    "extra_label",
    "lower_rates",
    "rarer",
    "stratified_ends",
    "upper_rates",
    "weigh",
]

# What peeking costs, in labels that went wrong, by confidence. Found by simulation, and by dynamic
# programming for a single stratum (docs/certainty.md).
_CONFIDENCE, _PEEKING = (0.8, 0.9, 0.95, 0.99), (0.8, 0.65, 0.5, 0.5)

_HALVINGS, _STEPS = 12, 2
_REACH = 12.0  # lambda lies between n e^-12 and n e^12
_TURNS = 3  # for metrics whose weights depend on their own value


@dataclass(frozen=True, eq=False)
class Sample:
    """Labels of some strata: weights w with sum 1, labels n, outcomes x, and (N - n)/(N - 1).

    A stratum without labels, or labelled to its last item, is no part of the walk: its weight
    counts as 0.
    """

    w: Floats
    n: Floats
    x: Floats
    left: Floats

    @property
    def open(self) -> Bools:
        """Strata with something known and something unknown."""
        return np.asarray((self.n > 0) & (self.left > 0))

    def evened(self) -> "Sample":
        """Return the sample with what allocation by `core.explore` has hidden given back."""
        n = np.where((self.x > 0) & (self.n > 1), self.n - 1, self.n)
        x = self.x * n / np.maximum(self.n, 1.0)
        hidden = explore(self.w, self.n, self.x).pull
        return replace(self, n=n, x=np.minimum(x + hidden, n))

    def ready(self, leverage: Floats, *, outcome: bool, b: float) -> "Sample":
        """Return what the walk starts from: b of a label added, and the correction applied."""
        w = np.where(self.open, self.w, 0.0)
        leverage = np.where(self.open, leverage, -1.0)
        worst = np.arange(w.shape[-1]) == leverage.argmax(axis=-1)[..., None]
        f, more = np.where(self.open, self.left, 1.0), np.where(worst & self.open, b, 0.0)
        n = np.where(self.open, self.n, 1.0) + more
        x = np.where(self.open, self.x, 0.0) + (more if outcome else 0.0)
        return replace(self, w=w, n=n / f, x=x / f)


def upper_rates(sample: Sample, confidence: float, b: float) -> Floats:
    """Return the rates at the upper end of E: (m - m0)^2 = z^2 sum w^2 q (1 - q) / n.

    With one stratum and b = 0 this is Wilson's upper end.
    """
    n = np.maximum(sample.n, 1.0)
    s = sample.ready(sample.left * sample.w / n * (1 - sample.x / n), outcome=True, b=b)
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    m0 = (s.w * s.x / s.n).sum(axis=-1)

    def excess(q: Floats) -> Floats:
        m = (s.w * q).sum(axis=-1)
        return np.asarray((m - m0) ** 2 - z2 * (s.w**2 * q * (1 - q) / s.n).sum(axis=-1))

    q = _walk(s, excess, sign=-1)
    return np.where(sample.open, q, np.where(sample.n > 0, sample.x / n, 1.0))


def lower_rates(sample: Sample, confidence: float, b: float) -> Floats:
    """Return the rates at the lower end of E: 2 (l(q(0)) - l(q)) = z^2; all 0 if x is."""
    n = np.maximum(sample.n, 1.0)
    s = sample.ready(sample.left * sample.w / n * (sample.x / n), outcome=False, b=b)
    z2 = float(ndtri((1 + confidence) / 2)) ** 2

    def log_likelihood(q: Floats) -> Floats:
        return np.asarray((xlogy(s.x, q) + xlogy(s.n - s.x, 1 - q)).sum(axis=-1))

    best = log_likelihood(s.x / s.n)

    def excess(q: Floats) -> Floats:
        return np.asarray(2 * (best - log_likelihood(q)) - z2)

    none = np.where(s.w > 0, s.x, 0.0).sum(axis=-1) == 0
    q = np.where(none[..., None], 0.0, _walk(s, excess, sign=+1))
    return np.where(sample.open, q, sample.x / n)


def weigh(tallies: Tallies, metric: Metric, T: Floats) -> tuple[Floats, Bools]:
    """Return what a stratum's rate weighs in the metric, and whether bad outcomes are the rule.

    Both at the totals T. Weights have sum 1, shape (..., H); a bad outcome is one that lowers the
    metric. The second has shape (..., 1).
    """
    w = metric.weights(T) * tallies.N
    total = w.sum(axis=-1, keepdims=True)
    w = np.where(total > 0, w, 1.0) / np.where(total > 0, total, w.shape[-1])
    bad = np.where(metric.rises(T), tallies.n - tallies.x, tallies.x)
    rate = np.where(tallies.n > 0, bad, 0.5) / np.maximum(tallies.n, 1.0)
    return w, np.asarray((w * rate).sum(axis=-1, keepdims=True) > 0.5)


def rarer(tallies: Tallies, metric: Metric, T: Floats) -> tuple[Floats, Floats]:
    """Return what a stratum's rate weighs in the metric, and its labels with the rarer outcome."""
    w, common = weigh(tallies, metric, T)
    return w, np.where(metric.rises(T) ^ common, tallies.n - tallies.x, tallies.x)


def extra_label(stop: str, confidence: float) -> float:
    """Return the fraction b of a label that keeps the interval right under a stopping rule.

    Between the confidences at which it was found it lies on a straight line, and beyond them it
    stays as it is. A stop at the estimate ± delta waits for the farther end, and needs no more.

    Examples
    --------
    >>> [extra_label(stop, 0.95) for stop in ("width", "centred", "budget")]
    [0.5, 0.0, 0.0]
    """
    return float(np.interp(confidence, _CONFIDENCE, _PEEKING)) if stop == "width" else 0.0


def stratified_ends(
    tallies: Tallies,
    metric: Metric,
    *,
    replacement: bool,
    confidence: float,
    b: float,
    explored: bool = False,
) -> tuple[Floats, Floats]:
    """Return the ends of a metric's interval.

    `explored` tells that the labels followed the errors, as `core.explore` allocates them.

    For a metric with a known denominator the weights are fixed. For the others (recall, F1) they
    depend on the metric's own value, as in Fieller's method: at value m an outcome in stratum h
    weighs |a_h - m b_h|, so each end is where the walk with its own weights arrives.
    """
    N, n = tallies.N, tallies.n
    left = np.ones_like(N) if replacement else (N - n) / np.maximum(N - 1, 1.0)
    start = N * np.where(n > 0, tallies.x, 0.5) / np.maximum(n, 1.0)

    def sample(w: Floats, x: Floats) -> Sample:
        found = Sample(np.broadcast_to(w, n.shape), n, x, left)
        return found.evened() if explored else found

    def end(walk: Walk, other: Walk) -> Floats:
        T = start
        for _ in range(_TURNS if metric.bends else 1):
            w, common = weigh(tallies, metric, T)
            rises = metric.rises(T)
            bad = np.where(rises, n - tallies.x, tallies.x)
            q = walk(sample(w, bad), confidence, b)
            if common.any():  # the walks are made for the rarer outcome
                q = np.where(common, 1 - other(sample(w, n - bad), confidence, b), q)
            T = N * np.where(rises, 1 - q, q)
        return metric.value(T)

    return end(upper_rates, lower_rates), end(lower_rates, upper_rates)


Walk = Callable[[Sample, float, float], Floats]


def _walk(s: Sample, excess: Callable[[Floats], Floats], *, sign: int) -> Floats:
    """Return q(lambda) where `excess` turns positive: halving, then straight steps."""
    total = s.n.sum(axis=-1)

    def rates(t: Floats) -> Floats:
        return _rates(s, sign * total * np.exp(t))

    low, high = np.full(total.shape, -_REACH), np.full(total.shape, _REACH)
    at_low, at_high = excess(rates(low)), excess(rates(high))

    def straight() -> Floats:
        rise = at_high - at_low
        share = np.clip(-at_low / np.where(rise > 0, rise, 1.0), 0.0, 1.0)
        return np.asarray(low + share * (high - low))

    for turn in range(_HALVINGS + _STEPS):
        middle = (low + high) / 2 if turn < _HALVINGS else straight()
        found = excess(rates(middle))
        over = found > 0
        low, at_low = np.where(over, low, middle), np.where(over, at_low, found)
        high, at_high = np.where(over, middle, high), np.where(over, found, at_high)
    return rates(straight())


def _rates(s: Sample, multiplier: Floats) -> Floats:
    """Return q_h(lambda), by the form of the root that does not cancel."""
    lw = multiplier[..., None] * s.w
    a = s.n + lw
    root = np.sqrt(np.maximum(a * a - 4 * lw * s.x, 0.0))
    top = np.where(a >= 0, 2 * s.x, a - root)
    bottom = np.where(a >= 0, a + root, np.where(lw == 0, 1.0, 2 * lw))
    return np.asarray(np.clip(top / np.where(bottom == 0, 1.0, bottom), 0.0, 1.0))
