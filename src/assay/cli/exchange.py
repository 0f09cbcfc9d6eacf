"""``assay import`` and ``assay export``: labels in and out as CSV."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from assay.cli.output import AsJson, console, emit, say_next, telling_errors
from assay.cli.storage import CampaignName, StorageUrl, follow_up, open_campaign
from assay.errors import InputError, did_you_mean
from assay.exchange import Sheet, batch_sheet, import_labels, labels_sheet
from assay.report import printable

__all__ = ["export", "import_"]

_SHEETS = ("labels", "batch")


def import_(
    name: CampaignName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file with a label a row.")],
    *,
    id_column: Annotated[str, typer.Option(metavar="COL", help="Where the ids are.")] = "id",
    label_column: Annotated[
        str, typer.Option(metavar="COL", help="Where the labels are: yes, no, cannot judge.")
    ] = "label",
    reviewer: Annotated[str, typer.Option(metavar="WHO", help="Who gave the labels.")] = "",
    revise: Annotated[
        bool, typer.Option("--revise", help="Let labels replace different earlier ones.")
    ] = False,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Take labels from a CSV file: all of them or, with an error, none."""
    with telling_errors(as_json=as_json):
        campaign = open_campaign(name, storage)
        result = import_labels(
            campaign,
            file,
            id_column=id_column,
            label_column=label_column,
            reviewer=reviewer,
            revise=revise,
        )
        if as_json:
            emit({"campaign": name, **asdict(result), "done": campaign.done})
            return
        screen = console()
        counts = ", ".join(
            f"{count:,} {what.replace('_', ' ')}" for what, count in asdict(result).items()
        )
        screen.print(Text.assemble(("saved: ", "green"), counts))
        say_next(screen, follow_up("status", name, storage))


def export(
    name: CampaignName,
    *,
    what: Annotated[
        str,
        typer.Option(help="labels: every answer that counts; batch: the next items to judge."),
    ] = "labels",
    size: Annotated[int, typer.Option(help="How many items make a batch.")] = 20,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A new file, instead of the screen."),
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write labels, or the next items to judge, as CSV."""
    with telling_errors(as_json=as_json):
        if what not in _SHEETS:
            raise InputError(
                f"there is no {what!r} to export",
                details=f"what: {', '.join(_SHEETS)}",
                hint=did_you_mean(what, _SHEETS),
            )
        campaign = open_campaign(name, storage)
        sheet = labels_sheet(campaign) if what == "labels" else batch_sheet(campaign, size)
        if output is not None:
            _write_new(output, sheet)
        if as_json:
            where = {"rows": sheet.records()} if output is None else {"file": str(output)}
            emit({"campaign": name, "what": what, "count": len(sheet.rows), **where})
        elif output is not None:
            told = f"{len(sheet.rows):,} rows in {printable(output)}"
            console().print(Text.assemble(("saved: ", "green"), told), soft_wrap=True)
        elif console().is_terminal:
            typer.echo(printable(sheet.to_csv().replace("\r\n", "\n")), nl=False)
        else:
            # Bytes, because the locale's encoding must not change ids.
            typer.get_binary_stream("stdout").write(sheet.to_csv().encode())


def _write_new(file: Path, sheet: Sheet) -> None:
    """Write the sheet to a file that is not there yet: the old one may hold somebody's labels."""
    try:
        with file.open("xb") as stream:
            stream.write(sheet.to_csv().encode())
    except FileExistsError:
        raise InputError(
            f"{file} is there already, and may hold labels",
            hint="choose another name, or move it away",
        ) from None
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
