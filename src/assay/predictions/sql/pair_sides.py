"""The two sides of a comparison, each as an engine that joins them needs it: an id and a key a row.

The key stands for the cell of the row's score and label, in which the side was counted alone.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.bins import bins_of
from assay.core.deck import Id
from assay.core.profile import ScoreCells
from assay.core.types import Bools, Floats, Ints, Words
from assay.errors import PredictionsError
from assay.predictions.engine import Listed, Rows, Span
from assay.predictions.ids import Ids
from assay.predictions.memory import TOP, MemoryPredictions
from assay.predictions.scanned import ScannedPredictions
from assay.predictions.sql.several import Steps

_AT_ONCE = 2_000_000  # rows of an engine that gives arrays only

Read = ScannedPredictions | MemoryPredictions
"""One of the two sets, as it was read."""

IdsType: TypeAlias = "np.dtype[Any] | None"
"""Whether integers have a sign; None of strings."""


@runtime_checkable
class Keyed(Protocol):
    """An engine that gives ids and keys piece by piece, so that it need not hold them all."""

    def keys_of(self, cells: ScoreCells) -> "pa.Array[Any]":
        """Return the key of each cell."""

    def keyed(
        self, cells: ScoreCells, *, seed: int = 0, limit: int | None = None
    ) -> "pa.RecordBatchReader":
        """Return the columns id and key, of rows whose number lies at or below a limit if any."""


class Side:
    """One of two sets of predictions of yes and no.

    Parameters
    ----------
    part : ScannedPredictions or MemoryPredictions
    cells : ScoreCells
        What it was counted in.
    place : int
        0 for the earlier, 1 for the later.

    Attributes
    ----------
    steps : Steps
        The rank of each cell among its own items, and what it adds to a code: the presence, too.
    """

    part: Read
    listed: Listed | None = None

    def __init__(self, part: Read, cells: ScoreCells, place: int) -> None:
        self.part, self.cells = part, cells
        alone = Steps.of(cells, place)
        self.steps = Steps(cells, alone.rank, alone.code + (cells.classes**2 << place))

    @property
    def ids_type(self) -> IdsType:
        """Whether integers have a sign; None of strings."""
        raise NotImplementedError

    @property
    def keys(self) -> "pa.Array[Any]":
        """The key of each cell: its place, if the engine has none of its own."""
        return pa.array(np.arange(self.cells.bin.size), pa.int32())

    def rows(self, *, seed: int = 0, limit: int | None = None) -> "pa.RecordBatchReader":
        """Return the id and the key of every row, or of those whose number is not above a limit."""
        pieces = (self._keyed(*piece) for piece in self._pieces(seed, limit))
        first = next(pieces)

        def every() -> Iterator["pa.RecordBatch"]:
            yield first
            yield from pieces

        return pa.RecordBatchReader.from_batches(first.schema, every())

    def _pieces(self, seed: int, limit: int | None) -> Iterator[tuple[Ids, Floats, Bools | Ints]]:
        """Return ids, scores and labels, piece by piece; one piece at least."""
        raise NotImplementedError

    def _keyed(self, ids: Ids, score: Floats, said: Bools | Ints) -> "pa.RecordBatch":
        key = pa.array(self.cell_of(score, said), pa.int32())
        held: Any = ids.values
        return pa.record_batch({"id": pa.array(held), "key": key})

    def cell_of(self, score: Floats, said: Bools | Ints) -> Ints:
        """Return the place of each item's cell among the cells."""
        rule, classes = self.cells.rule, self.cells.classes
        known = classes * self.cells.bin + self.cells.said
        return place_of(classes * bins_of(score, rule) + said, known, self.part.source)

    def find(self, ids: Sequence[Id]) -> Rows:
        """Return the rows with these ids."""
        raise NotImplementedError

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return what people see of items that are there."""
        raise NotImplementedError

    def refuse_repeated_ids(self) -> None:
        """Look at every id, and raise where one repeats; in memory that was done."""


class MemorySide(Side):
    """Predictions in memory, beside others that stay where they are."""

    part: MemoryPredictions

    def __init__(self, part: MemoryPredictions, place: int) -> None:
        super().__init__(part, part.score_cells, place)

    @property
    def ids_type(self) -> IdsType:
        """Whether integers have a sign; None of strings."""
        return _type_of(self.part.judged.ids)

    def _pieces(self, seed: int, limit: int | None) -> Iterator[tuple[Ids, Floats, Bools | Ints]]:
        held = self.part.judged
        low = np.flatnonzero(numbers(held.ids, seed) <= np.uint64(TOP if limit is None else limit))
        yield held.ids.take(low), held.score[low], held.predicted[low]

    def find(self, ids: Sequence[Id]) -> Rows:
        """Return the rows with these ids."""
        found = [each for each in self._found(ids) if each is not None]
        told = [each.card.id for each in found]
        values: Any = pa.array([str(id) for id in told], pa.large_string())
        if self.ids_type is not None:
            values = np.array(told, dtype=self.ids_type)
        said = np.array([each.card.predicted for each in found], dtype=np.bool_)
        return Rows(Ids(values), np.array([each.value for each in found]), said)

    def _found(self, ids: Sequence[Id]) -> Any:
        return self.part.find(list(dict.fromkeys(ids)), variable="score", scale="margin")

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return what people see of items that are there."""
        return [dict(each.card.shown) for each in self._found(ids)]


class ScannedSide(Side):
    """Predictions that stay where they are."""

    part: ScannedPredictions

    def __init__(self, part: ScannedPredictions, place: int) -> None:
        super().__init__(part, part.survey.cells, place)
        self.listed = part.survey.listed

    @property
    def ids_type(self) -> IdsType:
        """Whether integers have a sign; None of strings."""
        if self.listed is not None:
            return _type_of(self.listed.ids)
        return None if self.part.id_kind == "string" else np.dtype(np.int64)

    @property
    def keys(self) -> "pa.Array[Any]":
        """The key of each cell."""
        scanner = self.part.scanner
        return scanner.keys_of(self.cells) if isinstance(scanner, Keyed) else super().keys

    def rows(self, *, seed: int = 0, limit: int | None = None) -> "pa.RecordBatchReader":
        """Return the id and the key of every row, or of those whose number is not above a limit."""
        scanner = self.part.scanner
        if isinstance(scanner, Keyed):
            return scanner.keyed(self.cells, seed=seed, limit=limit)
        return super().rows(seed=seed, limit=limit)

    def _pieces(self, seed: int, limit: int | None) -> Iterator[tuple[Ids, Floats, Bools | Ints]]:
        """Ask for rows by ranges of the score, none of which holds too many."""
        every, scanner = self.cells.profile(None), self.part.scanner
        ends = np.flatnonzero(np.diff(np.cumsum(every.count) // _AT_ONCE)) + 1
        for low, high in pairwise([-inf, *every.low[ends].tolist(), inf]):
            span = Span(None, low, high, TOP if limit is None else limit)
            rows = scanner.rows([span], variable="score", scale="margin", seed=seed)
            yield rows.ids, rows.values, rows.predicted

    def find(self, ids: Sequence[Id]) -> Rows:
        """Return the rows with these ids."""
        return self.part.scanner.find(ids, variable="score", scale="margin")

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return what people see of items that are there."""
        return self.part.scanner.show(ids) if ids else []

    def refuse_repeated_ids(self) -> None:
        """Look at every id, and raise where one repeats."""
        self.part.scanner.refuse_repeated_ids()


def side_of(part: Read, place: int) -> Side:
    """Return one of two sets as a side: 0 for the earlier, 1 for the later."""
    if isinstance(part, MemoryPredictions):
        return MemorySide(part, place)
    return ScannedSide(part, place)


def numbers(ids: Ids, seed: int) -> Words:
    """Return the numbers of items in the deck."""
    return deck.mix(ids.digest ^ np.uint64(deck.key(seed)))


def place_of(wanted: Ints, known: Ints, source: str) -> Ints:
    """Return where values are among those that were counted, which ascend."""
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    if not (known[at] == wanted).all():
        raise PredictionsError(f"{source} has changed while it was read")
    return at


def _type_of(ids: Ids) -> IdsType:
    return ids.values.dtype if isinstance(ids.values, np.ndarray) else None
