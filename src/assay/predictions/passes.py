"""First pass over rows in batches, and the mean rank and code of rows after it.

The first pass counts the items of each classifier by bin and label. For a single classifier, the
cells also have the digests of the ids. For several, it keeps from every row what the second pass
needs: for each classifier the bin and the label in two bytes, and the digest of the id.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import IO, Any

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.bins import STEPS, Places, Rule, bins_by, find_places, pieces
from assay.core.error_model import RANK, SAID, Model
from assay.core.profile import ScoreCells
from assay.core.tally import Tally, joined_cells, tally_of
from assay.core.types import Floats, Ints, Words
from assay.core.weights import as_impressions
from assay.predictions.batches import PIECE, Batch, UnusableError, count_cells, in_threads, workers
from assay.predictions.engine import weight_words
from assay.predictions.layout import Steps
from assay.predictions.opinions import input_name, second_fold
from assay.predictions.roles import NO_SCORE

DIGEST, LISTED, BITS, GIVEN = "digest", "listed", "bits", "given"
"""Columns: d(id), missing where the id is; ids of first cards, if these are text; and the bits of
the slices that contain an item, and its weight, if any.
"""

_MOST_BYTES = 384 << 20  # of data kept in memory

Keys = np.ndarray[tuple[int, int], np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Kept:
    """Data kept of rows that count: a place for each classifier, and the optional columns."""

    keys: Keys
    digest: Words
    bits: Ints | None = None
    weights: Ints | None = None  # in impressions

    def at(self, rows: "slice | Ints") -> "Kept":
        """Select some rows."""
        more = (None if each is None else each[rows] for each in (self.bits, self.weights))
        return Kept(self.keys[:, rows], self.digest[rows], *more)

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.keys.shape[1]

    @property
    def arrays(self) -> list[Any]:
        """Arrays of all data, in the order of a file."""
        every = (self.keys, self.digest, self.bits, self.weights)
        return [array for array in every if array is not None]


@dataclass(frozen=True)
class FirstIds:
    """First cards among integer ids, which can be computed from their digests."""

    seed: int  # seed of the deck
    limit: int  # largest number of a first card
    signed: bool  # whether the ids have a sign

    def places(self, digest: Words) -> tuple[Ints, Ints | Words]:
        """Positions of first cards, and their ids."""
        key, limit = np.uint64(deck.key(self.seed)), np.uint64(self.limit)
        parts = [
            rows.start + np.flatnonzero(deck.mix(digest[rows] ^ key) <= limit)
            for rows in pieces(digest.size, PIECE)
        ]
        some = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        ids = deck.unmix(digest[some])
        return some, ids.view(np.int64) if self.signed else ids


@dataclass(frozen=True)
class Judge:
    """A classifier, as columns of a batch."""

    rule: Rule  # rule for bins of its scores
    # score, says: columns of scores, and of labels: numbers below `classes`. Without scores all are
    # 0.
    score: str | None
    says: str | None
    limit: float = 0.0  # without a column of labels, the smallest score for yes
    classes: int = 2

    @property
    def columns(self) -> list[str]:
        """Columns that it reads."""
        return [name for name in (self.score, self.says) if name is not None]

    def values(self, columns: "Columns", rows: slice) -> Any:
        """Scores of some rows, of the type that they have."""
        if self.score is None:
            return np.zeros(rows.stop - rows.start)
        return columns[self.score][rows]

    def find_places(self, columns: "Columns", rows: slice, places: Places) -> None:
        """Find the places of some rows."""
        score = self.values(columns, rows)
        if not find_places(score, self.rule, self.labels(columns, score, rows), places):
            raise UnusableError

    def labels(self, columns: "Columns", score: Floats, rows: slice) -> Any:
        """Labels of some rows, by their scores if there is no column of labels."""
        return score >= np.float64(self.limit) if self.says is None else columns[self.says][rows]

    def batch(self, columns: "Columns", size: int) -> Batch:
        """All rows by score and label; -0.0 becomes 0.0."""
        score = np.add(self.values(columns, slice(0, size)), 0.0, dtype=np.float64)
        predicted = self.labels(columns, score, slice(0, size))
        return Batch(score, predicted == 1 if self.classes == 2 else predicted.astype(np.int64))

    @property
    def kind(self) -> Any:
        """Type of its places."""
        return np.uint16 if bins_by(self.rule) * self.classes <= 2**16 else np.uint32

    def places(self, columns: "Columns", size: int) -> Places:
        """Places of all rows."""
        (places,) = places_by([self], columns, size)
        return places


Columns = Mapping[str, Any]


def columns_of(batch: "pa.RecordBatch", names: Iterable[str]) -> Columns:
    """Columns without missing values; raise if a value is missing."""
    arrays = {name: batch.column(name) for name in names}
    if any(values.null_count for values in arrays.values()):
        raise UnusableError
    return {name: values.to_numpy(zero_copy_only=False) for name, values in arrays.items()}


def places_by(judges: Sequence[Judge], columns: Columns, size: int) -> Keys:
    """Places of all rows by each classifier."""
    keys = np.empty((len(judges), size), np.result_type(*(judge.kind for judge in judges)))
    for rows in pieces(size, PIECE):
        for judge, places in zip(judges, keys, strict=True):
            judge.find_places(columns, rows, places[rows])
    return keys


class FirstPass:
    """Counts of all rows by each classifier."""

    def __init__(
        self,
        judges: Sequence[Judge],  # classifiers, in the order of a code
        columns: Collection[str],  # those of `LISTED`, `BITS` and `GIVEN` that exist
        *,
        file: IO[bytes] | None,  # for the data of a second pass; None if there is none
        size: int = 0,  # rows expected, of which as many as fit are kept in memory
        first: FirstIds | None = None,  # finds first cards if ids are integers
        xor: bool,  # whether cells have digests of their items
        exponent: int = 0,  # exponent of the factor from weights to impressions
    ) -> None:
        self.judges, self._file, self._columns, self._xor = judges, file, columns, xor
        self._exponent, self._first = exponent, first
        self._lock = Lock()
        self.size = 0
        self._memory = self._room_for(0 if file is None else size)
        self._filled = 0  # so many rows of it
        self._sizes = list[int]()  # of the batches in the file, in its order
        self._weights_word = np.uint64(0)
        self._listed: list[tuple[pa.Array[Any], Kept]] = []
        self._tallies: list[list[Tally]] = []

    @property
    def weights_word(self) -> int | None:
        """The exclusive or of `assay.predictions.draw.weight_words`; None without weights."""
        return int(self._weights_word) if GIVEN in self._columns else None

    def take(self, batches: Iterable["pa.RecordBatch"]) -> None:
        """Count all batches."""

        def counter() -> Any:
            tallies = [tally_of(each.rule, each.classes, xor=self._xor) for each in self.judges]
            self._tallies.append(tallies)
            return lambda batch: self._take(batch, tallies)

        in_threads(batches, [counter() for _ in range(workers())])

    def _take(self, batch: "pa.RecordBatch", tallies: Sequence[Tally]) -> None:
        size = batch.num_rows
        named = {name for judge in self.judges for name in judge.columns}
        columns = columns_of(batch, {DIGEST} | named | ({BITS, GIVEN} & set(self._columns)))
        keys = places_by(self.judges, columns, size)
        bits = columns[BITS].astype(np.int64) if BITS in columns else None
        kept, weights_word = Kept(keys, columns[DIGEST], bits), np.uint64(0)
        if GIVEN in columns:
            some = np.flatnonzero(columns[GIVEN])
            weights = as_impressions(columns[GIVEN][some], self._exponent)
            kept = replace(kept.at(some), weights=weights)
            weights_word = np.bitwise_xor.reduce(weight_words(kept.digest, weights))
        self._tally(tallies, columns, keys, kept)
        first = self._first_cards(batch, kept)
        with self._lock:
            self.size += size
            self._weights_word ^= weights_word
            self._listed += first
            if self._file is not None:
                self._keep(kept, self._file)

    def _tally(self, tallies: Sequence[Tally], columns: Columns, keys: Keys, kept: Kept) -> None:
        """Count rows by the places of each classifier; for a single one, only those that count."""
        for rows in pieces(keys.shape[1], PIECE):
            for judge, tally, key in zip(self.judges, tallies, keys, strict=True):
                value, some = judge.values(columns, rows), kept.at(rows)
                more = (some.digest, some.weights) if self._xor else ()
                tally.add(key[rows], value, *more)

    def _first_cards(
        self, batch: "pa.RecordBatch", kept: Kept
    ) -> "list[tuple[pa.Array[Any], Kept]]":
        """Ids of first cards among the rows, and the data kept of these."""
        if self._first is not None:
            some, ids = self._first.places(kept.digest)
            return [(pa.array(ids), kept.at(some))]
        if LISTED not in self._columns:
            return []
        listed = batch.column(LISTED)
        some = np.flatnonzero(np.asarray(listed.is_valid()))
        return [(listed.take(pa.array(some, pa.int64())), kept.at(some))]

    def _room_for(self, size: int) -> Kept:
        """Room for rows, in arrays so large that the system gives them memory in large pages."""
        kind, judges = np.result_type(*(judge.kind for judge in self.judges)), len(self.judges)
        more = [name in self._columns for name in (BITS, GIVEN)]
        rows = min(size, _MOST_BYTES // (kind.itemsize * judges + 8 * (1 + sum(more))))
        bits, weights = (np.empty(rows, dtype=np.int64) if each else None for each in more)
        keys = np.empty((judges, rows), dtype=kind)
        return Kept(keys, np.empty(rows, dtype=np.uint64), bits, weights)

    def _keep(self, kept: Kept, file: IO[bytes]) -> None:
        """Keep rows in memory or, if they do not fit, in the file, for the second pass."""
        end = self._filled + kept.size
        if end <= self._memory.size:
            room = self._memory.at(slice(self._filled, end))
            for into, array in zip(room.arrays, kept.arrays, strict=True):
                into[...] = array
            self._filled = end
            return
        self._sizes.append(kept.size)
        for array in kept.arrays:
            file.write(np.ascontiguousarray(array).data)

    def cells(self, number: int) -> ScoreCells:
        """Count the cells of a classifier."""
        judge, tallies = self.judges[number], [each[number] for each in self._tallies]
        return joined_cells(tallies, judge.rule, judge.classes, xor=self._xor)

    def kept(self) -> Iterator[Kept]:
        """Yield what was kept of the rows that count, batch by batch."""
        yield self._memory.at(slice(0, self._filled))
        if self._file is None:
            return
        self._file.flush()
        self._file.seek(0)
        for size in self._sizes:
            keys = self._read(self._memory.keys.dtype, len(self.judges) * size).reshape(-1, size)
            digest = self._read(np.uint64, size)
            bits, weights = (
                self._read(np.int64, size) if name in self._columns else None
                for name in (BITS, GIVEN)
            )
            yield Kept(keys, digest, bits, weights)

    def _read(self, kind: Any, number: int) -> Any:
        if self._file is None:
            return np.zeros(0, dtype=kind)
        return np.frombuffer(self._file.read(number * np.dtype(kind).itemsize), dtype=kind)

    def listed(self) -> "tuple[pa.ChunkedArray[Any], Kept] | None":
        """Ids of first cards, and the data kept of their rows."""
        if not self._listed:
            return None
        ids, kept = zip(*self._listed, strict=True)
        keys = np.concatenate([each.keys for each in kept], axis=1)
        digest = np.concatenate([each.digest for each in kept])
        bits = [each.bits for each in kept if each.bits is not None]
        kept_rows = Kept(keys, digest, np.concatenate(bits) if bits else None)
        return pa.chunked_array(list(ids)), kept_rows


# Second pass, by mean rank and code: the first pass gives the ranks of all bins, and the data that
# it kept of the rows is all that is read.


class Ranked:
    """Mean rank and code of rows, from their places."""

    def __init__(self, steps: Sequence[Steps], scored: Sequence[bool]) -> None:
        self.bins = [bins_by(step.cells.rule) for step in steps]
        self._classes = steps[0].cells.classes  # of each
        self._tables: list[Floats | None] = []
        for step, bins, has_score in zip(steps, self.bins, scored, strict=True):
            cells = step.cells
            table = np.zeros(cells.classes * bins)
            table[cells.bin + STEPS[cells.rule] + bins * cells.predicted.astype(np.int64)] = (
                step.rank
            )
            self._tables.append(table if has_score else None)

    def of(self, kept: Kept) -> Batch:
        """Mean ranks and codes."""
        total, scored = np.zeros(kept.size), 0
        # Fewer bytes are faster; there are at most 40 classifiers.
        few = self._classes == 2 and len(self._tables) <= 16
        code: Any = np.zeros(kept.size, np.uint16 if few else np.int64)
        pairs = zip(kept.keys, self._tables, self.bins, strict=True)
        for place, (key, table, bins) in enumerate(pairs):
            predicted = (key >= bins if self._classes == 2 else key // bins).astype(code.dtype)
            predicted *= code.dtype.type(self._classes**place)
            code += predicted
            if table is not None:
                total += table.take(key, mode="clip")
                scored += 1
        if scored:
            total /= scored
        means = total if scored else np.full(total.size, NO_SCORE)
        codes = code.astype(np.int64, copy=False)
        if kept.bits is not None:
            codes = codes | kept.bits << len(self._tables)
        return Batch(means, codes, None, kept.digest, kept.weights)

    def count(self, kept: Iterable[Kept], n_codes: int) -> ScoreCells:
        """Count rows by mean rank and code, in pieces that stay in a processor's cache."""
        parts = (each.at(rows) for each in kept for rows in pieces(each.size, PIECE))
        return count_cells(parts, "probability", n_codes, self.of)


class Odds:
    """Log odds of rows by a model.

    `columns`: expressions of the inputs that a reader computes, by their names (`input_name`).
    """

    def __init__(self, model: Model, columns: Mapping[str, Any]) -> None:
        self._model, self.columns = model, columns

    def placed(self, columns: Columns, items: Batch) -> Batch:
        """Items by log odds and code; the log odds replace the mean rank."""
        facts = {SAID: items.predicted, RANK: items.values}
        numbers = [
            columns[input_name(place)]
            if input_name(place) in self.columns
            else each.values(facts[each.column])
            for place, each in enumerate(self._model.inputs)
        ]
        odds = self._model.summed(numbers, second_fold(items.words, self._model.seed))
        return replace(items, values=odds + 0.0)  # -0.0 becomes 0.0


def odds_words(items: Batch) -> Words:
    """Word for each item and its log odds, ``h(d(id) xor h(log odds))``."""
    return deck.mix(items.words ^ deck.mix(items.values.view(np.uint64)))
