"""Paper 3's two ways to draw from a sequence: UniformSample, UniformShuffle; Algorithm 2 [1]_.

References
----------
.. [1] RecycleSamplesForPrecision, section 4.1 (``papers/recycle-samples-for-precision.txt``).
"""

from typing import Literal, get_args

import numpy as np

from assay.core.types import Ints
from assay.errors import DesignError, InputError, did_you_mean

Option = Literal["UniformSample", "UniformShuffle"]


def mix_sequence(S: Ints, option: Option, rng: np.random.Generator) -> Ints:
    """Return the sequence rearranged: Algorithm 2.

    Parameters
    ----------
    S : array of int
    option : {"UniformSample", "UniformShuffle"}
        As many draws from S with replacement, or S in random order.
    rng : numpy.random.Generator

    Examples
    --------
    >>> mix_sequence(np.array([1, 2, 3, 4]), "UniformShuffle", np.random.default_rng(2))
    array([4, 3, 1, 2])
    """
    if option == "UniformSample":
        return uniform_sample(S, S.size, rng)
    if option == "UniformShuffle":
        return rng.permutation(S)
    raise unknown_option(option)


def uniform_sample(population: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Return that many random ids of the population, with replacement.

    Examples
    --------
    >>> uniform_sample(np.array([5, 6, 7]), 4, np.random.default_rng(1))
    array([6, 6, 7, 7])
    """
    size = whole_number("size", size, least=0)
    if size == 0:
        return population[:0]
    if population.size == 0:
        raise InputError(f"{size} ids cannot be drawn from an empty set")
    return population[rng.integers(population.size, size=size)]


def unknown_option(option: object) -> DesignError:
    """Return the error that names the options there are.

    Examples
    --------
    >>> print(unknown_option("UniformSampel"))
    unknown option 'UniformSampel'
    options: UniformSample, UniformShuffle
    hint: did you mean 'UniformSample'?
    """
    known = get_args(Option)
    return DesignError(
        f"unknown option {option!r}",
        details=f"options: {', '.join(known)}",
        hint=did_you_mean(str(option), known),
    )


def whole_number(name: str, value: int, *, least: int) -> int:
    """Return the number, or raise.

    Examples
    --------
    >>> whole_number("n", 3, least=1)
    3
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)
