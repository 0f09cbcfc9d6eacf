"""Options as fields of dataclasses: each is declared once, for the library and the command line.

A field's annotation has what a command needs to know.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from inspect import signature
from typing import Any, TypeVar, get_type_hints

Group = TypeVar("Group")


@dataclass(frozen=True)
class CliOption:
    """Text of an option on the command line, and the values that it takes."""

    help: str
    metavar: str | None = None
    typed: Any = str  # type of the typed value
    panel: str = "Predictions"  # heading in the help
    flag: str | None = None  # as in ``--slice``, if it differs from the keyword
    keyword: str | None = None  # of the library's functions, if it differs from the field's name


@dataclass(frozen=True)
class Option:
    """An option of the library and of commands."""

    keyword: str
    flag: str
    cli: CliOption
    default: Any  # the library's default


def options_of(group: type) -> Iterator[Option]:
    """Options of a dataclass, in the order of its fields."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        for cli in getattr(hints[field.name], "__metadata__", ()):
            keyword = cli.keyword or field.name
            flag = cli.flag or f"--{keyword.replace('_', '-')}"
            yield Option(keyword, flag, cli, field.default)


def picked(group: type[Group], given: Mapping[str, Any]) -> Group:
    """Dataclass of a function's arguments, by name."""
    return group(**{name: given[name] for name in signature(group).parameters if name in given})
