"""Precision, recall and F1 of every class, with intervals."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from assay.errors import printable
from assay.results.frames import Backend, frame_of, types_of
from assay.results.html import html_block, html_headline, html_remarks, html_table
from assay.results.text import text_table

CLASS_HEADINGS = ("class", "precision", "recall", "f1", "called so", "there are about", "labels")
_LONGEST = 40  # characters of a class's name in a table


@dataclass(frozen=True)
class ClassRow:
    """What is known of one class."""

    name: str
    # precision, recall, f1: estimates; None where nothing is known, or nothing there could be.
    precision: float | None
    # precision_low, precision_high, recall_low, recall_high, f1_low, f1_high: the ends of their
    # intervals.
    precision_low: float
    precision_high: float
    recall: float | None
    recall_low: float
    recall_high: float
    f1: float | None
    f1_low: float
    f1_high: float
    said: int  # how many items are called so: known, and not estimated
    items: float | None  # about how many items are of it
    # items_low, items_high: the interval of that.
    items_low: float
    items_high: float
    labels: int  # labels of items that are called so, or that are of it
    doubt: str = ""  # why there is no estimate; otherwise empty

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        name = printable(self.name)
        return (
            name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…",
            _share(self.precision, self.precision_low, self.precision_high),
            _share(self.recall, self.recall_low, self.recall_high),
            _share(self.f1, self.f1_low, self.f1_high),
            f"{self.said:,}",
            f"{'?' if self.items is None else f'{self.items:,.0f}'} "
            f"[{self.items_low:,.0f}, {self.items_high:,.0f}]",
            f"{self.labels:,}",
        )


def _share(value: float | None, low: float, high: float) -> str:
    return f"{'?' if value is None else f'{value:.3f}'} [{low:.3f}, {high:.3f}]"


@dataclass(frozen=True)
class ClassTable:
    """What is known of the classes, from the labels so far."""

    rows: tuple[ClassRow, ...]  # in the order of the vocabulary
    confidence: float  # of each interval alone
    # Classes that are not shown: those with the fewest labels, where there are many.
    left_out: int = 0
    classifier: str = ""  # whose; empty where there is one

    def __iter__(self) -> Iterator[ClassRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> ClassRow:
        found = next((row for row in self.rows if row.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said beside the table."""
        level = f"{100 * self.confidence:.4g}%"
        found = [f"Intervals are at {level}, each alone; labels went where the goal needed them."]
        if self.left_out:
            found.append(f"{self.left_out:,} classes with fewer labels are not shown.")
        found += [f"{printable(row.name)}: {row.doubt}." for row in self.rows if row.doubt]
        return tuple(found)

    def __str__(self) -> str:
        table = text_table(CLASS_HEADINGS, [row.cells for row in self.rows])
        return "\n".join([*table, *self.remarks])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return a DataFrame, one row a class."""
        rows = [asdict(row) for row in self.rows]
        return frame_of(rows, types_of(ClassRow), backend=backend)

    def _repr_html_(self) -> str:
        whose = f" of {self.classifier}" if self.classifier else ""
        title = html_headline(f"Classes{whose}", "")
        table = html_table(CLASS_HEADINGS, [row.cells for row in self.rows])
        return html_block(title, table, html_remarks(self.remarks))
