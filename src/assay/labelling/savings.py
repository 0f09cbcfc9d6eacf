"""Savings by second opinions, from the labels of a campaign whose strata were cut anew by them."""

from dataclasses import replace

import numpy as np

from assay.core.answers import Answer
from assay.core.forms import ratio
from assay.core.savings import Placed, share_of_labels
from assay.core.strata import Strata
from assay.core.types import Ints
from assay.errors import PredictionsError
from assay.labelling.judged import judged_items
from assay.labelling.settings import Settings, find_campaign
from assay.labelling.state import Labelling
from assay.results import Savings

_FEWEST = 50  # judged items: of fewer nothing is told


def savings_of(labelling: Labelling) -> Savings | None:
    """Return what second opinions save; None where strata are by the score, or too little known.

    In a guaranteed campaign too little is: what was judged since the first cut is no random sample
    of the strata by the score.
    """
    settings, former = labelling.settings, _by_score(labelling)
    if former is None:
        return None
    try:
        judged = [item for item in judged_items(labelling) if item.weight is not None]
    except PredictionsError:  # a bundle does not have the scores
        return None
    said = [each for item in judged for each in item.said.values()]
    if len(judged) < _FEWEST or any(each.score is None for each in said):
        return None
    yes = np.array([each.yes for each in said])
    score = np.array([each.score for each in said], dtype=np.float64)
    cards = [labelling.rounds.card(item.item_id) for item in judged]
    positive = np.array([item.answer is Answer.YES for item in judged])
    share, low, high = share_of_labels(
        _placed(settings, np.array([card.stratum for card in cards if card is not None])),
        _placed(former, former.strata.assign(score, yes)),
        positive == yes if settings.strata.straddles else positive,
        np.random.default_rng(settings.seed),
    )
    return Savings(share, low, high, labelling.rounds.state.elsewhere)


def _placed(settings: Settings, stratum: Ints) -> Placed:
    sizes = settings.strata.sizes.astype(np.float64)
    return Placed(ratio(settings.goal.metric, sizes, settings.strata.says_yes), sizes, stratum)


def _by_score(labelling: Labelling) -> Settings | None:
    """Return the settings from before the strata were first cut anew; None where they never were.

    A bundle has one campaign: there they are not known.
    """
    settings = labelling.settings
    if settings.source.model is None or settings.epochs:
        return None
    with labelling.read() as session:
        names = set(session.names())
        while settings.source.model is not None:
            lessons = settings.source.lessons
            if lessons is not None and lessons.by_score is not None:
                return replace(settings, strata=Strata.from_dict(lessons.by_score))
            if settings.before is None or settings.before.campaign not in names:
                return None
            _, settings = find_campaign(session, settings.before.campaign)
    return settings
