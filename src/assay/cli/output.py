"""Output of commands: coloured text for people, one JSON document for machines, progress."""

import ast
import json
import re
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from assay.cli.taking import flag
from assay.cli.working_line import hide_working_line, without_working_line
from assay.errors import AssayError, AssayWarning, InputError
from assay.results import printable

AsJson = Annotated[bool, flag("Print one JSON document.", "--json")]


def console(*, stderr: bool = False) -> Console:
    """Console for output; numbers keep their given colour."""
    hide_working_line()
    return Console(stderr=stderr, highlight=False)


def emit(document: dict[str, Any]) -> None:
    """Print a JSON document."""
    echo(json.dumps(document, allow_nan=False, indent=2) + "\n")


def echo(text: str) -> None:
    """Print a text unchanged."""
    hide_working_line()
    typer.echo(text, nl=False)


def say_note(text: str) -> None:
    """Print a note on the next step, beside the output."""
    with without_working_line():
        _progress_console().print(Text(printable(text), "dim"), soft_wrap=True)


def say_next(screen: Console, command: str) -> None:
    """Print the next command, on one line for copying."""
    line = Text.assemble(("next: ", "dim"), (printable(command), "bold"))
    screen.print()
    screen.print(line, soft_wrap=True)


def say_saved(screen: Console, what: object) -> None:
    """Name what the command has saved, on one line for copying."""
    screen.print(Text.assemble(("saved: ", "green"), printable(what)), soft_wrap=True)


def tell(
    # document, view: return it for machines, and for people; only one of the two is called.
    document: Callable[[], Mapping[str, Any]],
    view: Callable[[], RenderableType],
    *,
    warnings: Sequence[str],
    next_command: str,
    as_json: bool,
) -> None:
    """Output for machines or people: the result, warnings, and the next command."""
    if as_json:
        emit({**document(), "warnings": list(warnings), "next": next_command})
        return
    screen = console()
    screen.print(view())
    for warning in warnings:
        screen.print()
        screen.print(Text(f"warning: {printable(warning)}", "yellow"))
    say_next(screen, next_command)


def _progress_console() -> Console:
    """Console for progress."""
    return Console(stderr=True, highlight=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something takes time; on a terminal only."""
    screen = _progress_console()
    if not screen.is_terminal:
        yield
        return
    with without_working_line(), screen.status(Text(printable(what))):
        yield


@contextmanager
def collecting_warnings() -> Iterator[list[str]]:
    """Collect the warnings of a block, to be printed in their place."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AssayWarning)
        yield messages
    messages += [in_options(str(warning.message)) for warning in caught]


@contextmanager
def telling_errors(*, as_json: bool, code: int = 1) -> Iterator[None]:
    """Print an error on the standard error stream, and exit with a code."""
    try:
        yield
    except (AssayError, MemoryError, RecursionError) as caught:
        error = caught if isinstance(caught, AssayError) else _memory_error(caught)
        if as_json:
            parts = dict(zip(("problem", "details", "hint"), with_options(error), strict=True))
            hide_working_line()
            typer.echo(json.dumps({"error": parts}), err=True)
        else:
            _show(error)
        raise typer.Exit(code) from None


def _memory_error(error: MemoryError | RecursionError) -> AssayError:
    """Error for input that needs too much memory: the last resort."""
    if isinstance(error, RecursionError):
        return InputError("the input is nested too deeply to be read")
    return InputError(
        "there is not enough memory for this input",
        hint="use a larger machine or a smaller input; do not trust a stranger's file "
        "that needs so much",
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


# Shared by commands that work for minutes: a progress bar, a folder and last words.

INTERRUPTED = 130  # what a shell calls a program that Ctrl-C ended


@contextmanager
def progress_bar(what: str, *, pulses: bool = False) -> Iterator[Callable[[float], None] | None]:
    """Show progress, on a terminal only; otherwise yield None.

    It `pulses` until the first report, which may never come.
    """
    screen = _progress_console()
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
    with without_working_line(), Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=None if pulses else 1.0)
        yield lambda share: bar.update(task, total=1.0, completed=share)


def make_folder(folder: Path) -> None:
    """Make the folder for the results, before the work that would be lost without it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be created: {error.strerror}") from None


def say(what: str, colour: str, text: str) -> None:
    """Report how the work ended, beside the output."""
    line = Text.assemble((what, colour), printable(text))
    console(stderr=True).print(line, soft_wrap=True)


# Words of the command line: arguments in Python messages become options.

# Options whose names differ from the argument's, with hyphens.
_OTHERWISE = {
    "slices": "--slice",
    "classifiers": "--classifier",
    "metrics": "--metric",
    "classes": "--classes",
}
_SAME = """
    score predicted id threshold positive score_of scale show sample_weight metric within
    level_within change_within budget floor confidence at_least threshold_for gain sample_of
    simultaneous question reviewers_per_item overlap answers names name storage seed where table
    engine spark check_ids encoding map rename revise format reviewer previous id_column
    label_column reviewer_column comment_column bins mode replications like label labels
    labels_from aux learned_from at by scorer verdict_column score_column judge_cost label_cost
    rho into column local_numbers design strata allocation parent assume classifier probabilities
    multilabel
"""
_OPTIONS = {**{name: f"--{name.replace('_', '-')}" for name in _SAME.split()}, **_OTHERWISE}
_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_VALUE = rf"{_TEXT}|\[[^\]]*\]|\{{.*?\}}\}}|\{{[^}}]*\}}|\([^)]*\)|\.\.\.|-?[\w.]*\w"
# Values that are not written as in Python, except texts.
_OF_THEIR_OWN = {"--classifier": "NAME=SCORE,PREDICTED", "--classes": "FILE"}
_QUOTES = "'\""
# What the command line has in place of a call.
_CALLS = {
    "Campaign.curve()": "assay curve",
    "Campaign.estimates()": "assay status",
    "Campaign.slices()": "assay status --by COLUMN",
    "Campaign.threshold": "assay status",
    "Campaign.bundle": "assay report --bundle FILE",
    "Design()": "the default design",
    "Design.ladder()": "the ladder",
    "Design.recycle()": "--design recycle",
    **{f"Design.{mode}()": f"--mode {mode}" for mode in ("centred", "guaranteed", "fixed")},
}
_CALL = re.compile("|".join(re.escape(call) for call in sorted(_CALLS, key=len, reverse=True)))
_IN_PYTHON = ". In Python: "  # what follows is not for the command line
_ARGUMENT = re.compile(rf"(?<![\w.\-'\"/`=])({'|'.join(_OPTIONS)})=({_VALUE})?")
_QUOTED = re.compile(rf"`({'|'.join(_OPTIONS)})`")
_REREAD = re.compile(rf"(?:rebase|load)_campaign\(({_TEXT}), predictions=(?:{_VALUE})\)")


def in_options(text: str) -> str:
    """Message with options in place of arguments.

    >>> in_options("say positive='yes' or show=['a b', 'c']")
    "say --positive yes or --show 'a b' --show c"
    >>> in_options("no goal: give `within` or `at_least`")
    'no goal: give `--within` or `--at-least`'
    >>> in_options("threshold=0.5 needs score=")
    '--threshold 0.5 needs --score'
    >>> in_options("give all classes: classes=['...', '...']; or probabilities='p_*'")
    "give all classes: --classes FILE; or --probabilities 'p_*'"
    >>> in_options("use Design.guaranteed(), or start one: assay follow. In Python: follow(...)")
    'use --mode guaranteed, or start one: assay follow'
    """
    text = text.partition(_IN_PYTHON)[0]
    text = _CALL.sub(lambda match: _CALLS[match[0]], text)
    text = _QUOTED.sub(lambda match: f"`{_OPTIONS[match[1]]}`", text)
    text = _REREAD.sub(lambda match: f"assay rebase FILE --name {_shell(match[1])}", text)
    text = text.replace("predictions=...", "--predictions FILE")
    text = text.replace("predictions=[", "FILE for each of [").replace("predictions=", "FILE ")
    return _ARGUMENT.sub(_option, text)


def with_options(error: AssayError) -> tuple[str, str, str]:
    """Parts of an error, in the words of the command line."""
    problem, details, hint = (
        in_options(text) for text in (error.problem, error.details, error.hint)
    )
    return problem, details, hint


def _option(match: re.Match[str]) -> str:
    option, value = _OPTIONS[match[1]], match[2]
    if option in _OF_THEIR_OWN and not (value and value[0] in _QUOTES):
        return f"{option} {_OF_THEIR_OWN[option]}" if value else option
    if value is None or value == "True":
        return option
    if value[0] in "[({":
        try:
            if value[0] == "{":
                pairs = ast.literal_eval(value).items()
                return " ".join(f"{option} {_quoted(f'{word}={answer}')}" for word, answer in pairs)
            return " ".join(f"{option} {_quoted(value_)}" for value_ in ast.literal_eval(value))
        except (ValueError, SyntaxError, TypeError, AttributeError):
            return f"{option} {value}"
    return f"{option} {_shell(value)}"


def _shell(value: str) -> str:
    """Python value as a word quoted for a shell."""
    if value[0] not in "'\"":
        return value
    try:
        return _quoted(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value


def _quoted(value: object) -> str:
    text = str(value)
    if "'" in text and not set(text) & set('"$`\\!'):
        return f'"{text}"'  # as people would write it
    return shlex.quote(text)
