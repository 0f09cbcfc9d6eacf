"""What commands that work for minutes share: a progress bar, and a folder that is tried first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from assay.cli.output import console
from assay.errors import InputError

__all__ = ["INTERRUPTED", "make_folder", "progress_bar"]

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
