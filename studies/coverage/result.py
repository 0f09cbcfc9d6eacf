"""Result of the coverage study: its rows, and the targets held against them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from studies.coverage.cells import BESIDE, RANDOM
from studies.coverage.extent import LeftOut, Part
from studies.coverage.plan import GUARANTEED
from studies.coverage.populations import MONOTONE, POCKET
from studies.coverage.rows import Row

LARGE = 5000  # items from which on n_W, made for endless populations, is a fair measure
_PUBLISHED_SAVING = 0.173  # paper 1, Table 1
_LIMITS = {0.7: 1.06, 0.9: 1.10, 0.95: 1.16, 0.97: 1.25}
_REAL_DELTAS = {0.01, 0.02, 0.03}
_SHARP = (("news20_binary logreg", "accuracy"), ("offensive_mix mve", "precision"))


@dataclass(frozen=True)
class Target:
    """Something that the design must show, and what it showed."""

    what: str
    wanted: float
    found: float
    most: bool  # whether `wanted` is the most that is allowed, or the least

    @property
    def met(self) -> bool:
        """Whether the target was reached."""
        return self.found <= self.wanted if self.most else self.found >= self.wanted


@dataclass(frozen=True)
class Result:
    """The rows that were finished, in the order of the parts."""

    design: str
    seed: int
    replications: int
    rows: tuple[Row, ...]  # those of random sampling beside the design among them
    left_out: tuple[LeftOut, ...] = ()  # cells that are not run, and why
    interrupted: bool = False  # whether Ctrl-C ended it

    @property
    def parts(self) -> list[Part]:
        """The parts that there are rows of."""
        there = {row.part for row in self.rows}
        return [part for part in Part if part in there]

    def of(self, part: Part, design: str | None = None) -> list[Row]:
        """Return the rows of a part, of the design that is studied or of another."""
        wanted = self.design if design is None else design
        return [row for row in self.rows if row.part == part and row.design == wanted]

    @property
    def ours(self) -> list[Row]:
        """The rows of the design, in which something is promised."""
        return [
            row
            for row in self.rows
            if row.design == self.design and row.part != BESIDE and row.promised
        ]

    @property
    def failing(self) -> list[Row]:
        """The rows of the design that are right too seldom, by more than chance explains."""
        return [row for row in self.ours if row.fails]

    def targets(self) -> list[Target]:
        """Return the targets that there are rows for."""
        return [*self._coverage(), *self._labels(), *self._real_labels(), *self._modes()]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "design": self.design,
            "seed": self.seed,
            "replications": self.replications,
            "interrupted": self.interrupted,
            "targets": [{**asdict(each), "met": each.met} for each in self.targets()],
            "failing": [asdict(row.settings) for row in self.failing],
            "left_out": [asdict(each) for each in self.left_out],
            "rows": [asdict(row) for row in self.rows],
        }

    def _coverage(self) -> Iterator[Target]:
        for part in self.parts:
            rows = [row for row in self.of(part) if row.promised]
            if rows:
                fails = sum(row.fails for row in rows)
                what = f"{part}: cells of {len(rows)} that are right too seldom"
                yield Target(what, 0, fails, most=True)

    def _labels(self) -> Iterator[Target]:
        grid = self.of(Part.GRID)
        at = {(row.population, round(row.value, 6), row.delta): row for row in grid}
        for precision, most in _LIMITS.items():
            rows = [at.get((shape, precision, 0.01)) for shape in MONOTONE]
            share = mean(row.against_limit for row in rows if row is not None)
            if share is not None:
                what = f"labels / limit at {precision} ±0.01, three monotone shapes"
                yield Target(what, most, share, most=True)
        pocket = at.get((POCKET, 0.95, 0.01))
        if pocket is not None and pocket.against_limit is not None:
            what = "labels / limit at 0.95 ±0.01, dirty pocket"
            yield Target(what, 1.35, pocket.against_limit, most=True)
        against = [row.against_random for row in grid if row.against_random is not None]
        if against and self.design != RANDOM:
            what = "labels / random sampling's, the most of the grid"
            yield Target(what, 1.03, max(against), most=True)

    def _real_labels(self) -> Iterator[Target]:
        rows = [
            row
            for row in self.of(Part.REAL)
            if row.items >= LARGE
            and row.metric in ("precision", "accuracy")
            and row.delta in _REAL_DELTAS
        ]
        share = mean(row.against_n_w for row in rows)
        if share is not None and {row.delta for row in rows} == _REAL_DELTAS:
            yield Target("real: labels / n_W, mean", 0.78, share, most=True)
        for row in rows:
            share, sharp = row.against_n_w, (row.population, row.metric) in _SHARP
            if sharp and row.delta == 0.01 and share is not None:
                what = f"{row.population}, {row.metric} ±0.01: labels / n_W"
                yield Target(what, 0.5, share, most=True)
        topics = [
            row
            for row in self.of(Part.REPLACEMENT)
            if row.population.startswith("arxiv15 ")
            and (row.metric, row.delta) == ("precision", 0.01)
        ]
        if topics:
            saving, reached = savings(topics)
            what = f"arxiv15 precision ±0.01, {len(topics)} topics: saving against random sampling"
            yield Target(what, _PUBLISHED_SAVING, saving, most=False)
            yield Target("arxiv15: share of the attainable saving", 0.8, reached, most=False)

    def _modes(self) -> Iterator[Target]:
        ours = {_place(row): row.labels for row in self.of(Part.MODES, "default")}
        ratios = [row.labels / ours[_place(row)] for row in self.of(Part.MODES, GUARANTEED)]
        if ratios:
            what = "guaranteed: labels / default's, mean"
            yield Target(what, 1.5, float(np.mean(ratios)), most=True)


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of those that are known, or None where none is.

    Examples
    --------
    >>> mean([1.0, None, 2.0]), mean([None])
    (1.5, None)
    """
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def savings(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the mean saving against random sampling, and its share of what is attainable.

    What a design by score can save at most is 1 - limit / n_W. Rows that random sampling was not
    run beside are not counted.
    """
    saved, attainable = [], []
    for row in rows:
        if row.against_random is not None and row.n_w and row.limit_labels is not None:
            saved.append(1 - row.against_random)
            attainable.append(1 - row.limit_labels / row.n_w)
    if not saved:
        return 0.0, 0.0
    return float(np.mean(saved)), float(np.mean(saved) / np.mean(attainable))


def _place(row: Row) -> tuple[str, float, float]:
    return row.population, row.value, row.delta
