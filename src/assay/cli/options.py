"""Which columns of a file of predictions mean what: the same options wherever one is read."""

from typing import Annotated, Any

import typer

from assay.core.variable import SCALES


def about_data(text: str, *names: str, metavar: str | None = "COL") -> Any:
    """Return an option about the predictions."""
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel="Predictions")


IdColumn = Annotated[
    str | None, about_data("The ids' column; the row number when left out.", "--id")
]
ItemId = Annotated[
    str | None, about_data("The ids' column: it tells which items are the same.", "--id")
]
Shown = Annotated[list[str] | None, about_data("A column that reviewers see; repeatable.")]
ScaleName = Annotated[
    str | None,
    about_data(f"{' or '.join(SCALES)}; told by the scores' range when left out.", metavar="SCALE"),
]
PredictionsFile = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="Predictions: a .parquet, .csv or .jsonl file, a pattern, a folder, "
        "a SELECT, a database.",
    ),
]
ScoreColumn = Annotated[str | None, about_data("The scores' column.")]
PredictedColumn = Annotated[str | None, about_data("The predicted labels' column.")]
WeightColumn = Annotated[
    str | None,
    about_data("The weights' column (traffic, impressions); every item counts once without."),
]
Threshold = Annotated[
    float | None, about_data("The score from which on the label is yes.", metavar="SCORE")
]
Positive = Annotated[str | None, about_data("The predicted label that means yes.", metavar="VALUE")]
