"""A column as it was read, and how an error points into it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from assay.core.deck import Id
from assay.core.types import Bools, Ints
from assay.errors import PredictionsError, did_you_mean

# Only the stubs of pyarrow are generic.
Arrow: TypeAlias = "pa.ChunkedArray[Any]"

_NUMPY = {"float": "float32", "double": "float64"}  # Arrow's names of types, where they differ


def to_numpy(data: "Arrow | pa.Array[Any]") -> NDArray[Any]:
    """Return numbers, or yes and no, as an array of numpy.

    pyarrow's own `to_numpy` loads pandas where that is installed, for a quarter of a second, and
    its `cast` loads all that it can compute.

    >>> to_numpy(pa.chunked_array([[1, 2], [3]]).slice(1))
    array([2, 3])
    >>> to_numpy(pa.chunked_array([[True, True, False], [True]]).slice(1))
    array([ True, False,  True])
    """
    kind = data.type
    if data.null_count or not (pa.types.is_boolean(kind) or is_plain(kind)):
        return np.asarray(data.to_numpy(zero_copy_only=False))
    dtype = np.dtype(_NUMPY.get(str(kind), str(kind)))
    parts: list[NDArray[Any]] = []
    for chunk in data.chunks if isinstance(data, pa.ChunkedArray) else [data]:
        values: Any = chunk.buffers()[1]
        if len(chunk) and pa.types.is_boolean(kind):  # bits, the lowest of a byte first
            whole, beside = divmod(chunk.offset, 8)
            packed = np.frombuffer(values, np.uint8, offset=whole)
            bits = np.unpackbits(packed, count=beside + len(chunk), bitorder="little")
            parts.append(bits[beside:].view(np.bool_))
        elif len(chunk):
            parts.append(np.frombuffer(values, dtype, len(chunk), chunk.offset * dtype.itemsize))
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def is_plain(kind: pa.DataType) -> bool:
    """Tell whether Arrow keeps values of a type as numpy keeps numbers."""
    return pa.types.is_integer(kind) or kind in (pa.float32(), pa.float64())


Show = Callable[[Ints, Sequence[Id]], list[dict[str, object]]]
"""What people see of some items, given their row numbers and their ids."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the predictions."""

    # name, source: where it is, for people: 'p_spam', 'predictions.parquet'.
    name: str
    source: str
    data: Arrow  # its values; never dictionary-encoded
    # Whether it is the text of a CSV file, which has no types, so that the values are still to be
    # read out of it.
    untyped: bool = False

    def __post_init__(self) -> None:
        if pa.types.is_dictionary(self.data.type):
            object.__setattr__(self, "data", self.data.cast(self.data.type.value_type))

    def __str__(self) -> str:
        """Say where the column is."""
        return f"column {self.name!r} of {self.source}"

    def missing(self) -> Bools:
        """Tell the rows without a value."""
        return np.asarray(self.data.is_null())

    def at(self, rows: Ints) -> list[object]:
        """Return the values of some rows."""
        return self.data.take(rows).to_pylist()


@dataclass(frozen=True, eq=False)
class Loaded:
    """What was read from a container, whatever it was."""

    source: str  # what it is, for people
    columns: dict[str, Column]  # the columns asked for, all of one length
    show: Show  # returns what people see of some items


def not_numbers(value: object, what: str) -> str:
    """Return a hint for text that should be a number.

    >>> not_numbers("95%", "score")
    "write 95 in place of '95%', and say scale='percent'"
    """
    text = str(value).strip()
    if re.fullmatch(r"[\d.,]+\s*%", text):
        more = ", and say scale='percent'" if what == "score" else ""
        return f"write {text.rstrip('% ').replace(',', '.')} in place of {value!r}{more}"
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+\.\d+|-?\d{1,3}(,\d{3}){2,}", text):
        return f"write {text.replace(',', '')} in place of {value!r}, without separators"
    if re.fullmatch(r"-?\d*,\d+", text):
        return f"write {text.replace(',', '.')} in place of {value!r}: a point, not a comma"
    return "is another column meant? If not, mend or drop these rows"


def is_text(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type is one of those for text.

    >>> is_text(pa.large_string()), is_text(pa.binary())
    (True, False)
    """
    types = pa.types
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def first_few(bad: Bools) -> Ints:
    """Return the first few rows that an error shows as examples.

    >>> first_few(np.array([False, True, True]))
    array([1, 2])
    """
    return np.flatnonzero(bad)[:3]


def examples(rows: Ints, **facts: Sequence[object]) -> str:
    """Write out the first bad rows.

    >>> examples(np.array([3, 9]), id=["a", "b"], score=[float("nan"), None])
    "first, counting rows from 0: row 3 (id 'a', score nan), row 9 (id 'b', score missing)"
    """
    texts = []
    for place, row in enumerate(rows):
        told = [f"{name} {_shown(values[place])}" for name, values in facts.items()]
        texts.append(f"row {row} ({', '.join(told)})" if told else f"row {row}")
    return f"first, counting rows from 0: {', '.join(texts)}"


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)


def refuse_missing_columns(wanted: Sequence[str], known: Sequence[str], source: str) -> None:
    """Raise an error that names the first column that is wanted and not there.

    >>> refuse_missing_columns(["p_spam"], ["url", "pspam"], "predictions.parquet")
    Traceback (most recent call last):
    assay.errors.PredictionsError: column 'p_spam' not found in predictions.parquet
    columns: url, pspam
    hint: did you mean 'pspam'?
    """
    for name in wanted:
        if name not in known:
            raise PredictionsError(
                f"column {name!r} not found in {source}",
                details=f"columns: {', '.join(known)}",
                hint=did_you_mean(name, known) or _no_names(known),
            )


def _no_names(known: Sequence[str]) -> str:
    """Return a hint where the names of columns look like values."""
    if any(re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", name.strip()) for name in known):
        return "the first line seems to be a row: put the columns' names above it"
    return ""
