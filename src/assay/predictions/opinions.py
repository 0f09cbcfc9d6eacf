"""Second opinions: values of columns beside the score, for a model of the outcome.

They guide where labels go; they are never shown, and never counted as answers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.deck import Id
from assay.core.error_model import RANK, SAID, Model, Values, as_numbers, columns_at
from assay.core.types import Bools, Floats, Ints, Words
from assay.errors import PredictionsError
from assay.predictions.column import Column, Loaded
from assay.predictions.roles import score_name

_MIDDLE = 2**63  # of the numbers: which fold an item is in


@dataclass(frozen=True, eq=False)
class Opinions:
    """Columns of all items in memory, by name, with the predicted labels under `SAID`.

    `own` is the name of the score column, `aux` the names of the others. For several classifiers,
    `SAID` has codes and `RANK` mean ranks, and `aux` includes the scores: each is a second opinion
    on the others.
    """

    columns: Mapping[str, Values]
    own: str | None
    aux: tuple[str, ...]

    def at(self, rows: Ints) -> dict[str, Values]:
        """Values of the items of some rows, without the predicted labels."""
        opinions = {name: values for name, values in self.columns.items() if name != SAID}
        return columns_at(opinions, rows)

    def digest(self, ids: Words) -> int:
        """64 bits that change if a value of a column in `aux` does."""
        return opinions_digest([(ids, (column_words(self.columns[name]) for name in self.aux))])

    def log_odds(self, model: Model, digest: Words) -> Floats:
        """Log odds of every item by a model; `digest` is that of the ids."""
        fold = second_fold(digest, model.seed)
        return model.log_odds(self.columns, fold) + 0.0  # -0.0 becomes 0.0


def opinions_digest(batches: Iterable[tuple[Words, Iterable[Words]]]) -> int:
    """64 bits that change if a value of a column does, from the digests of ids and those values.

    >>> opinions_digest([(np.array([5], np.uint64), [np.array([1], np.uint64)])])
    8535942711051191036
    """
    every = np.uint64(0)
    for ids, columns in batches:
        words = reduce(lambda word, own: deck.mix(word ^ own), columns, ids)
        every ^= np.bitwise_xor.reduce(words)
    return int(every)


def second_fold(digest: Words, seed: int) -> Bools:
    """Whether items are in the second fold, from the digests of their ids."""
    return np.asarray(deck.mix(digest ^ np.uint64(deck.key(seed))) >= _MIDDLE)


def input_name(place: int) -> str:
    """Name of the column with a model's input."""
    return f"input_{place}"


def without_opinions(source: str) -> PredictionsError:
    """Error: there are no columns for a model."""
    return PredictionsError(f"{source} was read without columns for a model")


def fold_of(id: Id, seed: int) -> bool:
    """Whether an item is in the second fold.

    >>> fold_of(7, 1), fold_of(8, 1)
    (True, False)
    """
    return deck.number(id, seed) >= _MIDDLE


def bound_seed(seed: int, digest: int) -> int:
    """Seed of a campaign with second opinions, from the given seed.

    Strata from columns that depend on the order of the items would hide errors: a judge trained on
    the first items in that order is right about these only. So the order depends on the columns,
    and their author cannot know it.

    >>> bound_seed(1, 0), bound_seed(1, 1)
    (596173967063439470, 871539801579693287)
    """
    text = f"assay-opinions-1:{seed}:{digest}".encode("ascii")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") % 2**63


def column_words(values: Values) -> Words:
    """Word for each value of a column: h of a number's bits, or the digest of a text.

    Missing values count as NaN.

    >>> column_words([0.5, "0.5", None, "de"])
    array([14878752034231939099, 14878752034231939099,  9170934016072976158,
           10780005436216037208], dtype=uint64)
    """
    numbers = as_numbers(values)
    words = number_words(numbers)
    if not isinstance(values, np.ndarray):
        digests: dict[str, int] = {}
        for place in np.flatnonzero(np.isnan(numbers)).tolist():
            text = values[place]
            if isinstance(text, str) and text.strip().lower().lstrip("+-") != "nan":
                if text not in digests:
                    digests[text] = int(deck.digest([text])[0])
                words[place] = digests[text]
    return words


def number_words(numbers: Floats) -> Words:
    """Hash h of the bits of each number."""
    numbers = numbers + 0.0  # -0.0 becomes 0.0
    numbers[np.isnan(numbers)] = np.nan  # of the many that there are, one
    return deck.mix(numbers.view(np.uint64))


def opinion_values(column: Column) -> Values:
    """Values of a column for a model: numbers, or else true, false and text; None if missing.

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
    """Columns for a model, for named classifiers.

    `aux`: columns beside the scores; `scores`: by classifier; `codes`, `ranks`, (N,): the
    classifiers' codes, and the mean rank by their scores.
    """
    columns = {**aux, **{score_name(name): score for name, score in scores.items()}}
    return Opinions({**columns, SAID: codes, RANK: ranks}, None, tuple(columns))


def take_aux(loaded: Loaded, aux: Sequence[str]) -> dict[str, Values]:
    """Columns of `aux` as read."""
    return {name: opinion_values(loaded.columns[name]) for name in aux}


def take_opinions(
    loaded: Loaded, score: str | None, aux: Sequence[str], predicted: Bools
) -> Opinions:
    """Columns for a model as read, including the score's."""
    values = take_aux(loaded, [*aux, score] if score is not None else aux)
    return Opinions({**values, SAID: predicted}, score, tuple(aux))
