"""``assay status --confirm``: allow a campaign's stored source to be read with your rights."""

import sys

import typer
from rich.text import Text

from assay.campaign import Campaign
from assay.cli.options import follow_up, open_campaign
from assay.cli.output import console, emit, say_next
from assay.errors import InputError
from assay.labelling import confirm_source, is_confirmed, refuse_unconfirmed, source_text
from assay.results import printable


def allow_source(name: str, storage: str | None, *, yes: bool, as_json: bool) -> None:
    """Show where a campaign reads its predictions, and allow it on this machine."""
    campaign = open_campaign(name, storage)
    before = is_confirmed(campaign.desk.store, campaign.settings)
    description = source_text(campaign.settings.source)
    if not before and not yes:
        _ask(campaign, storage, as_json=as_json)
    confirm_source(campaign.desk.store, campaign.settings)
    if as_json:
        emit({"campaign": name, "source": description, "confirmed_before": before})
        return
    screen = console()
    if before or yes:
        screen.print(Text(description), soft_wrap=True)
    now = "was confirmed on this machine before" if before else "is confirmed on this machine"
    screen.print(Text(f"the source of campaign {printable(name)} {now}", "green"))
    say_next(screen, follow_up("serve", name, storage))


def ask_to_confirm(campaign: Campaign, storage: str | None, *, as_json: bool) -> None:
    """Ask whether the predictions may be read from their stored location; raise if not.

    A campaign that needs no more items asks nothing.
    """
    if is_confirmed(campaign.desk.store, campaign.settings) or campaign.done:
        return
    _ask(campaign, storage, as_json=as_json)
    confirm_source(campaign.desk.store, campaign.settings)


def _ask(campaign: Campaign, storage: str | None, *, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        refuse_unconfirmed(campaign.desk.store, campaign.settings)
    screen = console(stderr=True)
    where = printable(campaign.desk.store.name)
    screen.print(Text(f"The storage {where} names these predictions, to be read with your rights:"))
    screen.print(Text(source_text(campaign.settings.source)), soft_wrap=True)
    if not typer.confirm("Allow Assay to read them on this machine, now and later?", err=True):
        again = follow_up("status --confirm", campaign.name, storage)
        raise InputError(
            f"the predictions of campaign {campaign.name!r} were not confirmed",
            hint=f"ask the owner of the storage whether the place is right, then run {again}",
        )
