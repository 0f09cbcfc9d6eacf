"""``assay verify``: check the books of a campaign, or an audit bundle."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from assay.audit.books import Verification
from assay.audit.verify import verify_campaign
from assay.audit.verify_bundle import verify_bundle
from assay.cli.output import AsJson, console, emit, telling_errors, working
from assay.cli.render import new_table, note_lines
from assay.cli.storage import StorageUrl, existing
from assay.errors import InputError
from assay.results.text import printable


def verify(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The campaign's name, or an audit bundle: a file ending in .zip."
        ),
    ],
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="A report of the campaign as JSON, to be worked out again from the log.",
            show_default=False,
        ),
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Recompute the estimates from the log of labels, and check all that they rest on.

    Of an audit bundle (assay report NAME --bundle audit.zip) that needs nothing but the zip.
    Nothing is changed. The exit code is 1 where something is wrong.
    """
    with telling_errors(as_json=as_json), working(f"checking {name}"):
        if name.lower().endswith(".zip") and storage is None:
            _refuse_report(name, report)
            found = verify_bundle(name)
        else:
            found = verify_campaign(name, storage=existing(storage), report=report)
    if as_json:
        emit(found.to_dict())
    else:
        _show(found)
    if not found.clean:
        raise typer.Exit(1)


def _refuse_report(bundle: str, report: Path | None) -> None:
    if report is not None:
        raise InputError(
            f"{bundle} is an audit bundle, and has a report of its own",
            details=f"--report {report} is for a campaign in a storage",
            hint=f"leave it out; for a campaign that is called {bundle}, say --storage",
        )


def _show(found: Verification) -> None:
    screen = console()
    table = new_table("check", "looked at", "found")
    for each in found.checks:
        wrong = len(each.findings)
        told = Text(f"{wrong:,} wrong", "bold red") if wrong else Text("clean", "green")
        table.add_row(each.check, f"{each.looked_at:,}", told)
    screen.print(table)
    for finding in found.findings:
        screen.print(Text(printable(finding), "red"), soft_wrap=True)
    if notes := [note for each in found.checks for note in each.notes]:
        screen.print()
        screen.print(note_lines(notes))
    screen.print()
    if found.clean:
        screen.print(Text("All is there, and the estimates follow from the log.", "green"))
    else:
        screen.print(Text(f"{len(found.findings):,} findings; estimates may be wrong.", "bold red"))
