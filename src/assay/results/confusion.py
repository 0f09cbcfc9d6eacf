"""The confusion matrix of a campaign, and metrics of every class, with intervals."""

from collections.abc import Iterator
from dataclasses import dataclass

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
_PAIRS = 12  # of classes that are confused most
_STEPS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 0.9)  # of the shade, by the share


@dataclass(frozen=True)
class ConfusionCell:
    """Items that are called one class, and are of one class."""

    # said, is_of: what the classifier calls them, and what people say that they are: a class, or
    # ``none of these``.
    said: str
    is_of: str
    items: float  # about how many there are
    rate: float  # their share of all that is called so
    # low, high: the interval of that share.
    low: float
    high: float
    labels: int  # how many of the labels they are


@dataclass(frozen=True)
class ConfusionMatrix(Result):
    """What items that are called each class are, from the labels so far."""

    classes: tuple[str, ...]  # in the order of the vocabulary
    # Those with a label, and every class with itself; of a class that no item is called, none.
    cells: tuple[ConfusionCell, ...]
    said: dict[str, int]  # how many items are called each class: known, and not estimated
    confidence: float  # of each rate's interval alone
    classifier: str = ""  # whose; empty where there is one

    row_type = ConfusionCell

    @property
    def rows(self) -> tuple[ConfusionCell, ...]:
        """The cells."""
        return self.cells

    def __iter__(self) -> Iterator[ConfusionCell]:
        return iter(self.cells)

    def cell(self, said: str, is_of: str) -> ConfusionCell | None:
        """Return one cell; None where there is no label of it."""
        return next((c for c in self.cells if (c.said, c.is_of) == (said, is_of)), None)

    @property
    def confused(self) -> list[ConfusionCell]:
        """The errors, those with the most items first."""
        wrong = [cell for cell in self.cells if cell.said != cell.is_of and cell.items > 0]
        return sorted(wrong, key=lambda cell: -cell.items)

    @property
    def order(self) -> tuple[str, ...]:
        """The classes, those that are confused most with each other beside each other.

        From the class with the most errors on, each is followed by the one that is confused most
        with those before it.
        """
        ties: dict[tuple[str, str], float] = {}
        amount = dict.fromkeys(self.classes, 0.0)
        for cell in self.confused:
            for pair in ((cell.said, cell.is_of), (cell.is_of, cell.said)):
                ties[pair] = ties.get(pair, 0.0) + cell.items
                if pair[0] in amount:
                    amount[pair[0]] += cell.items
        left = sorted(self.classes, key=lambda name: (-amount[name], name))
        found: list[str] = []
        while left:
            last = found[-1:] and found[-1]
            near = max(left, key=lambda name: (ties.get((str(last), name), 0.0), -left.index(name)))
            found.append(near)
            left.remove(near)
        return tuple(found)

    @property
    def headline(self) -> str:
        """What is confused most, in a line."""
        if not any(cell.labels for cell in self.cells):
            return "No label yet: what is confused with what is not known"
        if not self.confused:
            return "No error was seen yet"
        first = self.confused[0]
        return (
            f"Confused most: called {first.said}, is {first.is_of}, about {first.items:,.0f} items "
            f"({first.rate:.1%} of what is called {first.said})"
        )

    def document(self) -> Document:
        """Return the pairs that are confused most, and the matrix, shaded by share."""
        whose = f" of {self.classifier}" if self.classifier else ""
        columns = (
            Column("called", "text"),
            Column("is", "text"),
            Column("items, about"),
            Column("", "bar"),
            *map(Column, ("share of what is called so", "interval", "labels")),
        )
        wrong = self.confused
        more = len(wrong) - _PAIRS
        note = f"and {more:,} {'pair' if more == 1 else 'pairs'} more with fewer items"
        pairs = Table(
            f"Confused most{whose}",
            columns,
            tuple(map(_pair, wrong[:_PAIRS])),
            note if more > 0 else "",
        )
        said = Paragraph(f"{self.headline}.")
        return Document.of(f"Confusion matrix{whose}", said, pairs, self._shaded())

    def _shaded(self) -> Table:
        """Return the matrix, or the part of a large one with most errors."""
        order = self.order[:_MOST]
        others = any(cell.is_of == NONE_OF_THESE for cell in self)
        columns = (*order, NONE_OF_THESE) if others else order
        words = (
            "A row is what items that are called so are, in percent. A dot is where no label is. "
            "Classes that are confused with each other stand beside each other. Intervals are at "
            f"{100 * self.confidence:.4g}% for each share alone."
        )
        if len(order) < len(self.classes):
            of_all = f"{len(order)} classes of {len(self.classes):,}"
            words += f" The {of_all} with most errors are shown."
        return Table(
            "What items that are called so are, in percent",
            (Column("called", "text"), *(Column(name, named=True) for name in columns)),
            tuple((said, *(_shade(self.cell(said, name)) for name in columns)) for said in order),
            words,
        )


def _pair(cell: ConfusionCell) -> tuple[str | Cell, ...]:
    return (
        cell.said,
        cell.is_of,
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
    """Return how dark a share is shown, from 0 to 9.

    >>> level_of(0.001), level_of(0.04), level_of(0.97)
    (0, 2, 9)
    """
    return sum(share >= step for step in _STEPS)


# Precision, recall and F1 of every class, with intervals.

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
