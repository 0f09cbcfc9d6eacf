"""Lessons of a campaign for the next one: what its labels say of second opinions.

Last week's labels are not this week's: they teach a model, by which this week's first strata are
cut, and are not counted. Two things keep this honest. The order in which items are drawn is made of
a seed that depends on the model (`assay.campaign.setup`), so it has nothing to do with the labels
that taught it. And items stay in the folds that they were in: an item whose label taught the model
and that is there again this week is placed by the weights of the other fold.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from assay.campaign.recut import taught_by
from assay.core.error_model import Model, fit
from assay.errors import PredictionsError
from assay.labelling import Labelling, Lessons, check_same, find_campaign, read_again, scans_of
from assay.predictions import Opinionated
from assay.storage import Store

_ENOUGH = 50  # labels: of fewer nothing is learned that the campaign did not go by


def lessons_from(
    store: Store, name: str, columns: Mapping[str, Any], predictions: object = None
) -> tuple[Lessons | None, list[str]]:
    """Return what an earlier campaign has learned, and which of its columns are missing now.

    `columns`: what the new campaign reads, by role.

    None where it has learned nothing, or where columns are missing.
    """
    with store.read() as session:
        key, settings = find_campaign(session, name)
    found = None
    if predictions is not None:
        found = read_again(scans_of(predictions, settings.source), settings)
    labelling = Labelling(store, key, settings, found)
    labelling.catch_up()
    model = _learned(labelling)
    if model is None:
        return None, []
    known = columns_for_model(columns)
    missing = [column for column in model.columns if column not in known]
    lessons = Lessons(settings.name, replace(model, labels=0).to_dict())
    return None if missing else lessons, missing


def columns_for_model(columns: Mapping[str, Any]) -> list[str]:
    """Return the columns that a model of the outcome may use."""
    return [name for name in (columns.get("score"), *columns.get("aux", ())) if name is not None]


def _learned(labelling: Labelling) -> Model | None:
    """Return what all labels of a campaign teach; None where that is no more than the score does.

    Where the predictions are no longer at hand, or labels are few, it is what the campaign itself
    went by.
    """
    source = labelling.settings.source
    model = source.model
    if source.aux and labelling.answered >= _ENOUGH:
        with suppress(PredictionsError):
            found = labelling.predictions()
            check_same(labelling.settings, found)
            if isinstance(found, Opinionated):
                taught = taught_by(labelling, found, labelling.answered)
                model = fit(
                    taught.columns,
                    source.own_scores,
                    taught.positive,
                    taught.fold,
                    seed=taught.seed,
                    before=source.model_before,
                )
    return model if model is not None and set(model.columns) & set(source.aux) else None
