"""Opinions: what columns beside the score say of items, for a model of the outcome.

They are read where labels go, never shown, and never counted as answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.deck import Id
from assay.core.error_model import RANK, SAID, Model, Values, as_numbers, columns_at
from assay.core.types import Bools, Floats, Ints, Words
from assay.predictions.column import Column, Loaded
from assay.predictions.contract import Predictions
from assay.predictions.roles import Roles, score_name

_MIDDLE = 2**63  # of the numbers: which fold an item is in


@runtime_checkable
class Opinionated(Predictions, Protocol):
    """`Predictions` with columns for a model of the outcome."""

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Return what is said of some items: by the score, by every column; not the label."""

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column says of an item does."""

    def with_model(self, model: Model) -> Predictions:
        """Return the same predictions with a model's log odds in the score's place."""


@dataclass(frozen=True, eq=False)
class Opinions:
    """The columns of all items in memory: by name, with the predicted labels under `SAID`.

    `own` is the name of the score's, and `aux` are those of the others. Of several classifiers
    there are codes under `SAID` and mean ranks under `RANK`, and `aux` has the scores, too: each is
    a second opinion on the others.
    """

    columns: Mapping[str, Values]
    own: str | None
    aux: tuple[str, ...]

    def at(self, rows: Ints) -> dict[str, Values]:
        """Return what is said of the items of some rows, without the predicted labels."""
        said = {name: values for name, values in self.columns.items() if name != SAID}
        return columns_at(said, rows)

    def digest(self, ids: Words) -> int:
        """Return 64 bits that change when what a column of `aux` says of an item does.

        `ids` are the digests of the items' ids.
        """
        word = ids
        for name in self.aux:
            word = deck.mix(word ^ column_words(self.columns[name]))
        return int(np.bitwise_xor.reduce(word))

    def log_odds(self, model: Model, digest: Words) -> Floats:
        """Return a model's log odds of every item; `digest` is of their ids."""
        numbers = deck.mix(digest ^ np.uint64(deck.key(model.seed)))
        return model.log_odds(self.columns, numbers >= _MIDDLE) + 0.0  # -0.0 becomes 0.0


def fold_of(id: Id, seed: int) -> bool:
    """Tell whether an item is in the second fold.

    >>> fold_of(7, 1), fold_of(8, 1)
    (True, False)
    """
    return deck.number(id, seed) >= _MIDDLE


def bound_seed(seed: int, digest: int) -> int:
    """Return the seed of a campaign with second opinions, from the seed that was given.

    Strata by columns that know the order of the items would hide errors: a judge that was taught by
    the first items in that order is right about these alone. So the order depends on the columns,
    and whoever makes them cannot know it.

    >>> bound_seed(1, 0), bound_seed(1, 1)
    (596173967063439470, 871539801579693287)
    """
    text = f"assay-opinions-1:{seed}:{digest}".encode("ascii")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") % 2**63


def column_words(values: Values) -> Words:
    """Return what a column says of each item: h of a number's bits, or the digest of a text.

    What is missing counts as NaN.

    >>> column_words([0.5, "0.5", None, "de"])
    array([14878752034231939099, 14878752034231939099,  9170934016072976158,
           10780005436216037208], dtype=uint64)
    """
    numbers = as_numbers(values) + 0.0  # -0.0 becomes 0.0
    missing = np.isnan(numbers)
    numbers[missing] = np.nan  # of the many that there are, one
    words = deck.mix(numbers.view(np.uint64))
    if not isinstance(values, np.ndarray):
        digests: dict[str, int] = {}
        for place in np.flatnonzero(missing).tolist():
            text = values[place]
            if isinstance(text, str) and not _is_nan(text):
                if text not in digests:
                    digests[text] = int(deck.digest([text])[0])
                words[place] = digests[text]
    return words


def _is_nan(text: str) -> bool:
    return text.strip().lower().lstrip("+-") == "nan"


def opinion_values(column: Column) -> Values:
    """Return a column as a model takes it: numbers, or else true, false and text; None if missing.

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


def opinions_of_several(
    aux: Mapping[str, Values], scores: Mapping[str, Floats], codes: Ints, ranks: Floats
) -> Opinions:
    """Return the columns for a model, of classifiers that have names.

    `aux`: those beside the scores; `scores`: by classifier; `codes`, `ranks`, (N,): what the
    classifiers say, and the mean rank by their scores.
    """
    told = {**aux, **{score_name(name): score for name, score in scores.items()}}
    return Opinions({**told, SAID: codes, RANK: ranks}, None, tuple(told))


def take_aux(loaded: Loaded, aux: Sequence[str]) -> dict[str, Values]:
    """Return the columns of `aux` as they were read."""
    return {name: opinion_values(loaded.columns[name]) for name in aux}


def take_opinions(loaded: Loaded, roles: Roles, predicted: Bools) -> Opinions:
    """Return the columns for a model as they were read, the score's among them."""
    names = [name for name in (*roles.aux, roles.score) if name is not None]
    values = {name: opinion_values(loaded.columns[name]) for name in names}
    return Opinions({**values, SAID: predicted}, roles.score, roles.aux)
