"""Strata cut anew during a campaign, by a model of the outcome that its own labels have taught.

It happens at numbers of labels that are fixed beforehand: 100, 200, 400 and so on. The campaign is
replaced by one with other strata and all labels, as a rebase does: an item's place in the order is
permanent, so the new strata deal mostly items that are judged already, and these cost nothing
(`assay.campaign.carry_over`). Each stratum's answers are those of its first items in an order that
knows neither labels nor columns, and an item's own label had no part in where it was put
(`assay.core.error_model`): they are a random sample of the stratum.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from assay.campaign.replacement import put_in_place
from assay.campaign.setup import strata_of_one
from assay.core.answers import Answer
from assay.core.error_model import SAID, Model, fit, share_left
from assay.labelling import (
    Labelling,
    Recut,
    Settings,
    ShortReserveError,
    confirm_source,
    depth,
    more_cards,
    waiting_in,
)
from assay.predictions import Opinionated, Predictions, fold_of, parts_in
from assay.storage import CardRow, open_store

FIRST = 100  # labels; then twice as many each time
WORTH_IT = 0.9  # of the labels: what is not drawn again of the answers so far costs some, too


def next_cut(settings: Settings, tried: int) -> int:
    """Return the number of labels at which the strata may be cut anew.

    `tried` is the number of labels at the last attempt, which may have come to nothing.
    """
    before = max(tried, 0 if settings.source.model is None else settings.source.model.labels)
    due = FIRST
    while due <= before:
        due *= 2
    return due


def recut(
    labelling: Labelling,
) -> tuple[int, Settings, Predictions, list[int]] | None:
    """Cut the strata of a campaign anew, if its labels say that this saves some.

    Returns
    -------
    tuple or None
        The number of the campaign that has taken its place, its settings, its predictions, and the
        sizes of the rounds from before; None where the strata stay as they are.
    """
    settings = labelling.settings
    found = labelling.predictions()
    if not isinstance(found, Opinionated):
        return None
    model = _fitted(labelling, found)
    if model is None:
        return None
    placed = found.with_model(model)
    settings = _cut_by(model, placed, settings)
    cards = more_cards(settings, placed, depth(settings))
    if settings.recut is not None and settings.recut.budget is not None:
        budget = settings.recut.budget - _not_drawn_again(labelling, settings, cards)
        settings = replace(settings, goal=replace(settings.goal, budget=max(budget, 1)))
    gone = 0 if settings.before is None else settings.before.gone
    key, settings, _, sizes = put_in_place(
        labelling.store, labelling.key, settings, cards, gone=gone
    )
    confirm_source(labelling.store, settings)
    return key, settings, placed, sizes


def _not_drawn_again(labelling: Labelling, settings: Settings, cards: Sequence[CardRow]) -> int:
    """Return how many answers would wait for their items to be drawn: tried in memory."""
    with labelling.read() as session:
        labels = session.labels(labelling.key)
        sizes = [sum(counts) for counts in session.rounds(labelling.key, 0) if any(counts)]
    store = open_store(None)
    with store.write() as session:
        key = session.create(settings.name, settings.to_dict())
        session.add_strata(key, settings.strata.sizes.tolist())
        session.add_cards(key, cards)
        session.add_labels(key, labels)
        tried = Labelling(store, key, settings, None)
        with suppress(ShortReserveError):
            tried.recall(session, sizes)
    return len(waiting_in(tried))


def _fitted(labelling: Labelling, found: Opinionated) -> Model | None:
    """Return a model of the outcome, if strata by it would save labels; otherwise None."""
    settings = labelling.settings
    said = {
        item_id: answer is Answer.YES
        for item_id, answer in labelling.rounds.answers.items()
        if answer in (Answer.YES, Answer.NO)
    }
    cards = [card for item_id in said if (card := labelling.rounds.card(item_id)) is not None]
    ids = [settings.item_id(card.item_id) for card in cards]
    seed = settings.seed ^ 3  # beside the seeds of the order within a batch, and of the overlap
    fold = np.array([fold_of(id, seed) for id in ids])
    columns = {**found.opinions(ids), SAID: np.array([bool(card.predicted) for card in cards])}
    own = settings.source.columns.get("score")
    model = fit(columns, own, np.array([said[card.item_id] for card in cards]), fold, seed=seed)
    if model is None:
        return None
    stratum = np.array([card.stratum for card in cards])
    rest = share_left(model.log_odds(columns, fold), stratum, settings.strata.sizes)
    return model if rest <= WORTH_IT else None


def _cut_by(model: Model, placed: Predictions, settings: Settings) -> Settings:
    """Return the settings with strata by a model."""
    source = replace(
        settings.source,
        parts=tuple(
            replace(part, fingerprint=now.fingerprint())
            for part, now in zip(settings.source.parts, parts_in(placed), strict=True)
        ),
        columns={**settings.source.columns, "model": model.to_dict()},
        scale="margin",
        shown="",  # other cards come first
    )
    before = settings.recut or Recut(0, settings.goal.budget)
    return replace(
        settings,
        strata=strata_of_one(placed, settings.goal, settings.design, "margin", "spread"),
        source=source,
        recut=replace(before, cuts=before.cuts + 1),
    )
