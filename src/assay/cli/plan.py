"""``assay plan``: what an evaluation is likely to cost, before anybody labels."""

from typing import Annotated, Any, cast

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from assay.campaign import read_of_any
from assay.cli import options
from assay.cli.output import AsJson, console, emit, progress_bar, telling_errors
from assay.cli.render import new_table, note_lines
from assay.core.floors import refuse_beside
from assay.core.metrics import METRICS
from assay.predictions import ScoreScale
from assay.results import printable
from assay.simulation import Planning, TextTable
from assay.simulation import plan as plan_for

_TOGETHER = (
    "each metric is planned as a campaign of its own; in one campaign for all of them a label "
    "counts for every metric that it is about"
)


def plan(
    file: options.PredictionsFile = None,
    *,
    id_column: options.IdColumn = None,
    score: options.ScoreColumn = None,
    predicted: options.PredictedColumn = None,
    threshold: options.Threshold = None,
    positive: options.Positive = None,
    score_of: options.ScoreOfClass = None,
    scale: options.ScaleName = None,
    classes: options.ClassesFile = None,
    probabilities: options.Probabilities = None,
    where: options.Where = None,
    table: options.TableName = None,
    engine: options.EngineName = None,
    spark: options.SparkUrl = None,
    check_ids: options.CheckIds = False,
    encoding: options.Encoding = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{', '.join(METRICS)}; repeatable. Of more classes: accuracy, macro_f1, "
            "recall:CLASS, ...  [default: precision, or of more classes accuracy]"
        ),
    ] = None,
    within: Annotated[
        float | None, typer.Option(help="The half-width that is wanted; 0.02 is ±2 points.")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="The labels that there is money for.")] = None,
    confidence: Annotated[float, typer.Option(help="How sure the answer must be.")] = 0.95,
    threshold_for: options.ThresholdFor = None,
    gain: options.Gain = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS",
            help="Labels of items of FILE that were drawn at random: .csv or .parquet.",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="An earlier campaign of the same classifier, with its labels."
        ),
    ] = None,
    storage: options.StorageUrl = None,
    aux: Annotated[
        list[str] | None,
        typer.Option("--aux", metavar="COL", help="The judge's column; it need not be there yet."),
    ] = None,
    judge_cost: Annotated[
        float | None,
        typer.Option(metavar="PRICE", help="Of one judgement: how many are worth their money?"),
    ] = None,
    label_cost: Annotated[
        float | None, typer.Option(metavar="PRICE", help="Of one label, in the same currency.")
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="Correlation of verdict and outcome at one score.  [default: 0.5, 0.7, 0.9]",
        ),
    ] = None,
    replications: Annotated[
        int, typer.Option(help="Evaluations that are replayed for each number.")
    ] = 50,
    seed: Annotated[int, typer.Option(help="Fixes all numbers.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Tell what an evaluation is likely to cost, before anybody labels.

    Whole evaluations are replayed on a truth that is supposed: from earlier labels where there are
    some, and otherwise from the scores alone.
    """
    with telling_errors(as_json=as_json, own={"labels": "--labels"}):
        scan = options.scan_of(
            file,
            engine=engine,
            where=where,
            table=table,
            spark=spark,
            check_ids=check_ids,
            encoding=encoding,
        )
        earlier = None if like is None else options.open_campaign(like, storage)
        predictions: object = scan
        columns: dict[str, Any] = {
            "score": score,
            "predicted": predicted,
            "threshold": threshold,
            "positive": positive,
            "score_of": score_of,  # what is not one is refused by name
            "probabilities": probabilities,
        }
        if threshold_for is not None:
            refuse_beside(threshold_for, {"metric": metric})
        else:
            with options.reading(file or str(table)):
                read = read_of_any(
                    scan,
                    classes=classes,
                    metrics=metric or (),
                    id=id_column,
                    scale=cast(ScoreScale | None, scale),
                    **columns,
                )
                _ = read.size  # what is read only when it is wanted is read here
            predictions, columns = read, {}
        plans = []
        asked: list[str | None] = [None] if not metric else [*metric]
        for each in dict.fromkeys(asked):
            about = threshold_for or each or "the metric"
            with progress_bar(f"replaying evaluations of {about}") as progress:
                found = plan_for(
                    predictions,
                    id=id_column,
                    **columns,
                    scale=cast(ScoreScale | None, scale),
                    metric=each,
                    threshold_for=threshold_for,
                    gain=options.gain_of(gain, threshold_for),
                    within=within,
                    budget=budget,
                    confidence=confidence,
                    labels=labels,
                    like=earlier,
                    aux=aux or (),
                    judge_cost=judge_cost,
                    label_cost=label_cost,
                    rho=rho,
                    replications=replications,
                    seed=seed,
                    progress=progress,
                )
            plans.append(found)
        if as_json:
            first, *others = (found.to_dict() for found in plans)
            emit({"plans": [first, *others], "note": _TOGETHER} if others else first)
            return
        screen = console()
        for place, found in enumerate(plans):
            if place:
                screen.print(Text("\n" + "─" * 40 + "\n", "dim"))
            screen.print(_view(found))
        if len(plans) > 1:
            screen.print()
            screen.print(note_lines([_TOGETHER]))


def _view(plan: Planning) -> RenderableType:
    said, more = plan.headline
    read = f"{plan.source}: {plan.items:,} items"
    if plan.classes:
        read += f" of {len(plan.classes):,} classes"
    elif plan.threshold_for is None:
        read += f", {plan.predicted_yes:,} predicted yes"
    parts: list[RenderableType] = [
        Text.assemble((printable(said), "bold green"), f"  {more}"),
        Text(printable(read), "dim"),
    ]
    for table in plan.tables:
        parts += [Text(), Text(printable(table.title), "bold"), _table(table)]
    for each in plan.advice:
        parts += [Text(), Text(printable(each))]
    return Group(*parts, Text(), note_lines(plan.cautions))


def _table(table: TextTable) -> RenderableType:
    shown = new_table(*table.headings)
    for row in table.rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    return shown
