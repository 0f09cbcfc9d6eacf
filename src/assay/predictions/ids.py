"""The items' ids: whole numbers of 64 bits, or strings; no two alike."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.types import Ints, Words
from assay.errors import PredictionsError
from assay.lazy import later
from assay.predictions.column import Arrow, Column, examples, first_few, is_text, to_numpy
from assay.predictions.contract import IdKind

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:
    pc = later("pyarrow.compute")

Texts: TypeAlias = "pa.Array[Any]"

# Integers that take up to so many times their number of places are ticked off one by one, which is
# far faster than to sort them.
_SPREAD = 8

# Below this many strings, hashing them in Python takes less time than opening a DuckDB.
_FEW = 20_000


class Ids:
    """The ids of all items, in the order of the rows.

    `values`: one id for each row.
    """

    def __init__(self, values: "Ints | Words | Texts") -> None:
        self.values = values

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    @property
    def kind(self) -> IdKind:
        """Whether they are integers or strings; the number 7 and the text '7' are two ids."""
        return "integer" if isinstance(self.values, np.ndarray) else "string"

    @cached_property
    def digest(self) -> Words:
        """The 64 bits of each id from which its number in the deck is made, for any seed."""
        if isinstance(self.values, np.ndarray):
            return deck.digest(self.values)
        if len(self.values) < _FEW:
            return deck.digest([str(id) for id in self.values.to_pylist()])
        return _digest_in_duckdb(self.values)

    def rows_of(self, ids: Sequence[deck.Id], source: str) -> list[int]:
        """Return the row of each of some ids, which were read from the source before.

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
    def concatenated(cls, parts: Sequence["Ids"]) -> Self:
        """Return the ids of all parts, which are of one kind, one after the other."""
        if all(isinstance(part.values, np.ndarray) for part in parts):
            numbers: Any = [part.values for part in parts]
            values: Any = np.concatenate(_of_one_type(numbers))
        else:
            texts: Any = [part.values for part in parts]
            values = pa.concat_arrays(texts)
        return cls(values)

    def take(self, rows: Ints) -> "Ids":
        """Return the ids of some rows."""
        return Ids(
            self.values[rows] if isinstance(self.values, np.ndarray) else self.values.take(rows)
        )

    def at(self, rows: Ints) -> list[deck.Id]:
        """Return the ids of some rows as plain Python values."""
        if isinstance(self.values, np.ndarray):
            return [int(id) for id in self.values[rows]]
        return [str(id) for id in self.values.take(rows).to_pylist()]


def places_among(ids: Ids, among: Ids) -> Ints:
    """Return where each id is among others of its kind; -1 where it is not.

    >>> places_among(Ids(np.array([7, 8])), Ids(np.array([9, 7])))
    array([ 1, -1])
    """
    held, others = ids.values, among.values
    if not len(others):
        return np.full(len(held), -1)
    if isinstance(held, np.ndarray) or isinstance(others, np.ndarray):  # they are of one kind
        return _places_of_integers(np.asarray(held), np.asarray(others))
    found = pc.index_in(held, value_set=others)
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _places_of_integers(held: Ints | Words, others: Ints | Words) -> Ints:
    words, known = held.astype(np.uint64), others.astype(np.uint64)
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known[order], words), known.size - 1)
    place = order[at]
    same = known[place] == words
    if held.dtype != others.dtype:  # -1 and 2^64 - 1 are written with the same bits
        same &= words < np.uint64(2**63)
    return np.where(same, place, -1)


def _of_one_type(parts: Sequence[Ints | Words]) -> Sequence[Ints | Words]:
    """Return integers with one sign convention; numpy would make them inexact."""
    if len({part.dtype for part in parts}) == 1:
        return parts
    if not any((part < 0).any() for part in parts):
        return [part.astype(np.uint64) for part in parts]
    if any((part >= 2**63).any() for part in parts if part.dtype == np.uint64):
        raise PredictionsError(
            "some ids are below 0, and others 2^63 or more",
            details="64 bits do not hold both",
            hint="write the ids as strings",
        )
    return [part.astype(np.int64) for part in parts]


def read_ids(column: Column) -> Ids:
    """Take a column for the ids.

    A CSV file holds nothing but text. Its ids are integers when every one of them is written as
    an integer of 64 bits is: 7, but not 007, +7 or 7.0. Otherwise all of them are strings, just
    as they stand there; NA is a string like any other, and so is the empty one, written "". An id
    that is not written at all is missing.

    >>> read_ids(Column("id", "a.csv", pa.chunked_array([["7", "8"]]), untyped=True)).kind
    'integer'
    >>> read_ids(Column("id", "a.csv", pa.chunked_array([["007", "8"]]), untyped=True)).kind
    'string'
    """
    if column.data.null_count:
        missing = column.missing()
        raise PredictionsError(
            f"{missing.sum():,} of {missing.size:,} ids in {column} are missing",
            details=examples(first_few(missing)),
            hint="give these rows an id, or drop them",
        )
    data = _integers_or_text(column.data) if column.untyped else column.data
    if pa.types.is_uint64(data.type):
        ids = Ids(to_numpy(data))
    elif pa.types.is_integer(data.type):
        ids = Ids(to_numpy(data).astype(np.int64, copy=False))
    elif is_text(data.type):
        ids = Ids(pa.concat_arrays(data.cast(pa.large_string()).chunks))
    else:
        raise PredictionsError(
            f"the ids in {column} are of type {data.type}",
            details="an id is a whole number of 64 bits or a string",
            hint="make them integers if they are whole numbers, or else strings",
        )
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
    # (one pair in 2^64 does), so they are compared themselves.
    words = ids.values if isinstance(ids.values, np.ndarray) else ids.digest
    if (words[1:] > words[:-1]).all() or _all_differ(words):
        return
    ordered = np.sort(words)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not repeated.size:
        return
    suspects = np.flatnonzero(np.isin(words, repeated))
    rows_of: dict[deck.Id, list[int]] = {}
    for row, id in zip(suspects.tolist(), ids.at(suspects), strict=True):
        rows_of.setdefault(id, []).append(row)
    duplicates = {id: rows for id, rows in rows_of.items() if len(rows) > 1}
    if duplicates:
        some = [f"{id!r} in rows {rows[0]} and {rows[1]}" for id, rows in duplicates.items()]
        raise PredictionsError(
            f"{column} has ids that occur more than once: {len(duplicates):,}",
            details=f"first, counting rows from 0: {', '.join(some[:3])}",
            hint="an item is one row with an id of its own; drop the repetitions",
        )


def _all_differ(words: Ints | Words) -> bool:
    """Tell whether no two words are alike, if that is easily told: they are close together."""
    low, high = int(words.min()), int(words.max())
    if high - low >= _SPREAD * words.size:
        return False
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    seen[words - words.dtype.type(low)] = True
    return int(np.count_nonzero(seen)) == words.size


def _digest_in_duckdb(texts: Texts) -> Words:
    """Return `assay.core.deck.digest` of the texts: the first 16 hexadecimal digits of SHA-256."""
    with duckdb.connect() as connection:
        connection.register("ids", pa.table({"id": texts}))
        words = connection.sql("SELECT ('0x' || left(sha256(id), 16))::UBIGINT AS word FROM ids")
        digest: Words = words.fetchnumpy()["word"]
    return digest
