"""Tables as Markdown for reading and CSV for computing, from the same rows."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """Rows of values, and how each column is written for people.

    Examples
    --------
    >>> table = Table("Costs", {"design": "", "labels": ",.0f"}, [("random", 2967.98)])
    >>> print(table.markdown())
    # Costs
    <BLANKLINE>
    | design | labels |
    |---|---:|
    | random | 2,968 |
    <BLANKLINE>
    """

    title: str
    # Headings, each with the format of its numbers (``".3f"``; ``""`` as they are)
    columns: Mapping[str, str]
    rows: Sequence[Sequence[Value]]  # values in the order of the columns; None where there is none
    notes: Sequence[str] = ()  # paragraphs below the table

    def written(self) -> list[list[str]]:
        """Return the rows as people read them."""
        formats = list(self.columns.values())
        return [[_written(*pair) for pair in zip(row, formats, strict=True)] for row in self.rows]

    def markdown(self) -> str:
        """Return the table with its title and notes as Markdown."""
        lines = [
            _line(self.columns),
            "|" + "".join("---:|" if how else "---|" for how in self.columns.values()),
            *(_line(row) for row in self.written()),
        ]
        return "\n\n".join([f"# {self.title}", "\n".join(lines), *self.notes]) + "\n"

    def write(self, folder: Path, name: str) -> list[Path]:
        """Write NAME.md and NAME.csv into the folder, and return the files."""
        folder.mkdir(parents=True, exist_ok=True)
        markdown, values = folder / f"{name}.md", folder / f"{name}.csv"
        markdown.write_text(self.markdown(), encoding="utf-8")
        with values.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows(self.rows)
        return [markdown, values]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _written(value: Value, how: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str) else format(value, how)
