"""``assay label``: judge items in the terminal, one key an answer.

Reviewers see the item and nothing else: no prediction, score, stratum or running estimate.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated
from uuid import uuid4

import typer
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from assay.campaign import Campaign, rebase_campaign, shown_columns
from assay.cli.options import CampaignName, StorageUrl, existing, follow_up, open_campaign, reading
from assay.cli.output import AsJson, collecting_warnings, console, emit, say_next, telling_errors
from assay.cli.render import facts
from assay.core.answers import Answer
from assay.core.deck import Id
from assay.errors import InputError, LabelConflictError, LabelError
from assay.labelling import SKIP, comment_of
from assay.results import Item, printable
from assay.storage import Label

# What a reviewer types: one key on a terminal, one line elsewhere.

if sys.platform != "win32":
    import termios
    import tty

_CTRL_D = "\x04"
_DELETE = "\x7f\b"


class Command(StrEnum):
    """What a reviewer can do."""

    YES = Answer.YES
    NO = Answer.NO
    CANNOT_JUDGE = Answer.CANNOT_JUDGE
    BROKEN = Answer.BROKEN
    UNDO = "undo"
    SKIP = "skip for now"
    WRITE = "write a comment"
    QUIT = "quit"

    @property
    def key(self) -> str:
        """The key for it: its first letter."""
        return self[0]


_KNOWN = {text: command for command in Command for text in (command.key, command.value)}


@dataclass(frozen=True)
class Comment:
    """A comment that a reviewer has written, for the answer that comes next."""

    text: str


def _commands(screen: Console) -> AbstractContextManager[Iterator[Command | Comment | None]]:
    """Read commands until the input ends; None stands for a key that means nothing."""
    if not sys.stdin.isatty():
        return nullcontext(_read_lines())
    if sys.platform == "win32":
        return nullcontext(_read_keys(typer.getchar, input, screen))
    return _reading_keys(screen)


def _read_keys(
    read: Callable[[], str], read_line: Callable[[], str], screen: Console
) -> Iterator[Command | Comment | None]:
    # A fast typist's keys come together; an arrow key comes as several characters.
    while typed := read():
        keys = deque([typed] if typed.startswith("\x1b") else typed)
        while keys:
            key = keys.popleft()
            if key == _CTRL_D:
                return
            command = _KNOWN.get(key.lower())
            if command is Command.WRITE:
                screen.print(Text("comment, and Enter: ", "bold"), end="")
                yield Comment(_text(keys, read_line, screen))
            else:
                yield command


def _text(typed: deque[str], read_line: Callable[[], str], screen: Console) -> str:
    """Return a line of text, of which a part may have been typed ahead."""
    text = ""
    while typed:
        if (key := typed.popleft()) in "\r\n":
            screen.print(Text(printable(text)))
            return _corrected(text)
        text += key
    screen.print(Text(printable(text)), end="")
    return _corrected(text + read_line())


def _corrected(text: str) -> str:
    """Return what is left where characters were deleted before the terminal saw to that."""
    left: list[str] = []
    for character in text:
        if character not in _DELETE:
            left.append(character)
        elif left:
            left.pop()
    return "".join(left)


def _read_lines() -> Iterator[Command | Comment]:
    for number, line in enumerate(sys.stdin, 1):
        word, _, rest = line.strip().partition(" ")
        if word.lower() == Command.WRITE.key and rest:
            yield Comment(rest)
            continue
        text = line.strip().lower()
        if text not in _KNOWN or text in (Command.WRITE, Command.WRITE.key):
            # To go on would give the answers that follow to the wrong items.
            raise LabelError(
                f"line {number} of the input is {line.strip()!r}, which is no answer",
                details=f"answers: {', '.join(f'{known.key} {known}' for known in Command)}; "
                "a comment stands after its w",
                hint="what stood before it is saved",
            )
        yield _KNOWN[text]


if sys.platform != "win32":

    @contextmanager
    def _reading_keys(screen: Console) -> Iterator[Iterator[Command | Comment | None]]:
        """Give each key as it is pressed, but a comment by the line.

        `typer.getchar` throws away what was typed since it was last called, and a practised
        reviewer is faster than that.
        """
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)

        def read() -> str:
            # Again each time: after Ctrl-Z and fg the shell has changed it.
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
            yield _read_keys(read, read_line, screen)
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


# The order in which one person judges items: batch by batch, with skipping and undoing.

_BATCH = 20
# When all is judged: the last answer may have been a slip.
_LAST_CHANCE = "\nThat was the last item. u undoes the last answer, any other key ends."


class Labelling:
    """One person's sitting with a campaign. Every answer is told, and so saved, at once.

    Where the person has a name, nobody else is given the same items: every answer renews the claims
    on the rest of the batch.
    """

    def __init__(self, campaign: Campaign, reviewer: str | None = None) -> None:
        self._campaign, self._reviewer = campaign, reviewer
        self._queue: deque[Item] = deque(campaign.ask(_BATCH, reviewer=reviewer))
        self._before: list[Item] = []
        self._answers: dict[Id, Answer] = {}
        self._comments: dict[Id, str] = {}  # as they are written
        self._sent: dict[Id, str] = {}  # as they went with an answer

    @property
    def item(self) -> Item | None:
        """The item to judge now; None when the campaign is done."""
        return self._queue[0] if self._queue else None

    @property
    def left(self) -> int:
        """Items left in this batch."""
        return len(self._queue)

    @property
    def judged(self) -> int:
        """Items that were judged in this sitting."""
        return len(self._answers)

    @property
    def can_undo(self) -> bool:
        """Whether an item was judged before this one, in this sitting."""
        return bool(self._before)

    def called(self, answer: str) -> str:
        """Return what an answer is called in this campaign."""
        return self._campaign.settings.called(answer)

    def given(self, item: Item) -> Answer | None:
        """Return the answer that was given to an item in this sitting."""
        return self._answers.get(item.id)

    def written(self, item: Item) -> str:
        """Return the comment on an item that was written in this sitting."""
        return self._comments.get(item.id, "")

    def write(self, text: str) -> None:
        """Keep a comment for the answer to this item; an empty one takes back what is there."""
        self._comments[self._queue[0].id] = comment_of(text)

    def answer(self, answer: Answer) -> bool:
        """Judge the item and go on; False where somebody else has judged it otherwise meanwhile."""
        item = self._queue[0]
        if self._reviewer is not None:
            self._submit(item, answer.value, self.written(item))
        elif not self._tell(item, answer):
            self._queue.popleft()
            self._ask_for_more()
            return False
        self._answers[item.id], self._sent[item.id] = answer, self.written(item)
        self._go_on()
        return True

    def skip(self) -> str:
        """Put the item off to the end of the batch, or keep its answer, and say which."""
        item = self._queue[0]
        before = self.given(item)
        if before is not None:
            if self.written(item) != self._sent[item.id]:
                self.answer(before)
            else:
                self._go_on()
            return f"{self.called(before)}, kept"
        if self._reviewer is not None:
            self._submit(self._queue.popleft(), SKIP)
            self._ask_for_more()
            return "put off"
        self._queue.rotate(-1)
        return "put off" if len(self._queue) > 1 else "the only item left in this batch"

    def undo(self) -> None:
        """Go back to the item before; its answer counts until there is another."""
        self._queue.appendleft(self._before.pop())

    def _tell(self, item: Item, answer: Answer) -> bool:
        comments, again = {item.id: self.written(item)}, item.id in self._answers
        try:
            self._campaign.tell({item.id: answer}, comments=comments, revise=again)
        except LabelConflictError:
            return False
        return True

    def _submit(self, item: Item, word: str, comment: str = "") -> None:
        label = Label(str(item.id), word, key=uuid4().hex, comment=comment)
        self._campaign.review([label], reviewer=self._reviewer or "")

    def _go_on(self) -> None:
        self._before.append(self._queue.popleft())
        self._ask_for_more()

    def _ask_for_more(self) -> None:
        # Not before the batch is empty: a new round is dealt when the old one is answered, so that
        # the stopping rule looks as often as the design has it, however fast the person is.
        if not self._queue:
            self._queue.extend(self._campaign.ask(_BATCH, reviewer=self._reviewer))
        elif self._reviewer is not None:
            self._renew()

    def _renew(self) -> None:
        """Renew the claims on the batch, and leave out what somebody else was given meanwhile."""
        open_ = [item for item in self._queue if item.id not in self._answers]
        if open_:
            held = self._campaign.ask(len(open_), reviewer=self._reviewer)
            kept = [item for item in self._queue if item in held or item.id in self._answers]
            self._queue = deque([*kept, *(item for item in held if item not in kept)])


def label(
    name: CampaignName,
    storage: StorageUrl = None,
    reviewer: Annotated[
        str | None,
        typer.Option(
            metavar="WHO", help="Who judges; nobody else is given the same items meanwhile."
        ),
    ] = None,
    rebase: Annotated[
        bool,
        typer.Option("--rebase", help="First take the predictions as they are now (assay rebase)."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Judge items in the terminal, one key an answer, each saved at once.

    y yes, n no, c cannot judge, b broken (cannot be seen), u undo, s skip for now, w write a
    comment for the next answer, q quit. Where the standard input is not a terminal, answers are
    read one a line; a comment stands after its w.
    """
    with telling_errors(as_json=as_json):
        screen = console(stderr=as_json)
        campaign = _rebased(name, storage, screen) if rebase else open_campaign(name, storage)
        if reviewer is None and campaign.settings.reviewing.per_item > 1:
            raise InputError(
                f"campaign {name!r} wants several reviewers for some items: say who you are",
                hint=f"{follow_up('label', name, storage)} --reviewer WHO",
            )
        labelling = Labelling(campaign, reviewer)
        _converse(campaign, labelling, screen)
        stopped = campaign.estimate().stopped
        if as_json:
            emit({"campaign": name, "judged": labelling.judged, "stopped": stopped})
            return
        state = "There is more to judge." if stopped is None else f"Done: {stopped}."
        told = f"{labelling.judged:,} judged in this sitting, all saved. {state}"
        screen.print(Text(told, "green"))
        say_next(screen, follow_up("status", name, storage))


def _rebased(name: str, storage: str | None, screen: Console) -> Campaign:
    with reading("the predictions"), collecting_warnings() as warnings:
        campaign = rebase_campaign(name, storage=existing(storage))
    for warning in warnings:
        screen.print(Text(f"warning: {printable(warning)}", "yellow"))
    return campaign


def _converse(campaign: Campaign, labelling: Labelling, screen: Console) -> None:
    # Ctrl-C ends the sitting like q: every answer is saved or was not given.
    with suppress(KeyboardInterrupt), _commands(screen) as commands:
        while (item := labelling.item) is not None or labelling.can_undo:
            shown = Text(_LAST_CHANCE, "bold") if item is None else _view(campaign, labelling, item)
            screen.print(shown)
            command = next(commands, Command.QUIT)
            if command is Command.QUIT or (item is None and command is not Command.UNDO):
                return
            screen.print(_obey(labelling, command))


def _obey(labelling: Labelling, command: Command | Comment | None) -> Text:
    """Do as the reviewer says, and return what to say to it."""
    colour = "yellow"
    match command:
        case None:
            said = f"that is none of the keys {', '.join(known.key for known in Command)}"
        case Comment(text):
            said = "the comment goes with your answer"
            try:
                labelling.write(text)
            except LabelError as error:
                said = f"{error.problem}, {error.details}; it was not kept"
        case Command.UNDO if not labelling.can_undo:
            said = "there is nothing to undo in this sitting"
        case Command.UNDO:
            labelling.undo()
            said = "back to the item before"
        case Command.SKIP:
            said = labelling.skip()
        case _ if labelling.answer(Answer(command)):
            said, colour = f"{printable(labelling.called(command))}, saved", "green"
        case _:
            said = "somebody else said otherwise meanwhile; theirs is kept"
    return Text(said, colour)


def _view(campaign: Campaign, labelling: Labelling, item: Item) -> RenderableType:
    budget = campaign.settings.goal.budget
    of = "" if budget is None else f" of {budget:,}"
    progress = f"{len(campaign.answers()):,}{of} judged, {labelling.left:,} left in this batch"
    shown: list[tuple[str, RenderableType]] = [("id", str(item.id))]
    for column in shown_columns(campaign):
        value = item[column]
        shown.append((column, Text("(empty)", "dim") if value in (None, "") else str(value)))
    lines: list[RenderableType] = [Text(), Rule(Text(progress, "dim"), align="left", style="dim")]
    lines += [facts(shown), Text()]
    before = labelling.given(item)
    if before is not None:
        said = printable(labelling.called(before))
        lines.append(Text(f"You said {said}; s keeps it.", "yellow"))
    if written := labelling.written(item):
        lines.append(Text(f"Your comment: {printable(written)}", "yellow"))
    return Group(*lines, _question(campaign))


def _question(campaign: Campaign) -> Text:
    line = Text(f"{printable(campaign.settings.question)}\n", "bold")
    for command in Command:
        if command is Command.UNDO:
            line.append("\n")
        called = printable(campaign.settings.called(command))
        line.append(f"  {command.key} ", "bold cyan").append(called, "not bold")
    return line
