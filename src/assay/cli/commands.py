"""Commands by name: imported when they are run, and listed without an import."""

import atexit
import gc
import re
import sys
from collections import UserDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from assay.cli.working_line import showing_work


class Listed(NamedTuple):
    """Entry in the list of commands."""

    group: str
    place: str  # module in this package, and name in it: ``exchange:export``
    help: str  # the first sentence of its docstring
    failure: int = 1  # exit code of an error


COMMANDS = {
    "open": Listed("Start", "serve:open_", "Create, label and watch campaigns in the browser."),
    "demo": Listed(
        "Start", "demo:demo", "Measure a classifier on generated messages and show what it costs."
    ),
    "plan": Listed(
        "Start", "plan:plan", "Forecast how many labels a goal needs, before anyone labels."
    ),
    "create": Listed("Start", "create:create", "Create a campaign from a file of predictions."),
    "label": Listed("Label", "label:label", "Label items in the terminal, one key per answer."),
    "serve": Listed("Label", "serve:serve", "Serve the review page and the owner's dashboard."),
    "import": Listed("Label", "exchange:import_", "Import labels from a file."),
    "export": Listed(
        "Label", "exchange:export", "Export labels, or the next items to label, for another tool."
    ),
    "connect": Listed(
        "Label", "connect:connect", "Label in a running Label Studio: send items, collect answers."
    ),
    "status": Listed(
        "Understand", "status:status", "Show a campaign's estimate and progress, or list campaigns."
    ),
    "errors": Listed(
        "Understand",
        "mistakes:errors",
        "Show the classifier's errors among the labels, most confident first.",
    ),
    "curve": Listed(
        "Understand",
        "curve:curve",
        "Show precision, recall, F1 and specificity at every threshold.",
    ),
    "judge": Listed(
        "Understand",
        "judge:judge",
        "Measure a judge (an LLM, another model) against people's labels.",
    ),
    "estimate": Listed(
        "Understand", "status:estimate", "Estimate a metric from labels of a random sample."
    ),
    "report": Listed(
        "Understand", "report:report", "Write a campaign's report, or its audit bundle."
    ),
    "simulate": Listed(
        "Decide",
        "simulate:simulate",
        "Compare designs by replaying evaluations of a labelled file.",
    ),
    "compare": Listed(
        "Decide",
        "compare:compare",
        "Measure the difference between two model versions or two weeks.",
    ),
    "follow": Listed(
        "Decide", "series:follow", "Start the next period of a series, or show the series.", 2
    ),
    "rebase": Listed(
        "Decide",
        "series:rebase",
        "Continue a campaign on changed or additional predictions, keeping all labels.",
    ),
    "verify": Listed(
        "Operate",
        "report:verify",
        "Recompute the estimates from the label log and check the storage.",
    ),
    "backup": Listed(
        "Operate",
        "backup:backup",
        "Back up a SQLite storage while it is in use, and check the copy.",
    ),
    "restore": Listed(
        "Operate",
        "backup:restore",
        "Check a backup and restore it; never replaces an existing storage.",
    ),
    "token": Listed("Operate", "serve:tokens", "Manage access tokens."),
    "campaign": Listed("Operate", "manage:campaigns", "Rename or delete a campaign."),
}


class Commands(UserDict[str, Any]):
    """Commands of `COMMANDS`, each made on first use."""

    def __getitem__(self, name: str) -> Any:
        """Import a command on first use, and return it."""
        if name in COMMANDS and name not in self.data:
            self.data[name] = _load(name)
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is such a command."""
        return name in COMMANDS

    def __len__(self) -> int:
        """Count the commands."""
        return len(COMMANDS)

    def __iter__(self) -> Iterator[str]:
        """Yield the names, in the order of the list."""
        return iter(COMMANDS)


def _load(name: str) -> Any:
    listed = COMMANDS[name]
    module, _, attribute = listed.place.partition(":")
    with showing_work():  # the import takes a moment
        command = getattr(import_module(f"assay.cli.{module}"), attribute)
    _keep_loaded_modules()
    if isinstance(command, typer.Typer):
        return _quick(get_command(command), listed.failure)
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(name)(command)
    return _quick(get_command(alone), listed.failure)


@contextmanager
def loading_without_garbage() -> Iterator[None]:
    """Suspend garbage collection until the command is loaded."""
    gc.disable()
    atexit.register(_release_all)
    try:
        yield
    finally:
        gc.enable()


def _keep_loaded_modules() -> None:
    """Resume garbage collection, but leave out loaded modules: they take long to scan."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _release_all() -> None:
    """Release everything at exit if DuckDB is loaded: it reports leftovers on stderr."""
    if "duckdb" in sys.modules:
        gc.unfreeze()


# Typer's argument checks load pydantic, which is slow. Most options are omitted or text, and a
# plain number needs no checks. Everything else, errors included, is left to typer.

_PLAIN: dict[Any, str] = {int: "-?[0-9]{1,15}", float: r"-?[0-9]{1,15}(\.[0-9]{1,15})?"}
_SHARES = ("within", "level_within", "change_within", "confidence", "at_least", "floor", "gain")
_UNREAD = object()


def _quick(command: Any, failure: int) -> Any:
    """Command that shows at once that it works, and loads no unneeded argument checks."""
    for subcommand in getattr(command, "commands", {}).values():
        _quick(subcommand, failure)
    if command.help:  # typer keeps the line ends of a docstring
        command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", command.help)
    if command.callback is not None:
        command.callback = partial(_answered, command.callback, failure)
    vars(command)["get_params"] = partial(_quick_parameters, command.get_params)
    return command


def _answered(callback: Callable[..., Any], failure: int, **options: Any) -> Any:
    """Run a command, showing that it works until its first output, and print its error."""
    from assay.cli.output import telling_errors

    as_json = options.get("as_json", False)
    with showing_work(), telling_errors(as_json=as_json, code=failure):
        return callback(**options)


def _quick_parameters(parameters_of: Callable[[Any], list[Any]], context: Any) -> list[Any]:
    """Parameters of a command, each of which reads plain values by itself."""
    parameters = parameters_of(context)
    for parameter in parameters:
        if "process_value" not in vars(parameter):
            vars(parameter)["process_value"] = partial(
                _processed, parameter, parameter.process_value
            )
            vars(parameter)["display_type_rich"] = partial(_value_name, parameter)
    return parameters


_VALUE_NAMES: dict[Any, str] = {int: "N", float: "NUMBER", str: "TEXT", list[str]: "TEXT"}


def _value_name(parameter: Any, ctx: Any) -> str | None:
    """Name of an option's value in the help; None for flags and arguments."""
    if parameter.param_type_name == "argument" or parameter.metavar is not None:
        return None if parameter.param_type_name == "argument" else str(parameter.metavar)
    kind = parameter.type_descriptor.annotation
    return None if kind is bool else _VALUE_NAMES.get(kind, parameter.display_type(ctx))


def _processed(parameter: Any, check: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Value of an option, as typer would return it."""
    value = _of_percent(parameter, value)
    read = _plainly(parameter, value)
    if read is _UNREAD:
        _refuse_no_number(parameter, value)
        return check(context, value)
    return read if parameter.callback is None else parameter.callback(context, parameter, read)


def _of_percent(parameter: Any, value: Any) -> Any:
    """Share that was typed in percent, as a number; any other value as it is."""
    is_share = parameter.name in _SHARES and isinstance(value, str)
    if is_share and re.fullmatch(f"{_PLAIN[float]} ?%", value):
        return str(float(value.rstrip(" %")) / 100)
    return value


def _refuse_no_number(parameter: Any, value: Any) -> None:
    """Raise for a word in place of a number: typer would say so in pydantic's words."""
    kind: Any = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if kind not in _PLAIN or not isinstance(value, str):
        return
    try:
        kind(value)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        example = "; for example 0.05 or 5%" if parameter.name in _SHARES else ""
        raise typer.BadParameter(f"{value!r} is not {what}{example}", param=parameter) from None


def _plainly(parameter: Any, value: Any) -> Any:
    """Value that needs no checks, in its declared type."""
    described = getattr(parameter, "type_descriptor", None)
    kind: Any = getattr(described, "annotation", None)
    if value is None and not parameter.required:
        return () if parameter.multiple or parameter.nargs == -1 else None
    if kind is str and isinstance(value, str) and not getattr(described, "is_path", True):
        return value
    if kind == list[str] and isinstance(value, tuple | list) and value:
        return list(value)
    if kind in _PLAIN and not getattr(described, "is_ranged", True):
        if type(value) is kind:
            return value
        if isinstance(value, str) and re.fullmatch(_PLAIN[kind], value):
            return kind(value)
    return _UNREAD


class LazyGroup(TyperGroup):
    """Group that knows its commands' names, and imports the one that is run.

    `settings`: as typer gives them.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands()

    def get_params(self, context: Any) -> list[Any]:
        """Options of the group, read like those of its commands."""
        return _quick_parameters(super().get_params, context)

    def list_commands(self, _context: Any) -> list[str]:
        """Names, in the order of the list."""
        return list(COMMANDS)

    def format_help(self, context: Any, formatter: Any) -> None:
        """Write the help; the one-line help texts import no command."""
        listed = copy(self)
        listed.commands = {
            name: TyperCommand(name, help=each.help, rich_help_panel=each.group)
            for name, each in COMMANDS.items()
        }
        TyperGroup.format_help(listed, context, formatter)
