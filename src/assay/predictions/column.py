"""A column as read, error examples that point into it, and the ids of items."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from assay.core import deck
from assay.core.deck import Id, IdKind
from assay.core.types import Bools, Ints, Words
from assay.errors import PredictionsError
from assay.lazy import later
from assay.predictions.faults import NO_ID, examples, first_few, no_ids

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:
    pc = later("pyarrow.compute")

# Only the stubs of pyarrow are generic.
Arrow: TypeAlias = "pa.ChunkedArray[Any]"

_NUMPY = {"float": "float32", "double": "float64"}  # Arrow's names of types that differ


def to_numpy(data: "Arrow | pa.Array[Any]") -> NDArray[Any]:
    """Numbers or booleans as a numpy array.

    pyarrow's own `to_numpy` loads pandas if that is installed, and its `cast` loads all compute
    functions.

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


def row_numbers(rows: Ints) -> "pa.Array[Any]":
    """Row numbers as an Arrow array; `pa.array` would load pandas, as above.

    >>> pa.chunked_array([["a", "b", "c"]]).take(row_numbers(np.array([2, 0]))).to_pylist()
    ['c', 'a']
    """
    numbers: Any = np.ascontiguousarray(rows, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), numbers.size, [None, pa.py_buffer(numbers)])


def is_plain(kind: pa.DataType) -> bool:
    """Whether Arrow stores values of a type as numpy stores numbers."""
    return pa.types.is_integer(kind) or kind in (pa.float32(), pa.float64())


Show = Callable[[Ints, Sequence[Id]], list[dict[str, object]]]
"""Displayed values of some items, from their row numbers and ids."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the predictions."""

    # name, source: shown to users: 'p_spam', 'predictions.parquet'.
    name: str
    source: str
    data: Arrow  # its values; never dictionary-encoded
    # Whether the column is text of a CSV file, which has no types: its values must be parsed.
    untyped: bool = False

    def __post_init__(self) -> None:
        if pa.types.is_dictionary(self.data.type):
            object.__setattr__(self, "data", self.data.cast(self.data.type.value_type))

    def __str__(self) -> str:
        """Name and source of the column."""
        return f"column {self.name!r} of {self.source}"

    def missing(self) -> Bools:
        """Mask of the rows without a value."""
        return np.asarray(self.data.is_null())

    def at(self, rows: Ints) -> list[object]:
        """Values of some rows."""
        return self.data.take(row_numbers(rows)).to_pylist()


@dataclass(frozen=True, eq=False)
class Loaded:
    """Columns read from a container of any kind."""

    source: str  # source, for users
    columns: dict[str, Column]  # the columns asked for, all of one length
    show: Show  # returns the displayed values of some items


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a text type."""
    types = pa.types
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


# Ids of items: distinct 64-bit integers or strings.


Texts: TypeAlias = "pa.Array[Any]"

# If the range of integers is at most this many times their number, they are ticked off one by one,
# which is far faster than sorting.
_SPREAD = 8

# Below this many strings, hashing in Python is faster than opening DuckDB.
_FEW = 20_000


class Ids:
    """Ids of all items, in row order."""

    def __init__(self, values: "Ints | Words | Texts") -> None:
        self.values = values

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.values)

    @property
    def kind(self) -> IdKind:
        """Whether they are integers or strings; the number 7 and the text '7' are two ids."""
        return "integer" if isinstance(self.values, np.ndarray) else "string"

    @cached_property
    def digest(self) -> Words:
        """64 bits of each id; with a seed they give its number in the deck."""
        if isinstance(self.values, np.ndarray):
            return deck.digest(self.values)
        if len(self.values) < _FEW:
            return deck.digest([str(id) for id in self.values.to_pylist()])
        return _digest_in_duckdb(self.values)

    def rows_of(self, ids: Sequence[deck.Id], source: str) -> list[int]:
        """Row of each id; raise if the source has changed.

        >>> Ids(np.array([7, 3, 5])).rows_of([5, 7], "rows.parquet")
        [2, 0]
        """
        row = {id: row for row, id in enumerate(self.at(np.arange(len(self))))}
        if missing := sum(id not in row for id in ids):
            raise PredictionsError(
                f"{source} has changed since it was read",
                details=f"{missing:,} of {len(ids):,} drawn items are no longer there",
            )
        return [row[id] for id in ids]

    @classmethod
    def of(cls, column: "Arrow | pa.Array[Any]", kind: IdKind) -> Self:
        """Ids from a column of an engine's answer."""
        values: Any = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return cls(np.asarray(values) if kind == "integer" else values.cast(pa.large_string()))

    @classmethod
    def concatenated(cls, parts: Sequence["Ids"]) -> Self:
        """Ids of all parts, which are of one kind, concatenated."""
        if all(isinstance(part.values, np.ndarray) for part in parts):
            numbers: Any = [part.values for part in parts]
            values: Any = np.concatenate(_of_one_type(numbers))
        else:
            texts: Any = [part.values for part in parts]
            values = pa.concat_arrays(texts)
        return cls(values)

    def take(self, rows: Ints) -> "Ids":
        """Ids of some rows."""
        if isinstance(self.values, np.ndarray):
            return Ids(self.values[rows])
        return Ids(self.values.take(row_numbers(rows)))

    def at(self, rows: Ints) -> list[deck.Id]:
        """Ids of some rows as plain Python values."""
        if isinstance(self.values, np.ndarray):
            return [int(id) for id in self.values[rows]]
        return [str(id) for id in self.values.take(row_numbers(rows)).to_pylist()]


def places_among(ids: Ids, among: Ids) -> Ints:
    """Position of each id among others of its kind; -1 if it is missing.

    >>> places_among(Ids(np.array([7, 8])), Ids(np.array([9, 7])))
    array([ 1, -1])
    """
    ids_here, others = ids.values, among.values
    if not len(others):
        return np.full(len(ids_here), -1)
    if isinstance(ids_here, np.ndarray) or isinstance(others, np.ndarray):  # they are of one kind
        return _places_of_integers(np.asarray(ids_here), np.asarray(others))
    places = pc.index_in(ids_here, value_set=others)
    return np.asarray(places.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _places_of_integers(wanted: Ints | Words, others: Ints | Words) -> Ints:
    words, known = wanted.astype(np.uint64), others.astype(np.uint64)
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known[order], words), known.size - 1)
    place = order[at]
    same = known[place] == words
    if wanted.dtype != others.dtype:  # -1 and 2^64 - 1 are written with the same bits
        same &= words < np.uint64(2**63)
    return np.where(same, place, -1)


def _of_one_type(parts: Sequence[Ints | Words]) -> Sequence[Ints | Words]:
    """Integers of one type, signed or unsigned; numpy would make them floats."""
    if len({part.dtype for part in parts}) == 1:
        return parts
    if not any((part < 0).any() for part in parts):
        return [part.astype(np.uint64) for part in parts]
    if any((part >= 2**63).any() for part in parts if part.dtype == np.uint64):
        raise PredictionsError(
            "some ids are below 0, others are 2^63 or more",
            details="64 bits do not hold both",
            hint="write the ids as strings",
        )
    return [part.astype(np.int64) for part in parts]


def read_ids(column: Column) -> Ids:
    """Ids from a column.

    A CSV file holds only text. Its ids are integers if every one is written as a 64-bit integer is:
    7, but not 007, +7 or 7.0. Otherwise all ids are strings, unchanged; NA is a string like any
    other, and so is the empty string, written "". An empty field without quotes is a missing id.

    >>> read_ids(Column("id", "a.csv", pa.chunked_array([["7", "8"]]), untyped=True)).kind
    'integer'
    >>> read_ids(Column("id", "a.csv", pa.chunked_array([["007", "8"]]), untyped=True)).kind
    'string'
    """
    if column.data.null_count:
        missing = column.missing()
        some = examples(first_few(missing))
        raise NO_ID.error(missing.sum(), missing.size, some, column=column)
    data = _integers_or_text(column.data) if column.untyped else column.data
    if pa.types.is_uint64(data.type):
        ids = Ids(to_numpy(data))
    elif pa.types.is_integer(data.type):
        ids = Ids(to_numpy(data).astype(np.int64, copy=False))
    elif is_text(data.type):
        ids = Ids(pa.concat_arrays(data.cast(pa.large_string()).chunks))
    else:
        raise no_ids(column, data.type)
    _refuse_duplicates(ids, column)
    return ids


def _integers_or_text(texts: Arrow) -> Arrow:
    for kind in (pa.int64(), pa.uint64()):
        try:
            integers = texts.cast(kind)
        except pa.ArrowInvalid:
            continue
        if integers.cast(texts.type).equals(texts):
            return integers
    return texts


def _refuse_duplicates(ids: Ids, column: Column) -> None:
    # Sorting words is far faster than sorting strings. Strings with equal words may still differ
    # (one pair in 2^64 does), so the strings are compared, too.
    words = ids.values if isinstance(ids.values, np.ndarray) else ids.digest
    if (words[1:] > words[:-1]).all() or _all_differ(words):
        return
    duplicates = rows_of_repeated(ids, words)
    if duplicates:
        some = [f"{id!r} in rows {rows[0]} and {rows[1]}" for id, rows in duplicates.items()]
        raise PredictionsError(
            f"{column} has ids that occur more than once: {len(duplicates):,}",
            details=f"first, counting rows from 0: {', '.join(some[:3])}",
            hint="each item needs one row and its own id; drop the duplicates",
        )


def rows_of_repeated(ids: Ids, words: Ints | Words) -> dict[deck.Id, list[int]]:
    """Rows of each id that is there more than once.

    `words`: one for each id; different ids may have equal words.
    """
    ordered = np.sort(words)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    suspects = np.flatnonzero(np.isin(words, repeated)) if repeated.size else repeated[:0]
    rows_of: dict[deck.Id, list[int]] = {}
    for row, id in zip(suspects.tolist(), ids.at(suspects), strict=True):
        rows_of.setdefault(id, []).append(row)
    return {id: rows for id, rows in rows_of.items() if len(rows) > 1}


def _all_differ(words: Ints | Words) -> bool:
    """Whether no two words are equal; checked only if they are close together."""
    low, high = int(words.min()), int(words.max())
    if high - low >= _SPREAD * words.size:
        return False
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    seen[words - words.dtype.type(low)] = True
    return int(np.count_nonzero(seen)) == words.size


def _digest_in_duckdb(texts: Texts) -> Words:
    """`assay.core.deck.digest` of texts: the first 16 hexadecimal digits of SHA-256."""
    with duckdb.connect() as connection:
        connection.register("ids", pa.table({"id": texts}))
        words = connection.sql("SELECT ('0x' || left(sha256(id), 16))::UBIGINT AS word FROM ids")
        digest: Words = words.fetchnumpy()["word"]
    return digest


def key_parts(name: str | None, known: Sequence[str] = ()) -> tuple[str, ...]:
    """Columns of a composite key; empty if the name is itself a column.

    `known`: existing columns: a name among them is never a key.

    >>> key_parts("day, user"), key_parts("url"), key_parts("a,b", ["a,b"])
    (('day', 'user'), (), ())
    """
    if name is None or "," not in name or name in known:
        return ()
    parts = tuple(part.strip() for part in name.split(","))
    if not all(parts) or len(set(parts)) < len(parts):
        raise PredictionsError(
            f"id={name!r} names no columns for a key",
            details="it would be their names, each once, with commas between: day,user,rank",
        )
    return parts


def shown_with(id: str | None, show: Sequence[str]) -> Sequence[str]:
    """Columns shown to reviewers: those of a key first.

    >>> shown_with("day,user", ["text", "user"]), shown_with("url", ["text"])
    (['day', 'user', 'text'], ['text'])
    """
    parts = key_parts(id)
    return list(dict.fromkeys([*parts, *show])) if parts else show


def with_parts(names: Sequence[str], known: Sequence[str] = ()) -> list[str]:
    """Names of columns, with every key replaced by its parts, each once.

    >>> with_parts(["day,user", "p", "user"])
    ['day', 'user', 'p']
    """
    return list(dict.fromkeys(part for name in names for part in key_parts(name, known) or (name,)))
