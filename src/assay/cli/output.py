"""How commands speak: to people in colour, to machines in one JSON document, to both of errors."""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from assay.errors import AssayError, AssayWarning
from assay.results.text import printable

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def console(*, stderr: bool = False) -> Console:
    """Return where to print; numbers keep the colour that they are given."""
    return Console(stderr=stderr, highlight=False)


def emit(document: dict[str, Any]) -> None:
    """Print a JSON document."""
    typer.echo(json.dumps(document, allow_nan=False, indent=2))


def say_next(screen: Console, command: str) -> None:
    """Print the command to type next, in one piece to be copied."""
    line = Text.assemble(("next: ", "dim"), (printable(command), "bold"))
    screen.print()
    screen.print(line, soft_wrap=True)


def tell(
    document: Callable[[], Mapping[str, Any]],
    view: Callable[[], RenderableType],
    *,
    warnings: Sequence[str],
    next_command: str,
    as_json: bool,
) -> None:
    """Tell machines or people what a command did, what to beware of, and what to do next.

    Parameters
    ----------
    document, view : callable
        Return it for machines, and for people; only one of the two is asked for.
    """
    if as_json:
        emit({**document(), "warnings": list(warnings), "next": next_command})
        return
    screen = console()
    screen.print(view())
    for warning in warnings:
        screen.print()
        screen.print(Text(f"warning: {printable(warning)}", "yellow"))
    say_next(screen, next_command)


def working(what: str) -> AbstractContextManager[object]:
    """Show that something takes its time; on a terminal only."""
    screen = console(stderr=True)
    return screen.status(Text(printable(what))) if screen.is_terminal else nullcontext()


@contextmanager
def collecting_warnings() -> Iterator[list[str]]:
    """Fill a list with the warnings of what is done meanwhile, to be told in their place."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AssayWarning)
        yield told
    told += [str(each.message) for each in caught]


@contextmanager
def telling_errors(*, as_json: bool, code: int = 1) -> Iterator[None]:
    """Tell an `AssayError` on the standard error stream, and end with an exit code."""
    try:
        yield
    except AssayError as error:
        if as_json:
            parts = {"problem": error.problem, "details": error.details, "hint": error.hint}
            typer.echo(json.dumps({"error": parts}), err=True)
        else:
            _show(error)
        raise typer.Exit(code) from None


def _show(error: AssayError) -> None:
    lines = Text.assemble(("error: ", "bold red"), printable(error.problem))
    if error.details:
        lines.append(f"\n{printable(error.details)}")
    if error.hint:
        lines.append_text(Text.assemble(("\nhint: ", "bold cyan"), printable(error.hint)))
    # A long path or list must stay in one piece, to be copied.
    console(stderr=True).print(lines, soft_wrap=True)
