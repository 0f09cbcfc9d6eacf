"""Savings by second opinions, in a campaign whose strata they have recut."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.core.answers import Answer
from assay.core.forecast import Placed, share_of_labels
from assay.core.strata import Strata
from assay.core.types import Ints
from assay.errors import AssayError, PredictionsError
from assay.labelling.settings import Settings, find_campaign
from assay.labelling.state import Labelling
from assay.results import Savings
from assay.storage import CardRow

if TYPE_CHECKING:
    from assay.labelling.judged import Judged

_FEWEST = 50  # judged items: with fewer, nothing is reported


def savings_of(labelling: Labelling) -> Savings | None:
    """Compute the savings by second opinions; None with strata by score, or if little is known.

    That includes guaranteed campaigns: items judged since the first cut are not a random sample of
    the strata by the score.
    """
    settings, former = labelling.settings, _by_score(labelling)
    if former is None:
        return None
    from assay.labelling.judged import judged_items  # takes long to load, and few need it

    try:
        judged = [item for item in judged_items(labelling) if item.weight is not None]
    except PredictionsError:  # a bundle lacks the scores
        return None
    judged.sort(key=lambda item: item.item_id)  # independent of the order of answers
    cards = [card for item in judged if (card := labelling.rounds.card(item.item_id)) is not None]
    if len(judged) < _FEWEST:
        return None
    if settings.goal.single:
        before = _by_own_score(former, judged)
    else:
        before = _by_rank(labelling, former, cards)
    if before is None:
        return None
    positive = np.array([item.answer is Answer.YES for item in judged])
    yes = np.array([bool(card.predicted) for card in cards])
    share, low, high = share_of_labels(
        _placed(settings, np.array([card.stratum for card in cards])),
        _placed(former, before),
        positive == yes if settings.strata.straddles else positive,
        np.random.default_rng(settings.seed),
    )
    return Savings(share, low, high, labelling.rounds.state.elsewhere)


def _placed(settings: Settings, stratum: Ints) -> Placed:
    sizes = settings.strata.sizes.astype(np.float64)
    return Placed(settings.evaluation().procedure.fewest, sizes, stratum)


def _by_own_score(former: Settings, judged: Sequence[Judged]) -> Ints | None:
    """Former strata of items by their kept scores; None if scores were not kept."""
    opinions = [each for item in judged for each in item.predictions.values()]
    if any(each.score is None for each in opinions):
        return None
    score = np.array([each.score for each in opinions], dtype=np.float64)
    return former.strata.assign(score, np.array([each.yes for each in opinions]))


def _by_rank(labelling: Labelling, former: Settings, cards: Sequence[CardRow]) -> Ints | None:
    """Former strata of items by the mean rank.

    The rank is among all items, so the predictions are read; None if that is not possible.
    """
    from assay.core.error_model import RANK

    with suppress(AssayError):
        predictions = labelling.predictions()
        ids = [former.item_id(card.item_id) for card in cards]
        rank = predictions.opinions(ids)[RANK]
        codes = np.array([card.predicted for card in cards], dtype=np.int64)
        return former.strata.assign(np.asarray(rank, dtype=np.float64), codes)
    return None


def _by_score(labelling: Labelling) -> Settings | None:
    """Restore the settings with strata by the score; None if the strata were never recut.

    Older campaigns have not kept these strata: they are read from the first one, if it exists.
    """
    settings = labelling.settings
    if settings.source.model is None or settings.epochs:
        return None
    with labelling.read() as session:
        names = set(session.names())
        while settings.source.model is not None:
            kept = settings.source.by_score
            if kept is not None:
                return replace(settings, strata=Strata.from_dict(kept))
            if settings.before is None or settings.before.campaign not in names:
                return None
            _, settings = find_campaign(session, settings.before.campaign)
    return settings
