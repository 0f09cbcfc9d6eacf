"""Command line: each command calls one public function."""

import json
import sys
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import TyperException

from assay.cli.commands import LazyGroup, loading_without_garbage
from assay.errors import VERSION

__all__ = ["app", "main"]

app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"assay {VERSION}")
        raise typer.Exit


@app.callback()
def assay(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """How good is your classifier? An estimate with an interval, from few human labels."""


def main() -> None:
    """Run the command that the process was started with."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks must not end the program.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    as_json = "--json" in sys.argv[1:]
    try:
        with loading_without_garbage():
            code = app(prog_name="assay", standalone_mode=not as_json)
    except TyperException as error:
        # Wrong usage; typer alone would print text.
        error_parts = {"problem": error.format_message(), "details": "", "hint": "see --help"}
        typer.echo(json.dumps({"error": error_parts}), err=True)
        code = error.exit_code
    sys.exit(code)
