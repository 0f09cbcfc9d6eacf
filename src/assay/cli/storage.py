"""Which storage a command works on."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from assay.campaign.campaign import Campaign
from assay.campaign.create import load_campaign
from assay.errors import StorageError

_DEFAULT = "sqlite:///assay.db"

CampaignName = Annotated[str, typer.Argument(metavar="NAME", help="The campaign's name.")]
NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="The campaign's name.")]
StorageUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help=f"Where campaigns are kept: $ASSAY_STORAGE, or else {_DEFAULT} in this folder.",
        show_default=False,
    ),
]


def storage_url(given: str | None) -> str:
    """Return the storage to use; one that outlives the command."""
    url = given or os.environ.get("ASSAY_STORAGE") or _DEFAULT
    if _database(url) in ("", ":memory:"):
        raise StorageError(
            f"the storage {url} is in memory and would be gone with this command",
            hint=f"use a file, such as {_DEFAULT}",
        )
    return url


def existing(given: str | None) -> str:
    """Return the storage to use, and raise where there is none: looking must not make one."""
    url = storage_url(given)
    database = _database(url)
    if database is not None and not Path(database).is_file():
        raise StorageError(
            f"there is no storage at {url}",
            details=f"no file {database}, seen from {Path.cwd()}",
            hint="`assay create` makes one; --storage or ASSAY_STORAGE names another",
        )
    return url


def open_campaign(name: str, storage: str | None) -> Campaign:
    """Return a campaign that was created before."""
    return load_campaign(name, storage=existing(storage))


def follow_up(command: str, name: str, storage: str | None) -> str:
    """Return the command line to type next, on the same campaign; a password is not repeated."""
    where = ["--storage", _without_password(storage)] if storage else []
    return shlex.join(["assay", *command.split(), name, *where])


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return url  # which no storage has; whoever opens it will say so


def _database(url: str) -> str | None:
    """Return the path in a SQLite URL; None for any other, on which `open_store` has the word."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return None
    return parsed.database or "" if parsed.get_backend_name() == "sqlite" else None
