"""``assay errors``: judged items with a wrong prediction."""

from pathlib import Path
from typing import Annotated

from rich.text import Text

from assay.campaign import MISTAKE_FORMATS, write_mistakes
from assay.cli.exchange import format_of_name, refuse_existing, write_new
from assay.cli.options import NameOrOnly, StorageUrl, follow_up, named, open_campaign
from assay.cli.output import AsJson, console, emit, say_next, say_saved, working
from assay.cli.render import view_of
from assay.cli.taking import option
from assay.errors import InputError, counted


def errors(
    name: NameOrOnly = None,
    *,
    kind: Annotated[
        str | None,
        option(
            "Only false positives or false negatives; with classes, only items that are of, "
            "or were predicted as, one class.",
            "fp|fn|CLASS",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        option("Only items of this slice; repeatable.", "COLUMN=VALUE", "--by", "--slice"),
    ] = None,
    classifier: Annotated[str | None, option("Classifier, if there are several.", "NAME")] = None,
    predictions: Annotated[
        str | None,
        option("File to look up scores and slices in that were not stored with the items.", "FILE"),
    ] = None,
    limit: Annotated[int, option("Number of errors to print; --output writes all.", least=1)] = 20,
    output: Annotated[
        Path | None,
        option("New file with all errors: .csv, .jsonl or .parquet.", "FILE", "--output", "-o"),
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show the classifier's errors among the labels, most confident first.

    For the owner only: reviewers who have seen errors no longer label blind.
    """
    format = None if output is None else format_of_name(output, MISTAKE_FORMATS)
    refuse_existing(output)
    where = dict(map(_slice, by or []))
    name = named(name, storage)
    campaign = open_campaign(name, storage)
    with working("looking for errors"):
        result = campaign.errors(
            kind=kind, where=where, classifier=classifier, predictions=predictions
        )
    if output is not None and format is not None:
        write_new(output, write_mistakes(result, format=format).content)
    if as_json:
        content = result.to_dict()
        saved = {"mistakes": content["mistakes"][:limit], "count": len(result)}
        file = {} if output is None else {"file": str(output)}
        emit({"campaign": name, **content, **saved, **file})
        return
    screen = console()
    if output is not None:
        say_saved(screen, f"{counted(len(result), 'row')} in {output}")
        return
    screen.print(view_of(result.document(limit)))
    if len(result) > limit:
        screen.print(Text("--limit N shows more, --output FILE saves all", "dim"))
    if not campaign.done:
        say_next(screen, follow_up("label", campaign.name, storage))


def _slice(text: str) -> tuple[str, str]:
    column, is_there, value = text.partition("=")
    if not is_there or not column:
        raise InputError(f"--by {text!r} is not COLUMN=VALUE", hint="such as --by lang=de")
    return column, value
