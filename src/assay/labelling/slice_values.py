"""Which slice an item is in: the value of a column, kept with its card or looked up."""

import json
from collections.abc import Sequence
from dataclasses import replace

from assay.core.goal import JointGoal
from assay.errors import AssayError, PredictionsError, did_you_mean
from assay.labelling.reserve import check_same, read_again, scans_of, whereabouts
from assay.labelling.settings import Settings
from assay.labelling.state import Table
from assay.predictions import Scan
from assay.predictions.slices import slice_text


def slice_values(
    table: Table, items: Sequence[str], column: str, predictions: object = None
) -> list[str]:
    """Return the value of each item that was dealt, as it names a slice.

    Parameters
    ----------
    table : Table
    items : sequence of str
        Their ids, as they are stored.
    column : str
    predictions : optional
        Where to look the items up. Otherwise it is what their cards keep or, where these do not
        have the column, the predictions where they were.
    """
    if predictions is None:
        cards = [table.ledger.card(item) for item in items]
        kept = [{} if card is None else json.loads(card.shown) for card in cards]
        if all(column in values for values in kept):
            return [slice_text(values[column]) for values in kept]
    return [slice_text(value) for value in _looked_up(table.settings, items, column, predictions)]


def _looked_up(
    settings: Settings, items: Sequence[str], column: str, predictions: object
) -> list[object]:
    source = settings.source
    scans = _scans(settings, column, predictions)
    only = replace(source, columns={**source.columns, "show": [column]}, slices=())
    try:
        found = read_again(scans, replace(settings, source=only))
    except AssayError as error:
        hint = error.hint or _remedy(column)
        raise PredictionsError(error.problem, details=error.details, hint=hint) from error
    check_same(settings, found)
    variable = "rank" if isinstance(settings.goal, JointGoal) else settings.design.variable
    ids = [settings.item_id(item) for item in items]
    there = found.find(ids, variable=variable, scale=source.scale)
    shown = [{} if each is None else each.card.shown for each in there]
    if not all(column in values for values in shown):
        raise PredictionsError(
            f"{found.source} cannot be asked for the column {column!r}",
            details="predictions that were read before have no other columns than they were read "
            "with",
            hint="give the table, or the path of the file, that they were read from",
        )
    return [values[column] for values in shown]


def _scans(settings: Settings, column: str, predictions: object) -> list[Scan]:
    source = settings.source
    if predictions is not None:
        return scans_of(predictions, source)
    try:
        return whereabouts(source)
    except PredictionsError as error:
        raise PredictionsError(
            f"campaign {settings.name!r} does not have the column {column!r} of its items",
            details=f"columns that it keeps: {', '.join(source.kept) or 'none'}; {error.problem}",
            hint=did_you_mean(column, source.kept) or _remedy(column),
        ) from error


def _remedy(column: str) -> str:
    return (
        f"slices({column!r}, predictions=...) looks the items up; a campaign made with "
        f"slices=[{column!r}], or --slice {column}, keeps the values"
    )
