"""Documents as text: plain, as `print` shows a result, and as Markdown with tables as on GitHub."""

import re
from collections.abc import Iterator, Sequence

from assay.errors import DOCUMENTS, printable
from assay.results import document as blocks

# Markup characters, brackets included, so that no link can be written.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&$])")


def markdown_of(document: blocks.Document | blocks.Page) -> str:
    """Markdown of a document, or of a page of documents."""
    if isinstance(document, blocks.Document):
        return "\n\n".join(_section(document)) + "\n"
    parts = [f"# {_text(document.title)}", _text(document.subtitle)]
    parts += [part for section in document.sections for part in _section(section)]
    parts.append(f"*{_text(document.footer)}*")
    return "\n\n".join(parts) + "\n"


def _section(document: blocks.Document) -> list[str]:
    written = [f"## {_text(document.title)}", *map(_block, document.blocks)]
    return [part for part in written if part]


def _block(block: blocks.Block) -> str:
    match block:
        case blocks.Paragraph(text):
            made = _text(text)
        case blocks.Headline(text, more):
            made = f"**{_text(text)}**" + (f", {_text(more)}" if more else "")
        case blocks.Notice(_, text):
            made = f"> {_text(text)}"
        case blocks.Pairs(rows):
            made = _rows([blocks.Column("", "text")] * 2, rows)
        case blocks.Lines(items):
            made = "\n".join(f"- {_text(blocks.sentence(item))}" for item in items)
        case blocks.Notes(items):
            made = "\n\n".join(_text(blocks.sentence(item)) for item in items)
        case blocks.Code(text, language):
            made = _code(text, language)
        case blocks.Table():
            made = _table(block)
        case blocks.Figure() | blocks.Drawing():
            made = _text(block.words)
            if isinstance(block, blocks.Figure) and block.table is not None:
                made += f"\n\n{_table(block.table)}"
        case blocks.Interval():
            made = ""
    return made


# Documents named in our sentences. A reader of a report does not have them at hand.
_PAGES = "certainty|random_labels|several|slices|weights"


def linked(text: str) -> list[tuple[str, str | None]]:
    """Parts of a text, each with the address of its link.

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
    r"""Markdown that renders as the same text, in one line.

    >>> print(_text("<b> [x](y) a_b | \n # c"))
    \<b\> \[x\](y) a\_b \| \# c
    """
    parts = linked(" ".join(printable(text).split()))
    escaped = ((_SPECIAL.sub(r"\\\1", part), address) for part, address in parts)
    return "".join(part if address is None else f"[{part}]({address})" for part, address in escaped)


def _table(table: blocks.Table) -> str:
    columns, rows = table.shown("markdown")
    made = f"{_text(table.caption)}:\n\n{_rows(columns, [[c.text for c in row] for row in rows])}"
    return f"{made}\n\n{_text(table.note)}" if table.note else made


def _rows(columns: Sequence[blocks.Column], rows: Sequence[Sequence[str]]) -> str:
    lines = [[column.title for column in columns], *rows]
    written = [" | ".join(map(_text, line)) for line in lines]
    kinds = ["---:" if column.kind == "number" else "---" for column in columns]
    written.insert(1, " | ".join(kinds))
    return "\n".join(f"| {line} |" for line in written)


def _code(text: str, language: str) -> str:
    """Code block; its fence is longer than any row of backticks inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}{language}\n{printable(text)}\n{fence}"


def text_of(document: blocks.Document) -> str:
    """Text of a document; tables stand by themselves, pictures are left out."""
    lines: list[str] = []
    last: blocks.Block | None = None
    for block in document.blocks:
        written = list(_lines(block))
        if not written:
            continue
        apart = isinstance(block, blocks.Table) or (
            isinstance(last, blocks.Table) and not isinstance(block, blocks.Notes)
        )
        lines += [*([""] if lines and apart else []), *written]
        last = block
    return "\n".join(lines)


def _lines(block: blocks.Block) -> Iterator[str]:
    match block:
        case blocks.Paragraph(text) | blocks.Notice(_, text) | blocks.Code(text):
            yield printable(text)
        case blocks.Headline(text, more):
            yield printable(f"{text} {more}".rstrip())
        case blocks.Pairs(rows):
            columns = [blocks.Column("", "text"), blocks.Column("", "text")]
            yield from _aligned(
                columns, [[blocks.Cell(name), blocks.Cell(value)] for name, value in rows]
            )
        case blocks.Lines(items):
            yield from map(printable, items)
        case blocks.Notes(items):
            yield from (f"note: {printable(item)}" for item in items)
        case blocks.Table():
            yield from _text_table(block)
        case blocks.Interval() | blocks.Figure() | blocks.Drawing():
            return


def _text_table(table: blocks.Table) -> Iterator[str]:
    if table.is_picture:
        return
    columns, rows = table.shown("text")
    yield printable(table.caption)
    if rows:
        yield from _aligned(columns, [[blocks.Cell(each.heading) for each in columns], *rows])
    if table.note:
        yield printable(table.note)


def _aligned(
    columns: Sequence[blocks.Column], rows: Sequence[Sequence[blocks.Cell]]
) -> Iterator[str]:
    """Yield lines in columns: texts to the left, numbers to the right, details below."""
    texts = [[blocks.clipped(cell.text) for cell in row] for row in rows]
    inline = [place for place, column in enumerate(columns) if column.kind != "detail"]
    widths = {at: max(len(row[at]) for row in texts) for at in inline}
    for number, row in enumerate(texts):
        cells = [
            row[at].rjust(width) if columns[at].kind == "number" else row[at].ljust(width)
            for at, width in widths.items()
        ]
        yield "  ".join(cells).rstrip()
        for column, text in zip(columns, row, strict=True):
            if column.kind == "detail" and text and number:  # the first has the headings
                yield f"  {blocks.clipped(column.heading)}  {text}"
