"""``assay report`` and ``assay verify``: reports, audit bundles, and their verification."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from assay.audit import Bundle, named_zip, verify_bundle, verify_campaign
from assay.cli.options import NameOrOnly, StorageUrl, existing, named, open_campaign
from assay.cli.output import AsJson, console, echo, emit, say_saved, working
from assay.cli.render import view_of
from assay.cli.taking import argument, flag, option
from assay.errors import InputError, did_you_mean
from assay.report import SUFFIXES, Report, kind_of
from assay.results import printable

_FORMATS = tuple(each for each in SUFFIXES.values() if each != "pdf")  # that are text


def report(
    name: NameOrOnly = None,
    *,
    output: Annotated[
        list[Path] | None,
        option(f"File to write: {', '.join(SUFFIXES)}; repeatable.", "FILE", "--output", "-o"),
    ] = None,
    format: Annotated[
        str | None,
        option(
            f"What to print without --output: {', '.join(_FORMATS)}. Default: markdown.", "FORMAT"
        ),
    ] = None,
    bundle: Annotated[
        Path | None, option("Write the audit bundle, a zip that `assay verify` checks.", "FILE")
    ] = None,
    names: Annotated[bool, flag("Show reviewers' names instead of numbers.", "--names")] = False,
    comments: Annotated[
        bool, flag("Include reviewers' comments in the bundle.", "--comments")
    ] = False,
    curve: Annotated[
        bool, flag("Include the curve over thresholds; reads all scores.", "--curve")
    ] = False,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write a campaign's report, or its audit bundle."""
    files = output or []
    for file in files:
        kind_of(file)  # raises if unknown, before anything is written
    if bundle is not None:
        named_zip(bundle)  # so does this
    if format is not None:
        _check_format(format, alone=not (files or bundle or as_json))
    name = named(name, storage)
    campaign = open_campaign(name, storage)
    with working("writing the report"):
        made = campaign.report(names=names, curve=curve)
        for file in files:
            made.save(file)
        packed = None
        if bundle is not None:
            packed = campaign.bundle(bundle, names=names, comments=comments)
    if as_json:
        emit(_document(made, files, packed))
    elif files or packed:
        _tell(made, files, packed)
    else:
        echo(getattr(made, format or "markdown"))


def _check_format(format: str, *, alone: bool) -> None:
    if format not in _FORMATS:
        raise InputError(
            f"a report cannot be printed as {format!r}",
            details=f"formats: {', '.join(_FORMATS)}",
            hint=did_you_mean(format, _FORMATS),
        )
    if not alone:
        raise InputError(
            "--format applies only to a printed report, not to a file, a bundle or --json",
            hint="leave it out: the suffix of a file's name gives its format",
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
        say_saved(screen, line)


# ``assay verify``: check the books of a campaign, or an audit bundle.


def verify(
    name: Annotated[str, argument("NAME", "Name of the campaign, or an audit bundle (.zip).")],
    *,
    report: Annotated[
        Path | None,
        option("Report (.json) to recompute from the log.", "FILE", "--report", shown=False),
    ] = None,
    against: Annotated[
        str | None,
        option(
            "Backup, as a file or URL; all its labels must still be there.", "FILE", shown=False
        ),
    ] = None,
    commitment: Annotated[
        str | None,
        option(
            "For a bundle: the commitment that `create` printed and you published.",
            "HEX",
            shown=False,
        ),
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Recompute the estimates from the label log and check the storage.

    An audit bundle (assay report NAME --bundle audit.zip) needs nothing but the zip. Nothing is
    changed. Exit code 1 means that a check failed.
    """
    with working(f"checking {name}"):
        if name.lower().endswith(".zip") and storage is None:
            _refuse_option(name, "--report", report)
            _refuse_option(name, "--against", against)
            verification = verify_bundle(name, commitment=commitment)
        else:
            _refuse_commitment(name, commitment)
            verification = verify_campaign(
                name, storage=existing(storage), report=report, against=against
            )
    if as_json:
        emit(verification.to_dict())
    else:
        console().print(view_of(verification.document()), soft_wrap=True)
    if not verification.clean:
        raise typer.Exit(1)


def _refuse_commitment(name: str, commitment: str | None) -> None:
    if commitment is not None:
        raise InputError(
            f"--commitment applies only to a bundle, and {name} is a campaign in a storage",
            hint="assay status shows the commitment of a campaign",
        )


def _refuse_option(bundle: str, option: str, value: object) -> None:
    if value is not None:
        raise InputError(
            f"{option} does not apply to an audit bundle, which has all that it is checked against",
            details=f"{bundle} is an audit bundle; {option} {value} applies to a campaign "
            "in a storage",
            hint=f"leave it out; if {bundle} is the name of a campaign, add --storage URL",
        )
