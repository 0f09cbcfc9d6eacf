"""Labels and batches as rows under named columns."""

import csv
import io
from dataclasses import dataclass

from assay.exchange.rows import FURTHER, as_text, guard
from assay.results import Item

# A batch of items to judge, with the columns that their reviewers see.


@dataclass(frozen=True)
class Batch:
    """Items to judge.

    Attributes
    ----------
    question : str
        What is asked of each.
    columns : tuple of str
        What the items show.
    items : tuple of Item
    """

    question: str
    columns: tuple[str, ...]
    items: tuple[Item, ...]


_READ = ("id", "label", *FURTHER)  # what these columns say is read back


@dataclass(frozen=True)
class Sheet:
    r"""Rows under named columns.

    Examples
    --------
    >>> Sheet(("id", "label"), (("=1+1", "yes"), (-5, None))).to_csv()
    "id,label\r\n'=1+1,yes\r\n'-5,\r\n"
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def to_csv(self) -> str:
        """Return the sheet as RFC 4180 has it, with cells guarded against spreadsheets."""
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow([guard(column) for column in self.columns])
        writer.writerows([guard(as_text(value)) for value in row] for row in self.rows)
        return text.getvalue()

    def records(self) -> list[dict[str, object]]:
        """Return one mapping a row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def sheet_of(batch: Batch) -> Sheet:
    """Return a batch's items, with a column for the label that is still empty."""
    names: list[str] = []
    for name in batch.columns:
        free = name
        while free in (*_READ, *names) or (free != name and free in batch.columns):
            free = f"shown {free}"
        names.append(free)
    rows = ((item.id, *(item[name] for name in batch.columns), None) for item in batch.items)
    return Sheet(("id", *names, "label"), tuple(rows))
