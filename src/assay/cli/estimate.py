"""``assay estimate``: the interval from labels that were drawn at random before."""

from typing import Annotated

import typer

from assay.campaign.poststratified import estimate as estimate_from
from assay.cli.options import (
    IdColumn,
    Positive,
    PredictedColumn,
    ScoreColumn,
    Threshold,
    about_data,
)
from assay.cli.output import AsJson, console, emit, telling_errors, working
from assay.cli.render import estimate_view, note_lines
from assay.core.metrics import METRICS


def estimate(
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS",
            help="Ids and labels (yes, no, cannot judge) of items that were drawn at random: "
            ".csv or .parquet, columns 'id' (or named as --id) and 'label'.",
        ),
    ],
    *,
    predictions: Annotated[
        str, about_data("All items, labelled or not: .parquet, .csv, .csv.gz.", metavar="FILE")
    ],
    id_column: IdColumn = None,
    score: ScoreColumn = None,
    predicted: PredictedColumn = None,
    threshold: Threshold = None,
    positive: Positive = None,
    metric: Annotated[str, typer.Option(help=f"{', '.join(METRICS)}.")] = "precision",
    confidence: Annotated[float, typer.Option(help="How sure the interval must be.")] = 0.95,
    as_json: AsJson = False,
) -> None:
    """Estimate a metric from labels of items that were drawn at random before.

    They must be a random sample, of all items or of those with one predicted label.

    Items that somebody chose to look at give a wrong answer, whatever the interval says.
    """
    with telling_errors(as_json=as_json):
        with working(f"reading {predictions}"):
            found = estimate_from(
                labels,
                predictions=predictions,
                id=id_column,
                score=score,
                predicted=predicted,
                threshold=threshold,
                positive=positive,
                metric=metric,
                confidence=confidence,
            )
        if as_json:
            emit(found.to_dict())
            return
        screen = console()
        screen.print(estimate_view(found, None))
        screen.print()
        screen.print(note_lines(found.notes))
