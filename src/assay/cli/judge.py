"""``assay judge`` and ``assay judgements``: quality of a judge; its logs as a table."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from assay.cli.exchange import format_of_name, pairs_of, refuse_existing, write_new
from assay.cli.options import CampaignName, StorageUrl, follow_up, open_campaign
from assay.cli.output import AsJson, console, emit, say_next, telling_errors, working
from assay.cli.render import view_of
from assay.exchange import JUDGEMENT_FORMATS, read_judgements
from assay.results import printable


def judge(
    name: CampaignName,
    *,
    column: Annotated[
        str,
        typer.Option(
            metavar="COL", help="Column with the judge's verdicts: true/false, yes/no or numbers."
        ),
    ],
    at: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Numbers from this value up are a yes.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COL", help="Show every slice, by the values of this column."),
    ] = None,
    predictions: Annotated[
        str | None, typer.Option(metavar="FILE", help="The predictions, if they have moved.")
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Measure a judge (an LLM, another model) against people's labels.

    Shows its sensitivity, specificity, agreement and Cohen's kappa, and whether it favours a
    classifier.
    """
    with telling_errors(as_json=as_json):
        campaign = open_campaign(name, storage)
        with working(f"looking up {column}"):
            result = campaign.judge(column, at=at, by=by, predictions=predictions)
        if as_json:
            emit({"campaign": name, **result.to_dict()})
            return
        screen = console()
        screen.print(view_of(result.document()))
        if not campaign.done:
            say_next(screen, follow_up("label", campaign.name, storage))


def judgements(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="JSON lines or tables (.csv, .parquet) with id and verdict or score, or Inspect "
            "logs (.eval, .json).",
        ),
    ],
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="New file: .parquet, .csv or .jsonl."),
    ],
    scorer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Inspect scorer, if there are several.")
    ] = None,
    id_column: Annotated[str, typer.Option(metavar="COL", help="Column with the ids.")] = "id",
    verdict_column: Annotated[
        str,
        typer.Option(metavar="COL", help="Column with the verdicts: yes, no, true, false, 1, 0."),
    ] = "verdict",
    score_column: Annotated[
        str, typer.Option(metavar="COL", help="Column with the scores.")
    ] = "score",
    map: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="WORD=ANSWER", help="Meaning of a word: pass=yes; repeatable."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Convert a judge's logs into a table of verdicts.

    The table has the columns id, verdict, score and times, to be joined to predictions. Repeated
    verdicts on an item become their majority and mean score.
    """
    with telling_errors(as_json=as_json):
        ending = format_of_name(output, JUDGEMENT_FORMATS)
        refuse_existing(output)
        with working("reading judgements"):
            table = read_judgements(
                *logs,
                scorer=scorer,
                id_column=id_column,
                verdict_column=verdict_column,
                score_column=score_column,
                map=pairs_of("map", map or [], "pass=yes"),
            )
        write_new(output, table.content(ending))
        if as_json:
            summary = {"items": len(table), "verdicts": table.verdicts, "scorer": table.scorer}
            emit({**summary, "notes": list(table.notes), "file": str(output)})
            return
        screen = console()
        screen.print(Text(printable(str(table))))
        line = Text.assemble(("saved: ", "green"), printable(output))
        screen.print(line, soft_wrap=True)
