"""Strata cut anew during a campaign, by a model of the outcome that its own labels have taught.

It happens at numbers of labels that are fixed beforehand: 100, 200, 400 and so on, and the model is
taught by the first so many. Whoever looks later, in another process, comes to the same result. The
campaign is replaced by one with other strata and all labels, as a rebase does: an item's place in
the order is permanent, so the new strata deal mostly items that are judged already, and these cost
nothing (`assay.campaign.carry_over`). Each stratum's answers are those of its first items in an
order that knows neither labels nor columns, and an item's own label had no part in where it was put
(`assay.core.error_model`): they are a random sample of the stratum.

A guaranteed campaign goes another way, because its bets are on cards whose place nobody knows. What
was judged is known: it lies on top of the new decks, and nobody bets on it again. The others come
in a new order, and bettors go on with what they own (`assay.labelling.epochs`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from assay.campaign.replacement import Known, put_in_place
from assay.campaign.setup import strata_of
from assay.core.answers import Answer
from assay.core.deck import Id
from assay.core.error_model import SAID, Model, Values, learn
from assay.core.types import Bools
from assay.errors import PredictionsError
from assay.labelling import (
    Dealt,
    Epoch,
    Labelling,
    Settings,
    card_row,
    check_same,
    confirm_source,
    depth,
    find_campaign,
    more_cards,
)
from assay.predictions import Opinionated, Predictions, fold_of, parts_in
from assay.storage import CardRow


def successor(labelling: Labelling) -> tuple[int, Settings, Predictions | None] | None:
    """Return what has taken a campaign's place, where only its strata were cut anew.

    Its number, its settings, and its predictions where the former's were at hand; None where
    nothing has, or where somebody has rebased the campaign.
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
    return key, now, at_hand.with_model(model) if isinstance(at_hand, Opinionated) else None


def _without_model(settings: Settings) -> object:
    """Return what predictions a campaign is about: what a recut leaves as it is."""
    columns = {name: each for name, each in settings.source.columns.items() if name != "model"}
    return columns, [(part.scan, part.rows) for part in settings.source.parts]


def recut(labelling: Labelling, labels: int) -> tuple[int, Settings, Predictions, list[int]] | None:
    """Cut the strata of a campaign anew, if its first labels say that this saves some.

    The number of the campaign that has taken its place, its settings, its predictions, and the
    sizes of the rounds from before; None where the strata stay as they are.
    """
    settings = labelling.settings
    found = labelling.predictions()
    if not isinstance(found, Opinionated):
        return None
    check_same(settings, found)
    _refuse_other_opinions(settings, found)
    model = _fitted(labelling, found, labels)
    if model is None:
        return None
    placed = found.with_model(model)
    settings = _cut_by(model, placed, settings)
    on_top: list[CardRow] = []
    known, wanted = None, depth(settings)
    if settings.design.bets:
        settings = replace(settings, epochs=(*settings.epochs, _epoch(labelling)))
        on_top = _judged(labelling, placed, settings)
        counts = np.bincount([card.stratum for card in on_top], minlength=len(wanted))
        wanted = np.minimum(counts + wanted, settings.strata.sizes).tolist()
        dealt = len(labelling.rounds.dealt)
        known = Known(counts.tolist(), labelling.last_label, dealt)
    cards = [*on_top, *more_cards(settings, placed, wanted, on_top)]
    gone = 0 if settings.before is None else settings.before.gone
    key, settings, _, sizes = put_in_place(
        labelling.store, labelling.key, settings, cards, gone=gone, known=known
    )
    confirm_source(labelling.store, settings)
    return key, settings, placed, sizes


def _epoch(labelling: Labelling) -> Epoch:
    """Return what is over with the cut: the strata, and all draws from them."""
    rounds = (
        tuple(Dealt(card.stratum, card.predicted, card.item_id) for card in cards)
        for cards in labelling.rounds.dealt
    )
    return Epoch(labelling.settings.strata, tuple(rounds), labelling.answered)


def _judged(labelling: Labelling, placed: Predictions, settings: Settings) -> list[CardRow]:
    """Return the cards of all judged items, from the top of the new decks."""
    judged = [id for id, review in labelling.reviews.items() if review.settled is not None]
    ids = [settings.item_id(item_id) for item_id in judged]
    items = placed.find(ids, variable=settings.variable, scale=settings.source.scale)
    there = [item for item in items if item is not None]
    stratum = settings.strata.assign(
        np.array([item.value for item in there]), np.array([item.card.predicted for item in there])
    ).tolist()
    counts = [0] * settings.strata.n_strata
    cards = []
    for item, its in zip(there, stratum, strict=True):
        if its >= 0:
            cards.append(card_row(item.card, its, counts[its]))
            counts[its] += 1
    return cards


def _refuse_other_opinions(settings: Settings, found: Opinionated) -> None:
    """Raise where the columns are not those that the order of the items was made to depend on."""
    before = settings.source.opinions
    if before and f"{found.opinions_digest():016x}" != before:
        raise PredictionsError(
            f"the columns {', '.join(settings.source.aux)} of {found.source} have changed since "
            f"campaign {settings.name!r} was made",
            details="columns that were made after the first labels may know them",
            hint="strata stay as they are; make a new campaign to use the new columns",
        )


def _fitted(labelling: Labelling, found: Opinionated, labels: int) -> Model | None:
    """Return a model of the outcome, if strata by it would save labels; otherwise None."""
    settings = labelling.settings
    taught = taught_by(labelling, found, labels)
    cards = [labelling.rounds.card(str(id)) for id in taught.ids]
    model = learn(
        taught.columns,
        settings.source.own_scores,
        taught.positive,
        taught.fold,
        stratum=np.array([-1 if card is None else card.stratum for card in cards]),
        sizes=settings.strata.sizes,
        cost=None if settings.goal.single else labelling.evaluation.fewest,
        seed=taught.seed,
        before=settings.source.model_before,
    )
    return None if model is None else replace(model, labels=labels)


@dataclass(frozen=True, eq=False)
class Taught:
    """Labels that teach a model: of which items, what they are, and in which fold."""

    ids: list[Id]
    columns: Mapping[str, Values]
    positive: Bools
    fold: Bools
    seed: int


def taught_by(labelling: Labelling, found: Opinionated, labels: int) -> Taught:
    """Return the first labels of a campaign, with what is said of the items."""
    settings = labelling.settings
    first = {
        item_id: labelling.reviews[item_id].settled for item_id in islice(labelling.reviews, labels)
    }
    said = {
        settings.item_id(item_id): answer is Answer.YES
        for item_id, answer in first.items()
        if answer in (Answer.YES, Answer.NO)
    }
    predicted = _predicted(labelling, found, list(said))
    ids = list(predicted)
    before = settings.source.model_before
    # An item stays in the fold in which its label may have taught a model before; otherwise a seed
    # beside those of the order within a batch, and of the overlap.
    seed = settings.seed ^ 3 if before is None else before.seed
    return Taught(
        ids,
        {**found.opinions(ids), SAID: np.array(list(predicted.values()))},
        np.array([said[id] for id in ids], dtype=np.bool_),
        np.array([fold_of(id, seed) for id in ids], dtype=np.bool_),
        seed,
    )


def _predicted(labelling: Labelling, found: Opinionated, ids: Sequence[Id]) -> dict[Id, int]:
    """Return what was said of items; of some that were not drawn again it is read."""
    known = {id: labelling.rounds.card(str(id)) for id in ids}
    waiting = [id for id, card in known.items() if card is None]
    variable = labelling.settings.variable
    read = found.find(waiting, variable=variable, scale="margin") if waiting else []
    told = {id: int(card.predicted) for id, card in known.items() if card is not None}
    return told | {
        id: int(each.card.predicted)
        for id, each in zip(waiting, read, strict=True)
        if each is not None
    }


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
        by_score=settings.strata.to_dict()
        if settings.source.model is None
        else settings.source.by_score,
    )
    return replace(
        settings,
        strata=strata_of(placed, settings.goal, settings.design, "margin", by_model=True),
        source=source,
    )
