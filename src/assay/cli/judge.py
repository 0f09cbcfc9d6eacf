"""``assay judge``: quality of a judge; its logs as a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from assay.cli.exchange import format_of_name, pairs_of, refuse_existing, write_new
from assay.cli.options import NameOrOnly, StorageUrl, follow_up, named, open_campaign
from assay.cli.output import AsJson, console, emit, say_next, say_saved, working
from assay.cli.render import view_of
from assay.cli.taking import Typed, option, takes
from assay.errors import InputError
from assay.exchange import JUDGEMENT_FORMATS, read_judgements
from assay.options import CliOption, options_of
from assay.results import printable

_LOGS = "Table from logs"


def _in_logs(text: str, metavar: str, typed: Any = str) -> CliOption:
    return CliOption(text, metavar, typed, _LOGS)


@dataclass(frozen=True)
class Verdicts:
    """Where logs have a judge's verdicts: options of `assay.exchange.read_judgements`."""

    scorer: Annotated[str | None, _in_logs("Inspect scorer, if there are several.", "NAME")] = None
    id_column: Annotated[str, _in_logs("Column with the ids.", "COL")] = "id"
    verdict_column: Annotated[
        str, _in_logs("Column with the verdicts: yes, no, true, false, 1, 0.", "COL")
    ] = "verdict"
    score_column: Annotated[str, _in_logs("Column with the scores.", "COL")] = "score"
    map: Annotated[
        tuple[str, ...],
        _in_logs("Meaning of a word: pass=yes; repeatable.", "WORD=ANSWER", list[str]),
    ] = ()


@takes(verdicts=options_of(Verdicts))
def judge(
    name: NameOrOnly = None,
    *,
    column: Annotated[
        str | None,
        option("Column with the judge's verdicts: true/false, yes/no, words or numbers.", "COL"),
    ] = None,
    at: Annotated[float | None, option("Numbers from this value up are a yes.", "NUMBER")] = None,
    positive: Annotated[
        str | None, option("Value that means yes; all others mean no.", "VALUE")
    ] = None,
    by: Annotated[
        str | None, option("Show every slice, by the values of this column.", "COL", "--by")
    ] = None,
    predictions: Annotated[
        str | None, option("The predictions, if they have moved.", "FILE")
    ] = None,
    log: Annotated[
        list[Path] | None,
        option(
            "Log to convert: JSON lines or a table (.csv, .parquet) with id and verdict or "
            "score, or an Inspect log (.eval, .json); repeatable.",
            "LOG",
            panel=_LOGS,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option("New table: .parquet, .csv or .jsonl.", "FILE", "--output", "-o", panel=_LOGS),
    ] = None,
    verdicts: Typed,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Measure a judge (an LLM, another model) against people's labels.

    Shows its sensitivity, specificity, agreement and Cohen's kappa, and whether it favours a
    classifier. With --log, converts logs into a table of verdicts instead, with the columns id,
    verdict, score and times, to be joined to predictions. Repeated verdicts on an item become their
    majority and mean score.
    """
    if log:
        _convert(log, output, verdicts, as_json=as_json)
        return
    if column is None:
        raise InputError(
            "no column with a judge's verdicts is named",
            hint="add --column COL; or --log FILE to convert logs into such a column",
        )
    campaign = open_campaign(named(name, storage), storage)
    with working(f"looking up {column}"):
        result = campaign.judge(column, at=at, positive=positive, by=by, predictions=predictions)
    if as_json:
        emit({"campaign": campaign.name, **result.to_dict()})
        return
    screen = console()
    screen.print(view_of(result.document()))
    if not campaign.done:
        say_next(screen, follow_up("label", campaign.name, storage))


def _convert(logs: list[Path], output: Path | None, verdicts: Typed, *, as_json: bool) -> None:
    """Write the verdicts in logs to a new table."""
    if output is None:
        raise InputError("--log needs a new file for the table", hint="add -o judged.parquet")
    ending = format_of_name(output, JUDGEMENT_FORMATS)
    refuse_existing(output)
    words = pairs_of("map", verdicts.get("map", []), "pass=yes")
    with working("reading judgements"):
        table = read_judgements(*logs, **{**verdicts, "map": words})
    write_new(output, table.content(ending))
    if as_json:
        summary = {"items": len(table), "verdicts": table.verdicts, "scorer": table.scorer}
        emit({**summary, "notes": list(table.notes), "file": str(output)})
        return
    screen = console()
    screen.print(Text(printable(str(table))))
    say_saved(screen, output)
