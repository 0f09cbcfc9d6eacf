"""Items in batches: counted by bin and label, counted by span, and drawn, all in numpy.

Every reader of predictions yields batches; arrays in memory are a single batch. A cell has its
items, their weight, its smallest and largest value, and the digests of its ids: their exclusive or
for one classifier, their sum modulo 2^64 for several. The results do not depend on how items are
cut into batches.
"""

import os
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from assay.core.bins import STEPS, Places, Rule, Scale, bins_by, find_places, pieces, scale_of
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.profile import ScoreCells, evenest
from assay.core.tally import MANY_CELLS, Tally, joined_cells, tally_of
from assay.core.types import Bools, Floats, Ints, Words
from assay.predictions.column import Ids
from assay.predictions.engine import Rows, Scanner, Span, number_of, span_of
from assay.predictions.faults import changed
from assay.predictions.roles import MOST_CODES

PIECE = 8 * 15 * 1024
"""Rows that a thread works on at once. Python may switch threads between numpy operations. With
pieces of an eighth, two threads need a quarter more CPU time.
"""

AT_ONCE = 2 * PIECE
"""Rows of a batch."""

_MOST_WORKERS = 8
_KEPT_BYTES = 16 << 20  # larger than an array of a batch
_Piece = TypeVar("_Piece")
Answer = TypeVar("Answer")


class UnusableError(Exception):
    """A row has no id, score or label; the engine has to find out which."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some items: their stratification variable, and their predicted labels or codes."""

    values: Floats
    predicted: Bools | Ints
    ids: Ids | None = None
    digest: Words | None = None  # d(id)
    weights: Ints | None = None  # in impressions
    given: Floats | None = None  # weights as given

    @property
    def words(self) -> Words:
        """The digest of each id."""
        if self.digest is not None:
            return self.digest
        return np.zeros(self.values.size, np.uint64) if self.ids is None else self.ids.digest

    def at(self, rows: Ints | slice) -> "Batch":
        """Select some rows of the batch; a slice drops the ids."""
        ids = None if self.ids is None or isinstance(rows, slice) else self.ids.take(rows)
        more: list[Any] = [self.digest, self.weights, self.given]
        more = [None if each is None else each[rows] for each in more]
        return Batch(self.values[rows], self.predicted[rows], ids, *more)


# Items by span of the stratification variable.


def count_spans(batches: Iterable[Batch], spans: Sequence[Span]) -> Ints:
    """Count and weigh the items in each span, shape (2, n)."""
    counts = np.zeros((2, len(spans)), dtype=np.int64)
    for batch in batches:
        span = span_of(spans, batch.values, batch.predicted)
        inside = span >= 0
        np.add.at(counts[0], span[inside], 1)
        np.add.at(counts[1], span[inside], 1 if batch.weights is None else batch.weights[inside])
    return counts


def drawn(batch: Batch, spans: Sequence[Span], seed: int) -> Batch:
    """Items of all spans whose number in the deck is at most the limit.

    With weights, the limit applies to the number divided by the impressions.
    """
    kind = np.uint64 if batch.weights is None else np.float64
    limit: Any = np.array([span.limit for span in spans], dtype=kind)
    number = number_of(batch.words, seed)
    # Most rows are above every limit: skip them before looking for spans.
    some = np.flatnonzero(_low_enough(number, batch.weights, limit.max()))
    span = span_of(spans, batch.values[some], batch.predicted[some])
    some, span = some[span >= 0], span[span >= 0]
    weights = None if batch.weights is None else batch.weights[some]
    return batch.at(some[_low_enough(number[some], weights, limit[span])])


def _low_enough(number: Words, weights: Ints | None, limit: "Floats | Words") -> Bools:
    if weights is None:
        return np.asarray(number <= limit)
    return np.asarray(number.astype(np.float64) <= weights * limit)


def rows_of(batches: Iterable[Batch]) -> Rows:
    """Rows of at least one batch."""
    every = list(batches)

    def column(name: str) -> Any:
        parts = [getattr(batch, name) for batch in every]
        return None if parts[0] is None else np.concatenate(parts)

    ids = Ids.concatenated([batch.ids for batch in every if batch.ids is not None])
    values, predicted, weights, given = map(column, ("values", "predicted", "weights", "given"))
    return Rows(ids, values, predicted, weights=weights, given=given)


# Items by bin and code.


def count_cells(
    parts: Iterable[_Piece],
    rule: Rule,
    n_codes: int,
    batch_of: Callable[[_Piece], Batch],  # runs in the counting threads
    *,
    xor: bool = False,
) -> ScoreCells:
    """Count all items by value and code."""
    tallies = [tally_of(rule, n_codes, xor=xor) for _ in range(workers())]

    def counter(tally: Tally) -> Callable[[_Piece], None]:
        def count(part: _Piece) -> None:
            batch = batch_of(part)
            for rows in pieces(batch.values.size, PIECE):
                some = batch.at(rows)
                place = places_of(some.values, some.predicted, rule)
                tally.add(place, some.values, some.digest, some.weights)

        return count

    in_threads(parts, [counter(tally) for tally in tallies])
    return joined_cells(tallies, rule, n_codes, xor=xor)


def marked_cells(
    items: Iterable[Batch], rule: Rule, n_codes: int, words: Callable[[Batch], Words]
) -> tuple[ScoreCells, int]:
    """Count all items, without their digests, and take the exclusive or of a word for each."""
    every = np.uint64(0)

    def marked() -> Iterator[Batch]:
        nonlocal every
        for batch in items:
            every ^= np.bitwise_xor.reduce(words(batch))
            yield replace(batch, digest=None)

    cells = count_cells(marked(), rule, n_codes, lambda each: each)
    return cells, int(every)


def cells_by_code(
    batch: Batch,  # items that are in memory, with their digests
    *,
    n_codes: int,  # number of possible codes
    rule: Rule = "probability",
) -> ScoreCells:
    """Count items that are in memory."""
    code, codes = batch.predicted, None
    if n_codes > MOST_CODES:
        codes, code = np.unique(code.astype(np.int64), return_inverse=True)
        n_codes = codes.size
    cells = count_cells([replace(batch, predicted=code)], rule, n_codes, lambda each: each)
    return (
        cells
        if codes is None
        else replace(cells, predicted=codes[cells.predicted.astype(np.int64)])
    )


def places_of(value: Floats, code: Bools | Ints, rule: Rule) -> Ints:
    """Place of each item: a number for its bin and code.

    The code is more significant: most rows have one of a few codes, so their counters are close.
    """
    place = np.empty(value.size, dtype=np.int64)
    if not find_places(value, rule, code, place):
        raise UnusableError
    return place


def find_cells(cells: ScoreCells, place: Places | Ints) -> Ints:
    """Index of the cell of each place. Raise if a place has no cell: the items have changed."""
    bins = bins_by(cells.rule)
    known = cells.bin + STEPS[cells.rule] + bins * cells.predicted.astype(np.int64)
    if bins * cells.classes <= MANY_CELLS:
        cell = np.full(bins * cells.classes, -1)
        cell[known] = np.arange(known.size)
        cells_of: Ints = cell[place]
    else:
        order = np.argsort(known)
        at = np.minimum(np.searchsorted(known, place, sorter=order), known.size - 1)
        cells_of = np.where(known[order[at]] == place, order[at], -1)
    if (cells_of < 0).any():
        raise UnusableError
    return cells_of


def keyed(cells: ScoreCells, items: Batch, source: str) -> "pa.RecordBatch":
    """Id, place of the cell and weight of each item; raise if one has no cell."""
    ids: Any = None if items.ids is None else items.ids.values
    columns = {"id": pa.array(ids), "key": pa.array(keys_of(cells, items, source), pa.int32())}
    if items.given is not None:
        columns["weight"] = pa.array(items.given)
    return pa.record_batch(columns)


def keys_of(cells: ScoreCells, items: Batch, source: str) -> Ints:
    """Place of each item's cell; raise if one has no cell."""
    try:
        return find_cells(cells, places_of(items.values, items.predicted, cells.rule))
    except UnusableError:
        raise changed(source) from None


# Work in threads.


def workers() -> int:
    """Choose the number of threads."""
    return min(os.cpu_count() or 1, _MOST_WORKERS)


def in_threads(work: Iterable[_Piece], workers: Sequence[Callable[[_Piece], None]]) -> None:
    """Run workers in threads; each takes one piece of work at a time.

    Few pieces are in memory at once: the next is read when a worker is free.
    """
    _keep_freed_memory()
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


def _keep_freed_memory() -> None:
    """Let the C library keep the memory of arrays for the next ones.

    By default it returns arrays of more than 128 KB to the system, and a third of the CPU time goes
    into getting their pages again. It keeps those that are no larger than one that was freed.
    """
    np.empty(_KEPT_BYTES, np.uint8)


# A scanner of items, however they are read.


@dataclass(frozen=True)
class Some:
    """Which items to read; others may be among them."""

    ids: Sequence[Id] | None = None  # those with these ids, and no others
    spans: Sequence[Span] = ()  # those whose number in the deck is not above all limits
    seed: int = 0  # of the deck


ALL = Some()


class BatchScanner(Scanner):
    """A `Scanner` over batches of items."""

    n_codes: int  # number of possible labels or codes

    @abstractmethod
    def items(self, variable: Variable, scale: Scale, some: Some = ALL) -> Iterable[Batch]:
        """Batches of items, by a variable; with their ids, if only some are read."""

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """Answer of a pass over items; what goes wrong is raised as an error of the source."""
        return question()

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""

        def rule() -> Rule:
            each = (items.values for items in self.items(variable, scale))
            ends = [(values.min(), values.max()) for values in each if values.size]
            return scale_of(min(low for low, _ in ends), max(high for _, high in ends))

        def counted(rule: Rule) -> ScoreCells:
            return self.ask(lambda: self.counted(self.items(variable, scale), rule, self.n_codes))

        return evenest(counted, self.ask(rule), lambda cells: cells.by_weight)

    def counted(self, items: Iterable[Batch], rule: Rule, classes: int) -> ScoreCells:
        """Count items by the bins of a rule; labels of two classes are yes and no."""
        return count_cells(items, rule, classes, lambda batch: replace(batch, digest=None))

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Count and weigh the items in each span."""
        return self.ask(lambda: count_spans(self.items(variable, scale), spans))

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Rows of all spans; those above every limit are not read."""
        some = Some(spans=spans, seed=seed)
        return self.ask(
            lambda: rows_of(drawn(each, spans, seed) for each in self.items(variable, scale, some))
        )

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Rows with these ids."""
        return self.ask(lambda: rows_of(self.items(variable, scale, Some(ids))))
