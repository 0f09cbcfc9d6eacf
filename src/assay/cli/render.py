"""Documents in a terminal: blocks as rich renderables.

Text from data (ids, texts, names) goes through `printable` first: a terminal obeys escape sequences
anywhere, and an item may have been written to exploit that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich import table as rich_table
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from assay import results
from assay.cli.output import in_options

if TYPE_CHECKING:
    from assay.labelling import Settings
    from assay.results import Estimate

_BAR_CELLS = 40
_GAPS = (3, 2, 1)  # cells between columns, as there is room
_NARROWEST = 12  # cells of a column of texts that is folded
_STYLES = {
    "": "",
    "strong": "bold",
    "faint": "dim",
    "good": "green",
    "warn": "yellow",
    "bad": "red",
}


def view_of(document: results.Document) -> Group:
    """Document for people at a terminal."""
    return view(document.blocks)


def view(blocks: Iterable[results.Block]) -> Group:
    """Blocks below each other, separated by a line; a bar is directly beneath its headline."""
    parts: list[RenderableType] = []
    for block in blocks:
        written = _block(block)
        if written is not None:
            apart = parts and not isinstance(block, results.Interval)
            parts += [Text(), written] if apart else [written]
    return Group(*parts)


def _block(block: results.Block) -> RenderableType | None:
    made: RenderableType | None = None
    match block:
        case results.Paragraph(text, small):
            made = Text(results.printable(text), "dim" if small else "")
        case results.Headline(text, more):
            made = Text.assemble(
                (results.printable(text), "bold"), (f"  {results.printable(more)}", "dim")
            )
        case results.Interval(low, high, value):
            made = interval_bar(low, high, value)
        case results.Notice(tone, text):
            made = Text(results.printable(text), f"bold {_STYLES[tone]}")
        case results.Pairs(rows):
            made = facts(rows)
        case results.Table() if not block.is_picture:
            made = TableView(block)
        case results.Lines(items):
            made = Group(*(Text(results.printable(item)) for item in items))
        case results.Notes(items):
            made = note_lines(items)
        case results.Code(text):
            made = Text(results.printable(text))
    return made


class TableView:
    """Table whose column gaps depend on the room.

    Texts are folded before numbers. Remarks without room beside the numbers have lines of their
    own, as details always have.
    """

    def __init__(self, table: results.Table) -> None:
        self._table = table
        self._columns, self._rows = table.shown("terminal")

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the caption, the headings, the rows with their remarks, and the note."""
        inline = self._inline(options.max_width)
        columns = [self._columns[at] for at in inline]
        headings = [results.Cell(column.heading, "faint") for column in columns]
        shown = [[row[at] for at in inline] for row in self._rows]
        widths, gap = _widths(columns, [headings, *shown], options.max_width)
        if self._table.caption:
            yield Text(results.clipped(self._table.caption), "bold")
        if any(column.heading for column in columns):
            yield _line(columns, headings, widths, gap)
        for row, cells in zip(self._rows, shown, strict=True):
            yield _line(columns, cells, widths, gap)
            yield from self._below(row, inline)
        if self._table.note:
            yield Text(results.printable(self._table.note), "dim")

    def _inline(self, room: int) -> list[int]:
        """Columns side by side: with remarks, if all of them fit."""
        side_by_side = [at for at, column in enumerate(self._columns) if column.kind != "detail"]
        rows = [[results.Cell(column.heading) for column in self._columns], *self._rows]
        wide = sum(max(cell_len(_text(row[at])) for row in rows) + _GAPS[1] for at in side_by_side)
        if wide - _GAPS[1] <= room:
            return side_by_side
        return [at for at in side_by_side if self._columns[at].kind != "remark"]

    def _below(self, row: Sequence[results.Cell], inline: Sequence[int]) -> Iterator[Text]:
        for at, (column, cell) in enumerate(zip(self._columns, row, strict=True)):
            if at not in inline and cell.text:
                name = (
                    f"  {results.printable(column.heading)}  " if column.kind == "detail" else "  "
                )
                yield Text.assemble(
                    (name, "cyan"), (results.printable(cell.text), _STYLES[cell.tone])
                )


def _text(cell: results.Cell) -> str:
    return results.clipped(cell.brief or cell.text)


def _widths(
    columns: Sequence[results.Column], rows: Sequence[Sequence[results.Cell]], room: int
) -> tuple[list[int], int]:
    """Widths of the columns, and the gap between them; texts shrink if there is little room."""
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
    columns: Sequence[results.Column],
    cells: Sequence[results.Cell],
    widths: Sequence[int],
    gap: int,
) -> rich_table.Table:
    line = rich_table.Table.grid(padding=(0, gap, 0, 0), pad_edge=False)
    for column, width in zip(columns, widths, strict=True):
        number = column.kind == "number"
        line.add_column(
            width=width, justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    line.add_row(*(Text(_text(cell), _STYLES[cell.tone]) for cell in cells))
    return line


def facts(pairs: Sequence[tuple[str, RenderableType]]) -> rich_table.Table:
    """Names and values side by side, without a heading."""
    table = rich_table.Table(box=None, padding=(0, 3, 0, 0), show_header=False, show_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(
            Text(results.printable(name)),
            Text(results.printable(value)) if isinstance(value, str) else value,
        )
    return table


def note_lines(notes: Sequence[str]) -> RenderableType:
    """Print the notes, one paragraph each."""
    return Group(
        *(
            Text.assemble(("note: ", "yellow"), results.printable(in_options(note)))
            for note in notes
        )
    )


def commitment_line(settings: Settings) -> Text:
    """Show the commitment to publish before the labelling, on one line for copying."""
    return Text.assemble(("commitment  ", "cyan"), settings.commitment, no_wrap=True)


def interval_text(estimate: Estimate) -> Text:
    """Interval in three digits, a difference's with signs."""
    return Text("[{}, {}]".format(*results.ends_text(estimate)))


def interval_bar(low: float, high: float, value: float | None) -> Text:
    """Draw the interval on the narrowest round part of [0, 1], or of [-1, 1], that holds it.

    >>> print(interval_bar(0.913, 0.948, 0.931))
    0.9 ├──────────━━━━━━━━━━━━━━●━━━━━━━━━━━━━──┤ 0.95
    """
    start, span = results.stretch(low, high)

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
