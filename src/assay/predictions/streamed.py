"""Several classifiers whose rows come in pieces: the first of two passes, which counts by score.

An engine reads the rows once and hands them over as Arrow batches. The first pass counts the items
of each classifier by bin and label, and keeps of every row what the second (`Ranked` of
`assay.predictions.duckdb.several`) needs: for each classifier a place, the bin and what it says,
in two bytes, and the digest of the id. The numbers are those of memory, to the last bit.
"""

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock
from typing import IO, Any, TypeVar

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.bins import STEPS, Places, Ranges, Rule, find_places, pieces
from assay.core.profile import HEAVY, ScoreCells
from assay.core.types import Ints, Words
from assay.predictions.arrivals import weight_words

PIECE = 8 * 15 * 1024
"""The rows that a thread works on at once. Python lets another thread in between two operations of
numpy: with pieces of an eighth, two threads take a quarter more CPU time, for handing over."""

AT_ONCE = 2 * PIECE
"""The rows of a batch."""

DIGEST, LISTED, BITS, WEIGHT = "digest", "listed", "bits", "weight"
"""The columns with d(id), missing where the id is, and with the ids of first cards, if these are
text; where there are any, with the bits of the slices that hold an item, and with its impressions,
0 for none."""

_HELD = 256 * 2**20  # bytes that are kept in memory before the file takes the rest

_MOST_WORKERS = 8
_Piece = TypeVar("_Piece")
Keys = np.ndarray[tuple[int, int], np.dtype[np.uint16]]


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of rows that count: a place for each classifier, and what else there is."""

    keys: Keys
    digest: Words
    bits: Ints | None = None
    weights: Ints | None = None

    def at(self, rows: "slice | Ints") -> "Kept":
        """Return the same of some rows."""
        more = (None if each is None else each[rows] for each in (self.bits, self.weights))
        return Kept(self.keys[:, rows], self.digest[rows], *more)

    def copied(self) -> "Kept":
        """Return the same, without the batch that the digests and all else of its rows are in."""
        more = (None if each is None else each.copy() for each in (self.bits, self.weights))
        return Kept(np.ascontiguousarray(self.keys), self.digest.copy(), *more)

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.keys.shape[1]


@dataclass(frozen=True)
class FirstIds:
    """The first cards among integer ids, which their digests tell."""

    seed: int  # of the deck
    limit: int  # up to which number cards are first
    signed: bool  # whether the ids have a sign

    def found(self, digest: Words) -> tuple[Ints, Ints | Words]:
        """Return where first cards are, and their ids."""
        key, limit = np.uint64(deck.key(self.seed)), np.uint64(self.limit)
        parts = [
            rows.start + np.flatnonzero(deck.mix(digest[rows] ^ key) <= limit)
            for rows in pieces(digest.size, PIECE)
        ]
        some = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        ids = deck.unmix(digest[some])
        return some, ids.view(np.int64) if self.signed else ids


class UnusableError(Exception):
    """A row has no id, no score or no label; the engine has to look for what it is."""


@dataclass(frozen=True)
class Judge:
    """One of several classifiers, as the columns of a batch have it."""

    rule: Rule  # how bins are made of its scores
    # score, says: the columns of scores, and of what it says: 0 or 1. Without scores all are 0.
    score: str | None
    says: str | None
    limit: float = 0.0  # without a column of what it says, the score from which on it says yes

    @property
    def ends(self) -> bool:
        """Whether the smallest and the largest score of cells must be known.

        They tell of labels on the wrong side, and of scores off their scale. With labels by a
        threshold, of probabilities, they tell something of heavy cells only.
        """
        return self.says is not None or self.rule == "margin"

    @property
    def places(self) -> int:
        """The number of places: one for each bin and label."""
        return 2 * (2 * STEPS[self.rule] + 1)

    def find_places(self, columns: "_Columns", rows: slice, places: Places, ends: Ranges) -> None:
        """Find the places of some rows."""
        score = np.zeros(places.size) if self.score is None else columns[self.score][rows]
        said = score >= np.float64(self.limit) if self.says is None else columns[self.says][rows]
        if not find_places(score, self.rule, said, places):
            raise UnusableError
        if self.ends:
            # -0.0 becomes 0.0
            ends.add(places.astype(np.int64), np.add(score, 0.0, dtype=np.float64))


_Columns = Mapping[str, Any]


def _columns_of(batch: "pa.RecordBatch", names: Iterable[str | None]) -> _Columns:
    """Return columns in which nothing is missing."""
    found = {name: batch.column(name) for name in names if name is not None}
    if any(values.null_count for values in found.values()):
        raise UnusableError
    return {name: values.to_numpy() for name, values in found.items()}


class FirstPass:
    """What is counted of all rows, by each classifier."""

    def __init__(
        self,
        judges: Sequence[Judge],  # the classifiers, in the order of the places of a code
        file: IO[bytes],  # takes what the second pass needs
        columns: Collection[str],  # which of `LISTED`, `BITS` and `WEIGHT` there are
        first: FirstIds | None = None,  # finds first cards where ids are integers
    ) -> None:
        self.judges, self._file, self._columns, self._first = judges, file, columns, first
        self._held: list[Kept] = []
        self._lock = Lock()
        self.size = 0
        self._room, self._sizes = _HELD, list[int]()  # of the batches, in the order of the file
        self._weights_word = np.uint64(0)
        self._listed: list[tuple[pa.Array[Any], Kept]] = []
        self._counts = [np.zeros(judge.places, dtype=np.int64) for judge in judges]
        self._ends = [Ranges(judge.places if judge.ends else 0) for judge in judges]

    @property
    def weights_word(self) -> int | None:
        """The exclusive or of `assay.predictions.arrivals.weight_words`; None without weights."""
        return int(self._weights_word) if WEIGHT in self._columns else None

    def take(self, batches: Iterable["pa.RecordBatch"]) -> None:
        """Count all batches."""
        in_threads(batches, [self._take for _ in range(workers())])

    def _take(self, batch: "pa.RecordBatch") -> None:
        size = batch.num_rows
        keys = np.empty((len(self.judges), size), dtype=np.uint16)
        ends = [Ranges(each.count.size) for each in self._ends]
        named = [name for judge in self.judges for name in (judge.score, judge.says)]
        there = {DIGEST, *named} | ({BITS, WEIGHT} & set(self._columns))
        columns = _columns_of(batch, there)
        bits, weights = columns.get(BITS), columns.get(WEIGHT)
        for rows in pieces(size, PIECE):
            for judge, key, end in zip(self.judges, keys, ends, strict=True):
                judge.find_places(columns, rows, key[rows], end)
        counts = [
            np.bincount(key, minlength=judge.places)
            for judge, key in zip(self.judges, keys, strict=True)
        ]
        kept, weights_word = Kept(keys, columns[DIGEST], bits, weights), np.uint64(0)
        if weights is not None:
            some = np.flatnonzero(weights)
            kept = kept.at(some)
            heavy = weight_words(kept.digest, weights[some])
            weights_word = np.bitwise_xor.reduce(heavy)
        first = self._first_cards(batch, kept)
        with self._lock:
            self.size += size
            self._weights_word ^= weights_word
            self._listed += first
            self._keep(kept)
            for mine, count in zip(self._counts, counts, strict=True):
                np.add(mine, count, out=mine)
            for known, end in zip(self._ends, ends, strict=True):
                known.join(end)

    def _first_cards(
        self, batch: "pa.RecordBatch", kept: Kept
    ) -> "list[tuple[pa.Array[Any], Kept]]":
        """Return the ids of first cards among the rows, and what is kept of these."""
        if self._first is not None:
            some, ids = self._first.found(kept.digest)
            return [(pa.array(ids), kept.at(some))]
        if LISTED not in self._columns:
            return []
        listed = batch.column(LISTED)
        some = np.flatnonzero(np.asarray(listed.is_valid()))
        return [(listed.take(pa.array(some, pa.int64())), kept.at(some))]

    def _keep(self, kept: Kept) -> None:
        """Keep rows for the second pass: the first in memory, the others in the file."""
        arrays = [
            each for each in (kept.keys, kept.digest, kept.bits, kept.weights) if each is not None
        ]
        self._room -= sum(each.nbytes for each in arrays)
        if self._room >= 0:
            self._held.append(kept.copied())
            return
        self._sizes.append(kept.size)
        for array in arrays:
            self._file.write(np.ascontiguousarray(array).data)

    def cells(self, number: int) -> ScoreCells | None:
        """Return the counts of a classifier; None where there may be a better rule for its scores.

        Without the ends of cells their bins stand for these: the ranks are the same.
        """
        judge, count = self.judges[number], self._counts[number]
        there = np.flatnonzero(count)
        said, bins = there % 2 == 1, there // 2 - STEPS[judge.rule]
        low = high = bins.astype(np.float64)
        if judge.ends:
            low, high = self._ends[number].low[there], self._ends[number].high[there]
        none = np.zeros(there.size, dtype=np.uint64)
        cells = ScoreCells(judge.rule, bins, said, count[there], low, high, none)
        of_label = np.where(said, cells.positives, cells.size - cells.positives)
        heavy = (cells.count > HEAVY * of_label).any()
        enough = cells.finer_rule is None if judge.ends else not heavy
        return cells if enough else None

    def kept(self) -> Iterator[Kept]:
        """Return what was kept of the rows that count, batch by batch."""
        yield from self._held
        self._file.flush()
        self._file.seek(0)
        for size in self._sizes:
            keys = self._read(np.uint16, len(self.judges) * size).reshape(-1, size)
            digest = self._read(np.uint64, size)
            bits, weights = (
                self._read(np.int64, size) if name in self._columns else None
                for name in (BITS, WEIGHT)
            )
            yield Kept(keys, digest, bits, weights)

    def _read(self, kind: Any, number: int) -> Any:
        return np.frombuffer(self._file.read(number * np.dtype(kind).itemsize), dtype=kind)

    def listed(self) -> "tuple[pa.ChunkedArray[Any], Kept] | None":
        """Return the ids of first cards, and what was kept of their rows."""
        if not self._listed:
            return None
        ids, kept = zip(*self._listed, strict=True)
        keys = np.concatenate([each.keys for each in kept], axis=1)
        digest = np.concatenate([each.digest for each in kept])
        bits = [each.bits for each in kept if each.bits is not None]
        told = Kept(keys, digest, np.concatenate(bits) if bits else None)
        return pa.chunked_array(list(ids)), told


def workers() -> int:
    """Return in how many threads to work."""
    return min(os.cpu_count() or 1, _MOST_WORKERS)


def in_threads(work: Iterable[_Piece], workers: Sequence[Callable[[_Piece], None]]) -> None:
    """Let workers, each in one thread at a time, take pieces of work as they come.

    Few pieces are held at once: the next is asked for when there is somebody to take it.

    `workers`: each takes a piece.
    """
    free: SimpleQueue[Callable[[_Piece], None]] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def do(piece: _Piece) -> None:
        worker = free.get()
        try:
            worker(piece)
        finally:
            free.put(worker)

    begun: deque[Future[None]] = deque()
    with ThreadPoolExecutor(len(workers)) as pool:
        for piece in work:
            begun.append(pool.submit(do, piece))
            if len(begun) > len(workers):
                begun.popleft().result()
        for future in begun:
            future.result()
