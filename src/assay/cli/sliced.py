"""A metric in every slice, as ``assay status --by COLUMN`` shows it."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.cli.render import note_lines
from assay.results.slices import Slices
from assay.results.text import printable

_LONGEST = 30  # cells of a name; a longer one is folded
_GAP = 2  # cells between columns: with the numbers, a name of thirty then has room in eighty
_SIMULTANEOUS = "simultaneous=True"


def slices_view(slices: Slices) -> RenderableType:
    """Return the slices as a table; beneath those that are too few to say, in a fainter tone, why.

    The reason has a line of its own: beside the numbers, neither it nor a name would have room.
    """
    # What is written in Python has another name here.
    notes = [note.replace(_SIMULTANEOUS, "--simultaneous") for note in slices.notes]
    return Group(
        Text(printable(slices.headline), "bold"), Text(), *_lines(slices), Text(), note_lines(notes)
    )


def _lines(slices: Slices) -> Iterator[RenderableType]:
    headings = slices.headings[:-1]
    cells = [[printable(cell) for cell in (row.slice, *row.cells)] for row in slices.rows]
    shown = [[printable(heading) for heading in headings], *cells]
    name, *wide = (max(map(cell_len, column)) for column in zip(*shown, strict=True))
    widths = [min(name, _LONGEST), *wide]
    yield _line(shown[0], widths, "dim")
    for row, its in zip(slices.rows, cells, strict=True):
        yield _line(its, widths, "dim" if row.too_few else "")
        if row.too_few:
            yield Text(f"  {row.verdict}", "yellow")


def _line(cells: Sequence[str], widths: Sequence[int], style: str) -> Table:
    """Return a line of the table.

    Cells are filled up and columns left free, so that on a narrow screen all lines yield alike:
    names are folded, and numbers are not.
    """
    line = Table.grid(padding=(0, _GAP, 0, 0))
    filled = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        line.add_column(
            max_width=width,
            justify="right" if place else "left",
            no_wrap=place > 0,
            overflow="fold",
        )
        space = " " * (width - cell_len(cell))
        filled.append(Text(space + cell if place else cell + space))
    line.add_row(*filled, style=style)
    return line
