"""Commands by name: each is imported when it is run, and listed without being imported."""

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


class Listed(NamedTuple):
    """Where a command is, and the first sentence of its help."""

    place: str  # the module in this package, and the name in it: ``exchange:export``
    help: str  # what the list of commands says of it; its docstring begins alike


COMMANDS = {
    "demo": Listed(
        "demo:demo", "Evaluate a classifier of generated messages, and see what it cost."
    ),
    "plan": Listed(
        "plan:plan", "Tell what an evaluation is likely to cost, before anybody labels."
    ),
    "create": Listed("create:create", "Make a campaign from a file of predictions."),
    "label": Listed(
        "label:label", "Judge items in the terminal, one key an answer, each saved at once."
    ),
    "serve": Listed(
        "serve:serve", "Serve a page on which people judge items, and the owner sees the estimate."
    ),
    "confirm": Listed(
        "confirm:confirm",
        "Show where a storage says that a campaign's predictions are, and let them be read there.",
    ),
    "compare": Listed(
        "compare:compare",
        "Start a campaign for the difference between two model versions, or two weeks.",
    ),
    "rebase": Listed(
        "series:rebase",
        "Go on with a campaign on predictions that have changed; all labels are kept.",
    ),
    "follow": Listed(
        "series:follow", "Begin the next period of a series, or show how it went so far."
    ),
    "extend": Listed(
        "series:extend", "Let predictions of new items join a campaign; all labels are kept."
    ),
    "import": Listed(
        "exchange:import_", "Take labels from a file: all of them or, with an error, none."
    ),
    "export": Listed(
        "exchange:export",
        "Write labels, or the next items to judge, for a spreadsheet or another tool.",
    ),
    "connect": Listed(
        "connect:connect",
        "Send items to a running Label Studio, and take its answers as they come, to the end.",
    ),
    "status": Listed("status:status", "Show where a campaign stands, or list the campaigns."),
    "errors": Listed(
        "mistakes:errors",
        "Show the classifier's errors among the labels, those it was surest of first.",
    ),
    "curve": Listed(
        "curve:curve",
        "Show precision, recall, F1 and specificity at every threshold, from the labels so far.",
    ),
    "judge": Listed(
        "judge:judge",
        "Show how good a judge is, whose verdicts are in a column, by people's labels.",
    ),
    "judgements": Listed(
        "judge:judgements",
        "Turn the logs of a judge into a table (id, verdict, score, times), to join to "
        "predictions.",
    ),
    "estimate": Listed(
        "status:estimate",
        "Estimate a metric from labels of items that were drawn at random before.",
    ),
    "report": Listed(
        "report:report",
        "Report on a campaign: the estimates, what they rest on, and how to check them.",
    ),
    "verify": Listed(
        "report:verify",
        "Recompute the estimates from the log of labels, and check all that they rest on.",
    ),
    "backup": Listed(
        "backup:backup",
        "Copy a storage in SQLite into one file, while people judge, and check the copy.",
    ),
    "restore": Listed(
        "backup:restore",
        "Check a backup, and put it where a storage is to be; nothing that is there is replaced.",
    ),
    "simulate": Listed(
        "simulate:simulate",
        "Replay evaluations of a labelled file, and see what each design would have cost.",
    ),
    "token": Listed("serve:tokens", "Say who may use a campaign's page."),
}


class Commands(UserDict[str, Any]):
    """What is in `COMMANDS`, each made when it is first asked for."""

    def __getitem__(self, name: str) -> Any:
        """Return a command; its module is imported the first time."""
        if name in COMMANDS and name not in self.data:
            self.data[name] = _load(name)
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a command."""
        return name in COMMANDS

    def __len__(self) -> int:
        """Return how many there are."""
        return len(COMMANDS)

    def __iter__(self) -> Iterator[str]:
        """Yield the names, in the order of the list."""
        return iter(COMMANDS)


def _load(name: str) -> Any:
    module, _, attribute = COMMANDS[name].place.partition(":")
    with answering():  # to import it takes a moment
        found = getattr(import_module(f"assay.cli.{module}"), attribute)
    _keep_what_is_loaded()
    if isinstance(found, typer.Typer):
        return _quick(get_command(found))
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(name)(found)
    return _quick(get_command(alone))


@contextmanager
def loading_without_garbage() -> Iterator[None]:
    """Look for no garbage in this process, which runs one command, until the command is loaded."""
    gc.disable()
    atexit.register(_let_go)
    try:
        yield
    finally:
        gc.enable()


def _keep_what_is_loaded() -> None:
    """Look for garbage again, but not in what was loaded: that takes a fifth of a short command."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _let_go() -> None:
    """Let all be taken apart where DuckDB would tell, on stderr, what of it is left at the end."""
    if "duckdb" in sys.modules:
        gc.unfreeze()


# To check what was typed typer loads pydantic, which takes a quarter of a second. Most options are
# left out or are texts, and a plain number needs no checks; all else, also what is wrong, is
# typer's.

_PLAIN: dict[Any, str] = {int: "-?[0-9]{1,15}", float: r"-?[0-9]{1,15}(\.[0-9]{1,15})?"}
_UNREAD = object()


def _quick(command: Any) -> Any:
    """Return a command that says at once that it works, and loads no checks where none are needed.

    These are checks of what was typed.
    """
    for within in getattr(command, "commands", {}).values():
        _quick(within)
    if command.callback is not None:
        command.callback = partial(_answered, command.callback)
    vars(command)["get_params"] = partial(_quick_parameters, command.get_params)
    return command


def _answered(callback: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Run a command; until it says something, it is said that it works."""
    with answering():
        return callback(*args, **options)


def _quick_parameters(listed: Callable[[Any], list[Any]], context: Any) -> list[Any]:
    """Return a command's parameters, each of which reads plain values by itself."""
    parameters = listed(context)
    for each in parameters:
        if "process_value" not in vars(each):
            vars(each)["process_value"] = partial(_processed, each, each.process_value)
    return parameters


def _processed(parameter: Any, check: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return an option's value as typer would."""
    read = _plainly(parameter, value)
    if read is _UNREAD:
        return check(context, value)
    return read if parameter.callback is None else parameter.callback(context, parameter, read)


def _plainly(parameter: Any, value: Any) -> Any:
    """Return a value that needs no checks, as what it is declared to be."""
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
    """A group that knows its commands' names, and imports the one that is run.

    `settings`: as typer gives them.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands()

    def get_params(self, context: Any) -> list[Any]:
        """Return the group's own options, read as those of its commands are."""
        return _quick_parameters(super().get_params, context)

    def list_commands(self, _context: Any) -> list[str]:
        """Return the names, in the order of the list."""
        return list(COMMANDS)

    def format_help(self, context: Any, formatter: Any) -> None:
        """Write the help; for one line each, no command is imported."""
        listed = copy(self)
        listed.commands = {
            name: TyperCommand(name, help=each.help) for name, each in COMMANDS.items()
        }
        TyperGroup.format_help(listed, context, formatter)


# The line on a terminal that says that a command works, until the command says something.

_TEXT = "working …"


class _Line:
    """The last line of a terminal, as far as it says that a command works."""

    def __init__(self) -> None:
        self._wanted = self._there = False

    def want(self, wanted: bool) -> None:
        """Say it from now on, or no more."""
        self._wanted = wanted
        self.show(there=wanted)

    def show(self, *, there: bool) -> None:
        """Write the text if it is wanted, or take it away."""
        there = there and self._wanted and sys.stderr.isatty()
        if there != self._there:
            sys.stderr.write(_TEXT if there else f"\r{' ' * len(_TEXT)}\r")
            sys.stderr.flush()
            self._there = there


_line = _Line()


@contextmanager
def answering() -> Iterator[None]:
    """Say that a command works as long as it says nothing itself."""
    _line.want(True)
    try:
        yield
    finally:
        _line.want(False)


def speaking() -> None:
    """Take away that a command works: it has something to say."""
    _line.want(False)


@contextmanager
def saying_more() -> Iterator[None]:
    """Take away that a command works while it says what it works at."""
    _line.show(there=False)
    try:
        yield
    finally:
        _line.show(there=True)
