"""Documents in a terminal: blocks as rich renderables, for whoever has a console.

What comes out of data (ids, texts, names) goes through `printable` first: a terminal obeys escape
sequences wherever they stand, and an item may have been written to exploit that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich import table as rich_table
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from assay.cli.output import in_options
from assay.results import (
    Block,
    Cell,
    Code,
    Column,
    Document,
    Headline,
    Interval,
    Lines,
    Notes,
    Notice,
    Pairs,
    Paragraph,
    Table,
    clipped,
    ends_text,
    printable,
    stretch,
)

if TYPE_CHECKING:
    from assay.labelling import Settings
    from assay.results import Estimate

_BAR_CELLS = 40
_GAPS = (3, 2, 1)  # cells between columns, as there is room
_NARROWEST = 12  # cells of a column of texts that is folded
_STYLES = {"": "", "strong": "bold", "faint": "dim", "good": "green", "warn": "yellow"}
_STYLES["bad"] = "red"


def view_of(document: Document) -> Group:
    """Return a document as people read it in a terminal."""
    return view(document.blocks)


def view(blocks: Iterable[Block]) -> Group:
    """Return blocks below each other, a line apart; a bar stands beneath its headline."""
    parts: list[RenderableType] = []
    for block in blocks:
        written = _block(block)
        if written is not None:
            apart = parts and not isinstance(block, Interval)
            parts += [Text(), written] if apart else [written]
    return Group(*parts)


def _block(block: Block) -> RenderableType | None:
    made: RenderableType | None = None
    match block:
        case Paragraph(text, small):
            made = Text(printable(text), "dim" if small else "")
        case Headline(text, more):
            made = Text.assemble((printable(text), "bold"), (f"  {printable(more)}", "dim"))
        case Interval(low, high, value):
            made = interval_bar(low, high, value)
        case Notice(tone, text):
            made = Text(printable(text), f"bold {_STYLES[tone]}")
        case Pairs(rows):
            made = facts(rows)
        case Table() if not block.is_picture:
            made = TableView(block)
        case Lines(items):
            made = Group(*(Text(printable(item)) for item in items))
        case Notes(items):
            made = note_lines(items)
        case Code(text):
            made = Text(printable(text))
    return made


class TableView:
    """A table, its columns as far apart as there is room for.

    Texts are folded before numbers. Remarks that find no room beside the numbers have lines of
    their own, as details always have.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._columns, self._rows = table.shown("terminal")

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the caption, the headings, the rows with their remarks, and the note."""
        inline = self._inline(options.max_width)
        columns = [self._columns[at] for at in inline]
        headings = [Cell(column.heading, "faint") for column in columns]
        shown = [[row[at] for at in inline] for row in self._rows]
        widths, gap = _widths(columns, [headings, *shown], options.max_width)
        if self._table.caption:
            yield Text(clipped(self._table.caption), "bold")
        if any(column.heading for column in columns):
            yield _line(columns, headings, widths, gap)
        for row, cells in zip(self._rows, shown, strict=True):
            yield _line(columns, cells, widths, gap)
            yield from self._below(row, inline)
        if self._table.note:
            yield Text(printable(self._table.note), "dim")

    def _inline(self, room: int) -> list[int]:
        """Return the columns that stand beside each other: with remarks, if all of them fit."""
        beside = [at for at, column in enumerate(self._columns) if column.kind != "detail"]
        rows = [[Cell(column.heading) for column in self._columns], *self._rows]
        wide = sum(max(cell_len(_text(row[at])) for row in rows) + _GAPS[1] for at in beside)
        if wide - _GAPS[1] <= room:
            return beside
        return [at for at in beside if self._columns[at].kind != "remark"]

    def _below(self, row: Sequence[Cell], inline: Sequence[int]) -> Iterator[Text]:
        for at, (column, cell) in enumerate(zip(self._columns, row, strict=True)):
            if at not in inline and cell.text:
                name = f"  {printable(column.heading)}  " if column.kind == "detail" else "  "
                yield Text.assemble((name, "cyan"), (printable(cell.text), _STYLES[cell.tone]))


def _text(cell: Cell) -> str:
    return clipped(cell.brief or cell.text)


def _widths(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], room: int
) -> tuple[list[int], int]:
    """Return how wide columns are, and the gap between them; texts yield where it is narrow."""
    widths = [max(cell_len(_text(row[at])) for row in rows) for at in range(len(columns))]
    gaps = len(columns) - 1
    for gap in _GAPS:
        if sum(widths) + gap * gaps <= room:
            return widths, gap
    texts = [at for at, column in enumerate(columns) if column.kind == "text"]
    least = sum(min(w, _NARROWEST) if at in texts else w for at, w in enumerate(widths))
    gap = next((gap for gap in _GAPS[1:] if least + gap * gaps <= room), _GAPS[-1])
    while sum(widths) + gap * gaps > room:
        widest = max(texts, key=lambda at: widths[at], default=0)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    return widths, gap


def _line(
    columns: Sequence[Column], cells: Sequence[Cell], widths: Sequence[int], gap: int
) -> rich_table.Table:
    line = rich_table.Table.grid(padding=(0, gap, 0, 0), pad_edge=False)
    for column, width in zip(columns, widths, strict=True):
        number = column.kind == "number"
        line.add_column(
            width=width,
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    line.add_row(*(Text(_text(cell), _STYLES[cell.tone]) for cell in cells))
    return line


def facts(pairs: Sequence[tuple[str, RenderableType]]) -> rich_table.Table:
    """Return names and values side by side, without a heading."""
    table = rich_table.Table(box=None, padding=(0, 3, 0, 0), show_header=False, show_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(
            Text(printable(name)), Text(printable(value)) if isinstance(value, str) else value
        )
    return table


def note_lines(notes: Sequence[str]) -> RenderableType:
    """Return the notes, one paragraph each."""
    return Group(
        *(Text.assemble(("note: ", "yellow"), printable(in_options(note))) for note in notes)
    )


def commitment_line(settings: Settings) -> Text:
    """Return what to publish before the labelling, in one piece to be copied."""
    return Text.assemble(("commitment  ", "cyan"), settings.commitment, no_wrap=True)


def interval_text(estimate: Estimate) -> Text:
    """Return the interval in three digits, a difference's with signs."""
    return Text("[{}, {}]".format(*ends_text(estimate)))


def interval_bar(low: float, high: float, value: float | None) -> Text:
    """Draw the interval on the narrowest round stretch of [0, 1], or of [-1, 1], that holds it.

    >>> print(interval_bar(0.913, 0.948, 0.931))
    0.9 ├──────────━━━━━━━━━━━━━━●━━━━━━━━━━━━━──┤ 0.95
    """
    start, span = stretch(low, high)

    def cell(share: float) -> int:
        return round((share - start) / span * (_BAR_CELLS - 1))

    first, last = cell(low), cell(high)
    bar = Text.assemble(
        (f"{start:.4g} ├", "dim"),
        ("─" * first, "dim"),
        ("━" * (last - first + 1), "bold cyan"),
        ("─" * (_BAR_CELLS - 1 - last), "dim"),
        (f"┤ {start + span:.4g}", "dim"),
    )
    if value is None:
        return bar
    at = bar.plain.index("├") + 1 + cell(value)
    return Text.assemble(bar[:at], ("●", "bold green"), bar[at + 1 :])


def half_width_bar(half_width: float, within: float) -> Text:
    """Draw the half-width against its goal, on a scale that ends at five times the goal.

    >>> print(half_width_bar(0.034, 0.02))
    ━━━━━━━│━━━━━━──────────────────────────  0.0340, goal 0.02
    """
    scale = 5 * within
    reached = round(min(half_width / scale, 1.0) * _BAR_CELLS)
    goal = round(within / scale * _BAR_CELLS)
    colour = "green" if half_width <= within else "yellow"
    bar = Text("━" * reached, f"bold {colour}") + Text("─" * (_BAR_CELLS - reached), "dim")
    marked = Text.assemble(bar[: goal - 1], ("│", "bold"), bar[goal:])
    return Text.assemble(marked, "  ", (f"{half_width:.4f}", colour), f", goal {within:g}")
