"""The two sides of a comparison, each as an engine that joins them needs it: an id and a key a row.

The key stands for the cell of the row's score and label, in which the side was counted alone. Where
items have weights, a row's own is there, too, as it was given.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.bins import bins_of
from assay.core.deck import Id
from assay.core.profile import ScoreCells
from assay.core.types import Bools, Floats, Ints, Words
from assay.errors import PredictionsError
from assay.predictions.engine import Listed, Rows, note
from assay.predictions.ids import Ids, places_among
from assay.predictions.memory import MemoryPredictions
from assay.predictions.roles import score_name
from assay.predictions.scanned import ScannedPredictions
from assay.predictions.sql.rows import Family
from assay.predictions.sql.several import Steps

Read = ScannedPredictions | MemoryPredictions
"""One of the two sets, as it was read."""

SIDES = ("old", "new")
"""What the two are called in a join."""

IdsType: TypeAlias = "np.dtype[Any] | None"
"""Whether integers have a sign; None of strings."""

Judged: TypeAlias = tuple[Ids, Floats, Bools | Ints, Floats | None]
"""Ids, scores and labels of some rows, and their weights if any."""


@runtime_checkable
class Opined(Protocol):
    """An engine whose columns for a model can be joined with those of another set."""

    @property
    def opinion_families(self) -> dict[str, Family]:
        """Of each column for a model, what kind of values it holds."""

    @property
    def has_score(self) -> bool:
        """Whether the classifier has a score."""


@runtime_checkable
class Streaming(Opined, Protocol):
    """An engine from which DuckDB can read ids and keys as often as need be."""

    def keys_of(self, cells: ScoreCells) -> "pa.Array[Any]":
        """Return the key of each cell."""

    def keyed(self, cells: ScoreCells, below: str = "") -> "pa.RecordBatchReader":
        """Return the columns id, key, weight, aux_0 and so on, score, of rows that fulfil one."""


@runtime_checkable
class Travelling(Protocol):
    """An engine whose rows can be moved to another."""

    def pieces(self) -> Iterator[Judged]:
        """Return every row's id, score, label and weight, piece by piece."""


class Side(ABC):
    """One of two sets of predictions of yes and no.

    `cells`: what it was counted in; `place`: 0 for the earlier, 1 for the later.

    `steps`: the rank of each cell among its own items, and what it adds to a code: the presence,
    too.
    """

    part: Read
    listed: Listed | None = None

    def __init__(self, part: Read, cells: ScoreCells, place: int) -> None:
        self.part, self.cells, self.place = part, cells, place
        alone = Steps.of(cells, place)
        self.steps = Steps(cells, alone.rank, alone.code + (cells.classes**2 << place))

    @property
    @abstractmethod
    def ids_type(self) -> IdsType:
        """Whether integers have a sign; None of strings."""

    def pieces(self) -> Iterator["pa.RecordBatch"]:
        """Return the id of every row, the place of its cell (as key), and its weight if any."""
        for ids, score, said, given in self._judged():
            held: Any = ids.values
            key = pa.array(self.cell_of(score, said), pa.int32())
            weight = {} if given is None else {"weight": pa.array(given)}
            yield pa.record_batch({"id": pa.array(held), "key": key, **weight})

    @abstractmethod
    def _judged(self) -> Iterator[Judged]:
        """Return every row's id, score, label and weight, piece by piece."""

    def cell_of(self, score: Floats, said: Bools | Ints) -> Ints:
        """Return the place of each item's cell among the cells."""
        rule, classes = self.cells.rule, self.cells.classes
        known = classes * self.cells.bin + self.cells.said
        return place_of(classes * bins_of(score, rule) + said, known, self.part.source)

    @abstractmethod
    def find(self, ids: Sequence[Id]) -> Rows:
        """Return the rows with these ids."""

    @abstractmethod
    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return what people see of items that are there."""

    @abstractmethod
    def refuse_repeated_ids(self) -> None:
        """Look at every id, and raise where one repeats."""


class MemorySide(Side):
    """Predictions in memory, beside others that stay where they are."""

    part: MemoryPredictions

    def __init__(self, part: MemoryPredictions, place: int) -> None:
        super().__init__(part, part.score_cells, place)

    @property
    def ids_type(self) -> IdsType:
        """Whether integers have a sign; None of strings."""
        return _type_of(self.part.judged.ids)

    def _judged(self) -> Iterator[Judged]:
        held = self.part.judged
        yield held.ids, held.score, held.predicted, held.weights

    def find(self, ids: Sequence[Id]) -> Rows:
        """Return the rows with these ids."""
        found = [each for each in self._found(ids) if each is not None]
        told = [each.card.id for each in found]
        values: Any = pa.array([str(id) for id in told], pa.large_string())
        if self.ids_type is not None:
            values = np.array(told, dtype=self.ids_type)
        said = np.array([each.card.predicted for each in found], dtype=np.bool_)
        held, ids_found, given = self.part.judged, Ids(values), None
        if held.weights is not None:
            given = held.weights[places_among(ids_found, held.ids)]
        return Rows(ids_found, np.array([each.value for each in found]), said, given=given)

    def _found(self, ids: Sequence[Id]) -> Any:
        return self.part.find(list(dict.fromkeys(ids)), variable="score", scale="margin")

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return what people see of items that are there."""
        return [dict(each.card.shown) for each in self._found(ids)]

    def refuse_repeated_ids(self) -> None:
        """Do nothing: it was done when the predictions were read."""


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
        if self.part.id_kind == "string":
            return None
        smallest = self.part.scanner.find([], variable="score", scale="margin").ids
        return _type_of(smallest)

    def pieces(self) -> Iterator["pa.RecordBatch"]:
        """Return the id of every row, the place of its cell (as key), and its weight if any."""
        scanner = self.part.scanner
        if not isinstance(scanner, Streaming):
            yield from super().pieces()
            return
        keys = np.asarray(scanner.keys_of(self.cells)).astype(np.int64)
        order = np.argsort(keys)
        for batch in scanner.keyed(self.cells):
            own = np.asarray(batch.column(1)).astype(np.int64)
            place = pa.array(order[np.searchsorted(keys[order], own)], pa.int32())
            yield batch.set_column(1, "key", place)

    def _judged(self) -> Iterator[Judged]:
        scanner = self.part.scanner
        if not isinstance(scanner, Travelling):
            raise PredictionsError(
                f"{self.part.source} cannot be joined with other predictions where it lies",
                hint="write ids, scores and labels to a Parquet file and give that",
            )
        yield from scanner.pieces()

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


def opinions_are_alike(old: Read, new: Read) -> bool:
    """Tell whether an engine can join the columns for a model: plain ones, of one kind in both.

    Dates, and text in one beside numbers in the other, are told apart in memory only.
    """
    scanners = [part.scanner for part in (old, new) if isinstance(part, ScannedPredictions)]
    return bool(joined_opinions(scanners, ("old", "new")))


def joined_opinions(
    scanners: Sequence[object], names: tuple[str, str]
) -> dict[str, tuple[str, Family]]:
    """Return the columns for a model of two sets: of each its name in a join, and what it holds."""
    opined = [each for each in scanners if isinstance(each, Opined)]
    if len(opined) < len(names) or opined[0].opinion_families != opined[1].opinion_families:
        return {}
    families = opined[0].opinion_families
    if "other" in families.values():
        return {}
    found = {name: (f"aux_{place}", families[name]) for place, name in enumerate(families)}
    for side, name, each in zip(SIDES, names, opined, strict=True):
        if families and each.has_score:
            found[score_name(name)] = f"score_{side}", "float"
    return found


def tell_of_move(side: Side, engine: str) -> None:
    """Tell that the rows of a side are moved: an id, a score, a label and a weight of each."""
    note(f"{side.cells.size:,} rows of {side.part.source} are moved to {engine}")


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
