"""Engine: base class of readers of predictions in place.

`assay.predictions.predictions` makes `Predictions` of it. Everything that follows from the answers
(strata, limits, the order of the cards, further requests) is there, once for all engines. Only
counts and drawn rows leave the engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, Self
from warnings import warn

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.bins import Scale
from assay.core.cells import items_by_heap
from assay.core.cuts import Variable
from assay.core.deck import Id, IdKind
from assay.core.error_model import Values
from assay.core.profile import ScoreCells
from assay.core.ranking import top_classes
from assay.core.strata import Side
from assay.core.types import Bools, Floats, Ints, Words
from assay.errors import AssayWarning, PredictionsError
from assay.predictions.column import Ids
from assay.predictions.doubts import Doubt


@dataclass(frozen=True)
class Span:
    """Rows to read: of a side, with low <= value < high and number <= limit.

    If items have weights: number <= weight * limit.

    For codes (of several classifiers, or of more classes than yes and no), `codes` are the wanted
    ones, in place of the side.
    """

    side: Side
    low: float
    high: float
    limit: float
    codes: tuple[int, ...] | None = None


def span_of(spans: Sequence[Span], values: Floats, predicted: Bools | Ints) -> Ints:
    """Index of the span of each row, whatever its number; -1 for none.

    `values`, `predicted`, (N,): the rows' stratification variable, and their labels or codes.

    >>> from math import inf
    >>> low, high = Span(True, -inf, 0.5, 0), Span(True, 0.5, inf, 0)
    >>> span_of([low, high], np.array([0.5, 0.2, 0.9]), np.array([True, True, False]))
    array([ 1,  0, -1])
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, span in enumerate(spans):
        sides = (0, 1) if span.side is None else (int(span.side),)
        groups.setdefault(span.codes or sides, []).append(place)
    spans_of_rows = np.full(values.size, -1, dtype=np.int64)
    rows_of_each = items_by_heap(predicted.astype(np.int64, copy=False), list(groups))
    for places, rows in zip(groups.values(), rows_of_each, strict=True):
        order = np.array(sorted(places, key=lambda place: spans[place].low))
        low, high = (np.array([getattr(spans[at], end) for at in order]) for end in ("low", "high"))
        at = np.searchsorted(low, values[rows], side="right") - 1
        inside = (at >= 0) & (values[rows] < high[at])
        spans_of_rows[rows[inside]] = order[at[inside]]
    return spans_of_rows


def number_of(digest: Words, seed: int) -> Words:
    """Numbers of items in the deck, from the d(id) of each."""
    return deck.mix(digest ^ np.uint64(deck.key(seed)))


def weight_words(digest: Words, weights: Ints) -> Words:
    """Word for each item and its impressions, ``h(d(id) xor h(impressions))``."""
    return deck.mix(digest ^ deck.mix(weights.astype(np.uint64)))


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of the predictions, in any order."""

    ids: Ids  # their ids
    values: Floats  # (n,): their stratification variable
    predicted: Bools | Ints  # (n,): their predicted labels, or their codes
    # Displayed values of each; None if only those of drawn items should be read, with `show`.
    shown: list[dict[str, object]] | None = None
    weights: Ints | None = None  # (n,): their impressions, if items have weights
    given: Floats | None = None  # (n,): their weights as given


@dataclass(frozen=True, eq=False)
class Listed:
    """Ids of all items whose number is at most a limit, with the cell of each."""

    seed: int
    limit: int
    ids: Ids
    cell: Ints


@dataclass(frozen=True, eq=False)
class Survey:
    """Result of the first pass: the counts, and first cards if they cost little.

    `doubts` are problems with the scores. For several classifiers, cells are by mean rank and code;
    `fingerprint` then covers everything read, also what cells do not contain. If items have
    weights, `weighed` are the cells with the most even weights, and `weights_word` is the exclusive
    or of `assay.predictions.draw.weight_words`. `slices` are the names of the slices whose bits
    follow the classifiers' in a code. `coded` is whether cells of one classifier are by mean rank
    and code, too.
    """

    cells: ScoreCells
    listed: Listed | None = None
    doubts: tuple[Doubt, ...] = ()
    fingerprint: str | None = None
    weighed: ScoreCells | None = None
    weights_word: int | None = None
    slices: tuple[str, ...] = ()
    coded: bool = False


Probabilities = Callable[[Sequence[Id]], tuple[Ids, Floats]]
"""From ids to those that exist, and their probabilities of all classes, shape (n, K)."""


class Scanner(ABC):
    """An engine with predictions in it.

    Every method may read the data. `survey` raises `PredictionsError` with counts and examples for
    bad values: missing ids, missing, NaN or infinite scores, labels that are neither yes nor no.
    """

    source: str
    """Source of the predictions, for users."""
    parts: tuple[Any, ...] = ()
    """`Predictions` of each place, if they are from several."""
    stays: bool = True
    """Whether the rows stay where they are, outside of memory."""
    streams: bool = False
    """Whether `keyed` can be read as often as need be, and not only once."""
    is_cluster: bool = False
    """Whether it computes in a cluster, to which a smaller set is moved."""

    @property
    @abstractmethod
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""

    def again(self) -> Self:
        """Copy of the scanner for a new pass; the data may have changed."""
        return self

    @abstractmethod
    def survey(self, seed: int) -> Survey:
        """Count all items by score, in one pass."""

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""
        raise PredictionsError(f"{self.source} cannot give {variable} on the scale {scale}")

    @abstractmethod
    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Count and weigh the items in each span, shape (2, n), any deck number."""

    @abstractmethod
    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Rows of all spans, which are disjoint apart from their limits.

        `spans`: ranges of the variable, each with a predicted label and the largest deck number.
        """

    @abstractmethod
    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Rows with these ids; missing ones are left out."""

    @abstractmethod
    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Show the values of the items with these ids, in their order."""

    @abstractmethod
    def refuse_repeated_ids(self) -> None:
        """Read every id, and raise `PredictionsError` with examples if one repeats."""

    # Of classes.

    @property
    def probabilities(self) -> Sequence[Probabilities | None]:
        """Reader of each classifier's probabilities of all classes, if it has them."""
        return (None,)

    @property
    def has_probabilities(self) -> tuple[bool, ...]:
        """Whether each classifier has the probabilities of all classes."""
        return tuple(each is not None for each in self.probabilities)

    def ranked(self, ids: Sequence[Id], k: int) -> list[list[list[int]]]:
        """Rank the k most probable classes of each item, for each classifier."""
        rankings: list[list[list[int]]] = []
        for probabilities in self.probabilities:
            ids_there, every = (None, None) if probabilities is None else probabilities(ids)
            if ids_there is None or every is None:
                rankings.append([[] for _ in ids])
            else:
                top = top_classes(every, k).tolist()
                rankings.append([top[row] for row in ids_there.rows_of(ids, self.source)])
        return [list(ranking) for ranking in zip(*rankings, strict=True)]

    def summed_probabilities(self) -> Floats | None:
        """Sum the probabilities of each class by predicted class, shape (K, K).

        As in `assay.predictions.contract.ClassScores`; None without probabilities.
        """
        return None

    # Of columns for a model.

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Values of some items: of every column, the scores, and the mean rank."""
        raise PredictionsError(f"{self.source} was read without columns for a model: {len(ids):,}")

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does."""
        return 0

    @property
    def opinion_families(self) -> Mapping[str, Any]:
        """Kind of values of each column for a model, if an engine can join them."""
        return {}

    @property
    def has_score(self) -> bool:
        """Whether the classifier has a score."""
        return True

    # Of one of two sets to join.

    def keyed(self, cells: ScoreCells, below: str = "") -> "Iterator[pa.RecordBatch]":
        """Id, key and weight of rows; with columns for a model, these and the score.

        The key is the place of a row's cell among the given ones. Rows may be left out that do not
        fulfil `below`, a condition on the id and the weight in DuckDB's SQL.
        """
        del cells, below
        raise PredictionsError(
            f"{self.source} cannot be joined with other predictions in place",
            hint="write ids, scores and labels to a Parquet file and give that",
        )


# Progress of a pass over the data, for display.

Tell = Callable[[float], None]

_tell: ContextVar[Tell | None] = ContextVar("assay_progress", default=None)

_SECONDS = 0.1  # seconds between two polls


@contextmanager
def telling_progress(tell: Tell | None) -> Iterator[None]:
    """Report the progress of passes over the data in this context, from 0 to 1.

    Each pass starts at 0. `tell` is called from another thread.

    >>> with telling_progress(print), polled(lambda: 0.5):
    ...     pass
    1.0
    """
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


_note: ContextVar[Callable[[str], None] | None] = ContextVar("assay_notes", default=None)


@contextmanager
def telling_notes(tell: Callable[[str], None]) -> Iterator[None]:
    """Pass messages about long engine operations in this context to `tell`.

    >>> with telling_notes(print):
    ...     note("7 rows of old.parquet are moved to Spark")
    7 rows of old.parquet are moved to Spark
    """
    token = _note.set(tell)
    try:
        yield
    finally:
        _note.reset(token)


def note(text: str) -> None:
    """Announce an engine operation; without a listener it is a warning."""
    tell = _note.get()
    if tell is None:
        warn(text, AssayWarning, stacklevel=2)
    else:
        tell(text)


@contextmanager
def polled(share_done: Callable[[], float]) -> Iterator[None]:
    """Poll the progress of a long operation from another thread, and report it.

    `share_done` returns a share from 0 to 1, or a negative number if it is not yet known.
    """
    tell = _tell.get()
    if tell is None:
        yield
        return
    ended = Event()

    def look() -> None:
        while not ended.wait(_SECONDS):
            share = share_done()
            if share >= 0.0:
                tell(min(share, 1.0))

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
        tell(1.0)
    finally:
        ended.set()
        watcher.join()
