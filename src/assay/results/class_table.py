"""Precision, recall and F1 of every class, with intervals."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.errors import printable
from assay.results.document import Cell, Column, Document, Notes, Table, Tone, clipped, headed
from assay.results.result import Result

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


def _share(value: float | None, low: float, high: float, tone: Tone) -> Cell:
    def text(digits: int) -> str:
        known = "?" if value is None else f"{value:.{digits}f}"
        return f"{known} [{low:.{digits}f}, {high:.{digits}f}]"

    return Cell(text(3), tone, brief=text(2))


@dataclass(frozen=True)
class ClassTable(Result):
    """What is known of the classes, from the labels so far."""

    rows: tuple[ClassRow, ...]  # in the order of the vocabulary
    confidence: float  # of each interval alone
    # Classes that are not shown: those with the fewest labels, where there are many.
    left_out: int = 0
    classifier: str = ""  # whose; empty where there is one

    row_type = ClassRow

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
        found = [f"intervals are at {level}, each alone; labels went where the goal needed them"]
        if self.left_out:
            found.append(f"{self.left_out:,} classes with fewer labels are not shown")
        found += [f"{printable(row.name)}: {row.doubt}" for row in self.rows if row.doubt]
        return tuple(found)

    def document(self) -> Document:
        """Return the metrics of each class as a table."""
        whose = f" of {self.classifier}" if self.classifier else ""
        columns = (
            *headed("class", "precision", "recall", "f1"),
            Column("called so", only=("text", "notebook", "page", "markdown")),
            # No other writer has room for how many there are.
            Column("there are about", only=("text", "notebook")),
            Column("labels"),
        )
        table = Table(f"Classes{whose}", columns, tuple(map(_cells, self.rows)))
        return Document(f"Classes{whose}", (table, Notes(self.remarks)))


def _cells(row: ClassRow) -> tuple[Cell, ...]:
    tone: Tone = "faint" if row.doubt else ""
    items = "?" if row.items is None else f"{row.items:,.0f}"
    return (
        Cell(clipped(row.name, _LONGEST), tone),
        _share(row.precision, row.precision_low, row.precision_high, tone),
        _share(row.recall, row.recall_low, row.recall_high, tone),
        _share(row.f1, row.f1_low, row.f1_high, tone),
        Cell(f"{row.said:,}", tone),
        Cell(f"{items} [{row.items_low:,.0f}, {row.items_high:,.0f}]", tone),
        Cell(f"{row.labels:,}", tone),
    )
