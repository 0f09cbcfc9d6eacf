"""Cells of each part of the coverage study."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from assay.simulation import named_design
from studies.coverage.cell_kinds import joint_cells, unjudged_cells
from studies.coverage.cells import RANDOM, Cell, Single
from studies.coverage.extent import FULL, LeftOut, Part, Scope
from studies.coverage.pairs import made_pairs, real_pairs
from studies.coverage.populations import (
    MILLION,
    MONOTONE,
    NO_SIGNAL,
    POCKET,
    SHAPES,
    of_classifier,
    of_shape,
    random_classifier,
    random_subject,
    rare_classes,
)
from studies.coverage.rows import Row

PAPER_1, GUARANTEED = "perc-opt", "guaranteed"
_MODES = ("default", "centred", GUARANTEED, PAPER_1, RANDOM)
_GUARANTEED_RUNS = 100  # its coverage is a theorem; what is asked is its cost
_FROM_HERE_ALL = 0.01  # the error rate from which on down every delta is tried
_METRICS = ("precision", "accuracy", "recall", "f1", "prevalence", "false_omission_rate")
_STANDING = ("accuracy", "recall", "f1")  # metrics that stand for all, at the delta that follows
_STANDING_DELTA = 0.05
_RARE = 0.05  # a class of which there are fewer among the items is rare
_BATCH_SHAPES = (MONOTONE[0], NO_SIGNAL)  # a look after every label takes long
_SMALL_SHAPES = ("mass at the threshold", POCKET)
_SMALL_PRECISIONS = (0.6, 0.85, 0.95)

Found = Iterator[Cell | LeftOut]


@dataclass(frozen=True)
class Plan:
    """The cells of a study of some scope."""

    scope: Scope

    def cells(self, part: Part, found: Sequence[Row]) -> tuple[list[Cell], list[LeftOut]]:
        """Return the cells of a part, and what it leaves out; `found` are the rows before it.

        Cells that are run alike often come next to each other, of these the cheapest first.
        """
        make: dict[Part, Callable[[], Iterable[Cell | LeftOut]]] = {
            Part.GRID: self._grid,
            Part.SIZES: lambda: self._sizes(found),
            Part.CONFIDENCES: self._confidences,
            Part.BATCHES: self._batches,
            Part.MODES: self._modes,
            Part.REAL: self._real,
            Part.REPLACEMENT: self._replacement,
            Part.WIDE: self._wide,
            Part.RARE: self._rare,
            Part.SMALL: self._small,
            Part.TWO_SIDED: self._two_sided,
            Part.DIFFERENCES: self._differences,
            Part.JOINT: lambda: joint_cells(self.scope),
            Part.UNJUDGED: lambda: unjudged_cells(self.scope),
            Part.HELD_OUT: self._held_out,
        }
        every = list(make[part]())
        cells = [each for each in every if not isinstance(each, LeftOut)]
        left_out = [each for each in every if isinstance(each, LeftOut)]
        return sorted(cells, key=lambda cell: (cell.rows[0].replications, cell.looks)), left_out

    def _grid(self) -> Found:
        extent = self.scope.extent
        for precision in extent.precisions:
            for delta in valid_deltas(1 - precision, extent.deltas):
                for shape in SHAPES:
                    yield self.scope.cell(Part.GRID, of_shape(shape, precision), delta)

    def _sizes(self, found: Sequence[Row]) -> Found:
        """Yield the worst cells again, on another seed: as they were, smaller, in other batches."""
        scope = self.scope
        ours = [row for row in found if (row.part, row.design) == (Part.GRID, scope.design)]
        for row in sorted(ours, key=lambda row: row.right)[: scope.extent.worst]:
            for items, batch in (
                (MILLION, 20),
                (10_000, 20),
                (2_000, 20),
                (MILLION, 1),
                (MILLION, 100),
            ):
                subject = of_shape(row.population, round(row.value, 6), items)
                changes = {"batch": batch, "seed": scope.seed + 1}
                yield scope.cell(Part.SIZES, subject, row.delta, **changes)

    def _confidences(self) -> Found:
        for confidence in self.scope.extent.confidences:
            yield from self._sub_grid(Part.CONFIDENCES, confidence=confidence)
            yield from self._standing(Part.CONFIDENCES, confidence=confidence)

    def _batches(self) -> Found:
        for batch in self.scope.extent.batches:
            yield from self._sub_grid(Part.BATCHES, _BATCH_SHAPES, batch=batch)
            yield from self._standing(Part.BATCHES, batch=batch)

    def _modes(self) -> Found:
        runs = self.scope.extent.replications
        for name in _MODES:
            most = _GUARANTEED_RUNS if name == GUARANTEED else runs
            yield from self._sub_grid(Part.MODES, design=name, replications=min(most, runs))

    def _sub_grid(
        self, part: Part, shapes: Iterable[str] = SHAPES, **changes: Any
    ) -> Iterator[Single]:
        """Yield the cells that stand for the grid."""
        for precision, delta in self.scope.extent.some:
            for shape in shapes:
                yield self.scope.cell(part, of_shape(shape, precision), delta, **changes)

    def _standing(self, part: Part, **changes: Any) -> Found:
        """Yield the cells that stand for the classifiers and their metrics."""
        for each in self.scope.one_of_each_file:
            for metric in _STANDING:
                subject = of_classifier(each, metric)
                yield self.scope.some(part, subject, _STANDING_DELTA, **changes)

    def _real(self) -> Found:
        yield from self._metrics(Part.REAL, self.scope.extent.goals)

    def _wide(self) -> Found:
        goals = self.scope.extent.wide_goals
        for precision in (0.5, 0.7):
            for shape in SHAPES:
                for delta in goals:
                    subject = of_shape(shape, precision)
                    yield self.scope.cell_or_why_not(Part.WIDE, subject, delta)
        yield from self._metrics(Part.WIDE, goals)

    def _metrics(self, part: Part, goals: Sequence[float]) -> Found:
        for each in self.scope.classifiers:
            for metric in _METRICS:
                subject = of_classifier(each, metric)
                for delta in goals:
                    yield self.scope.cell_or_why_not(part, subject, delta)

    def _replacement(self) -> Found:
        for each in self.scope.classifiers:
            for metric in ("precision", "accuracy"):
                subject = of_classifier(each, metric)
                for delta in self.scope.extent.replacement_goals:
                    # Items may be drawn again, so no share of them is too much.
                    if delta < 1 - subject.value:
                        yield self.scope.cell(Part.REPLACEMENT, subject, delta, replacement=True)

    def _rare(self) -> Found:
        real = [] if self.scope.data is None else self.scope.classifiers
        rare = [each for each in real if each.population.positives < _RARE * each.population.size]
        for each in (*rare_classes(self.scope.seed), *rare):
            for metric in ("recall", "f1"):
                subject = of_classifier(each, metric)
                for delta in self.scope.extent.rare_goals:
                    yield self.scope.cell_or_why_not(Part.RARE, subject, delta)

    def _small(self) -> Found:
        extent = self.scope.extent
        for items in extent.small_items:
            for precision in _SMALL_PRECISIONS:
                for share in extent.small_shares:
                    for shape in _SMALL_SHAPES:
                        subject = of_shape(shape, precision, items)
                        delta = delta_at(subject.value, items, share)
                        yield self.scope.cell(Part.SMALL, subject, delta)

    def _two_sided(self) -> Found:
        """Yield the metrics of random classifiers, each at one of the goals that it can have."""
        scope = self.scope
        for number in range(scope.extent.two_sided):
            rng = np.random.default_rng([scope.seed, number, 7])
            for subject in random_classifier(number, scope.seed).values():
                tried = [
                    scope.cell_or_why_not(Part.TWO_SIDED, subject, delta) for delta in FULL.goals
                ]
                able = [cell for cell in tried if isinstance(cell, Single)]
                yield able[rng.integers(len(able))] if able else tried[0]

    def _differences(self) -> Found:
        """Yield pairs of classifiers; none for a design whose bets are on values from 0 to 1."""
        scope = self.scope
        if named_design(scope.design).bets:
            return
        real = [] if scope.data is None else real_pairs(scope.data)
        for pair in (*made_pairs(scope.seed), *real):
            for delta in scope.extent.difference_goals:
                if delta < pair.reach:
                    yield scope.cell(Part.DIFFERENCES, pair, delta)

    def _held_out(self) -> Found:
        scope = self.scope
        for number in range(scope.extent.held_out):
            subject = random_subject(number, scope.seed)
            deltas = valid_deltas(1 - subject.value, FULL.deltas)
            rng = np.random.default_rng([scope.seed, number, 2])
            for delta in rng.choice(deltas, 2, replace=False):
                yield scope.cell(Part.HELD_OUT, subject, float(delta))


def delta_at(value: float, items: int, share: float) -> float:
    """Return the half-width at which random sampling of so many items labels a share of them.

    z sqrt(p (1 - p)/n) with the factor sqrt((N - n)/(N - 1)) of sampling without replacement.

    Examples
    --------
    >>> round(delta_at(0.85, 2000, 0.5), 4), round(delta_at(0.85, 2000, 0.95), 4)
    (0.0157, 0.0036)
    """
    labels = share * items
    left = (items - labels) / (items - 1)
    return float(ndtri(0.975)) * sqrt(value * (1 - value) / labels * left)


def valid_deltas(error: float, deltas: Sequence[float]) -> list[float]:
    """Return the deltas that make sense: up to the error rate, or all where it is 0.01 or less.

    Examples
    --------
    >>> valid_deltas(0.02, (0.01, 0.02, 0.03)), valid_deltas(0.001, (0.01, 0.02, 0.03))
    ([0.01, 0.02], [0.01, 0.02, 0.03])
    """
    slack = 1e-9  # 1 - 0.98 is not quite 0.02
    return [each for each in deltas if each <= error + slack or error <= _FROM_HERE_ALL + slack]
