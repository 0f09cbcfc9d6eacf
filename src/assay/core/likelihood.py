"""Profile likelihood of a weighted sum of rates: the rates at its lower and its upper end.

Among all rates q_h with the same E = sum_h w_h q_h the likeliest are q_h(lambda), the root in
[0, 1] of

    lambda w q^2 - (n + lambda w) q + x = 0,

so each end of E is found by walking along lambda until 2 (l(q(0)) - l(q)) is z^2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.allocation import explore
from assay.core.special import xlogy, z_of
from assay.core.types import Bools, Floats, Ints

_SECANTS, _TURNS = 20, 80  # after this many secant steps only bisection is used
_CLOSE, _NARROW = 1e-6, 1e-9
_TAIL = 0.5  # outcomes by which the likelihood falls short of an exact upper tail
_REACH = 12.0  # lambda lies between n e^-12 and n e^12
_TINY = np.finfo(float).tiny


def find_root(
    # Given points, and the numbers of the functions that they belong to, their values.
    rising: Callable[[Floats, Ints], Floats],
    # low, high, (R,): a bracket. If a function does not change its sign in it, the nearer end is
    # returned.
    low: Floats,
    high: Floats,
    guess: Floats,  # (R,): where to start
    *,
    slope: float = 1.0,  # approximate slope
) -> Floats:
    """Roots of R increasing functions from `low` to `high`, shape (R,).

    scipy's `elementwise.find_root` (Chandrupatla) does the same. Here nearly straight functions
    take half as many evaluations, and finished ones are not evaluated again.

    >>> numbers = np.array([2.0, 9.0])
    >>> find_root(lambda x, which: x * x - numbers[which], 0 * numbers, 0 * numbers + 10, numbers)
    array([1.41421356, 3.        ])
    """
    a, b, here = low.astype(np.float64), high.astype(np.float64), guess.astype(np.float64)
    root, left = here.copy(), np.arange(here.size)
    before = at_before = here
    for turn in range(_TURNS if left.size else 0):
        at = rising(here, left)
        up = at > 0
        a, b = np.where(up, a, here), np.where(up, here, b)
        done = (np.abs(at) <= _CLOSE) | (b - a <= _NARROW)
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = (at - at_before) / (here - before) if turn else slope
            step = here - at / rise
        good = (step > a) & (step < b) & (turn < _SECANTS)
        before, at_before = here, at
        here = np.where(good, step, (a + b) / 2)
        if done.any():
            root[left[done]] = before[done]
            on = ~done
            left = left[on]
            if not left.size:
                return root
            a, b, here, before, at_before = (each[on] for each in (a, b, here, before, at_before))
    root[left] = here
    return root


@dataclass(frozen=True, eq=False)
class Sample:
    """Labels of some strata: weights w with sum 1, labels n, outcomes x, and (N - n)/(N - 1).

    Strata without labels, and fully labelled ones, are not part of the walk: their weight is 0.
    """

    w: Floats
    n: Floats
    x: Floats
    left: Floats

    @cached_property
    def open(self) -> Bools:
        """Strata with labels and with unlabelled items."""
        return np.asarray((self.n > 0) & (self.left > 0))

    def take(self, which: Ints) -> "Sample":
        """Select some of the parallel samples."""
        return Sample(self.w[which], self.n[which], self.x[which], self.left[which])

    def rest(self, E: Floats | None, known: Floats) -> Floats | None:
        """Part of E for the open strata, if the others have the rates `known`."""
        return None if E is None else E - np.where(self.open, 0.0, self.w * known).sum(axis=-1)

    def evened(self) -> "Sample":
        """Sample corrected for allocation by `core.allocation`."""
        n = np.where((self.x > 0) & (self.n > 1), self.n - 1, self.n)
        x = self.x * n / np.maximum(self.n, 1.0)
        hidden = explore(self.w, self.n, self.x, self.left).pull
        return Sample(self.w, n, np.minimum(np.maximum(x + hidden, 0.0), n), self.left)

    def with_outcomes(self, tail: Floats, b: Floats) -> "Sample":
        """Sample at the start of the walk: outcomes added or removed, and a correction.

        `tail` is distributed like the outcomes, b like the variance; both have shape (..., 1).
        Additions are by the rates (x + 1/2)/(n + 1), and removals, a negative b, by x/n.
        """
        rate = self.x / np.maximum(self.n, 1.0)
        guess = np.where(tail + b > 0, (self.x + 0.5) / (self.n + 1), rate)
        part = np.where(self.open, self.w * guess, 0.0)
        spread = part * self.w * (1 - guess) * self.left / np.maximum(self.n, 1.0)
        # If every stratum looks pure there is no variance to go by.
        spread = np.where(spread.sum(axis=-1, keepdims=True) > 0, spread, part)
        more = tail * shares(part) + b * shares(spread)
        n, x = self.n + np.maximum(more, 0.0), np.maximum(self.x + more, 0.0)
        f = np.where(self.open, self.left, 1.0)
        return Sample(
            np.where(self.open, self.w, 0.0),
            np.where(self.open, n, 1.0) / f,
            np.where(self.open, x, 0.0) / f,
            self.left,
        )


def end_rates(
    sample: Sample,  # labels and outcomes of the strata, with their weights
    confidence: float,
    b: float,  # outcomes that correct for peeking
    *,
    upper: Bools | bool,  # (...): which end
    # (...): values of E; the search ends as soon as it is known on which side of them the end lies.
    beyond: Floats | None = None,
) -> Floats:
    """Rates at the upper or the lower end of E.

    Strata without labels have 1 at the upper end and 0 at the lower one, where all are 0 if x is.
    If the question is only whether that end lies beyond a value of E, the rates may be those of any
    E between the end and the value; these are found sooner.
    """
    up = np.broadcast_to(upper, sample.w.shape[:-1])[..., None]
    unseen = np.where(up, 1.0, 0.0)
    known = np.where(sample.n > 0, sample.x / np.maximum(sample.n, 1.0), unseen)
    start = sample.with_outcomes(np.where(up, _TAIL, 0.0), np.where(up, b, -b))
    sign = np.where(up, -1, +1).reshape(-1)
    q = _walk(start, confidence, sign=sign, beyond=sample.rest(beyond, known))
    return np.where(sample.open, q, known)


def _walk(s: Sample, confidence: float, *, sign: Ints, beyond: Floats | None) -> Floats:
    """Rates q(lambda) where 2 (l(q(0)) - l(q)) is z^2; its logarithm is nearly straight.

    With `beyond`, stop as soon as it is known on which side of that value of E the end lies. The
    sign is -1 for an upper end, and has shape (R,).
    """
    z = z_of(confidence)
    shape = s.w.shape
    s = Sample(*(each.reshape(-1, shape[-1]) for each in (s.w, s.n, s.x, s.left)))
    total = s.n.sum(axis=-1)
    p = s.x / s.n
    with np.errstate(divide="ignore"):
        best = (xlogy(s.x, p) + xlogy(s.n - s.x, 1 - p)).sum(axis=-1)

    def excess(t: Floats, which: Ints) -> Floats:
        one = s if which.size == total.size else s.take(which)
        q = _rates(one, sign[which] * total[which] * np.exp(t))
        likelihood = (xlogy(one.x, q) + xlogy(one.n - one.x, 1 - q)).sum(axis=-1)
        over = np.log(np.maximum(2 * (best[which] - likelihood), _TINY) / z**2)
        if beyond is not None:
            farther = -sign[which] * ((one.w * q).sum(axis=-1) - beyond.reshape(-1)[which])
            over = np.where(over * farther <= 0, 0.0, over)  # between the end and the value
        return np.asarray(over)

    spread = (s.w**2 * np.maximum(p * (1 - p), 0.25 / s.n) / s.n).sum(axis=-1)
    guess = np.log(z / np.maximum(np.sqrt(spread) * total, _TINY))
    # Without any variation there is no direction.
    reach = np.where((s.w * s.x).sum(axis=-1) > 0, _REACH, 0.0)
    with np.errstate(divide="ignore"):  # outcomes at a rate of 0: their log likelihood is -inf
        t = find_root(excess, -reach, reach, np.clip(guess, -reach, reach), slope=2.0)
    return _rates(s, sign * total * np.exp(t)).reshape(shape)


def _rates(s: Sample, multiplier: Floats) -> Floats:
    """Rates q_h(lambda), by the form of the root without cancellation."""
    lw = multiplier[..., None] * s.w
    a = s.n + lw
    root = np.sqrt(np.maximum(a * a - 4 * lw * s.x, 0.0))
    top, bottom = 2 * s.x, a + root
    falls = a < 0
    if falls.any():
        top = np.where(falls, a - root, top)
        bottom = np.where(falls, np.where(lw == 0, 1.0, 2 * lw), bottom)
    rate = top / np.where(bottom == 0, 1.0, bottom)
    return np.asarray(np.minimum(np.maximum(rate, 0.0), 1.0))  # np.clip takes thrice as long


def shares(weight: Floats) -> Floats:
    """Weights normalised to sum 1; equal if all are 0."""
    total = weight.sum(axis=-1, keepdims=True)
    return np.asarray(
        np.where(total > 0, weight, 1.0) / np.where(total > 0, total, weight.shape[-1])
    )
