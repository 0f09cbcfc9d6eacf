"""Commands that take options declared by the library, in groups."""

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from assay.options import Option, options_of

Typed = Mapping[str, Any]
"""Typed options, by the library's keywords; omitted ones are missing."""


def only(group: type, *names: str) -> list[Option]:
    """Select some options of a dataclass, by the library's keywords."""
    by_keyword = {option.keyword: option for option in options_of(group)}
    return [by_keyword[name] for name in names]


def all_except(group: type, *names: str) -> list[Option]:
    """All options of a dataclass, except some."""
    return [option for option in options_of(group) if option.keyword not in names]


def takes(**groups: Iterable[Option]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take groups of options: each such argument is `Typed`."""

    def taking(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[Parameter] = []
        of_group = {name: [_parameter(option) for option in each] for name, each in groups.items()}
        for parameter in signature(command, eval_str=True).parameters.values():
            parameters += of_group.get(parameter.name, [parameter])

        def run(**arguments: Any) -> None:
            for group, options in of_group.items():
                typed = {option.name: arguments.pop(option.name) for option in options}
                arguments[group] = {
                    k: v for k, v in typed.items() if v is not None and v is not False
                }
            command(**arguments)

        run.__doc__, run.__name__, run.__module__ = command.__doc__, command.__name__, __name__
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        vars(run)["__signature__"] = signature(command).replace(parameters=parameters)
        return run

    return taking


def _parameter(declared: Option) -> Parameter:
    cli, is_flag = declared.cli, declared.cli.typed is bool
    default = f" Default: {declared.default}." if declared.default else ""
    info = option(cli.help + default, cli.metavar, declared.flag, panel=cli.panel)
    return Parameter(
        declared.keyword,
        Parameter.KEYWORD_ONLY,
        default=False if is_flag else None,
        annotation=Annotated[bool if is_flag else cli.typed | None, info],
    )


def option(
    help: str,
    metavar: str | None = None,
    *names: str,
    panel: str | None = None,
    least: float | None = None,
    most: float | None = None,
    shown: bool = True,  # whether the help has the default
) -> Any:
    """Option of one command; its flag follows from the parameter unless `names` are given."""
    return typer.Option(
        *names,
        help=help,
        metavar=metavar,
        rich_help_panel=panel,
        min=least,
        max=most,
        show_default=shown,
    )


def argument(metavar: str, help: str, *, shown: bool = True) -> Any:
    """Positional argument of a command."""
    return typer.Argument(metavar=metavar, help=help, show_default=shown)


def flag(help: str, name: str) -> Any:
    """Option without a value."""
    return typer.Option(name, help=help)
