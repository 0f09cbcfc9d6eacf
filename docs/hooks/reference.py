"""The reference pages are made from the program itself when the site is built."""

from collections.abc import Iterator
from html import escape
from inspect import isclass, isroutine

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import assay
from assay.cli import app


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to those that lie in the folder."""
    for path, text in (
        ("reference/python.md", python_page()),
        ("reference/command_line.md", command_line_page()),
    ):
        files.append(File.generated(config, path, content=text))
    return files


def python_page() -> str:
    """Return a page that shows the public names, and no others."""
    public = {name: getattr(assay, name) for name in assay.__all__ if not name.startswith("_")}
    errors = [name for name, it in public.items() if isclass(it) and issubclass(it, Exception)]
    groups = {
        "Functions": [name for name, it in public.items() if isroutine(it)],
        "Classes": [name for name, it in public.items() if isclass(it) and name not in errors],
        "Errors": errors,
    }
    lines = ["# Python", "", "Every public name of `assay`."]
    for title, names in groups.items():
        lines += ["", f"## {title}", *(f"\n::: assay.{name}" for name in names)]
    return "\n".join(lines)


def command_line_page() -> str:
    """Return a page with every command and option, in the words of ``--help``."""
    lines = ["# Command line", "", "What `assay COMMAND --help` says, of every command."]
    for words, command in commands():
        lines += ["", f"## {words}", "", *_about(words, command)]
    return "\n".join(lines)


def commands() -> Iterator[tuple[str, TyperCommand]]:
    """Yield every command, by the words that call it."""
    yield from _within("assay", get_command(app))


def _within(words: str, command: object) -> Iterator[tuple[str, TyperCommand]]:
    if isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            yield from _within(f"{words} {name}", inner)
    elif isinstance(command, TyperCommand):
        yield words, command


def _about(words: str, command: TyperCommand) -> Iterator[str]:
    context = typer.Context(command, info_name=words)
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield from (" ".join((command.help or "").split("\n")), "", "```text", usage, "```", "")
    yield "<table><tr><th>option</th><th>meaning</th></tr>"
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            names, text = map(escape, record)
            yield f"<tr><td><code>{names}</code></td><td>{text}</td></tr>"
    yield "</table>"
