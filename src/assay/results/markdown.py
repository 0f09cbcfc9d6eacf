"""Documents as Markdown: tables in the way of GitHub, and pictures as the tables they show."""

import re
from collections.abc import Sequence

from assay.errors import DOCUMENTS, printable
from assay.results.document import (
    Block,
    Code,
    Column,
    Document,
    Drawing,
    Figure,
    Headline,
    Interval,
    Lines,
    Notes,
    Notice,
    Page,
    Pairs,
    Paragraph,
    Table,
    sentence,
)

# Characters that would be read as markup; brackets, so that no link can be written.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&$])")


def markdown_of(document: Document | Page) -> str:
    """Return a document, or a page of them."""
    if isinstance(document, Document):
        return "\n\n".join(_section(document)) + "\n"
    parts = [f"# {_text(document.title)}", _text(document.subtitle)]
    parts += [part for section in document.sections for part in _section(section)]
    parts.append(f"*{_text(document.footer)}*")
    return "\n\n".join(parts) + "\n"


def _section(document: Document) -> list[str]:
    written = [f"## {_text(document.title)}", *map(_block, document.blocks)]
    return [part for part in written if part]


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            made = _text(text)
        case Headline(text, more):
            made = f"**{_text(text)}**" + (f", {_text(more)}" if more else "")
        case Notice(_, text):
            made = f"> {_text(text)}"
        case Pairs(rows):
            made = _rows([Column("", "text")] * 2, rows)
        case Lines(items):
            made = "\n".join(f"- {_text(sentence(item))}" for item in items)
        case Notes(items):
            made = "\n\n".join(_text(sentence(item)) for item in items)
        case Code(text, language):
            made = _code(text, language)
        case Table():
            made = _table(block)
        case Figure() | Drawing():
            made = _text(block.words)
            if isinstance(block, Figure) and block.table is not None:
                made += f"\n\n{_table(block.table)}"
        case Interval():
            made = ""
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


def _table(table: Table) -> str:
    columns, rows = table.shown("markdown")
    made = f"{_text(table.caption)}:\n\n{_rows(columns, [[c.text for c in row] for row in rows])}"
    return f"{made}\n\n{_text(table.note)}" if table.note else made


def _rows(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    lines = [[column.title for column in columns], *rows]
    written = [" | ".join(map(_text, line)) for line in lines]
    kinds = ["---:" if column.kind == "number" else "---" for column in columns]
    written.insert(1, " | ".join(kinds))
    return "\n".join(f"| {line} |" for line in written)


def _code(text: str, language: str) -> str:
    """Return a block of code; its fence is longer than any row of backticks inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}{language}\n{printable(text)}\n{fence}"
