"""Slices: a metric in each group of items, and which groups have too few labels."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from assay.core.metrics import METRICS
from assay.core.types import percent
from assay.results.document import Cell, Column, Document, Interval, Notes, Paragraph, Table, Tone
from assay.results.estimate import metric_name
from assay.results.result import Result


@dataclass(frozen=True)
class SliceRow:
    """A metric in one slice.

    Attributes
    ----------
    slice : str
        The column's value.
    value : float or None
        The estimate; None if no label counts.
    low, high : float
        The interval's ends.
    standard_error : float or None
    labels : int
        Judged items of the slice that the metric is about.
    counted : int
        Those in its denominator: for recall, the positive ones. Each counts once, however often it
        was drawn by weight.
    effective : float or None
        Size of a simple random sample with as much information; None if all is known.
    share : float
        The slice's estimated share of the items that the metric is about.
    cannot_judge : int
        Items of the slice that were looked at and could not be judged.
    doubt : str
        Reason why there are too few labels; otherwise empty.
    open : int
        Drawn items of the slice that wait for an answer; the interval takes them at their worst.
    """

    slice: str
    value: float | None
    low: float
    high: float
    standard_error: float | None
    labels: int
    counted: int
    effective: float | None
    share: float
    cannot_judge: int
    doubt: str
    open: int = 0

    @property
    def too_few(self) -> bool:
        """Whether there are too few labels."""
        return bool(self.doubt)

    @property
    def verdict(self) -> str:
        """Assessment in words."""
        return f"too few labels: {self.doubt}" if self.doubt else ""

    def to_dict(self) -> dict[str, Any]:
        """Row as plain values."""
        return {**asdict(self), "too_few": self.too_few}


@dataclass(frozen=True, eq=False, repr=False)
class Slices(Result, Mapping[str, SliceRow]):
    """Metric in every slice, by the column's value; those with most labels come first.

    Attributes
    ----------
    column, metric : str
    confidence : float
        Of each interval on its own or, if `simultaneous`, of all at once.
    simultaneous : bool
    rows : tuple of SliceRow
    notes : tuple of str
        Further cautions.
    """

    column: str
    metric: str
    confidence: float
    simultaneous: bool
    rows: tuple[SliceRow, ...]
    notes: tuple[str, ...] = ()

    row_type = SliceRow
    more_columns: ClassVar[Mapping[str, type]] = {"too_few": bool}

    def __getitem__(self, value: str) -> SliceRow:
        for row in self.rows:
            if row.slice == value:
                return row
        raise KeyError(value)

    def __iter__(self) -> Iterator[str]:
        return (row.slice for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def headline(self) -> str:
        """Caption of the table."""
        sure = f"at {percent(self.confidence)}{' together' if self.simultaneous else ''}"
        return f"{metric_name(self.metric)} by {self.column}, {sure}"

    def to_dict(self) -> dict[str, Any]:
        """Slices as plain values."""
        return {
            "column": self.column,
            "metric": self.metric,
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "slices": [row.to_dict() for row in self.rows],
            "notes": list(self.notes),
        }

    def document(self) -> Document:
        """Slices as a table, with the reason for too few labels."""
        columns = (
            Column(self.column, "text", named=True),
            Column("estimate"),
            Column("", "bar"),
            *map(Column, ("interval", "labels", "worth", "share")),
            Column("", "remark"),
        )
        table = Table(self.headline, columns, tuple(map(self._cells, self.rows)))
        shown = table if self.rows else Paragraph(f"{self.headline}: no labels yet")
        return Document.of(f"By {self.column}", shown, Notes(self.notes))

    def _cells(self, row: SliceRow) -> tuple[Cell, ...]:
        kind = METRICS.get(re.split(r"[:\[]", self.metric)[0])
        scale = (kind.lowest if kind else 0.0, 1.0)
        drawn = None if row.value is None else Interval(row.low, row.high, row.value, scale)
        texts = (
            row.slice,
            "–" if row.value is None else f"{row.value:.3f}",
            "",
            f"[{row.low:.3f}, {row.high:.3f}]",
            f"{row.labels:,}",
            "all" if row.effective is None else f"{row.effective:,.0f}",
            f"{row.share:.1%}",
        )
        tone: Tone = "faint" if row.too_few else ""
        cells = (Cell(text, tone, interval=None if text else drawn) for text in texts)
        return (*cells, Cell(row.verdict, "warn"))
