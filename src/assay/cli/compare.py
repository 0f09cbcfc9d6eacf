"""``assay compare``: two model versions, or two weeks."""

from typing import Annotated

import typer

from assay.campaign.compare import compare_campaign
from assay.cli.classifiers import about_goal
from assay.cli.compared import tell_compared
from assay.cli.options import (
    ItemId,
    Positive,
    PredictedColumn,
    ScoreColumn,
    Shown,
    Threshold,
    about_data,
)
from assay.cli.output import AsJson, collecting_warnings, telling_errors
from assay.cli.scans import reading
from assay.cli.storage import NameOption, StorageUrl, storage_url
from assay.core.metrics import METRICS

_METRICS = [metric for metric in METRICS if metric != "prevalence"]


def compare(
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD",
            help="The earlier predictions: a file, a pattern, a folder, a SELECT.",
            show_default=False,
        ),
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The later ones.", show_default=False)],
    *,
    id_column: ItemId = None,
    score: ScoreColumn = None,
    predicted: PredictedColumn = None,
    threshold: Threshold = None,
    positive: Positive = None,
    show: Shown = None,
    names: Annotated[
        tuple[str, str], about_data("What the two are called.", "--names", metavar="OLD NEW")
    ] = ("old", "new"),
    metric: Annotated[str, about_goal(f"{', '.join(_METRICS)}.", "METRIC")] = "precision",
    within: Annotated[
        float | None,
        about_goal("Stop at this half-width of the difference; 0.02 is ±2 points."),
    ] = None,
    level_within: Annotated[
        float | None, about_goal("And at this one of the new one's metric itself.")
    ] = None,
    budget: Annotated[int | None, about_goal("Stop after so many answers.")] = None,
    confidence: Annotated[float, about_goal("How sure the answer must be.")] = 0.95,
    labels_from: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A campaign of the same question, whose labels count again; repeatable.",
        ),
    ] = None,
    question: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What reviewers are asked of every item.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Fixes every draw: 0, or that of the campaigns whose labels count again.",
            show_default=False,
        ),
    ] = None,
    name: NameOption = "comparison",
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Start a campaign for the difference between two model versions, or two weeks."""
    with telling_errors(as_json=as_json):
        with reading(f"{old} and {new}"), collecting_warnings() as warnings:
            campaign = compare_campaign(
                old,
                new,
                id=id_column,
                score=score,
                predicted=predicted,
                threshold=threshold,
                positive=positive,
                show=show or (),
                names=names,
                metric=metric,
                within=within,
                level_within=level_within,
                budget=budget,
                confidence=confidence,
                labels_from=labels_from or (),
                question=question,
                name=name,
                storage=storage_url(storage),
                seed=seed,
            )
        tell_compared(campaign, storage, warnings, as_json=as_json)
