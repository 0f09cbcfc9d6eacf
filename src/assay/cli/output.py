"""Output of commands: coloured text for people, one JSON document for machines, progress."""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from assay.cli.busy import saying_more, speaking
from assay.cli.words import in_options, with_options
from assay.errors import AssayError, AssayWarning, InputError
from assay.results import printable

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def console(*, stderr: bool = False) -> Console:
    """Return where to print what a command says; numbers keep the colour that they are given."""
    speaking()
    return Console(stderr=stderr, highlight=False)


def emit(document: dict[str, Any]) -> None:
    """Print a JSON document."""
    echo(json.dumps(document, allow_nan=False, indent=2) + "\n")


def echo(text: str) -> None:
    """Print a text as it is."""
    speaking()
    typer.echo(text, nl=False)


def say_note(text: str) -> None:
    """Print, beside what a command answers, what it is about to do."""
    with saying_more():
        _aside().print(Text(printable(text), "dim"), soft_wrap=True)


def say_next(screen: Console, command: str) -> None:
    """Print the command to type next, in one piece to be copied."""
    line = Text.assemble(("next: ", "dim"), (printable(command), "bold"))
    screen.print()
    screen.print(line, soft_wrap=True)


def tell(
    # document, view: return it for machines, and for people; only one of the two is asked for.
    document: Callable[[], Mapping[str, Any]],
    view: Callable[[], RenderableType],
    *,
    warnings: Sequence[str],
    next_command: str,
    as_json: bool,
) -> None:
    """Tell machines or people what a command did, what to beware of, and what to do next."""
    if as_json:
        emit({**document(), "warnings": list(warnings), "next": next_command})
        return
    screen = console()
    screen.print(view())
    for warning in warnings:
        screen.print()
        screen.print(Text(f"warning: {printable(warning)}", "yellow"))
    say_next(screen, next_command)


def _aside() -> Console:
    """Return where to tell how the work goes."""
    return Console(stderr=True, highlight=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something takes its time; on a terminal only."""
    screen = _aside()
    if not screen.is_terminal:
        yield
        return
    with saying_more(), screen.status(Text(printable(what))):
        yield


@contextmanager
def collecting_warnings() -> Iterator[list[str]]:
    """Fill a list with the warnings of what is done meanwhile, to be told in their place."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AssayWarning)
        yield told
    told += [in_options(str(each.message)) for each in caught]


@contextmanager
def telling_errors(*, as_json: bool, code: int = 1) -> Iterator[None]:
    """Tell an error on the standard error stream, in words, and end with an exit code."""
    try:
        yield
    except (AssayError, MemoryError, RecursionError) as found:
        error = found if isinstance(found, AssayError) else _too_much(found)
        if as_json:
            parts = dict(zip(("problem", "details", "hint"), with_options(error), strict=True))
            speaking()
            typer.echo(json.dumps({"error": parts}), err=True)
        else:
            _show(error)
        raise typer.Exit(code) from None


def _too_much(error: MemoryError | RecursionError) -> AssayError:
    """Return what a person is told who gave more than there is room for: the last resort."""
    if isinstance(error, RecursionError):
        return InputError("what was given is nested too deeply to be read")
    return InputError(
        "this takes more memory than there is",
        hint="a file from somebody else may be made so: do not trust it; otherwise use a larger "
        "machine, or give less at once",
    )


def _show(error: AssayError) -> None:
    problem, details, hint = with_options(error)
    lines = Text.assemble(("error: ", "bold red"), printable(problem))
    if details:
        lines.append(f"\n{printable(details)}")
    if hint:
        lines.append_text(Text.assemble(("\nhint: ", "bold cyan"), printable(hint)))
    # A long path or list must stay in one piece, to be copied.
    console(stderr=True).print(lines, soft_wrap=True)


# What commands that work for minutes share: a progress bar, a folder and last words.

INTERRUPTED = 130  # what a shell calls a program that Ctrl-C ended


@contextmanager
def progress_bar(what: str, *, pulses: bool = False) -> Iterator[Callable[[float], None] | None]:
    """Show how much is done, on a terminal only; in a pipe there is nothing to tell it to.

    It `pulses` until something is told, where that may be never.
    """
    screen = _aside()
    if not screen.is_terminal:
        yield None
        return
    from rich.progress import (  # takes long to load, and few need it
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    clock = TimeElapsedColumn() if pulses else TimeRemainingColumn()
    columns = (TextColumn(what, markup=False), BarColumn(), TaskProgressColumn(), clock)
    with saying_more(), Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=None if pulses else 1.0)
        yield lambda share: bar.update(task, total=1.0, completed=share)


def make_folder(folder: Path) -> None:
    """Make the folder for the results, before the work that would be lost without it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder: {error.strerror}") from None


def say(what: str, colour: str, text: str) -> None:
    """Tell how the work ended, beside what it printed."""
    line = Text.assemble((what, colour), printable(text))
    console(stderr=True).print(line, soft_wrap=True)
