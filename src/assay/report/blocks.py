"""Blocks of a page: paragraphs, tables, figures; HTML and Markdown write the same ones.

All texts are plain: whoever writes them escapes them.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Paragraph:
    """A sentence or more; `small` where it only explains."""

    text: str
    small: bool = False


@dataclass(frozen=True)
class Headline:
    """What a reader came for, a value with its interval, and what belongs to it."""

    name: str
    value: str
    more: str


@dataclass(frozen=True)
class Notice:
    """How things stand, in a sentence that is seen first."""

    tone: Literal["good", "warn"]
    text: str


@dataclass(frozen=True)
class Pairs:
    """Names and values."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first column is text, and all others but `texts` are numbers."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Lines:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """What is to be typed, or read by machines, to the letter."""

    text: str
    language: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture, with words that say the same, and a table where no other has its numbers.

    `layers` are paths of SVG in a square of `curve.SIDE`, by the class that gives their look, and
    `key` what these classes mean. `across` and `upwards` are the numbers at the edges.
    """

    title: str
    words: str
    layers: tuple[tuple[str, str], ...]
    key: tuple[tuple[str, str], ...]
    across: tuple[str, ...]
    upwards: tuple[str, ...]
    unit: str
    table: Table | None = None


Block = Paragraph | Headline | Notice | Pairs | Table | Lines | Code | Figure


@dataclass(frozen=True)
class Section:
    """Blocks under a title."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A page: its title, a line below it, and its sections."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    footer: str
