"""How errors can lie over the score: six shapes, and random ones that nobody chose.

A shape is the chance of an error at every rank of the score, lowest first. All have the mean that
is asked for, and none is above 1.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from assay.core.types import Bools, Floats

NO_SIGNAL, POCKET = "no signal", "dirty pocket"
MONOTONE = ("mass at the top", "uniform", "mass at the threshold")

_ROUNDS = 60  # each fills up to 1 what the one before left above it; few change anything
_POCKET = (0.90, 0.93)
_POCKET_SHARE = 0.5  # of the errors
_POCKET_MOST = 0.9


def ranks(number: int) -> Floats:
    """Return the middles of so many ranks of the score, from 0 to 1."""
    return np.asarray((np.arange(number) + 0.5) / number)


def scaled(shape: Floats, mean: float) -> Floats:
    """Return rates in proportion to the shape, none above 1, with this mean.

    Examples
    --------
    >>> scaled(np.array([3.0, 1.0, 0.0]), 0.5)
    array([1. , 0.5, 0. ])
    """
    rates = np.zeros_like(shape)
    for _ in range(_ROUNDS):
        able = np.where(rates < 1, shape, 0.0)
        if mean <= rates.mean() or not able.any():
            break
        rates = np.minimum(rates + able * (mean - rates.mean()) / able.mean(), 1.0)
    return rates


def least_share(rates: Floats) -> float:
    """Return the share of random sampling's labels that a design by score must spend.

    (E sqrt(eta (1 - eta)))^2 / (p (1 - p)) with eta the rates themselves, rising or not.

    Examples
    --------
    >>> round(least_share(np.full(4, 0.1)), 3), round(least_share(np.array([0.0, 0.5])), 3)
    (1.0, 0.333)
    """
    mean = float(rates.mean())
    return float(np.sqrt(rates * (1 - rates)).mean() ** 2 / (mean * (1 - mean)))


def spread_errors(rates: Floats) -> Bools:
    """Return which items are errors, as evenly as whole items can follow the rates.

    Examples
    --------
    >>> spread_errors(np.full(8, 0.25)).astype(int)
    array([0, 1, 0, 0, 0, 1, 0, 0])
    """
    return np.diff(np.floor(np.cumsum(rates) + 0.5), prepend=0.0) > 0


def surprise(r: Floats, error: float, rng: np.random.Generator) -> Floats:
    """Return rates of a random kind: a trend, a floor, bumps and pockets, whatever comes.

    Parameters
    ----------
    r : array
        Ranks of the score.
    error : float
        The mean.
    rng : numpy.random.Generator
        Chooses the kind.
    """
    falling = rng.random() < 5 / 6  # one classifier in six has its scores the wrong way round
    shape = (1 - r if falling else r) ** rng.uniform(0.5, 8.0) + rng.choice([0.0, 0.02, 0.2])
    for _ in range(rng.integers(0, 4)):
        width = np.exp(rng.uniform(np.log(0.005), np.log(0.2)))
        shape += rng.uniform(0.1, 2.0) * np.exp(-0.5 * ((r - rng.random()) / width) ** 2)
    for _ in range(rng.integers(0, 3)):
        start, width = rng.uniform(0.0, 0.95), rng.uniform(0.01, 0.05)
        share = rng.uniform(0.1, 0.6)
        shape += np.where((r > start) & (r < start + width), share * shape.mean() / width, 0.0)
    return scaled(shape, error)


def _power(exponent: float, r: Floats, error: float) -> Floats:
    return scaled((1 - r) ** exponent, error)


def _not_monotone(r: Floats, error: float) -> Floats:
    return scaled(0.3 + np.sin(3 * np.pi * r) ** 2, error)


def _dirty_pocket(r: Floats, error: float) -> Floats:
    """Half of the errors among a few of the highest scores, where nobody looks for them."""
    inside = (r > _POCKET[0]) & (r < _POCKET[1])
    rate = min(_POCKET_SHARE * error / inside.mean(), _POCKET_MOST)
    pocket = np.where(inside, rate, 0.0)
    return pocket + scaled(np.where(inside, 0.0, (1 - r) ** 3), error - float(pocket.mean()))


def _no_signal(r: Floats, error: float) -> Floats:
    return np.full_like(r, error)


SHAPES: dict[str, Callable[[Floats, float], Floats]] = {
    "mass at the top": partial(_power, 3.0),
    "uniform": partial(_power, 2.0),
    "mass at the threshold": partial(_power, 1.0),
    "not monotone": _not_monotone,
    POCKET: _dirty_pocket,
    NO_SIGNAL: _no_signal,
}
