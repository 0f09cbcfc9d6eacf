"""``assay errors``: the items of which a classifier said otherwise than people did."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from assay.campaign import MISTAKE_FORMATS, write_mistakes
from assay.cli.exchange import format_of_name, refuse_what_is_there, write_new
from assay.cli.options import CampaignName, StorageUrl, follow_up, open_campaign
from assay.cli.output import AsJson, console, emit, say_next, telling_errors, working
from assay.cli.render import view_of
from assay.errors import InputError
from assay.results import printable


def errors(
    name: CampaignName,
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="fp|fn|CLASS",
            help="False positives alone (it said yes, people said no), or false negatives; of more "
            "classes, items that are of one, or were said to be.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            "--slice",
            metavar="COLUMN=VALUE",
            help="Of the items of a slice alone; repeatable.",
        ),
    ] = None,
    classifier: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of several classifiers, which.")
    ] = None,
    predictions: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where to look scores and slices up that were not kept with the items.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="How many to show; a file has all of them.")
    ] = 20,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A new file with all of them: .csv, .jsonl or .parquet.",
        ),
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show the classifier's errors among the labels, those it was surest of first.

    They are for the campaign's owner: a reviewer who knows them judges otherwise.
    """
    with telling_errors(as_json=as_json):
        format = None if output is None else format_of_name(output, MISTAKE_FORMATS)
        refuse_what_is_there(output)
        where = dict(map(_slice, by or []))
        campaign = open_campaign(name, storage)
        with working("looking for errors"):
            found = campaign.errors(
                kind=kind, where=where, classifier=classifier, predictions=predictions
            )
        if output is not None and format is not None:
            write_new(output, write_mistakes(found, format=format).content)
        if as_json:
            told = found.to_dict()
            saved = {"mistakes": told["mistakes"][:limit], "count": len(found)}
            file = {} if output is None else {"file": str(output)}
            emit({"campaign": name, **told, **saved, **file})
            return
        screen = console()
        if output is not None:
            line = f"{len(found):,} rows in {printable(output)}"
            screen.print(Text.assemble(("saved: ", "green"), line), soft_wrap=True)
            return
        screen.print(view_of(found.document(limit)))
        if len(found) > limit:
            screen.print(Text("--limit shows more, --output FILE saves all", "dim"))
        if not campaign.done:
            say_next(screen, follow_up("label", campaign.name, storage))


def _slice(text: str) -> tuple[str, str]:
    column, is_there, value = text.partition("=")
    if not is_there or not column:
        raise InputError(f"--by {text!r} is not COLUMN=VALUE", hint="such as --by lang=de")
    return column, value
