"""Array types of the formulas, and validation of numbers and fields of a design or goal."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import DesignError, InputError, did_you_mean

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]

LARGEST_EXACT = 2.0**53  # beyond it float64 can no longer count one by one


def amounts(name: str, value: ArrayLike) -> Floats:
    """Finite non-negative numbers as an array; raise for others.

    >>> amounts("room", [3, 4])
    array([3., 4.])
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must hold numbers, got {value!r}") from None
    if not (np.isfinite(array) & (array >= 0)).all():
        raise InputError(f"{name} must hold finite numbers of at least 0, got {value!r}")
    return array


def percent(share: float) -> str:
    """Share in percent, with all digits if fewer would say 100%.

    >>> percent(0.95), percent(1 - 0.05 / 3), percent(0.999999999)
    ('95%', '98.33%', '99.9999999%')
    """
    text = f"{100 * share:.4g}"
    return (
        f"{(100 * Decimal(repr(share))).normalize():f}%"
        if text == "100" and share < 1
        else f"{text}%"
    )


# Validation of the fields of designs and goals: each returns the stored field, or raises.


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Check a whole number from `low` to `high`; raise for others."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if number >= low and (high is None or number <= high):
            return number
    upper = "" if high is None else f" and at most {high}"
    raise DesignError(f"{name} must be a whole number of at least {low}{upper}, got {value!r}")


def between(name: str, value: object, low: float, high: float, *, hint: str) -> float:
    """Check a number strictly between two others; raise for others."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if low < number < high:
            return number
    raise DesignError(
        f"{name} must be a number between {low:g} and {high:g} (exclusive), got {value!r}",
        hint=hint,
    )


def one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse an unknown word."""
    if not isinstance(value, str) or value not in known:
        raise DesignError(
            f"unknown {name} {value!r}",
            details=f"{name}: {', '.join(known)}",
            hint=did_you_mean(str(value), known),
        )


def known_names(what: str, values: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """Check that each stored value has the name of a field; raise for others."""
    if not isinstance(values, Mapping):
        raise DesignError(f"expected the fields of a {what}, got {values!r}")
    for name in values:
        one_of("field", name, known)
    return dict(values)


def read_json(
    text: str, *, at_most: int | None = None, parse_constant: Callable[[str], object] | None = None
) -> Any:
    """Values of untrusted JSON text; raise ValueError for a repeated key.

    Readers differ in which of the two they use, so people might see different values. `at_most`
    limits the number of values: a few bytes of JSON are a hundred in Python.

    >>> read_json('{"answer": "yes", "answer": "no"}')
    Traceback (most recent call last):
    ValueError: the key 'answer' occurs twice in one object
    """
    if at_most is not None and sum(map(text.count, ",[{")) > at_most:
        raise ValueError(f"it holds more than {at_most:,} values")
    return json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=parse_constant)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice[:80]!r} occurs twice in one object")
    return mapping


def parse(what: str, text: str) -> Any:
    """Values of JSON text."""
    try:
        return read_json(text)
    except (TypeError, ValueError) as error:
        raise DesignError(f"the {what} is not valid JSON: {error}") from None
