"""``assay backup`` and ``assay restore``: copies of a storage, and their recovery."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from assay.audit import Backup, backup_storage, restore_storage
from assay.cli.options import StorageUrl, existing, storage_url
from assay.cli.output import AsJson, console, emit, working
from assay.cli.taking import argument, flag, option
from assay.errors import InputError, counted
from assay.results import printable


def backup(
    name: Annotated[
        str | None, argument("[NAME]", "Name of the campaign to check in the copy.", shown=False)
    ] = None,
    *,
    every: Annotated[bool, flag("Check every campaign of the storage.", "--all")] = False,
    output: Annotated[Path, option("New file to write.", "FILE", "--output", "-o")],
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Back up a SQLite storage while it is in use, and check the copy.

    The copy has all campaigns of the storage. Do not copy the file of a storage in use with cp:
    labels can be lost. For PostgreSQL the command prints how to use pg_dump. Exit code 1 means that
    a check failed.
    """
    with working("copying and checking"):
        if (name is None) is not every:
            raise InputError(
                "`assay backup` needs the name of a campaign or --all",
                hint="name the campaign to check, or check all with --all; the backup has "
                "every campaign in either case",
            )
        made = backup_storage(output, storage=existing(storage), name=name)
    _show(made, "backup", as_json=as_json)


def restore(
    file: Annotated[Path, argument("FILE", "Backup file.", shown=False)],
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check a backup and restore it; never replaces an existing storage."""
    with working("checking and copying"):
        made = restore_storage(file, storage=storage_url(storage))
    _show(made, "restored", as_json=as_json)


def _show(made: Backup, what: str, *, as_json: bool) -> None:
    if as_json:
        emit(made.to_dict())
    else:
        screen = console()
        line = f"{made.path}: {made.size:,} bytes, SHA-256 {made.sha256}"
        screen.print(Text.assemble((f"{what}: ", "green"), printable(line)), soft_wrap=True)
        for name, labels in made.labels.items():
            screen.print(Text(printable(f"{name}: {counted(labels, 'label')}")), soft_wrap=True)
        for finding in made.findings:
            screen.print(Text(printable(finding), "red"), soft_wrap=True)
    if made.findings:
        raise typer.Exit(1)
