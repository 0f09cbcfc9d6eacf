"""``assay label``: judge items in the terminal, one key an answer.

Reviewers see the item and nothing else: no prediction, score, stratum or running estimate.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated
from uuid import uuid4

import typer
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from assay.campaign import Campaign, rebase_campaign
from assay.cli.keyboard import (
    Chosen,
    Command,
    Comment,
    Keyboard,
    Said,
    Typed,
    reading_commands,
)
from assay.cli.options import CampaignName, StorageUrl, existing, follow_up, open_campaign, reading
from assay.cli.output import AsJson, collecting_warnings, console, emit, say_next, telling_errors
from assay.cli.render import facts
from assay.core.answers import Answer
from assay.core.deck import Id
from assay.errors import InputError, LabelConflictError, LabelError
from assay.labelling import SKIP, comment_of
from assay.results import Item, printable
from assay.storage import Label

# The order in which one person judges items: batch by batch, with skipping and undoing.

_BATCH = 20
# When all is judged: the last answer may have been a slip.
_LAST_CHANCE = Text(
    "\nThat was the last item. u undoes the last answer, any other key ends.", "bold"
)


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
        self._chosen: dict[Id, list[str]] = {}  # classes, where an item may have several

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

    @property
    def chosen(self) -> Sequence[str]:
        """The classes that are chosen of this item, and were not sent yet."""
        return self._chosen.get(self._queue[0].id, ())

    def choose(self, name: str) -> str:
        """Choose a class, or take it back, and say which are chosen."""
        chosen = self._chosen.setdefault(self._queue[0].id, [])
        if name in chosen:
            chosen.remove(name)
        elif name:
            chosen.append(name)
        if not chosen:
            return "no class is chosen; 0 says that it has none of these"
        return f"chosen: {', '.join(map(printable, chosen))}; Enter sends"

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
        self._chosen.pop(item.id, None)
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
    comment for the next answer, q quit. Classes have the keys 1 to 9, or t and how the name
    begins; 0 is none of these. Where an item may have several, these choose, and Enter sends what
    is chosen. Where the standard input is not a terminal, answers are read one a line, several
    classes with | between them; a comment stands after its w.
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
    keyboard = Keyboard(campaign.settings.classes)
    command: Said = None
    before: Item | None = None
    with suppress(KeyboardInterrupt), reading_commands(screen, keyboard) as commands:
        while (item := labelling.item) is not None or labelling.can_undo:
            is_new, before = item != before, item
            if is_new or not (isinstance(command, Chosen) and labelling.chosen):
                if item is not None:
                    screen.print(_view(campaign, labelling, item))
                if is_new:  # what was typed before it was displayed is no answer to it
                    commands.discard()
                screen.print(_LAST_CHANCE if item is None else _question(campaign, keyboard))
            command = next(commands.said, Command.QUIT)
            if command is Command.QUIT or (item is None and command is not Command.UNDO):
                return
            screen.print(_obey(labelling, keyboard, command))


def _obey(labelling: Labelling, keyboard: Keyboard, command: Said) -> Text:
    """Do as the reviewer says, and return what to say to it."""
    colour = "yellow"
    if isinstance(command, Typed):
        found = keyboard.find(command.text)
        if not isinstance(found, Answer):
            return Text(_which(command.text, found), colour)
        command = Chosen(found) if keyboard.chooses(found) else found
    if isinstance(command, Chosen):
        if command.name or not labelling.chosen:
            return Text(labelling.choose(command.name), colour)
        command = keyboard.several(labelling.chosen)
    match command:
        case None:
            said = f"that is none of the keys {', '.join(keyboard.keys)}"
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
        case Answer() if labelling.answer(command):
            said, colour = f"{printable(labelling.called(command))}, saved", "green"
        case _:
            said = "somebody else said otherwise meanwhile; theirs is kept"
    return Text(said, colour)


_LISTED = 12  # classes


def _which(text: str, found: Sequence[str]) -> str:
    """Return what to say where something typed is not one class."""
    if not found:
        return f"no class is called {printable(text)}, or like it"
    more = f" and {len(found) - _LISTED:,} more" if len(found) > _LISTED else ""
    return f"which class? {', '.join(map(printable, found[:_LISTED]))}{more}"


def _view(campaign: Campaign, labelling: Labelling, item: Item) -> RenderableType:
    budget = campaign.settings.goal.budget
    of = "" if budget is None else f" of {budget:,}"
    progress = f"{len(campaign.answers()):,}{of} judged, {labelling.left:,} left in this batch"
    shown: list[tuple[str, RenderableType]] = [("id", str(item.id))]
    for column in campaign.settings.source.seen:
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
    return Group(*lines)


def _question(campaign: Campaign, keyboard: Keyboard) -> Text:
    line = Text(f"{printable(campaign.settings.question)}\n", "bold")
    for key, what in keyboard.keys.items():
        if key == Command.UNDO.key:
            line.append("\n")
        called = printable(campaign.settings.called(what))
        line.append(f"  {key} ", "bold cyan").append(called, "not bold")
    return line
