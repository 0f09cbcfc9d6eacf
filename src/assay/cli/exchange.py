"""``assay import`` and ``assay export``: labels in and out, for spreadsheets and other tools."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from assay.campaign import Written, import_labels, write_batch, write_labels
from assay.cli.options import CampaignName, StorageUrl, follow_up, open_campaign
from assay.cli.output import AsJson, console, emit, say_next, telling_errors
from assay.errors import InputError, did_you_mean
from assay.exchange import FORMATS
from assay.results import printable

_WHAT = ("labels", "batch")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_READ = ", ".join(FORMATS)
_WRITTEN = ", ".join(name for name, format in FORMATS.items() if format.write_batch)


def import_(
    name: CampaignName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file with labels.")],
    *,
    format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help=f"{_READ}; by default told from the file."),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Where tables and jsonl have the ids: as in the predictions, or 'id'.",
        ),
    ] = None,
    label_column: Annotated[
        str, typer.Option(metavar="COL", help="And the labels: yes, no, cannot judge, broken.")
    ] = "label",
    reviewer_column: Annotated[
        str | None,
        typer.Option(metavar="COL", help="And who gave them: 'reviewer', if there is such a one."),
    ] = None,
    comment_column: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="And what was written beside them: 'comment', unless the items show it.",
        ),
    ] = None,
    reviewer: Annotated[
        str, typer.Option(metavar="WHO", help="Who gave the labels that have no name with them.")
    ] = "",
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOOL=NAME",
            help="Who somebody is here, such as label-studio:5=ann; repeatable.",
        ),
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="WORD=ANSWER", help="What a word means: spam=yes; repeatable."
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of the text, such as latin-1; UTF-8 when left out."),
    ] = None,
    revise: Annotated[
        bool, typer.Option("--revise", help="Let labels replace different earlier ones.")
    ] = False,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Take labels from a file: all of them or, with an error, none."""
    with telling_errors(as_json=as_json):
        campaign = open_campaign(name, storage)
        result = import_labels(
            campaign,
            file,
            format=format,
            id_column=id_column,
            label_column=label_column,
            reviewer_column=reviewer_column,
            comment_column=comment_column,
            reviewer=reviewer,
            rename=_pairs("rename", rename or [], "label-studio:5=ann"),
            map=_pairs("map", map or [], "spam=yes"),
            encoding=encoding,
            revise=revise,
        )
        if as_json:
            emit({"campaign": name, **asdict(result), "done": campaign.done})
            return
        screen = console()
        if format is None:
            screen.print(f"read as {result.format}, by its name and content (--format overrides)")
        screen.print(Text.assemble(("saved: ", "green"), _counts(asdict(result))))
        say_next(screen, follow_up("status", name, storage))


def export(
    name: CampaignName,
    *,
    what: Annotated[
        str,
        typer.Option(help="labels: what everybody says now; batch: the next items to judge."),
    ] = "labels",
    format: Annotated[
        str, typer.Option(metavar="FORMAT", help=f"A batch: {_WRITTEN}; labels: csv, jsonl.")
    ] = "csv",
    size: Annotated[int, typer.Option(help="How many items make a batch.")] = 20,
    reviewer: Annotated[
        str | None,
        typer.Option(metavar="WHO", help="Who will judge the batch: nobody else is given it."),
    ] = None,
    hold: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="For how long, such as 90m, 8h or 2d.  [default: 1d]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A new file, instead of the screen."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where Label Studio's labelling configuration goes: by default beside the output.",
        ),
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write labels, or the next items to judge, for a spreadsheet or another tool."""
    with telling_errors(as_json=as_json):
        _check(what, reviewer=reviewer, hold=hold)
        seconds = _seconds("1d" if hold is None else hold)
        if config is None and output is not None and format in FORMATS and FORMATS[format].config:
            config = Path(f"{output}.config.xml")
        for file in (output, config):
            refuse_what_is_there(file)
        campaign = open_campaign(name, storage)
        if what == "labels":
            written = write_labels(campaign, format=format)
        else:
            written = write_batch(campaign, size, format=format, reviewer=reviewer, lease=seconds)
        if config is not None and written.config is None:
            raise InputError(f"{format} needs no configuration", hint="leave --config out")
        for file, content in ((output, written.content), (config, written.config)):
            if file is not None and content is not None:
                write_new(file, content)
        saved = {"file": output, "config": config}
        if as_json:
            files = {what: str(file) for what, file in saved.items() if file is not None}
            rows = {"rows": written.sheet.records()} if output is None else {}
            told = {"campaign": name, "what": what, "format": format, "count": written.count}
            emit({**told, **rows, **files})
            return
        _tell(written, output, config)


def _pairs(option: str, pairs: list[str], example: str) -> dict[str, str]:
    """Return what names or words of a file are here."""
    names: dict[str, str] = {}
    for pair in pairs:
        there, _, here = pair.partition("=")
        if not there.strip() or not here.strip():
            form = "TOOL=NAME" if option == "rename" else "WORD=ANSWER"
            raise InputError(
                f"--{option} {pair!r} is not {form}", hint=f"such as --{option} {example}"
            )
        if names.setdefault(there, here) != here:
            raise InputError(f"--{option} has more than one name for {there!r}")
    return names


def _tell(written: Written, output: Path | None, config: Path | None) -> None:
    """Say what was saved, or print it; what is said beside it must not get into a pipe."""
    screen = console(stderr=output is None)
    if output is not None:
        told = f"{written.count:,} rows in {printable(output)}"
        screen.print(Text.assemble(("saved: ", "green"), told), soft_wrap=True)
    elif console().is_terminal:
        typer.echo(printable(written.content.decode().replace("\r\n", "\n")), nl=False)
    else:
        # Bytes, because the locale's encoding must not change ids.
        typer.get_binary_stream("stdout").write(written.content)
    if config is not None:
        told = f"the labelling configuration in {printable(config)}"
        screen.print(Text.assemble(("saved: ", "green"), told), soft_wrap=True)
    elif written.config is not None:
        screen.print("note: --config FILE saves the labelling configuration that goes with it")


def _counts(result: dict[str, object]) -> str:
    """Return what became of the rows; what most files have none of only where there is some."""
    always = ("new", "revised", "unchanged", "without_label")
    return ", ".join(
        f"{count:,} {what.replace('_', ' ')}"
        for what, count in result.items()
        if isinstance(count, int) and (count or what in always)
    )


def _check(what: str, *, reviewer: str | None, hold: str | None) -> None:
    if what not in _WHAT:
        raise InputError(
            f"there is no {what!r} to export",
            details=f"what: {', '.join(_WHAT)}",
            hint=did_you_mean(what, _WHAT),
        )
    if reviewer is not None and what != "batch":
        raise InputError("--reviewer is about a batch to judge", hint="add --what batch")
    if hold is not None and reviewer is None:
        raise InputError("--hold keeps a batch for somebody", hint="say for whom: --reviewer WHO")


def _seconds(text: str) -> float:
    """Return a time such as 90m in seconds."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text.strip())
    if found is None or int(found[1]) == 0:
        raise InputError(
            f"{text!r} is not a time", details="a number and s, m, h or d: 90m, 8h, 2d"
        )
    return float(int(found[1]) * _UNITS[found[2]])


def refuse_what_is_there(file: Path | None) -> None:
    """Raise where a file is there already: it may hold somebody's labels."""
    if file is not None and file.exists():
        raise InputError(
            f"{file} is there already, and may hold labels",
            hint="choose another name, or move it away",
        )


def write_new(file: Path, content: bytes) -> None:
    """Write a file that is not there yet."""
    try:
        with file.open("xb") as stream:
            stream.write(content)
    except FileExistsError:
        refuse_what_is_there(file)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
