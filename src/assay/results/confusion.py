"""Confusion matrix of a campaign, and metrics of every class, with intervals."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.types import percent
from assay.core.vocabulary import NONE_OF_THESE
from assay.errors import printable
from assay.results.document import (
    Cell,
    Column,
    Document,
    Interval,
    Notes,
    Paragraph,
    Table,
    Tone,
    clipped,
    headed,
)
from assay.results.result import Result

_MOST = 24  # classes that the matrix has room for
_PAIRS = 12  # most frequent confusions
_STEPS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 0.9)  # of the shade, by the share


@dataclass(frozen=True)
class ConfusionCell:
    """Items of one predicted class and one true class."""

    # predicted, truth: a class, or ``none of these``.
    predicted: str
    truth: str
    items: float  # estimated number
    rate: float  # their share of the predicted class
    # low, high: the interval of that share.
    low: float
    high: float
    labels: int  # number of labels


@dataclass(frozen=True)
class ConfusionMatrix(Result):
    """Confusion matrix, from the labels so far."""

    classes: tuple[str, ...]  # in the order of the vocabulary
    # Cells with a label, and the diagonal; none for classes that are never predicted.
    cells: tuple[ConfusionCell, ...]
    predicted: dict[str, int]  # items predicted to be of each class: known, not estimated
    confidence: float  # of each rate's interval alone
    classifier: str = ""  # empty if there is only one

    row_type = ConfusionCell

    @property
    def rows(self) -> tuple[ConfusionCell, ...]:
        """Cells of the matrix."""
        return self.cells

    def __iter__(self) -> Iterator[ConfusionCell]:
        return iter(self.cells)

    def cell(self, predicted: str, truth: str) -> ConfusionCell | None:
        """Cell of a predicted and a true class; None if it has no label."""
        return next((c for c in self.cells if (c.predicted, c.truth) == (predicted, truth)), None)

    @property
    def confused(self) -> list[ConfusionCell]:
        """Errors, those with the most items first."""
        wrong = [cell for cell in self.cells if cell.predicted != cell.truth and cell.items > 0]
        return sorted(wrong, key=lambda cell: -cell.items)

    @property
    def order(self) -> tuple[str, ...]:
        """Classes, with those most confused with each other side by side.

        The order starts with the class with the most errors; each next one is confused most with
        those before it.
        """
        ties: dict[tuple[str, str], float] = {}
        amount = dict.fromkeys(self.classes, 0.0)
        for cell in self.confused:
            for pair in ((cell.predicted, cell.truth), (cell.truth, cell.predicted)):
                ties[pair] = ties.get(pair, 0.0) + cell.items
                if pair[0] in amount:
                    amount[pair[0]] += cell.items
        remaining = sorted(self.classes, key=lambda name: (-amount[name], name))
        ordered: list[str] = []
        while remaining:
            last = ordered[-1:] and ordered[-1]
            nearest = max(
                remaining,
                key=lambda name: (ties.get((str(last), name), 0.0), -remaining.index(name)),
            )
            ordered.append(nearest)
            remaining.remove(nearest)
        return tuple(ordered)

    @property
    def headline(self) -> str:
        """Most frequent confusion, in a line."""
        if not any(cell.labels for cell in self.cells):
            return "No labels yet, so no confusion matrix"
        if not self.confused:
            return "No errors found so far"
        first = self.confused[0]
        return (
            f"Most frequent confusion: predicted {first.predicted}, truth {first.truth}, about "
            f"{first.items:,.0f} items ({first.rate:.1%} of the items predicted {first.predicted})"
        )

    def document(self) -> Document:
        """Most frequent confusions, and the matrix shaded by share."""
        whose = f" of {self.classifier}" if self.classifier else ""
        columns = (
            Column("called", "text"),
            Column("is", "text"),
            Column("items, about"),
            Column("", "bar"),
            *map(Column, ("share of the predicted class", "interval", "labels")),
        )
        wrong = self.confused
        more = len(wrong) - _PAIRS
        note = f"and {more:,} more {('pair' if more == 1 else 'pairs')} with fewer items"
        pairs = Table(
            f"Confused most{whose}",
            columns,
            tuple(map(_pair, wrong[:_PAIRS])),
            note if more > 0 else "",
        )
        summary = Paragraph(f"{self.headline}.")
        return Document.of(f"Confusion matrix{whose}", summary, pairs, self._shaded())

    def _shaded(self) -> Table:
        """Matrix, or the part of a large one with most errors."""
        order = self.order[:_MOST]
        others = any(cell.truth == NONE_OF_THESE for cell in self)
        columns = (*order, NONE_OF_THESE) if others else order
        words = (
            "Rows are predicted classes, columns true classes, in percent of the row. A dot "
            "means no label. Classes that are often confused are next to each other. Intervals "
            f"are at {percent(self.confidence)}, each on its own."
        )
        if len(order) < len(self.classes):
            of_all = f"{len(order)} classes of {len(self.classes):,}"
            words += f" The {of_all} with most errors are shown."
        return Table(
            "True class by predicted class, in percent",
            (Column("called", "text"), *(Column(name, named=True) for name in columns)),
            tuple(
                (predicted, *(_shade(self.cell(predicted, name)) for name in columns))
                for predicted in order
            ),
            words,
        )


def _pair(cell: ConfusionCell) -> tuple[str | Cell, ...]:
    return (
        cell.predicted,
        cell.truth,
        f"{cell.items:,.0f}",
        Cell("", interval=Interval(cell.low, cell.high, cell.rate)),
        f"{cell.rate:.1%}",
        f"[{cell.low:.1%}, {cell.high:.1%}]",
        f"{cell.labels:,}",
    )


def _shade(cell: ConfusionCell | None) -> Cell:
    if cell is None:
        return Cell("·", level=0)
    percent = "<1" if 0 < cell.rate < 0.005 else f"{100 * cell.rate:.0f}"
    return Cell(percent, level=level_of(cell.rate))


def level_of(share: float) -> int:
    """Shade of a share, from 0 to 9.

    >>> level_of(0.001), level_of(0.04), level_of(0.97)
    (0, 2, 9)
    """
    return sum(share >= step for step in _STEPS)


# Precision, recall and F1 of every class, with intervals.

_LONGEST = 40  # characters of a class's name in a table


@dataclass(frozen=True)
class ClassRow:
    """Metrics of one class."""

    name: str
    # precision, recall, f1: estimates; None if unknown or undefined.
    precision: float | None
    # precision_low, precision_high, recall_low, recall_high, f1_low, f1_high: ends of their
    # intervals.
    precision_low: float
    precision_high: float
    recall: float | None
    recall_low: float
    recall_high: float
    f1: float | None
    f1_low: float
    f1_high: float
    predicted: int  # items predicted to be of it: known, not estimated
    items: float | None  # estimated number of its items
    # items_low, items_high: its interval.
    items_low: float
    items_high: float
    labels: int  # labels of items that are predicted to be of it, or are of it
    doubt: str = ""  # reason why there is no estimate; otherwise empty


def _share(value: float | None, low: float, high: float, tone: Tone) -> Cell:
    def text(digits: int) -> str:
        shown = "?" if value is None else f"{value:.{digits}f}"
        return f"{shown} [{low:.{digits}f}, {high:.{digits}f}]"

    return Cell(text(3), tone, brief=text(2))


@dataclass(frozen=True)
class ClassTable(Result):
    """Metrics of the classes, from the labels so far."""

    rows: tuple[ClassRow, ...]  # in the order of the vocabulary
    confidence: float  # of each interval alone
    # Number of omitted classes: those with the fewest labels, if there are many.
    left_out: int = 0
    classifier: str = ""  # empty if there is only one

    row_type = ClassRow

    def __iter__(self) -> Iterator[ClassRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> ClassRow:
        match = next((row for row in self.rows if row.name == name), None)
        if match is None:
            raise KeyError(name)
        return match

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the table."""
        level = percent(self.confidence)
        lines = [f"intervals are at {level}, each on its own; labels were allocated for the goal"]
        if self.left_out:
            lines.append(f"{self.left_out:,} classes with fewer labels are not shown")
        lines += [f"{printable(row.name)}: {row.doubt}" for row in self.rows if row.doubt]
        return tuple(lines)

    def document(self) -> Document:
        """Metrics of each class as a table."""
        whose = f" of {self.classifier}" if self.classifier else ""
        columns = (
            *headed("class", "precision", "recall", "f1"),
            Column("called so", only=("text", "notebook", "page", "markdown")),
            # The other writers have no room for the number of items.
            Column("about", only=("text", "notebook")),
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
        Cell(f"{row.predicted:,}", tone),
        Cell(f"{items} [{row.items_low:,.0f}, {row.items_high:,.0f}]", tone),
        Cell(f"{row.labels:,}", tone),
    )
