"""``assay report``: what a careful reader wants to know of a campaign, and the audit bundle."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from assay.audit.bundle import Bundle, named_zip
from assay.cli.output import AsJson, console, emit, telling_errors, working
from assay.cli.storage import CampaignName, StorageUrl, open_campaign
from assay.errors import InputError, did_you_mean
from assay.report import SUFFIXES, Report, kind_of
from assay.results.text import printable

_FORMATS = tuple(SUFFIXES.values())


def report(
    name: CampaignName,
    *,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help=f"Where to write it, as the name ends: {', '.join(SUFFIXES)}. Repeatable.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help=f"What to print without --output: {', '.join(_FORMATS)}; markdown by default.",
        ),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the audit bundle, from which `assay verify` recomputes all: a zip.",
        ),
    ] = None,
    names: Annotated[
        bool, typer.Option("--names", help="Call reviewers by their names, not by numbers.")
    ] = False,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Report on a campaign: the estimates, what they rest on, and how to check them."""
    with telling_errors(as_json=as_json):
        files = output or []
        for file in files:
            kind_of(file)  # raises where it cannot be told, before anything is written
        if bundle is not None:
            named_zip(bundle)  # so does this
        if format is not None:
            _check_format(format, alone=not (files or bundle or as_json))
        campaign = open_campaign(name, storage)
        with working("writing the report"):
            made = campaign.report(names=names)
            for file in files:
                made.save(file)
            packed = None if bundle is None else campaign.bundle(bundle, names=names)
        if as_json:
            emit(_document(made, files, packed))
        elif files or packed:
            _tell(made, files, packed)
        else:
            typer.echo(getattr(made, format or "markdown"), nl=False)


def _check_format(format: str, *, alone: bool) -> None:
    if format not in _FORMATS:
        raise InputError(
            f"a report cannot be printed as {format!r}",
            details=f"formats: {', '.join(_FORMATS)}",
            hint=did_you_mean(format, _FORMATS),
        )
    if not alone:
        raise InputError(
            "--format is for what is printed, and a file, a bundle or --json was asked for",
            hint="leave it out: a file's name says what it is",
        )


def _document(made: Report, files: list[Path], packed: Bundle | None) -> dict[str, object]:
    if not files and packed is None:
        return made.to_dict()
    return {
        "campaign": made.facts.campaign.name,
        "files": [str(file) for file in files],
        "bundle": None if packed is None else packed.to_dict(),
    }


def _tell(made: Report, files: list[Path], packed: Bundle | None) -> None:
    screen = console()
    screen.print(Text(printable(made)), soft_wrap=True)
    for line in [*map(str, files), *([] if packed is None else [str(packed)])]:
        screen.print(Text.assemble(("saved: ", "green"), printable(line)), soft_wrap=True)
