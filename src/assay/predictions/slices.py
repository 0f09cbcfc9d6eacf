"""Groups of items by the values of a column: which items are in German."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.core.types import Ints
from assay.errors import PredictionsError, did_you_mean
from assay.predictions.column import Column, Loaded

MISSING = "(missing)"
"""The value of items that have none."""

_MOST = 20  # targets of one column: each takes labels of its own


@dataclass(frozen=True, eq=False)
class SliceBits:
    """The slices that were asked for, and of each item the bits of those that hold it."""

    names: tuple[str, ...]
    bits: Ints


def slice_columns(written: Sequence[str]) -> list[str]:
    """Return the columns that slices are told by.

    Examples
    --------
    >>> slice_columns(["lang=de", "lang=en", "site"])
    ['lang', 'site']
    """
    return list(dict.fromkeys(text.partition("=")[0].strip() for text in written))


def slice_text(value: object) -> str:
    """Return a value as it is written in the name of a slice.

    Examples
    --------
    >>> [slice_text(value) for value in ("de", 7, True, None)]
    ['de', '7', 'true', '(missing)']
    """
    if value is None:
        return MISSING
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_slices(loaded: Loaded, written: Sequence[str]) -> SliceBits:
    """Find the items of each slice.

    Parameters
    ----------
    loaded : Loaded
        With the columns that the slices are told by.
    written : sequence of str
        ``lang=de`` is the items with that value, ``lang`` one slice for each value that occurs.

    Examples
    --------
    >>> from assay.predictions.judgements import load
    >>> found = read_slices(load({"lang": ["de", "en", "de"]}, ["lang"], (), None), ["lang"])
    >>> found.names, found.bits
    (('lang=de', 'lang=en'), array([1, 2, 1]))
    """
    size = len(next(iter(loaded.columns.values())).data)
    bits, names = np.zeros(size, dtype=np.int64), dict[str, None]()
    for text in written:
        name, equals, value = (part.strip() for part in text.partition("="))
        values, place = _distinct(loaded.columns[name])
        wanted = [value] if equals else values
        _refuse_unknown(name, wanted, values, loaded.source)
        for each in wanted:
            if (whole := f"{name}={each}") not in names:
                bits |= (place == values.index(each)).astype(np.int64) << len(names)
                names[whole] = None
    return SliceBits(tuple(names), bits)


def _distinct(column: Column) -> tuple[list[str], Ints]:
    """Return the texts that occur, most frequent first, and for each row which of them it has."""
    try:
        encoded = pa.concat_arrays(column.data.chunks).dictionary_encode(null_encoding="encode")
    except pa.ArrowNotImplementedError as error:
        raise PredictionsError(
            f"{column} is of type {column.data.type}, and has no values to slice by"
        ) from error
    texts = [slice_text(value) for value in encoded.dictionary.to_pylist()]
    values, place = np.unique(texts, return_inverse=True)
    rows = place[encoded.indices.to_numpy()]
    order = np.argsort(-np.bincount(rows), kind="stable")
    return values[order].tolist(), np.argsort(order)[rows]


def _refuse_unknown(column: str, wanted: Sequence[str], values: Sequence[str], source: str) -> None:
    some = ", ".join(values[:_MOST]) + (", ..." if len(values) > _MOST else "")
    if len(wanted) > _MOST:
        raise PredictionsError(
            f"column {column!r} of {source} has {len(values):,} values, and each would be a target",
            details=f"values: {some}; at most {_MOST}",
            hint=f"name those that matter: METRIC[{column}={values[0]}]; slices={[column]!r} tells "
            "all of them from the same labels",
        )
    for value in wanted:
        if value not in values:
            raise PredictionsError(
                f"no item of {source} has {column}={value}",
                details=f"values: {some}",
                hint=did_you_mean(value, list(values)),
            )
        if set(value) & set("[]"):
            raise PredictionsError(
                f"{column}={value} cannot be named in a metric: it has brackets",
                hint=f"slices={[column]!r} tells the metric of every value from the same labels",
            )
