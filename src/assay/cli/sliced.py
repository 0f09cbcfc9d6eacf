"""A metric in every slice, as ``assay status --by COLUMN`` shows it."""

from rich.console import Group, RenderableType
from rich.text import Text

from assay.slices import Slices
from assay.terminal import new_table, note_lines
from assay.words import printable

__all__ = ["slices_view"]

_TOO_FEW = (
    "too few to say: fewer than 30 labels count, or they are worth fewer than 30 random ones, or "
    "the interval is wider than 0.30, or than 130% of the estimate (docs/slices.md)"
)
_SIMULTANEOUS = "simultaneous=True"


def slices_view(slices: Slices) -> RenderableType:
    """Return the slices as a table; those that are too few to say in a fainter tone."""
    *headings, verdict = slices.headings
    table = new_table(*map(printable, headings))
    table.add_column(verdict)
    for column in table.columns[1:]:
        column.no_wrap = True  # a long name is folded, and no number
    for row in slices.rows:
        told = Text("too few to say" if row.too_few else "", "yellow")
        table.add_row(
            Text(printable(row.slice)), *row.cells, told, style="dim" if row.too_few else ""
        )
    # What is written in Python has another name here.
    notes = [note.replace(_SIMULTANEOUS, "--simultaneous") for note in slices.notes]
    if any(row.too_few for row in slices.rows):
        notes.append(_TOO_FEW)
    return Group(Text(printable(slices.headline), "bold"), Text(), table, Text(), note_lines(notes))
