"""``assay plan``: what an evaluation is likely to cost, before anybody labels."""

from typing import Annotated

import typer
from rich.text import Text

from assay.campaign import read_of_any
from assay.cli import options
from assay.cli.output import AsJson, console, emit, progress_bar, telling_errors
from assay.cli.render import note_lines, view_of
from assay.cli.taking import Typed, but, only, takes
from assay.core.asked import Asked
from assay.core.metrics import METRICS
from assay.core.rules import refuse
from assay.options import options_of
from assay.predictions import Columns, Scan
from assay.simulation import plan as plan_for

_TOGETHER = (
    "each metric is planned as a campaign of its own; in one campaign for all of them a label "
    "counts for every metric that it is about"
)


@takes(
    columns=but(Columns, "sample_weight", "show", "slices", "aux", "classifiers", "multilabel"),
    source=options_of(Scan),
    asked=only(Asked, "within", "budget", "confidence", "threshold_for", "gain"),
)
def plan(
    file: options.PredictionsFile = None,
    *,
    columns: Typed,
    source: Typed,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{', '.join(METRICS)}; repeatable. Of more classes: accuracy, macro_f1, "
            "recall:CLASS, ... Default: precision, or accuracy for more classes."
        ),
    ] = None,
    asked: Typed,
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
            help="Correlation of verdict and outcome at one score. Default: 0.5, 0.7 and 0.9.",
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
    with telling_errors(as_json=as_json):
        scan, goal = options.scan_of(file, source), options.asked_of(asked)
        earlier = None if like is None else options.open_campaign(like, storage)
        predictions: object = scan
        threshold_for = asked.get("threshold_for")
        if threshold_for is not None:
            refuse({"metric": metric}, {"threshold_for": threshold_for})
        else:
            with options.reading(file or source["table"]):
                read = read_of_any(scan, metrics=metric or (), **columns)
                _ = read.size  # what is read only when it is wanted is read here
            predictions = read
            columns = {name: columns[name] for name in ("id", "scale") if name in columns}
        plans = []
        wanted: list[str | None] = [*metric] if metric else [None]
        for each in dict.fromkeys(wanted):
            about = threshold_for or each or "the metric"
            with progress_bar(f"replaying evaluations of {about}") as progress:
                found = plan_for(
                    predictions,
                    **columns,
                    **goal | {"metric": each},
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
            screen.print(view_of(found.document()))
        if len(plans) > 1:
            screen.print()
            screen.print(note_lines([_TOGETHER]))
