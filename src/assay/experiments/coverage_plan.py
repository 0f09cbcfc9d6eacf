"""Which cells each part of the coverage study has."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from assay.experiments.coverage_cells import Cell, Row, Settings, Subject
from assay.experiments.coverage_pair_sources import made_pairs, real_pairs
from assay.experiments.coverage_populations import (
    MILLION,
    classifiers,
    of_classifier,
    of_shape,
    random_subject,
)
from assay.experiments.coverage_shapes import MONOTONE, NO_SIGNAL, SHAPES
from assay.simulation import named_design

__all__ = ["FULL", "GUARANTEED", "QUICK", "RANDOM", "Extent", "Part", "Plan"]

RANDOM, PAPER_1, GUARANTEED = "random", "perc-opt", "guaranteed"
_MODES = ("default", "centred", GUARANTEED, PAPER_1, RANDOM)
_GUARANTEED_RUNS = 100  # its coverage is a theorem; what is asked is its cost
_FROM_HERE_ALL = 0.01  # the error rate from which on down every delta is tried
_OTHER_METRICS = ("recall", "f1", "prevalence", "false_omission_rate")


class Part(StrEnum):
    """The parts of the study, in the order in which they are run."""

    GRID = "grid"
    SIZES = "sizes"
    CONFIDENCES = "confidences"
    MODES = "modes"
    REAL = "real"
    METRICS = "metrics"
    DIFFERENCES = "differences"
    LOOKS = "looks"
    HELD_OUT = "held-out"


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    precisions, deltas : tuple of float
        The grid.
    some : tuple of (precision, delta)
        The cells of the grid that stand for it where it would take too long.
    replications : int
    worst : int
        Cells of the grid that are run again with other sizes and batches.
    real_deltas, metric_deltas : tuple of float
        For the classifiers of a folder.
    difference_deltas : tuple of float
        For pairs of classifiers.
    looks : tuple of (precision, delta, batch)
        Cells that are run with all looks and with fewer.
    held_out : int
        Random populations.
    """

    precisions: tuple[float, ...]
    deltas: tuple[float, ...]
    some: tuple[tuple[float, float], ...]
    replications: int
    worst: int
    real_deltas: tuple[float, ...]
    metric_deltas: tuple[float, ...]
    difference_deltas: tuple[float, ...]
    looks: tuple[tuple[float, float, int], ...]
    held_out: int


FULL = Extent(
    precisions=(0.5, 0.7, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999),
    deltas=(0.005, 0.01, 0.02, 0.03, 0.05),
    some=(
        (0.7, 0.02),
        (0.9, 0.01),
        (0.9, 0.03),
        (0.95, 0.01),
        (0.97, 0.01),
        (0.97, 0.02),
        (0.99, 0.01),
    ),
    replications=4000,
    worst=30,
    real_deltas=(0.03, 0.02, 0.01),
    metric_deltas=(0.05, 0.03),
    difference_deltas=(0.02, 0.01),
    looks=((0.7, 0.01, 20), (0.95, 0.005, 20), (0.9, 0.03, 1), (0.97, 0.01, 1)),
    held_out=48,
)
QUICK = Extent(
    precisions=(0.7, 0.9, 0.95, 0.97, 0.99),
    deltas=(0.01, 0.03),
    some=((0.9, 0.03), (0.97, 0.02)),
    replications=400,
    worst=3,
    real_deltas=(0.03,),
    metric_deltas=(0.05,),
    difference_deltas=(0.02,),
    looks=((0.9, 0.01, 20), (0.9, 0.05, 1)),
    held_out=6,
)


@dataclass(frozen=True)
class Plan:
    """What is studied: a design, on how much, with what randomness.

    Attributes
    ----------
    design : str
    extent : Extent
    data : Path or None
        The real classifiers' folder; without it the parts about classifiers are run on generated
        ones.
    seed : int
    """

    design: str
    extent: Extent
    data: Path | None
    seed: int

    def cells(self, part: Part, found: Sequence[Row]) -> list[Cell]:
        """Return the cells of a part; `found` are the rows of the parts before it."""
        make: dict[Part, Callable[[], Iterable[Cell]]] = {
            Part.GRID: self._grid,
            Part.SIZES: lambda: self._sizes(found),
            Part.CONFIDENCES: self._confidences,
            Part.MODES: self._modes,
            Part.REAL: self._real,
            Part.METRICS: self._metrics,
            Part.DIFFERENCES: self._differences,
            Part.LOOKS: self._looks,
            Part.HELD_OUT: self._held_out,
        }
        return list(make[part]())

    def _grid(self) -> Iterator[Cell]:
        for precision in self.extent.precisions:
            for delta in valid_deltas(1 - precision, self.extent.deltas):
                for shape in SHAPES:
                    yield self._cell(Part.GRID, of_shape(shape, precision), delta)

    def _sizes(self, found: Sequence[Row]) -> Iterator[Cell]:
        """Yield the worst cells again, on another seed: as they were, smaller, in other batches."""
        ours = [row for row in found if (row.part, row.design) == (Part.GRID, self.design)]
        for row in sorted(ours, key=lambda row: row.right)[: self.extent.worst]:
            for items, batch in (
                (MILLION, 20),
                (10_000, 20),
                (2_000, 20),
                (MILLION, 1),
                (MILLION, 100),
            ):
                subject = of_shape(row.population, round(row.value, 6), items)
                cell = self._cell(Part.SIZES, subject, row.delta)
                settings = replace(cell.settings, batch=batch, seed=self.seed + 1)
                yield replace(cell, settings=settings)

    def _confidences(self) -> Iterator[Cell]:
        for confidence in (0.8, 0.9, 0.99):
            for cell in self._sub_grid(Part.CONFIDENCES):
                yield replace(cell, settings=replace(cell.settings, confidence=confidence))

    def _modes(self) -> Iterator[Cell]:
        for name in _MODES:
            for cell in self._sub_grid(Part.MODES):
                settings = replace(cell.settings, design=name)
                if name == GUARANTEED:
                    runs = min(_GUARANTEED_RUNS, settings.replications)
                    settings = replace(settings, replications=runs)
                yield replace(cell, settings=settings)

    def _sub_grid(self, part: Part) -> Iterator[Cell]:
        for precision, delta in self.extent.some:
            for shape in SHAPES:
                yield self._cell(part, of_shape(shape, precision), delta)

    def _real(self) -> Iterator[Cell]:
        for each in classifiers(self.data):
            for metric in ("precision", "accuracy"):
                subject = of_classifier(each, metric)
                for delta in self.extent.real_deltas:
                    if delta < 1 - subject.value:
                        cell = self._cell(Part.REAL, subject, delta)
                        yield cell
                        yield replace(cell, settings=replace(cell.settings, replacement=True))

    def _metrics(self) -> Iterator[Cell]:
        first_of_file = {each.name.split()[0]: each for each in reversed(classifiers(self.data))}
        for each in first_of_file.values():
            for metric in _OTHER_METRICS:
                subject = of_classifier(each, metric)
                for delta in self.extent.metric_deltas:
                    if delta < min(subject.value, 1 - subject.value):
                        yield self._cell(Part.METRICS, subject, delta)

    def _differences(self) -> Iterator[Cell]:
        """Yield pairs of classifiers; none for a design whose bets are on values from 0 to 1."""
        if named_design(self.design).bets:
            return
        real = [] if self.data is None else real_pairs(self.data)
        for pair in (*made_pairs(self.seed), *real):
            for delta in self.extent.difference_deltas:
                if delta < pair.reach:
                    yield self._cell(Part.DIFFERENCES, pair, delta)

    def _looks(self) -> Iterator[Cell]:
        """Yield cells that are looked at after every batch, and the same with fewer looks."""
        for precision, delta, batch in self.extent.looks:
            for shape in (MONOTONE[0], NO_SIGNAL):
                cell = self._cell(Part.LOOKS, of_shape(shape, precision), delta)
                for thin in (False, True):
                    yield replace(cell, settings=replace(cell.settings, batch=batch, thin=thin))

    def _held_out(self) -> Iterator[Cell]:
        for number in range(self.extent.held_out):
            subject = random_subject(number, self.seed)
            deltas = valid_deltas(1 - subject.value, FULL.deltas)
            rng = np.random.default_rng([self.seed, number, 2])
            for delta in rng.choice(deltas, 2, replace=False):
                yield self._cell(Part.HELD_OUT, subject, float(delta))

    def _cell(self, part: Part, subject: Subject, delta: float) -> Cell:
        return Cell(
            Settings(
                part=part.value,
                population=subject.name,
                metric=subject.metric,
                value=subject.value,
                items=subject.items,
                design=self.design,
                replacement=False,
                delta=delta,
                confidence=0.95,
                batch=20,
                thin=True,
                replications=self.extent.replications,
                seed=self.seed,
            ),
            subject,
        )


def valid_deltas(error: float, deltas: Sequence[float]) -> list[float]:
    """Return the deltas that make sense: up to the error rate, or all where it is 0.01 or less.

    Examples
    --------
    >>> valid_deltas(0.02, (0.01, 0.02, 0.03)), valid_deltas(0.001, (0.01, 0.02, 0.03))
    ([0.01, 0.02], [0.01, 0.02, 0.03])
    """
    slack = 1e-9  # 1 - 0.98 is not quite 0.02
    return [each for each in deltas if each <= error + slack or error <= _FROM_HERE_ALL + slack]
