"""Model of the outcome: the probability that an item is positive, by score and other columns.

A second opinion (another model's score, a judge's verdict, a language) shows where errors are, and
so where labels are worth most. It never counts as truth: the model only cuts the items into strata,
and a random sample of any strata is unbiased. Three rules ensure this.

* **Cross-fitting.** Every item is in one of two folds, by its permanent number under a key of its
  own. The model that places an item has learned from labels of the other fold alone, so an item's
  label has no part in where the item is put [1]_.
* **A choice by held-out labels.** The columns are used only where the deviance of labels that the
  model has not seen is smaller with them than with the score alone. A column of noise is left out.
* **Plain arithmetic.** Features are made with +, -, *, / and square roots only, so that numpy,
  DuckDB and Java compute the same bits (see `assay.core.bins`).

References
----------
.. [1] Wager, Du, Taylor and Tibshirani (2016). High-dimensional regression adjustments in
   randomized experiments. PNAS 113.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from assay.core.types import Bools, Floats, Ints

FOLDS = 2
LARGEST = 1.7976931348623157e308  # of all numbers that are finite
SAID = ""  # the column that is the predicted label, or of several the code; none has this name
RANK = "\0"  # of several classifiers, the column of mean ranks; nor this one

Values: TypeAlias = "Sequence[object] | Floats | Bools | Ints"
"""A column: numbers, predicted labels, or anything else, one value per item."""

Kind = Literal["number", "share", "level", "said"]


@dataclass(frozen=True)
class Input:
    """A column as numbers for the terms of the model."""

    column: str  # its name; `SAID` for the predicted label
    # ``number``: d / sqrt(1 + abs(d)) with d = (x - centre) / width, which is linear near the
    # centre and grows like a square root far from it. ``share``, for numbers between 0 and 1: r(x)
    # - r(1 - x), r the eighth root, which tells 0.99 from 0.9999. ``level``: 1 where the column has
    # this value. ``said``: 1 where the classifier said yes.
    kind: Kind
    # centre, width: of a number.
    centre: float = 0.0
    width: float = 1.0
    level: str | bool | None = None  # the value of a level; None for a missing one
    bit: int = 0  # of what several classifiers said: which bit of the code

    @property
    def is_number(self) -> bool:
        """Whether it is numeric, rather than one of two values."""
        return self.kind in ("number", "share")

    def values(self, column: Values) -> Floats:
        """Values of a column as numbers; 0 where a number is missing.

        >>> Input("judge", "number", centre=1.0).values([4.0, None])
        array([1.5, 0. ])
        >>> Input("lang", "level", level="de").values(["de", "en"])
        array([1., 0.])
        """
        if self.kind == "said":
            codes = np.asarray(column).astype(np.int64)
            return (codes >> self.bit & 1).astype(np.float64)
        if self.kind == "level":
            return np.fromiter((_same(value, self.level) for value in column), dtype=np.float64)
        given = as_numbers(column)
        there = np.isfinite(given)
        x = np.where(there, given, 0.5 if self.kind == "share" else self.centre)
        if self.kind == "share":
            x = np.clip(x, 0.0, 1.0)
            return _root(x) - _root(1.0 - x)
        d = (x - self.centre) / self.width
        return np.asarray(d / np.sqrt(1.0 + np.abs(d)))


@dataclass(frozen=True)
class Model:
    """The log odds that an item is positive: a sum of terms, one sum for each fold."""

    inputs: tuple[Input, ...]  # inputs of the terms
    # Inputs of each term's product; the first term, the constant, has none.
    terms: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[float, ...], ...]  # of each fold, the weight of every term
    labels: int  # number of the campaign's labels it was fitted to; 0 if all were another's
    seed: int = 0  # of the numbers that assign items to folds

    @property
    def digest(self) -> int:
        """64 bits that change when the model does."""
        text = json.dumps(self.to_dict(), sort_keys=True).encode()
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it reads, each once."""
        named = (each.column for each in self.inputs if each.column != SAID)
        return tuple(dict.fromkeys(named))

    def log_odds(self, columns: Mapping[str, Values], fold: Bools) -> Floats:
        """Log odds of items.

        `columns`, (N,): by name, with the predicted labels under `SAID`; `fold`, (N,): whether an
        item is in the second fold.
        """
        return self.summed([each.values(columns[each.column]) for each in self.inputs], fold)

    def summed(self, numbers: Sequence[Floats], fold: Bools) -> Floats:
        """Log odds of items, from the numbers of each input."""
        # One operation after the other, in the order in which SQL has them; of each item by the
        # weights of its own fold.
        first, second = self.weights
        total = np.where(fold, second[0], first[0])
        for term, one, other in zip(self.terms[1:], first[1:], second[1:], strict=True):
            total += np.where(fold, other, one) * product_of(numbers, term, fold.size)
        return total

    def to_dict(self) -> dict[str, Any]:
        """Model as JSON values; `from_dict` restores it exactly."""
        return {
            "inputs": [_plain(each) for each in self.inputs],
            "terms": [list(term) for term in self.terms],
            "weights": [list(weights) for weights in self.weights],
            "labels": self.labels,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore the result of `to_dict`."""
        return cls(
            tuple(Input(**each) for each in stored["inputs"]),
            tuple(tuple(int(place) for place in term) for term in stored["terms"]),
            tuple(tuple(float(weight) for weight in each) for each in stored["weights"]),
            int(stored["labels"]),
            int(stored["seed"]),
        )


def _plain(each: Input) -> dict[str, Any]:
    """Input as JSON values; a single classifier's in the original schema."""
    return {name: value for name, value in asdict(each).items() if name != "bit" or value}


def columns_at(columns: Mapping[str, Values], rows: Ints) -> dict[str, Values]:
    """Columns restricted to some rows."""
    return {
        name: values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
        for name, values in columns.items()
    }


def product_of(numbers: Sequence[Floats], term: tuple[int, ...], size: int) -> Floats:
    """Term of the model: the product of some of the items' numbers, or 1."""
    if not term:
        return np.ones(size)
    product = numbers[term[0]]
    for place in term[1:]:
        product = product * numbers[place]
    return product


def as_numbers(values: Values) -> Floats:
    """Values as numbers, including numeric text; NaN for all else.

    >>> as_numbers([1, " 2.5", None, "de"])
    array([1. , 2.5, nan, nan])
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return np.asarray(values, dtype=np.float64)
    return np.fromiter((_number(value) for value in values), dtype=np.float64)


def _number(value: object) -> float:
    if isinstance(value, str | int | float):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return np.nan
    return np.nan


def _root(x: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sqrt(np.sqrt(x))))


def is_missing(value: object) -> bool:
    """Whether a column has no value for an item."""
    return value is None or (isinstance(value, float) and not np.isfinite(value))


def _same(value: object, level: str | bool | None) -> bool:
    if level is None:
        return is_missing(value)
    return value is level if isinstance(level, bool) else value == level
