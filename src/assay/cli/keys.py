"""What a reviewer types: one key on a terminal, one line elsewhere."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

import typer

from assay.core.answers import Answer
from assay.errors import LabelError

if sys.platform != "win32":
    import termios
    import tty

_CTRL_D = "\x04"


class Command(StrEnum):
    """What a reviewer can do."""

    YES = Answer.YES
    NO = Answer.NO
    CANNOT_JUDGE = Answer.CANNOT_JUDGE
    BROKEN = Answer.BROKEN
    UNDO = "undo"
    SKIP = "skip for now"
    QUIT = "quit"

    @property
    def key(self) -> str:
        """The key for it: its first letter."""
        return self[0]


_KNOWN = {text: command for command in Command for text in (command.key, command.value)}


@contextmanager
def reading_commands() -> Iterator[Iterator[Command | None]]:
    """Read commands until the input ends; None stands for a key that means nothing."""
    if not sys.stdin.isatty():
        yield _read_lines()
    elif sys.platform == "win32":
        yield _read_keys(typer.getchar)
    else:
        with _keys_without_enter() as read:
            yield _read_keys(read)


def _read_keys(read: Callable[[], str]) -> Iterator[Command | None]:
    # A fast typist's keys come together; an arrow key comes as several characters.
    while typed := read():
        for key in [typed] if typed.startswith("\x1b") else typed:
            if key == _CTRL_D:
                return
            yield _KNOWN.get(key.lower())


def _read_lines() -> Iterator[Command]:
    for number, line in enumerate(sys.stdin, 1):
        text = line.strip().lower()
        if text not in _KNOWN:
            # To go on would give the answers that follow to the wrong items.
            raise LabelError(
                f"line {number} of the input is {line.strip()!r}, which is no answer",
                details=f"answers: {', '.join(f'{known.key} {known}' for known in Command)}",
                hint="what stood before it is saved",
            )
        yield _KNOWN[text]


if sys.platform != "win32":

    @contextmanager
    def _keys_without_enter() -> Iterator[Callable[[], str]]:
        """Give each key as it is pressed.

        `typer.getchar` throws away what was typed since it was last called, and a practised
        reviewer is faster than that.
        """
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)

        def read() -> str:
            # Again each time: after Ctrl-Z and fg the shell has changed it.
            tty.setcbreak(terminal, termios.TCSANOW)
            return os.read(terminal, 1024).decode(errors="replace")

        try:
            yield read
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
