"""The predicted labels: yes or no."""

from collections.abc import Callable
from datetime import date

import numpy as np
import pyarrow as pa

from assay.core.types import Bools, Floats, Ints
from assay.errors import PredictionsError, did_you_mean
from assay.predictions.column import Column, examples, first_few
from assay.predictions.ids import Ids

_WRITTEN = {"1": True, "true": True, "0": False, "false": False}
_ZERO_OR_ONE: dict[object, bool] = {0: False, 1: True}
_SCALARS = (str, bytes, bool, int, float, date)

# What a value of the column says; None where it cannot be told.
Meaning = Callable[[object], bool | None]


def read_predicted(column: Column, positive: object, ids: Ids) -> Bools:
    """Take a column for the predicted labels.

    Parameters
    ----------
    column : Column
        Of any type when `positive` is given, otherwise of true and false or of 0 and 1.
    positive : object
        The value that means yes; None when the column says so itself.
    ids : Ids
        To name the rows in an error.

    Examples
    --------
    >>> said = Column("said", "a table", pa.chunked_array([["ham", "spam"]]))
    >>> read_predicted(said, "spam", Ids(np.arange(2)))
    array([False,  True])
    """
    if column.data.null_count:
        missing = column.missing()
        rows = first_few(missing)
        raise PredictionsError(
            f"{missing.sum():,} of {missing.size:,} predicted labels in {column} are missing",
            details=examples(rows, id=ids.at(rows)),
            hint="mend or drop these rows",
        )
    if positive is None and pa.types.is_boolean(column.data.type):
        says_yes: Bools = np.asarray(column.data)
        return says_yes
    values, place = _distinct(column)
    means = _meaning(column, positive)
    says = [means(value) for value in values]
    unknown = [value for value, said in zip(values, says, strict=True) if said is None]
    if unknown:
        raise PredictionsError(
            f"the predicted labels in {column} are neither true or false nor 0 or 1",
            details=f"got {_listed(unknown)}, of type {column.data.type}",
            hint=f"say which value means yes, for example positive={unknown[0]!r}",
        )
    if positive is not None and not any(says):
        raise PredictionsError(
            f"positive={positive!r} occurs nowhere in {column}",
            details=f"got {_listed(values)}, of type {column.data.type}",
            hint=did_you_mean(str(positive), [text for text in values if isinstance(text, str)]),
        )
    return np.array(says, dtype=np.bool_)[place]


def refuse_contradictions(
    scores: Floats, predicted: Bools, threshold: float, column: Column, ids: Ids
) -> None:
    """Raise an error where a row's score and its predicted label say different things.

    A score equal to the threshold goes with either label.

    Parameters
    ----------
    scores, predicted : array, shape (N,)
    threshold : float
        From which on the classifier says yes.
    column : Column
        Of the predicted labels, for the error.
    ids : Ids
        To name the rows.

    Examples
    --------
    >>> said = Column("said", "a table", pa.chunked_array([[True, True]]))
    >>> refuse_contradictions(
    ...     np.array([0.5, 0.4]), np.array([True, True]), 0.5, said, Ids(np.array([7, 8]))
    ... )
    Traceback (most recent call last):
    assay.errors.PredictionsError: 1 of 2 predicted labels in column 'said' of a table ...
    first, counting rows from 0: row 1 (id 8, score 0.4, predicted True)
    hint: ...
    """
    bad = np.where(predicted, scores < threshold, scores > threshold)
    if bad.any():
        rows = first_few(bad)
        raise PredictionsError(
            f"{bad.sum():,} of {bad.size:,} predicted labels in {column} contradict "
            f"threshold={threshold}",
            details=examples(
                rows,
                id=ids.at(rows),
                score=scores[rows].tolist(),
                predicted=predicted[rows].tolist(),
            ),
            hint="predicted is yes from the threshold upwards; "
            "correct the threshold, or leave it out to trust the labels",
        )


def _meaning(column: Column, positive: object) -> Meaning:
    """Return how one value of the column is understood."""
    if positive is None:
        if column.untyped:
            return lambda value: _WRITTEN.get(str(value).strip().lower())
        return _ZERO_OR_ONE.get
    scalar = positive.item() if isinstance(positive, np.generic) else positive
    if not isinstance(scalar, _SCALARS):
        raise PredictionsError(
            f"positive={positive!r} is of type {type(positive).__name__}",
            details="it must be one value that can stand in the column: text, a number, a date",
        )
    if column.untyped:
        if isinstance(scalar, bool):
            return lambda value: str(value).strip().lower() == str(scalar).lower()
        return lambda value: value == str(scalar)
    # Text stands for what is written like it: the command line has nothing but text.
    written = scalar if isinstance(scalar, str) else None
    return lambda value: value == scalar or str(value) == written


def _distinct(column: Column) -> tuple[list[object], Ints]:
    """Return the values that occur in the column, and for each row which of them it has."""
    try:
        encoded = pa.concat_arrays(column.data.chunks).dictionary_encode()
    except pa.ArrowNotImplementedError as error:
        raise PredictionsError(
            f"the predicted labels in {column} are of type {column.data.type}",
            details="they must be true and false, or 0 and 1, or what positive= is one of",
        ) from error
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def _listed(values: list[object]) -> str:
    texts = ", ".join(repr(value) for value in values[:5])
    return f"{texts} and {len(values) - 5:,} more" if len(values) > 5 else texts
