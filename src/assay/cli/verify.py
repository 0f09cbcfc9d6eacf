"""``assay verify``: check the books of a campaign."""

import typer
from rich.text import Text

from assay.cli.output import AsJson, console, emit, telling_errors
from assay.cli.storage import CampaignName, StorageUrl, existing
from assay.terminal import new_table, note_lines, printable
from assay.verify import Verification, verify_campaign

__all__ = ["verify"]


def verify(name: CampaignName, storage: StorageUrl = None, as_json: AsJson = False) -> None:
    """Recompute the estimates from the log of labels, and check all that they rest on.

    Nothing is changed. The exit code is 1 where something is wrong.
    """
    with telling_errors(as_json=as_json):
        found = verify_campaign(name, storage=existing(storage))
        if as_json:
            emit(found.to_dict())
        else:
            _show(found)
    if not found.clean:
        raise typer.Exit(1)


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
