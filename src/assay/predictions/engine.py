"""Engine: what something that reads predictions in place must be able to do.

`assay.predictions.scanned` makes `Predictions` of it; all that follows from the answers (strata,
limits, the order of the cards, what to ask for again) is there, once for all engines. Only counts
and drawn rows leave the engine.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Thread
from typing import Protocol, runtime_checkable
from warnings import warn

from assay.core.bins import Scale
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.error_model import Values
from assay.core.profile import ScoreCells
from assay.core.strata import Side
from assay.core.types import Bools, Floats, Ints
from assay.errors import AssayWarning
from assay.predictions.contract import IdKind
from assay.predictions.doubts import Doubt
from assay.predictions.ids import Ids


@dataclass(frozen=True)
class Span:
    """Rows that are asked for: of a side, low <= value < high, number <= limit.

    Where items have weights, number <= weight * limit.

    Of codes (of several classifiers, or more classes than no and yes), `codes` are those that are
    asked for, in place of the side.
    """

    side: Side
    low: float
    high: float
    limit: float
    codes: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of the predictions, in any order."""

    ids: Ids  # their ids
    values: Floats  # (n,): their stratification variable
    predicted: Bools | Ints  # (n,): their predicted labels, or their codes
    # What people see of each; None where the engine had better be asked for the drawn ones only.
    shown: list[dict[str, object]] | None = None
    weights: Ints | None = None  # (n,): their impressions, where items have weights
    given: Floats | None = None  # (n,): their weights as they were given


@dataclass(frozen=True, eq=False)
class Listed:
    """The ids of all items whose number lies at or below a limit, and the cell of each."""

    seed: int
    limit: int
    ids: Ids
    cell: Ints


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass brings home: the counts, and first cards where they cost little.

    `doubts` are what looks wrong with the scores. Of several classifiers the cells are of the mean
    rank and the code; `fingerprint` is then that of all that was read, which cells do not tell.
    Where items have weights, `weighed` are the cells whose weights are the evenest, and
    `weights_word` is the exclusive or of `assay.predictions.arrivals.weight_words`. `slices` are
    the names of those that the bits of a code behind the classifiers' tell of, and `coded` tells
    whether the cells of one classifier are those of several, too.
    """

    cells: ScoreCells
    listed: Listed | None = None
    doubts: tuple[Doubt, ...] = ()
    fingerprint: str | None = None
    weighed: ScoreCells | None = None
    weights_word: int | None = None
    slices: tuple[str, ...] = ()
    coded: bool = False


@runtime_checkable
class OpinionsOfSeveral(Protocol):
    """An engine that tells what columns for a model say, of classifiers that have names."""

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Return what is said of some items: by every column, by the scores, by the mean rank."""


class Scanner(Protocol):
    """An engine with predictions in it.

    Every question but `source` and `id_kind` may read the data. Bad values are told by `survey`,
    as `PredictionsError` with counts and examples: missing ids, missing, NaN or infinite scores,
    labels that are neither yes nor no.
    """

    @property
    def source(self) -> str:
        """Where the predictions come from, for people."""

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""

    def survey(self, seed: int) -> Survey:
        """Count all items by score, in one pass."""

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Return the items in each span and what they count for, shape (2, n), of any number."""

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Return the rows of all spans, which are disjoint but for their limits.

        `spans`: ranges of the variable, each with a predicted label and the largest deck number.
        """

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Return the rows with these ids; those that are not there are left out."""

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return what people see of the items with these ids, in their order."""

    @property
    def has_probabilities(self) -> bool:
        """Whether the predictions have the probabilities of all classes."""

    def probabilities(self, ids: Sequence[Id]) -> tuple[Ids, Floats]:
        """Return the rows with these ids, and the probabilities of all classes, of shape (n, K)."""

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model says of an item does."""

    def summed_probabilities(self) -> Floats | None:
        """Return those of every class, summed by the class that items are called, (K, K).

        As `assay.predictions.contract.ClassScores` has them; None where there are none.
        """

    def refuse_repeated_ids(self) -> None:
        """Look at every id, and raise `PredictionsError` with examples where one repeats."""


# How far a pass over the data is, for whoever wants to show it.

Tell = Callable[[float], None]

_tell: ContextVar[Tell | None] = ContextVar("assay_progress", default=None)

_SECONDS = 0.1  # between two looks


@contextmanager
def telling_progress(tell: Tell | None) -> Iterator[None]:
    """Let passes over the data that are made meanwhile tell how far they are, from 0 to 1.

    Each pass begins at 0 again. It is told from another thread.

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
    """Let somebody know at once of what engines do meanwhile that takes its time.

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
    """Tell what an engine is about to do; where nobody listens, it is a warning."""
    tell = _note.get()
    if tell is None:
        warn(text, AssayWarning, stacklevel=2)
    else:
        tell(text)


@contextmanager
def polled(share_done: Callable[[], float]) -> Iterator[None]:
    """Ask a long piece of work, from another thread, how much of it is done, and pass it on.

    `share_done` returns the share from 0 to 1, and below 0 where it cannot tell yet.
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
