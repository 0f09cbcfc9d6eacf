"""Documents as plain text, as `print` shows a result."""

from collections.abc import Iterator, Sequence

from assay.errors import printable
from assay.results.document import (
    Block,
    Cell,
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
    Pairs,
    Paragraph,
    Table,
    clipped,
)


def text_of(document: Document) -> str:
    """Return a document as text; tables stand by themselves, pictures are left out."""
    lines: list[str] = []
    last: Block | None = None
    for block in document.blocks:
        written = list(_lines(block))
        if not written:
            continue
        apart = isinstance(block, Table) or (
            isinstance(last, Table) and not isinstance(block, Notes)
        )
        lines += [*([""] if lines and apart else []), *written]
        last = block
    return "\n".join(lines)


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text) | Notice(_, text) | Code(text):
            yield printable(text)
        case Headline(text, more):
            yield printable(f"{text} {more}".rstrip())
        case Pairs(rows):
            columns = [Column("", "text"), Column("", "text")]
            yield from _aligned(columns, [[Cell(name), Cell(value)] for name, value in rows])
        case Lines(items):
            yield from map(printable, items)
        case Notes(items):
            yield from (f"note: {printable(item)}" for item in items)
        case Table():
            yield from _table(block)
        case Interval() | Figure() | Drawing():
            return


def _table(table: Table) -> Iterator[str]:
    if table.is_picture:
        return
    columns, rows = table.shown("text")
    yield printable(table.caption)
    if rows:
        yield from _aligned(columns, [[Cell(each.heading) for each in columns], *rows])
    if table.note:
        yield printable(table.note)


def _aligned(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Yield lines in columns: texts to the left, numbers to the right, details below."""
    texts = [[clipped(cell.text) for cell in row] for row in rows]
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
                yield f"  {clipped(column.heading)}  {text}"
