"""Options as fields of dataclasses: each is declared once, for the library and the command line.

What a command has to know of one stands in its annotation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from inspect import signature
from typing import Any, TypeVar, get_type_hints

Group = TypeVar("Group")


@dataclass(frozen=True)
class Told:
    """What a command says of an option, and takes for it."""

    help: str
    metavar: str | None = None
    typed: Any = str  # the type of what is typed
    panel: str = "Predictions"  # the heading that it stands under
    flag: str | None = None  # as in ``--slice``, where it is not the keyword
    keyword: str | None = None  # of the library's functions, where it is not the field's name


@dataclass(frozen=True)
class Option:
    """An option of the library and of commands."""

    keyword: str
    flag: str
    told: Told
    default: Any  # what the library takes where it is left out


def options_of(group: type) -> Iterator[Option]:
    """Return the options of a dataclass, in the order of its fields."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        for told in getattr(hints[field.name], "__metadata__", ()):
            keyword = told.keyword or field.name
            flag = told.flag or f"--{keyword.replace('_', '-')}"
            yield Option(keyword, flag, told, field.default)


def picked(group: type[Group], given: Mapping[str, Any]) -> Group:
    """Return the dataclass of what a function was given, by the names of its arguments."""
    return group(**{name: given[name] for name in signature(group).parameters if name in given})
