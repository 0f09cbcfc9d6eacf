"""``assay label``: judge items in the terminal, one key per answer.

Reviewers see the item and nothing else: no prediction, score, stratum or current estimate.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated
from uuid import uuid4

from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from assay.campaign import Campaign, rebase_campaign
from assay.cli.keyboard import Chosen, Command, Comment, Entry, Keyboard, Typed, reading_commands
from assay.cli.options import (
    NameOrOnly,
    StorageUrl,
    existing,
    follow_up,
    named,
    open_campaign,
    reading,
)
from assay.cli.output import AsJson, collecting_warnings, console, emit, say_next
from assay.cli.render import facts
from assay.cli.taking import flag, option
from assay.core.answers import Answer
from assay.core.deck import Id
from assay.errors import InputError, LabelConflictError, LabelError
from assay.labelling import SKIP, comment_of
from assay.results import Item, done_words, printable
from assay.storage import Label

# The order in which one person judges items: batch by batch, with skipping and undoing.

_BATCH = 20
# When all items are judged: the last answer may have been a slip.
_LAST_CHANCE = Text(
    "\nThat was the last item. Press u to undo the last answer, any other key to finish.", "bold"
)


class Labelling:
    """One person's session with a campaign. Every answer is saved at once.

    A named person's items are given to nobody else: every answer renews the claims on the rest of
    the batch.
    """

    def __init__(self, campaign: Campaign, reviewer: str | None = None) -> None:
        self._campaign, self._reviewer = campaign, reviewer
        self._queue: deque[Item] = deque(campaign.ask(_BATCH, reviewer=reviewer))
        self._before: list[Item] = []
        self._answers: dict[Id, Answer] = {}
        self._comments: dict[Id, str] = {}  # as written
        self._sent: dict[Id, str] = {}  # as sent with an answer
        self._chosen: dict[Id, list[str]] = {}  # classes, if an item may have several

    @property
    def item(self) -> Item | None:
        """Current item; None when the campaign is done."""
        return self._queue[0] if self._queue else None

    @property
    def left(self) -> int:
        """Items left in this batch."""
        return len(self._queue)

    @property
    def judged(self) -> int:
        """Items judged in this session."""
        return len(self._answers)

    @property
    def can_undo(self) -> bool:
        """Whether an item was judged before this one, in this session."""
        return bool(self._before)

    def called(self, answer: str) -> str:
        """Name of an answer in this campaign."""
        return self._campaign.settings.called(answer)

    def given(self, item: Item) -> Answer | None:
        """Answer given to an item in this session."""
        return self._answers.get(item.id)

    def written(self, item: Item) -> str:
        """Comment on an item written in this session."""
        return self._comments.get(item.id, "")

    @property
    def chosen(self) -> Sequence[str]:
        """Selected classes of this item, which are not sent yet."""
        return self._chosen.get(self._queue[0].id, ())

    def choose(self, name: str) -> str:
        """Select or deselect a class, and report the selection."""
        chosen = self._chosen.setdefault(self._queue[0].id, [])
        if name in chosen:
            chosen.remove(name)
        elif name:
            chosen.append(name)
        if not chosen:
            return "no class is selected; 0 means none of these"
        return f"chosen: {', '.join(map(printable, chosen))}; Enter sends"

    def write(self, text: str) -> None:
        """Keep a comment for the answer to this item; an empty one removes it."""
        self._comments[self._queue[0].id] = comment_of(text)

    def answer(self, answer: Answer) -> bool:
        """Judge the item and go on; False if somebody else has judged it differently meanwhile."""
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
        """Move the item to the end of the batch, or keep its answer, and report which."""
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
            return "skipped for now"
        self._queue.rotate(-1)
        return ("skipped for now") if len(self._queue) > 1 else "the only item left in this batch"

    def undo(self) -> None:
        """Go back to the previous item; its answer counts until there is another."""
        self._queue.appendleft(self._before.pop())

    def _tell(self, item: Item, answer: Answer) -> bool:
        comments, is_revision = {item.id: self.written(item)}, item.id in self._answers
        try:
            self._campaign.tell({item.id: answer}, comments=comments, revise=is_revision)
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
        # Only once the batch is empty: a new round is dealt when the old one is answered, so that
        # the stopping rule looks as often as designed, however fast the person is.
        if not self._queue:
            self._queue.extend(self._campaign.ask(_BATCH, reviewer=self._reviewer))
        elif self._reviewer is not None:
            self._renew()

    def _renew(self) -> None:
        """Renew the claims on the batch, and remove items given to others meanwhile."""
        open_ = [item for item in self._queue if item.id not in self._answers]
        if open_:
            reserved = self._campaign.ask(len(open_), reviewer=self._reviewer)
            kept = [item for item in self._queue if item in reserved or item.id in self._answers]
            self._queue = deque([*kept, *(item for item in reserved if item not in kept)])


def label(
    name: NameOrOnly = None,
    storage: StorageUrl = None,
    reviewer: Annotated[
        str | None,
        option("Name of the reviewer; items are reserved for one reviewer at a time.", "WHO"),
    ] = None,
    rebase: Annotated[
        bool, flag("Reread the predictions first (see `assay rebase`).", "--rebase")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Label items in the terminal, one key per answer.

    Keys: y yes, n no, c cannot judge, b broken (cannot be displayed), u undo, s skip for now, w
    write a comment on the next answer, q quit. Every answer is saved at once. Classes have the keys
    1 to 9, or t and the first letters of the name; 0 is none of these. If an item can have several
    classes, the keys select and Enter sends.

    If the standard input is not a terminal, Assay reads one answer per line, several classes
    separated by |, and a comment after w.
    """
    screen = console(stderr=as_json)
    name = named(name, storage)
    campaign = _rebased(name, storage, screen) if rebase else open_campaign(name, storage)
    if reviewer is None and campaign.settings.reviewing.per_item > 1:
        raise InputError(
            f"campaign {name!r} gives some items to several reviewers, but no reviewer is named",
            hint=f"{follow_up('label', name, storage)} --reviewer WHO",
        )
    labelling = Labelling(campaign, reviewer)
    _run_session(campaign, labelling, screen)
    estimates = campaign.estimates()
    stopped = next(iter(estimates.values())).stopped
    if as_json:
        emit({"campaign": name, "judged": labelling.judged, "stopped": stopped})
        return
    state = (
        "More labels are needed." if stopped is None else f"Done: {done_words(estimates.values())}."
    )
    summary = f"{labelling.judged:,} labelled in this session, all saved. {state}"
    screen.print(Text(summary, "green"))
    say_next(screen, follow_up("status", name, storage))


def _rebased(name: str, storage: str | None, screen: Console) -> Campaign:
    with reading("the predictions"), collecting_warnings() as warnings:
        campaign = rebase_campaign(name, storage=existing(storage))
    for warning in warnings:
        screen.print(Text(f"warning: {printable(warning)}", "yellow"))
    return campaign


def _run_session(campaign: Campaign, labelling: Labelling, screen: Console) -> None:
    # Ctrl-C ends the session like q: every answer is either saved or not given.
    keyboard = Keyboard(campaign.settings.classes)
    command: Entry = None
    before: Item | None = None
    with suppress(KeyboardInterrupt), reading_commands(screen, keyboard) as commands:
        while (item := labelling.item) is not None or labelling.can_undo:
            is_new, before = item != before, item
            if is_new or not (isinstance(command, Chosen) and labelling.chosen):
                if item is not None:
                    screen.print(_view(campaign, labelling, item))
                if is_new:  # keys typed before its display are not an answer to it
                    commands.discard()
                screen.print(_LAST_CHANCE if item is None else _question(campaign, keyboard))
            command = next(commands.entries, Command.QUIT)
            if command is Command.QUIT or (item is None and command is not Command.UNDO):
                return
            screen.print(_execute(labelling, keyboard, command))


def _execute(labelling: Labelling, keyboard: Keyboard, command: Entry) -> Text:
    """Execute a reviewer's command, and return the reply."""
    colour = "yellow"
    if isinstance(command, Typed):
        choice = keyboard.find(command.text)
        if not isinstance(choice, Answer):
            return Text(_clarification(command.text, choice), colour)
        command = Chosen(choice) if keyboard.chooses(choice) else choice
    if isinstance(command, Chosen):
        if command.name or not labelling.chosen:
            return Text(labelling.choose(command.name), colour)
        command = keyboard.several(labelling.chosen)
    match command:
        case None:
            reply = f"unknown key; use one of {', '.join(keyboard.keys)}"
        case Comment(text):
            reply = "the comment goes with your answer"
            try:
                labelling.write(text)
            except LabelError as error:
                reply = f"{error.problem}, {error.details}; it was not kept"
        case Command.UNDO if not labelling.can_undo:
            reply = "nothing to undo in this session"
        case Command.UNDO:
            labelling.undo()
            reply = "back to the previous item"
        case Command.SKIP:
            reply = labelling.skip()
        case Answer() if labelling.answer(command):
            reply, colour = f"{printable(labelling.called(command))}, saved", "green"
        case _:
            reply = "someone else has answered differently in the meantime; their answer stays"
    return Text(reply, colour)


_LISTED = 12  # classes


def _clarification(text: str, names: Sequence[str]) -> str:
    """Reply to typed text that is not one class."""
    if not names:
        return f"no class is called {printable(text)} or similar"
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"which class? {', '.join(map(printable, names[:_LISTED]))}{more}"


def _view(campaign: Campaign, labelling: Labelling, item: Item) -> RenderableType:
    budget = campaign.settings.goal.budget
    of = "" if budget is None else f" of {budget:,}"
    progress = f"{len(campaign.answers()):,}{of} labelled, {labelling.left:,} left in this batch"
    shown: list[tuple[str, RenderableType]] = [("id", str(item.id))]
    for column in campaign.settings.source.seen:
        value = item[column]
        shown.append((column, Text("(empty)", "dim") if value in (None, "") else str(value)))
    lines: list[RenderableType] = [Text(), Rule(Text(progress, "dim"), align="left", style="dim")]
    lines += [facts(shown), Text()]
    before = labelling.given(item)
    if before is not None:
        answer = printable(labelling.called(before))
        lines.append(Text(f"You said {answer}; s keeps it.", "yellow"))
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
