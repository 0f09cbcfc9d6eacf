"""``assay label``: judge items in the terminal, one key an answer.

Reviewers see the item and nothing else: no prediction, score, stratum or running estimate.
"""

from contextlib import suppress
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from assay.campaign.campaign import Campaign
from assay.campaign.exchange import shown_columns
from assay.campaign.rebase import rebase_campaign
from assay.cli.keys import Command, reading_commands
from assay.cli.labelling import Labelling
from assay.cli.output import AsJson, collecting_warnings, console, emit, say_next, telling_errors
from assay.cli.render import facts
from assay.cli.scans import reading
from assay.cli.storage import CampaignName, StorageUrl, existing, follow_up, open_campaign
from assay.core.answers import Answer
from assay.errors import InputError
from assay.results.estimates import Item
from assay.results.text import printable


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

    y yes, n no, c cannot judge, b broken (cannot be seen), u undo, s skip for now, q quit. Where
    the standard input is not a terminal, answers are read one a line.
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
    with suppress(KeyboardInterrupt), reading_commands() as commands:
        while (item := labelling.item) is not None or labelling.can_undo:
            screen.print(_last_chance() if item is None else _view(campaign, labelling, item))
            command = next(commands, Command.QUIT)
            if command is Command.QUIT or (item is None and command is not Command.UNDO):
                return
            screen.print(_obey(labelling, command))


def _obey(labelling: Labelling, command: Command | None) -> Text:
    """Do as the reviewer says, and return what to say to it."""
    match command:
        case None:
            keys = ", ".join(known.key for known in Command)
            return Text(f"that is none of the keys {keys}", "yellow")
        case Command.UNDO if not labelling.can_undo:
            return Text("there is nothing to undo in this sitting", "yellow")
        case Command.UNDO:
            labelling.undo()
            return Text("back to the item before", "yellow")
        case Command.SKIP:
            return Text(labelling.skip(), "yellow")
        case _:
            if not labelling.answer(Answer(command)):
                return Text("somebody else said otherwise meanwhile; theirs is kept", "yellow")
            return Text(f"{command}, saved", "green")


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
        lines.append(Text(f"You said {before}; s keeps it.", "yellow"))
    return Group(*lines, _question(campaign))


def _question(campaign: Campaign) -> Text:
    line = Text(f"{printable(campaign.settings.question)}\n", "bold")
    for command in Command:
        line.append(f"  {command.key} ", "bold cyan").append(command, "not bold")
    return line


def _last_chance() -> Text:
    """Return what to say when all is judged: the last answer may have been a slip."""
    return Text("\nThat was the last item. u undoes the last answer, any other key ends.", "bold")
