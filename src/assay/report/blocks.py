"""Blocks of a page: paragraphs, tables, figures; and a page of them as Markdown.

HTML and Markdown write the same blocks. All texts are plain: whoever writes them escapes them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.errors import DOCUMENTS
from assay.results import printable


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
    """Rows under headings; the first column is text, and all others but `texts` are numbers.

    `levels` are how dark all cells but the first of each row are, from 0 to 9, where a table is to
    be looked at as a picture.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: tuple[int, ...] = ()
    levels: tuple[tuple[int, ...], ...] = ()


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


# A report as Markdown: tables in the way of GitHub, and pictures as the tables they show.


# What would be read as something else than a text; brackets, so that no link can be written.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&$])")


def markdown_of(document: Document) -> str:
    """Return the page."""
    parts = [f"# {_text(document.title)}", _text(document.subtitle)]
    for section in document.sections:
        parts.append(f"## {_text(section.title)}")
        parts += [_block(block) for block in section.blocks]
    parts.append(f"*{_text(document.footer)}*")
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            made = _text(text)
        case Headline(name, value, more):
            made = f"**{_text(name)} {_text(value)}**, {_text(more)}"
        case Notice(_, text):
            made = f"> {_text(text)}"
        case Pairs(rows):
            made = _table(("", ""), rows, texts=(1,))
        case Lines(items):
            made = "\n".join(f"- {_text(item)}" for item in items)
        case Code(text, language):
            made = _code(text, language)
        case Table(caption, headings, rows, texts):
            made = f"{_text(caption)}:\n\n{_table(headings, rows, texts)}"
        case Figure():
            made = _text(block.words)
            if block.table is not None:
                made += f"\n\n{_block(block.table)}"
    return made


# The documents that our sentences name. A reader of a report does not have them beside it.
_PAGES = "certainty|random_labels|several|slices|weights"


def linked(text: str) -> list[tuple[str, str | None]]:
    """Return a text in parts, each with the address that it leads to.

    >>> [address for _, address in linked("see docs/certainty.md, or docs/else.md")]
    [None, 'https://github.com/assay-eval/assay/blob/main/docs/certainty.md', None]
    """
    parts = re.split(rf"(docs/(?:{_PAGES})\.md)", text)
    return [
        (part, f"{DOCUMENTS}/{part.removeprefix('docs/')}" if place % 2 else None)
        for place, part in enumerate(parts)
        if part
    ]


def _text(text: str) -> str:
    r"""Return a text as Markdown that is read as the same text, in one line.

    >>> print(_text("<b> [x](y) a_b | \n # c"))
    \<b\> \[x\](y) a\_b \| \# c
    """
    parts = linked(" ".join(printable(text).split()))
    escaped = ((_SPECIAL.sub(r"\\\1", part), address) for part, address in parts)
    return "".join(part if address is None else f"[{part}]({address})" for part, address in escaped)


def _table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[int] = ()
) -> str:
    lines = [headings, *rows]
    kinds = ["---" if not place or place in texts else "---:" for place in range(len(headings))]
    written = [" | ".join(map(_text, line)) for line in lines]
    written.insert(1, " | ".join(kinds))
    return "\n".join(f"| {line} |" for line in written)


def _code(text: str, language: str) -> str:
    """Return a block of code; its fence is longer than any row of backticks inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}{language}\n{printable(text)}\n{fence}"
