"""What commands that work for minutes share: a progress bar, a folder, tables and last words."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Group
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table as ScreenTable
from rich.text import Text

from assay.cli.output import console
from assay.errors import InputError
from assay.experiments.tables import Table
from assay.results.text import printable

INTERRUPTED = 130  # what a shell calls a program that Ctrl-C ended


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None] | None]:
    """Show how much is done, on a terminal only; in a pipe there is nothing to tell it to."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield None
        return
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share)


def make_folder(folder: Path) -> None:
    """Make the folder for the results, before the work that would be lost without it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder: {error.strerror}") from None


def show(table: Table) -> None:
    """Print a table as its Markdown would read."""
    screen = console()
    shown = ScreenTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for heading, how in table.columns.items():
        shown.add_column(heading, justify="right" if how else "left")
    for row in table.written():
        shown.add_row(*row)
    notes = [Text(note, "dim") for note in table.notes]
    screen.print(Group(Text(table.title, "bold"), Text(), shown, Text(), *notes))


def say(what: str, colour: str, text: str) -> None:
    """Tell how the work ended, beside what it printed."""
    line = Text.assemble((what, colour), printable(text))
    console(stderr=True).print(line, soft_wrap=True)


def save_rows(rows: str, out: Path) -> list[Path]:
    """Write the rows of a CSV file, and return the file."""
    table = out / "rows.csv"
    table.write_text(rows, encoding="utf-8")
    return [table]


def say_saved(files: list[Path], out: Path) -> None:
    """Tell what was written, after what was printed."""
    line = Text.assemble(("saved: ", "cyan"), printable(f"{len(files)} files in {out}"))
    console().print(line, soft_wrap=True)
