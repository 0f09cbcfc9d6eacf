"""Slices: a metric in each group of items, and where there are too few labels to say."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.errors import printable
from assay.results.frames import Backend, frame_of, types_of
from assay.results.html import html_block, html_headline, html_remarks, html_table
from assay.results.text import metric_name

_HEADINGS = ("estimate", "interval", "labels", "worth", "share")

_LONGEST = 200  # characters of a slice's name in a table


@dataclass(frozen=True)
class SliceRow:
    """A metric in one slice.

    Attributes
    ----------
    slice : str
        The column's value.
    value : float or None
        The estimate; None where no label counts.
    low, high : float
        The interval's ends.
    standard_error : float or None
    labels : int
        Judged items of the slice that the metric is about.
    counted : int
        Those that are in its denominator: of recall, the positive ones. Each is counted once,
        however often it was drawn where items have weights.
    effective : float or None
        The labels of a simple random sample that would say as much; None where all is known.
    share : float
        The slice's estimated share of the items that the metric is about.
    cannot_judge : int
        Items of the slice that were looked at and could not be judged.
    doubt : str
        Why this is too few to say; otherwise empty.
    open : int
        Items of the slice that were drawn and wait for an answer; the interval takes them at their
        worst.
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
        """Whether the labels are too few to say."""
        return bool(self.doubt)

    @property
    def verdict(self) -> str:
        """What to think of it, in words."""
        return f"too few to say: {self.doubt}" if self.doubt else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {**asdict(self), "too_few": self.too_few}

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as people read it: estimate, interval, labels, what they are worth, share."""
        return (
            "–" if self.value is None else f"{self.value:.3f}",
            f"[{self.low:.3f}, {self.high:.3f}]",
            f"{self.labels:,}",
            "all" if self.effective is None else f"{self.effective:,.0f}",
            f"{self.share:.1%}",
        )


@dataclass(frozen=True, eq=False, repr=False)
class Slices(Mapping[str, SliceRow]):
    """A metric in every slice, by the column's value; those with most labels come first.

    Attributes
    ----------
    column, metric : str
    confidence : float
        Of each interval on its own, or where `simultaneous` of all at once.
    simultaneous : bool
    rows : tuple of SliceRow
    notes : tuple of str
        What else a careful reader should know.
    """

    column: str
    metric: str
    confidence: float
    simultaneous: bool
    rows: tuple[SliceRow, ...]
    notes: tuple[str, ...] = ()

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
        """What the table is of."""
        sure = f"at {100 * self.confidence:g}%{' together' if self.simultaneous else ''}"
        return f"{metric_name(self.metric)} by {self.column}, {sure}"

    @property
    def headings(self) -> tuple[str, ...]:
        """What stands above each column of the table; the last holds the verdicts."""
        return (self.column, *_HEADINGS, "")

    def to_dict(self) -> dict[str, Any]:
        """Return the slices as plain values."""
        return {
            "column": self.column,
            "metric": self.metric,
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "slices": [row.to_dict() for row in self.rows],
            "notes": list(self.notes),
        }

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return the slices as a DataFrame, one row each.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
        """
        return frame_of(
            [row.to_dict() for row in self.rows],
            {**types_of(SliceRow), "too_few": bool},
            backend=backend,
        )

    def __str__(self) -> str:
        lines = [self.headings, *((row.slice, *row.cells, row.verdict) for row in self.rows)]
        shown = [[_short(cell) for cell in line] for line in lines]
        wide = [max(map(len, column)) for column in zip(*shown, strict=True)]
        table = [
            "   ".join(
                cell.ljust(width) if place in (0, len(wide) - 1) else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, wide, strict=True))
            ).rstrip()
            for line in shown
        ]
        return "\n".join(
            [printable(self.headline), *table, *(f"note: {note}" for note in self.notes)]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [(_short(row.slice), *row.cells, row.verdict) for row in self.rows]
        return html_block(
            html_headline(self.headline, ""),
            html_table(self.headings, rows),
            html_remarks(f"note: {note}" for note in self.notes),
        )


def _short(cell: str) -> str:
    """Return a text of a table as it is shown: a column may hold whole documents."""
    return printable(cell if len(cell) <= _LONGEST else f"{cell[:_LONGEST]}…")
