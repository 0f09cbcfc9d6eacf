"""Items without a judge's verdict, in an order that makes any part a random one.

The order is that of the items' permanent numbers under a separate key, independent of the order in
which people label: the first n are a random sample of all items that the metric is about, and so
are the next n.
"""

from math import isnan
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from assay.campaign.setup import strata_of
from assay.core.deck import number
from assay.core.design import Design
from assay.errors import DesignError, InputError, did_you_mean
from assay.labelling import Labelling, check_same
from assay.predictions import Card
from assay.results import Item

if TYPE_CHECKING:
    from assay.predictions import Predictions


_DEEP = 4_096  # items read at first, if some have verdicts
_KEY = 4  # distinct from those of the order in a batch, the overlap, and the folds


def unjudged_in(labelling: Labelling, n: int, column: str | None) -> list[Item]:
    """First items without a verdict in a column; any items if there is no such column yet."""
    settings = labelling.settings
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise InputError(f"ask for a whole number of items, at least 1; got {n!r}")
    if settings.strata.weighted:
        raise DesignError(
            f"the items of campaign {settings.name!r} have weights: a judge's verdicts would save "
            "no labels",
            details="second opinions need items that count alike",
            hint="create a campaign without weights for the judge",
        )
    column = _column(settings.source.aux, column)
    predictions = labelling.predictions()
    check_same(settings, predictions)
    scale, seed = settings.source.scale, settings.seed ^ _KEY
    strata = strata_of(predictions, settings.goal, Design(bins=1, strata="equal"), scale)
    count, deepest = int(n), int(strata.sizes.max())
    depth = min(max(count, _DEEP), deepest) if column is not None else min(count, deepest)
    while True:
        decks = predictions.deal(strata, scale=scale, seed=seed, counts=[depth] * strata.n_strata)
        cards = [card for deck in decks for card in deck]
        cards.sort(key=lambda card: (number(card.id, seed), str(card.id).encode()))
        # Beyond so many, items of another stratum may lie between.
        cards = cards if depth >= deepest else cards[:depth]
        left = _without_verdict(cards, predictions, column)
        if len(left) >= count or depth >= deepest:
            seen = settings.source.seen  # no score, prediction or stratum
            return [
                Item(card.id, {name: card.shown[name] for name in seen}) for card in left[:count]
            ]
        depth = min(4 * depth, deepest)


def _column(aux: tuple[str, ...], given: str | None) -> str | None:
    if given is None and len(aux) > 1:
        raise InputError(
            f"the campaign has several aux columns: {', '.join(aux)}",
            hint=f"name the one with the judge's verdicts: column={aux[0]!r}",
        )
    if given is not None and aux and given not in aux:
        raise InputError(
            f"{given!r} is not an aux column",
            details=f"aux: {', '.join(aux)}",
            hint=did_you_mean(given, aux) or "leave column= out if there are no verdicts yet",
        )
    return given if aux and given is not None else next(iter(aux), None)


def _without_verdict(
    cards: list[Card], predictions: "Predictions", column: str | None
) -> list[Card]:
    if column is None or not cards:
        return cards
    verdicts = predictions.opinions([card.id for card in cards])[column]
    values = verdicts.tolist() if isinstance(verdicts, np.ndarray) else verdicts
    return [
        card
        for card, value in zip(cards, values, strict=True)
        if value is None or (isinstance(value, float) and isnan(value))
    ]
