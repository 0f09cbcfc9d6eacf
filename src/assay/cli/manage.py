"""``assay campaign rename`` and ``assay campaign delete``: stored campaigns."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from assay.audit import backup_storage
from assay.campaign import Campaign, delete_campaign, rename_campaign
from assay.cli.options import CampaignName, StorageUrl, existing, follow_up, open_campaign
from assay.cli.output import AsJson, console, emit, say_next, working
from assay.cli.taking import argument, flag, option
from assay.errors import InputError, StorageError, counted
from assay.results import printable
from assay.storage import open_store

campaigns = typer.Typer(
    name="campaign", no_args_is_help=True, add_completion=False, help="Rename or delete a campaign."
)
Force = Annotated[bool, flag("Also while reviewers have items of it.", "--force")]


@campaigns.command("rename")
def rename(
    name: CampaignName,
    new: Annotated[str, argument("NEW", "New name of the campaign.")],
    *,
    force: Force = False,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Give a campaign another name; access tokens stay valid.

    Restart `assay serve` with the new name. A connected Label Studio project stays with the old
    name.
    """
    rename_campaign(open_store(existing(storage)), name, new, force=force)
    if as_json:
        emit({"campaign": new, "before": name})
        return
    screen = console()
    screen.print(Text(f"campaign {printable(name)} is now called {printable(new)}", "green"))
    say_next(screen, follow_up("status", new, storage))


@campaigns.command("delete")
def delete(
    name: CampaignName,
    *,
    backup: Annotated[
        Path | None, option("New file for the backup. Default: NAME-TIME.db.", "FILE")
    ] = None,
    no_backup: Annotated[bool, flag("Make no backup: the labels are lost.", "--no-backup")] = False,
    yes: Annotated[bool, flag("Do not ask.", "--yes")] = False,
    force: Force = False,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Delete a campaign with all its labels, after a backup of its storage.

    The backup has every campaign of the storage; `assay restore` reads it.
    """
    campaign = open_campaign(name, storage)
    if not yes:
        _ask(campaign, as_json=as_json)
    file = None if no_backup else backup or _backup_file(name)
    if file is not None:
        _back_up(file, existing(storage))
    labels = delete_campaign(campaign.desk.store, name, force=force)
    if as_json:
        emit({"campaign": name, "labels": labels, "backup": file and str(file)})
        return
    screen = console()
    kept = f"; backup: {printable(str(file))}" if file is not None else ""
    screen.print(Text(f"deleted: {printable(name)}, with all labels ({labels:,}){kept}", "green"))


def _ask(campaign: Campaign, *, as_json: bool) -> None:
    """Ask before a campaign is deleted; raise unless the answer is yes."""
    answered = campaign.desk.current().answered
    what = f"campaign {campaign.name!r} with all labels (of {counted(answered, 'item')})"
    if as_json or not sys.stdin.isatty():
        raise InputError(f"{what} is not deleted without a question", hint="add --yes")
    if not typer.confirm(f"Delete {what}?", err=True):
        raise InputError(f"{what} is not deleted")


def _backup_file(name: str) -> Path:
    """Path in the current folder, named after the campaign and the time."""
    plain, time = re.sub(r"[^\w-]+", "-", name), datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return Path(f"{plain}-{time}.db")


def _back_up(file: Path, url: str) -> None:
    with working("copying and checking the storage"):
        made = backup_storage(file, storage=url)
    if made.findings:
        raise StorageError(
            f"nothing is deleted: the backup {file} has findings",
            details=made.findings[0],
            hint="look at them with assay verify; --no-backup deletes without a backup",
        )
