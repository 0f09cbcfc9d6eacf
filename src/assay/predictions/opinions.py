"""Opinions: what columns beside the score say of items, for a model of the outcome.

They are read where labels go, never shown, and never counted as answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.deck import Id
from assay.core.error_model import SAID, Model
from assay.core.types import Bools, Floats, Ints, Words
from assay.predictions.column import Column
from assay.predictions.contract import Predictions

Values: TypeAlias = "Sequence[object] | Floats | Bools"

_MIDDLE = 2**63  # of the numbers: which fold an item is in


@runtime_checkable
class Opinionated(Predictions, Protocol):
    """`Predictions` with columns for a model of the outcome."""

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Return what is said of some items: by the score, by every column; not the label."""

    def with_model(self, model: Model) -> Predictions:
        """Return the same predictions with a model's log odds in the score's place."""


@dataclass(frozen=True, eq=False)
class Opinions:
    """The columns of all items in memory: by name, with the predicted labels under `SAID`."""

    columns: Mapping[str, Values]

    def at(self, rows: Ints) -> dict[str, Values]:
        """Return what is said of the items of some rows, without the predicted labels."""
        return {
            name: values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
            for name, values in self.columns.items()
            if name != SAID
        }

    def log_odds(self, model: Model, digest: Words) -> Floats:
        """Return a model's log odds of every item; `digest` is of their ids."""
        numbers = deck.mix(digest ^ np.uint64(deck.key(model.seed)))
        return model.log_odds(self.columns, numbers >= _MIDDLE) + 0.0  # -0.0 becomes 0.0


def fold_of(id: Id, seed: int) -> bool:
    """Tell whether an item is in the second fold.

    Examples
    --------
    >>> fold_of(7, 1), fold_of(8, 1)
    (True, False)
    """
    return deck.number(id, seed) >= _MIDDLE


def opinion_values(column: Column) -> Values:
    """Return a column as a model takes it: numbers, or else true, false and text; None if missing.

    Examples
    --------
    >>> opinion_values(Column("judge", "a table", pa.chunked_array([[0.5, None]])))
    array([0.5, nan])
    >>> opinion_values(Column("lang", "a table", pa.chunked_array([["de", None]])))
    ['de', None]
    """
    data, kind = column.data, column.data.type
    if pa.types.is_decimal(kind):
        data = data.cast(pa.string()).cast(pa.float64())
    if pa.types.is_floating(data.type) or pa.types.is_integer(kind):
        numbers: Floats = data.cast(pa.float64(), safe=False).to_numpy()
        return numbers
    values = data.to_pylist()
    return [value if value is None or isinstance(value, bool) else str(value) for value in values]
