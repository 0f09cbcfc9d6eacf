"""Strata cut anew during a campaign, by a model of the outcome trained on its own labels.

A recut happens at fixed numbers of labels: 100, 200, 400 and so on, and the first so many train the
model. A later process comes to the same result. As in a rebase, the campaign is replaced by one
with other strata and all labels. An item's place in the order is permanent, so the new strata deal
mostly items that are already judged, and these cost nothing (`assay.campaign.carry_over`). Each
stratum's answers are those of its first items in an order that depends on neither labels nor
columns, and an item's own label does not affect its stratum (`assay.core.error_model`): they are a
random sample of the stratum.

A guaranteed campaign differs, because its bets are on cards whose place is unknown. Judged items
are known: they lie on top of the new decks, and nobody bets on them again. The others get a new
order, and bettors keep their wealth (`assay.labelling.settings`).
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.campaign.setup import strata_of
from assay.campaign.stored import Known, put_in_place
from assay.core.answers import Answer
from assay.core.deck import Id
from assay.core.error_model import SAID, Model
from assay.core.learning import Training
from assay.errors import PredictionsError
from assay.labelling import (
    Dealt,
    Epoch,
    Labelling,
    Lessons,
    Settings,
    card_row,
    check_same,
    confirm_source,
    depth,
    find_campaign,
    more_cards,
    read_again,
    scans_of,
)
from assay.predictions import fold_of
from assay.storage import CardRow, Store

if TYPE_CHECKING:
    from assay.predictions import Predictions


def successor(labelling: Labelling) -> "tuple[int, Settings, Predictions | None] | None":
    """Find the replacement of a campaign whose strata were cut anew.

    Its number, its settings, and its predictions if those of the former were at hand. None if the
    campaign was not replaced, or was rebased.
    """
    settings = labelling.settings
    if not settings.source.aux:
        return None
    with labelling.store.read() as session:
        if session.name_of(labelling.key) == settings.name:
            return None
        key, now = find_campaign(session, settings.name)
    model = now.source.model
    if model is None or _without_model(now) != _without_model(settings):
        return None
    at_hand = labelling.predictions_at_hand
    return key, now, None if at_hand is None else at_hand.with_model(model)


def _without_model(settings: Settings) -> object:
    """Columns and sources of a campaign's predictions, which a recut keeps."""
    columns = {name: each for name, each in settings.source.columns.items() if name != "model"}
    return columns, [(part.scan, part.rows) for part in settings.source.parts]


def recut(
    labelling: Labelling, labels: int
) -> "tuple[int, Settings, Predictions, list[int]] | None":
    """Cut a campaign's strata anew, if its first labels show that this saves some.

    Returns the replacement's number, settings and predictions, and the sizes of the earlier rounds;
    None if the strata stay.
    """
    settings = labelling.settings
    predictions = labelling.predictions()
    check_same(settings, predictions)
    _refuse_other_opinions(settings, predictions)
    model = _fitted(labelling, predictions, labels)
    if model is None:
        return None
    placed = predictions.with_model(model)
    settings = _cut_by(model, placed, settings)
    on_top: list[CardRow] = []
    draws, depths = None, depth(settings)
    if settings.design.bets:
        settings = replace(settings, epochs=(*settings.epochs, _epoch(labelling)))
        on_top = _judged(labelling, placed, settings)
        counts = np.bincount([card.stratum for card in on_top], minlength=len(depths))
        depths = np.minimum(counts + depths, settings.strata.sizes).tolist()
        dealt = len(labelling.rounds.dealt)
        draws = Known(counts.tolist(), labelling.last_label, dealt)
    cards = [*on_top, *more_cards(settings, placed, depths, on_top)]
    gone = 0 if settings.before is None else settings.before.gone
    key, settings, _, sizes = put_in_place(
        labelling.store, labelling.key, settings, cards, gone=gone, known=draws
    )
    confirm_source(labelling.store, settings)
    return key, settings, placed, sizes


def _epoch(labelling: Labelling) -> Epoch:
    """Epoch that ends with the recut: the strata, and all draws from them."""
    rounds = (
        tuple(Dealt(card.stratum, card.predicted, card.item_id) for card in cards)
        for cards in labelling.rounds.dealt
    )
    return Epoch(labelling.settings.strata, tuple(rounds), labelling.answered)


def _judged(labelling: Labelling, placed: "Predictions", settings: Settings) -> list[CardRow]:
    """Cards of all judged items, from the top of the new decks."""
    judged = [id for id, review in labelling.reviews.items() if review.settled is not None]
    ids = [settings.item_id(item_id) for item_id in judged]
    items = placed.find(ids, variable=settings.variable, scale=settings.source.scale)
    present = [item for item in items if item is not None]
    stratum = settings.strata.assign(
        np.array([item.value for item in present]),
        np.array([item.card.predicted for item in present]),
    ).tolist()
    counts = [0] * settings.strata.n_strata
    cards = []
    for item, h in zip(present, stratum, strict=True):
        if h >= 0:
            cards.append(card_row(item.card, h, counts[h]))
            counts[h] += 1
    return cards


def _refuse_other_opinions(settings: Settings, predictions: "Predictions") -> None:
    """Raise if the columns differ from those that the order of the items depends on."""
    before = settings.source.opinions
    if before and f"{predictions.opinions_digest():016x}" != before:
        raise PredictionsError(
            f"the columns {', '.join(settings.source.aux)} of {predictions.source} have changed "
            f"since campaign {settings.name!r} was made",
            details="columns that were made after the first labels may depend on them",
            hint="strata stay as they are; create a new campaign to use the new columns",
        )


def _fitted(labelling: Labelling, predictions: "Predictions", labels: int) -> Model | None:
    """Model of the outcome, if strata by it would save labels; otherwise None."""
    settings = labelling.settings
    ids, training = _training(labelling, predictions, labels)
    cards = [labelling.rounds.card(str(id)) for id in ids]
    stratum = np.array([-1 if card is None else card.stratum for card in cards])
    cost = None if settings.goal.single else labelling.evaluation.procedure.fewest
    model = training.learn(stratum, settings.strata.sizes, cost)
    return None if model is None else replace(model, labels=labels)


def _training(
    labelling: Labelling, predictions: "Predictions", labels: int
) -> tuple[list[Id], Training]:
    """First labels of a campaign as training labels of a model, and the ids of their items."""
    settings, reviews = labelling.settings, labelling.reviews
    first = {item_id: reviews[item_id].settled for item_id in islice(reviews, labels)}
    outcomes = {
        settings.item_id(item_id): answer is Answer.YES
        for item_id, answer in first.items()
        if answer in (Answer.YES, Answer.NO)
    }
    predicted = _predicted(labelling, predictions, list(outcomes))
    before, ids = settings.source.model_before, list(predicted)
    columns = {**predictions.opinions(ids), SAID: np.array(list(predicted.values()))}
    positive = np.array([outcomes[id] for id in ids], dtype=np.bool_)
    # An item stays in the fold in which its label may have trained an earlier model; otherwise a
    # seed distinct from those of the order within a batch, and of the overlap.
    seed = settings.seed ^ 3 if before is None else before.seed
    fold = np.array([fold_of(id, seed) for id in ids], dtype=np.bool_)
    return ids, Training(columns, settings.source.own_scores, positive, fold, before, seed)


def _predicted(
    labelling: Labelling, predictions: "Predictions", ids: Sequence[Id]
) -> dict[Id, int]:
    """Predicted labels of items; those of items not drawn again are read."""
    cards = {id: labelling.rounds.card(str(id)) for id in ids}
    waiting = [id for id, card in cards.items() if card is None]
    variable = labelling.settings.variable
    read = predictions.find(waiting, variable=variable, scale="margin") if waiting else []
    predicted = {id: int(card.predicted) for id, card in cards.items() if card is not None}
    return predicted | {
        id: int(each.card.predicted)
        for id, each in zip(waiting, read, strict=True)
        if each is not None
    }


def _cut_by(model: Model, placed: "Predictions", settings: Settings) -> Settings:
    """Cut the strata of the settings by a model."""
    source = replace(
        settings.source,
        parts=tuple(
            replace(part, fingerprint=now.fingerprint())
            for part, now in zip(settings.source.parts, placed.parts, strict=True)
        ),
        columns={**settings.source.columns, "model": model.to_dict()},
        scale="margin",
        shown="",  # other cards come first
        by_score=settings.strata.to_dict()
        if settings.source.model is None
        else settings.source.by_score,
    )
    return replace(
        settings,
        strata=strata_of(placed, settings.goal, settings.design, "margin", by_model=True),
        source=source,
    )


# Lessons of a campaign for the next one: how second opinions predict the outcome.
#
# Last week's labels are not this week's: they train a model for this week's first strata, and are
# not counted. Two things keep this honest. The order in which items are drawn comes from a seed
# that depends on the model (`assay.campaign.setup`), so it is independent of the labels that
# trained it. And items stay in their folds: an item whose label trained the model and that is
# present again this week is placed by the weights of the other fold.


_ENOUGH = 50  # labels: with fewer, only the campaign's own model is used


def lessons_from(
    store: Store, name: str, columns: Mapping[str, Any], predictions: object = None
) -> tuple[Lessons | None, list[str]]:
    """Lessons of an earlier campaign, and which of its columns are missing now.

    `columns`: what the new campaign reads, by role. The lessons are None if it learned nothing or
    columns are missing.
    """
    with store.read() as session:
        key, settings = find_campaign(session, name)
    new_predictions = None
    if predictions is not None:
        new_predictions = read_again(scans_of(predictions, settings.source), settings)
    labelling = Labelling(store, key, settings, new_predictions)
    labelling.catch_up()
    model = _learned(labelling)
    if model is None:
        return None, []
    available = columns_for_model(columns)
    missing = [column for column in model.columns if column not in available]
    lessons = Lessons(settings.name, replace(model, labels=0).to_dict())
    return None if missing else lessons, missing


def columns_for_model(columns: Mapping[str, Any]) -> list[str]:
    """Columns that a model of the outcome may use."""
    return [name for name in (columns.get("score"), *columns.get("aux", ())) if name is not None]


def _learned(labelling: Labelling) -> Model | None:
    """Model trained on all labels of a campaign; None if it uses only the score.

    If the predictions are no longer at hand, or labels are few, the campaign's own model.
    """
    source = labelling.settings.source
    model = source.model
    if source.aux and labelling.answered >= _ENOUGH:
        with suppress(PredictionsError):
            predictions = labelling.predictions()
            check_same(labelling.settings, predictions)
            _, training = _training(labelling, predictions, labelling.answered)
            model = training.fit()
    return model if model is not None and set(model.columns) & set(source.aux) else None
