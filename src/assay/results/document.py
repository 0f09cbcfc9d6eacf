"""Documents: a result as blocks, which five writers show in their own way.

    a result -> document() -> text (`plain`) | notebook (`notebook`) | Markdown (`markdown`)
                            | page (`report.html`) | terminal (`cli.render`)

Blocks carry meaning, not looks. All texts are plain: the writers escape them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import floor
from typing import Literal, Self

from assay.errors import printable

Writer = Literal["text", "terminal", "notebook", "page", "markdown", "dashboard"]
Tone = Literal["", "strong", "faint", "good", "warn", "bad"]

_OWN_LINE = ("remark", "detail")  # kinds of columns, in a terminal
_DRAWN_BY = ("notebook", "dashboard")  # the writers with room for bars


def stretch(low: float, high: float) -> tuple[float, float]:
    """Start and length of the narrowest round part of [0, 1] that holds an interval.

    A difference may need a part of [-1, 1].

    >>> stretch(0.913, 0.948)
    (0.9, 0.05)
    >>> stretch(-0.7, 0.6)
    (-1.0, 2.0)
    """
    for span in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        half = span / 2
        start = min(floor(low / half) * half, 1.0 - span)
        if high <= start + span:
            return round(start, 3), span
    return -1.0, 2.0


def scale_of(ends: Iterable[float]) -> tuple[float, float]:
    """Start and end of a round scale that holds all values.

    >>> scale_of([0.93, 0.91, 0.95])
    (0.9, 0.95)
    """
    shares = list(ends)
    start, span = stretch(min(shares), max(shares))
    return start, round(start + span, 3)


@dataclass(frozen=True)
class Interval:
    """Interval and its estimate, to be drawn on a scale; `within`: requested half-width."""

    low: float
    high: float
    value: float | None
    scale: tuple[float, float] = (0.0, 1.0)
    within: float | None = None

    def share(self, value: float) -> float:
        """Position of a value on the scale, in percent."""
        start, end = self.scale
        return 100 * (min(max(value, start), end) - start) / (end - start)


@dataclass(frozen=True)
class Cell:
    """Text of a table cell; `level`: shade in a picture, from 0 to 9."""

    text: str
    tone: Tone = ""
    level: int | None = None
    interval: Interval | None = None  # of a column of bars
    brief: str = ""  # shorter text for a terminal with less room


@dataclass(frozen=True)
class Column:
    """Column of a table: numbers, short texts, remarks on a row, details of it, or bars.

    A remark has a line of its own in a terminal, and a detail also in a text. If all of them are
    empty, there is no column. `only`: writers with room for the column, if not all; `named`: the
    heading is a name in the data.
    """

    heading: str
    kind: Literal["number", "text", "remark", "detail", "bar"] = "number"
    only: tuple[Writer, ...] = ()
    named: bool = False

    @property
    def title(self) -> str:
        """Heading with a capital, for pages."""
        words = self.heading or ("remark" if self.kind == "remark" else "")
        return words if self.named else f"{words[:1].upper()}{words[1:]}"


@dataclass(frozen=True)
class Table:
    """Rows under headings. The caption also names the table for screen readers."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    note: str = ""  # below it: meaning of its marks, or parts left out

    @property
    def is_picture(self) -> bool:
        """Whether its cells are shaded, to be looked at rather than read."""
        return any(isinstance(c, Cell) and c.level is not None for row in self.rows for c in row)

    def shown(self, writer: Writer) -> tuple[list[Column], list[list[Cell]]]:
        """Columns that a writer has room for, and the rows in these columns."""
        rows = [[each if isinstance(each, Cell) else Cell(each) for each in r] for r in self.rows]
        places = [
            place
            for place, column in enumerate(self.columns)
            if (not column.only or writer in column.only)
            and (column.kind != "bar" or writer in _DRAWN_BY)
            and (column.kind not in _OWN_LINE or any(row[place].text for row in rows))
        ]
        return [self.columns[at] for at in places], [[row[at] for at in places] for row in rows]


def headed(first: str, *numbers: str) -> tuple[Column, ...]:
    """Columns of a table: a text, followed by numbers."""
    return (Column(first, "text"), *map(Column, numbers))


@dataclass(frozen=True)
class Paragraph:
    """A sentence or more; `small` if it only explains."""

    text: str
    small: bool = False


@dataclass(frozen=True)
class Headline:
    """The main answer, and what belongs to it."""

    text: str
    more: str = ""


@dataclass(frozen=True)
class Notice:
    """Status in a sentence, seen first."""

    tone: Literal["good", "warn"]
    text: str


@dataclass(frozen=True)
class Pairs:
    """Names and values."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Lines:
    """List of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Notes:
    """Cautions for a careful reader. They may name arguments, which a terminal calls options."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Commands or data, verbatim."""

    text: str
    language: str = ""


@dataclass(frozen=True)
class Figure:
    """Picture with an equivalent text, and a table unless another has its numbers.

    `layers`: SVG paths in a square of `SIDE`, by their style class; `key`: meaning of the classes;
    `across`, `upwards`: numbers at the edges; `points`: places from the left, in `SIDE`, and what
    is said of them where a pointer is near.
    """

    title: str
    words: str
    layers: tuple[tuple[str, str], ...]
    key: tuple[tuple[str, str], ...]
    across: tuple[str, ...]
    upwards: tuple[str, ...]
    unit: str
    table: Table | None = None
    points: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Drawing:
    """Picture as our own SVG, which is HTML already, with an equivalent text."""

    svg: str = field(repr=False)
    words: str


SIDE = 1000  # of the square of a figure

Block = (
    Paragraph
    | Headline
    | Interval
    | Notice
    | Pairs
    | Table
    | Lines
    | Notes
    | Code
    | Figure
    | Drawing
)


@dataclass(frozen=True)
class Document:
    """Blocks under a title: a result, or a section of a page."""

    title: str
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, title: str, *blocks: Block) -> Self:
        """Document of the blocks that are not empty, under a title."""
        return cls(title, tuple(block for block in blocks if not _is_empty(block)))


def _is_empty(block: Block) -> bool:
    match block:
        case Lines(items) | Notes(items):
            return not items
        case Table(rows=rows) | Pairs(rows=rows):
            return not rows
    return False


@dataclass(frozen=True)
class Page:
    """Page: its title, a line below it, and its sections."""

    title: str
    subtitle: str
    sections: tuple[Document, ...]
    footer: str


def clipped(text: str, longest: int = 200) -> str:
    r"""Safe text in one line, shortened if it is long.

    >>> clipped("a\nlong text", 6)
    'a long…'
    """
    line = " ".join(text.split())
    return printable(line if len(line) <= longest else f"{line[:longest]}…")


def sentence(text: str) -> str:
    """Text as a sentence: with a capital and a full stop.

    >>> sentence("few labels")
    'Few labels.'
    """
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
