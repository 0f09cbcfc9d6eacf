"""``assay plan``: likely cost of an evaluation, before anyone labels."""

from typing import Annotated

from rich.text import Text

from assay.campaign import read_of_any
from assay.cli import options
from assay.cli.output import AsJson, console, emit, progress_bar
from assay.cli.render import note_lines, view_of
from assay.cli.taking import Typed, only, option, takes
from assay.core.goal import Asked
from assay.core.metrics import METRICS
from assay.core.rules import refuse
from assay.options import options_of
from assay.predictions import Scan
from assay.simulation import plan as plan_for

_TOGETHER = (
    "each metric is planned as a campaign of its own; in one campaign for all, a label counts "
    "for every metric"
)


@takes(
    columns=options.columns_of_one("sample_weight", "show", "slices", "aux"),
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
        option(
            f"{', '.join(METRICS)}; repeatable. Of more classes: accuracy, macro_f1, "
            "recall:CLASS, ... Default: precision, or accuracy for more classes."
        ),
    ] = None,
    asked: Typed,
    labels: Annotated[
        str | None, option("Labels of a random sample of FILE: .csv or .parquet.", "LABELS")
    ] = None,
    like: Annotated[
        str | None, option("Use the labels of an earlier campaign of the same classifier.", "NAME")
    ] = None,
    storage: options.StorageUrl = None,
    aux: Annotated[
        list[str] | None,
        option("Column of a judge; it does not have to exist yet.", "COL", "--aux"),
    ] = None,
    judge_cost: Annotated[
        float | None,
        option("Price of one verdict; `plan` says how many are worth buying.", "PRICE"),
    ] = None,
    label_cost: Annotated[
        float | None, option("Price of one label, in the same currency.", "PRICE")
    ] = None,
    rho: Annotated[
        float | None,
        option(
            "Correlation of verdict and outcome among items of equal score. Default: 0.5, "
            "0.7 and 0.9.",
            "R",
        ),
    ] = None,
    replications: Annotated[int, option("Number of replayed evaluations behind each figure.")] = 50,
    seed: Annotated[int, option("Random seed.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Forecast how many labels a goal needs, before anyone labels.

    Assay replays whole evaluations on an assumed truth. The assumption comes from earlier labels
    (--labels, --like) or, without them, from the scores.
    """
    scan, goal = options.scan_of(file, source), options.asked_of(asked)
    earlier = None if like is None else options.open_campaign(like, storage)
    predictions: object = scan
    threshold_for = asked.get("threshold_for")
    if threshold_for is not None:
        refuse({"metric": metric}, {"threshold_for": threshold_for})
    else:
        with options.reading(file or source["table"]):
            read = read_of_any(scan, metrics=metric or (), **columns)
            _ = read.size  # forces the reading of lazy predictions here
        predictions = read
        columns = {name: columns[name] for name in ("id", "scale") if name in columns}
    plans = []
    metrics: list[str | None] = [*metric] if metric else [None]
    for each in dict.fromkeys(metrics):
        about = threshold_for or each or "the metric"
        with progress_bar(f"replaying evaluations of {about}") as progress:
            forecast = plan_for(
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
        plans.append(forecast)
    if as_json:
        first, *others = (forecast.to_dict() for forecast in plans)
        emit({"plans": [first, *others], "note": _TOGETHER} if others else first)
        return
    screen = console()
    for place, forecast in enumerate(plans):
        if place:
            screen.print(Text("\n" + "─" * 40 + "\n", "dim"))
        screen.print(view_of(forecast.document()))
    if len(plans) > 1:
        screen.print()
        screen.print(note_lines([_TOGETHER]))
