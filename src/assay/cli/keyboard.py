"""Keys and lines that a reviewer types: one key on a terminal, one line elsewhere."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum

import typer
from rich.console import Console
from rich.text import Text

from assay.core.answers import Answer, answers_to, find_answer
from assay.core.vocabulary import Vocabulary
from assay.errors import LabelError
from assay.results import printable

if sys.platform == "win32":
    import msvcrt
else:
    import termios
    import tty

_CTRL_D = "\x04"
_DELETE = "\x7f\b"


class Command(StrEnum):
    """Action of a reviewer other than an answer."""

    UNDO = "undo"
    SKIP = "skip for now"
    WRITE = "write a comment"
    QUIT = "quit"

    @property
    def key(self) -> str:
        """Key of the command: its first letter."""
        return self[0]


_WORDS = {text: command for command in Command for text in (command.key, command.value)}
_TYPE = "t"
_ENTER = "Enter"
_MOST_KEYS = 9  # classes with a key each: 1 to 9


@dataclass(frozen=True)
class Comment:
    """Comment of a reviewer, for the next answer."""

    text: str


@dataclass(frozen=True)
class Typed:
    """Typed part of a class's name."""

    text: str


@dataclass(frozen=True)
class Chosen:
    """Class that a reviewer selects or deselects, if an item may have several.

    An empty name means that the selection is complete.
    """

    name: str


Entry = Answer | Command | Comment | Typed | Chosen | None
"""Input of a reviewer; None stands for a key without a meaning."""


class Keyboard:
    """Meaning of keys and words in a campaign.

    Up to nine classes have a key each; with more, the beginning of a name is typed. If an item may
    have several classes, keys select them, and Enter sends the selection.

    `classes`: classes of the campaign.

    >>> Keyboard(Vocabulary(("math", "physics", "q-bio"))).find("Q-Bio")
    <Answer: 'q-bio'>
    """

    def __init__(self, classes: Vocabulary) -> None:
        self._classes, self._several = classes, classes.multilabel
        self.is_typed = len(classes) > _MOST_KEYS
        answers = answers_to(classes)
        keys = [answer[0] for answer in answers]
        if not classes.is_yes_or_no:
            numbers = map(str, range(1, len(classes) + 1))
            keys = [*numbers, "0", *(answer.value[0] for answer in answers[-2:])]
        chosen = answers[len(classes) :] if self.is_typed else answers
        self.answers = dict(zip(keys[-len(chosen) :], chosen, strict=True))

    @property
    def keys(self) -> dict[str, str]:
        """Function of each key, in the order in which they are shown."""
        typed = {_TYPE: f"type one of {len(self._classes):,} classes"} if self.is_typed else {}
        send = {_ENTER: "send what is chosen"} if self._several else {}
        commands = {command.key: command.value for command in Command}
        return typed | dict(self.answers) | send | commands

    def press(self, key: str) -> Answer | Command | Chosen | None:
        """Meaning of a key."""
        answer = self.answers.get(key)
        enter = self._several and key in "\r\n"
        if enter or (answer is not None and self.chooses(answer)):
            return Chosen(answer or "")
        return answer or _WORDS.get(key)

    def chooses(self, answer: Answer) -> bool:
        """Whether an answer is a class of an item that may have several."""
        return self._several and answer in self._classes.numbers

    def several(self, names: Iterable[str]) -> Answer:
        """Answer for an item with these classes."""
        return Answer(self._classes.joined(names))

    def read(self, line: str) -> Answer | Command | None:
        """Meaning of a line of a pipe: the name of an answer before anything else."""
        text = line.strip()
        named = None if self._classes.is_yes_or_no else find_answer(text, self._classes)
        word = text.lower()
        if named is None and self._several:
            named = self._by_keys(word)
        pressed = self.press(word) if word else None
        return named or (None if isinstance(pressed, Chosen) else pressed) or self._plain(word)

    def _by_keys(self, word: str) -> Answer | None:
        """Answer for the keys of several classes, as in ``13`` or ``1 3``."""
        chosen = [self.answers.get(key) for key in word if not key.isspace()]
        are_classes = all(each in self._classes.numbers for each in chosen)
        if not chosen or not are_classes or len(set(chosen)) < len(chosen):
            return None
        return self.several(each for each in chosen if each is not None)

    def _plain(self, word: str) -> Answer | None:
        return next((answer for answer in self.answers.values() if answer == word), None)

    def find(self, text: str) -> Answer | list[str]:
        """Class with a name, or with a unique beginning of one.

        Without a unique match, returns the candidates.
        """
        word = " ".join(text.split()).casefold()
        exact = find_answer(text, self._classes)
        if exact is not None or not word:
            return exact or []
        folded = {name: name.casefold() for name in self._classes.names}
        begin = [name for name, folded_name in folded.items() if folded_name.startswith(word)]
        if len(begin) == 1:
            return Answer(begin[0])
        matches = begin or [name for name, folded_name in folded.items() if word in folded_name]
        near = self._classes.nearest(text)
        return matches or ([near] if near else [])


@dataclass(frozen=True)
class Commands:
    """Input of a reviewer until its end.

    `discard` drops the keys of a terminal that were typed and not read yet. The lines of a pipe
    stay: each was written for its item.
    """

    entries: Iterator[Entry]
    discard: Callable[[], None] = lambda: None


def reading_commands(screen: Console, keyboard: Keyboard) -> AbstractContextManager[Commands]:
    """Read a reviewer's input until its end."""
    if not sys.stdin.isatty():
        return nullcontext(Commands(read_lines(keyboard)))
    return _reading_keys(screen, keyboard)


def read_keys(
    # read, read_line: return typed keys, and a typed line.
    read: Callable[[], str],
    read_line: Callable[[], str],
    screen: Console,
    keyboard: Keyboard,
    # Typed keys without an effect yet; clearing it discards them.
    keys: deque[str],
) -> Iterator[Entry]:
    """Yield the commands of a terminal's keys."""
    # A fast typist's keys arrive together; an arrow key arrives as several characters.
    while typed := read():
        keys.extend([typed] if typed.startswith("\x1b") else typed)
        while keys:
            key = keys.popleft()
            if key == _CTRL_D:
                return
            command = keyboard.press(key.lower())
            if command is Command.WRITE:
                screen.print(Text("comment, and Enter: ", "bold"), end="")
                yield Comment(_text(keys, read_line, screen))
            elif keyboard.is_typed and key.lower() == _TYPE:
                screen.print(Text("class, or how it begins, and Enter: ", "bold"), end="")
                yield Typed(_text(keys, read_line, screen))
            else:
                yield command


def _text(typed: deque[str], read_line: Callable[[], str], screen: Console) -> str:
    """Line of text, of which a part may have been typed ahead."""
    text = ""
    while typed:
        if (key := typed.popleft()) in "\r\n":
            screen.print(Text(printable(text)))
            return _corrected(text)
        text += key
    screen.print(Text(printable(text)), end="")
    return _corrected(text + read_line())


def _corrected(text: str) -> str:
    """Text after deletions that the terminal did not handle."""
    left: list[str] = []
    for character in text:
        if character not in _DELETE:
            left.append(character)
        elif left:
            left.pop()
    return "".join(left)


def read_lines(keyboard: Keyboard) -> Iterator[Entry]:
    """Yield the commands of the standard input's lines."""
    for number, line in enumerate(sys.stdin, 1):
        word, _, rest = line.strip().partition(" ")
        command = keyboard.read(line)
        if command is None and word.lower() == Command.WRITE.key and rest:
            yield Comment(rest)
            continue
        if command is None or command is Command.WRITE:
            # Going on would give the following answers to the wrong items.
            keys = keyboard.keys
            named = [] if keys.pop(_TYPE, None) is None else ["the name of a class"]
            answers = ", ".join([*named, *(f"{key} {what}" for key, what in keys.items())])
            raise LabelError(
                f"line {number} of the input is not an answer: {line.strip()!r}",
                details=f"answers: {answers}; write a comment after w",
                hint="the answers before it are saved",
            )
        yield command


if sys.platform == "win32":

    def _reading_keys(screen: Console, keyboard: Keyboard) -> AbstractContextManager[Commands]:
        """Read each key as it is pressed, but a comment by the line."""
        keys: deque[str] = deque()

        def discard() -> None:
            keys.clear()
            while msvcrt.kbhit():
                msvcrt.getwch()

        entries = read_keys(typer.getchar, input, screen, keyboard, keys)
        return nullcontext(Commands(entries, discard))

else:

    @contextmanager
    def _reading_keys(screen: Console, keyboard: Keyboard) -> Iterator[Commands]:
        """Give each key as it is pressed, but a comment by the line."""
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        keys: deque[str] = deque()

        def discard() -> None:
            keys.clear()
            tty.setcbreak(terminal, termios.TCSAFLUSH)

        def read() -> str:
            # Again each time: the shell changes it after Ctrl-Z and fg. Several classes of one
            # item, or a comment, may be typed faster than they are read: nothing is dropped here.
            tty.setcbreak(terminal, termios.TCSANOW)
            return os.read(terminal, 1024).decode(errors="replace")

        def read_line() -> str:
            # The terminal's own editing of a line; it gives a line of any length in parts.
            termios.tcsetattr(terminal, termios.TCSANOW, before)
            line = b""
            while (part := os.read(terminal, 1024)) and not (line := line + part).endswith(b"\n"):
                pass
            return line.decode(errors="replace").rstrip("\r\n")

        try:
            yield Commands(read_keys(read, read_line, screen, keyboard, keys), discard)
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
