"""Checks of the fields of designs and goals: each returns the field as it is kept, or raises."""

import json
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

from assay.errors import DesignError, did_you_mean


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return a whole number from `low` to `high`."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if number >= low and (high is None or number <= high):
            return number
    upper = "" if high is None else f" and at most {high}"
    raise DesignError(f"{name} must be a whole number of at least {low}{upper}, got {value!r}")


def between(name: str, value: object, low: float, high: float, *, hint: str) -> float:
    """Return a number strictly between two others."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if low < number < high:
            return number
    raise DesignError(
        f"{name} must be a number between {low:g} and {high:g} (exclusive), got {value!r}",
        hint=hint,
    )


def one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse a word that is none of those known."""
    if not isinstance(value, str) or value not in known:
        raise DesignError(
            f"unknown {name} {value!r}",
            details=f"{name}: {', '.join(known)}",
            hint=did_you_mean(str(value), known),
        )


def known_fields(cls: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by the names of the class's fields."""
    if not isinstance(values, Mapping):
        raise DesignError(f"expected the fields of a {cls.__name__}, got {values!r}")
    known = [field.name for field in fields(cls)]
    for name in values:
        one_of("field", name, tuple(known))
    return dict(values)


def parse(what: str, text: str) -> Any:
    """Return what JSON text holds."""
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise DesignError(f"the {what} is not valid JSON: {error}") from None
