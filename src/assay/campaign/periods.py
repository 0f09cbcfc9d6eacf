"""The periods of a series: which there are, and what the last one tells the next."""

from dataclasses import dataclass

import numpy as np

from assay.campaign.campaign import Campaign
from assay.core.answers import Answer
from assay.core.evaluation import Prior
from assay.core.venn import CellStrata
from assay.errors import StorageError
from assay.labelling.settings import Series, Settings, find_campaign
from assay.predictions.pair import IN_NEW, IN_OLD, NEW, OLD, ComparedPredictions
from assay.storage import Session

_WORTH = 0.5  # what a label of the last period tells about where to look now


@dataclass(frozen=True)
class Member:
    """A period's campaign, as it is stored."""

    key: int
    settings: Settings
    series: Series


def members(session: Session, series: str) -> list[Member]:
    """Return the periods of a series, oldest first."""
    found = []
    for name in session.names():
        # A period that was rebased is kept under another name, and is no longer one of them.
        if name.startswith(f"{series}/") and " until " not in name:
            key, settings = find_campaign(session, name)
            if settings.series is not None and settings.series.name == series:
                found.append(Member(key, settings, settings.series))
    return sorted(found, key=lambda member: member.series.number)


def refuse_if_begun(session: Session, *, series: Series) -> None:
    """Raise where somebody has begun a period since this one was thought of."""
    there = [member.series.period for member in members(session, series.name)]
    if len(there) > series.number:
        raise StorageError(
            f"somebody else has begun period {there[-1]!r} of series {series.name!r} meanwhile",
            hint="look at it with `assay follow`, and begin the one after it",
        )


def prior_of(campaign: Campaign, found: ComparedPredictions, settings: Settings) -> Prior | None:
    """Return last period's labels by the part where the items would be if they were new.

    Of items that are still there the labels themselves count again, and need no prior.
    """
    strata = settings.strata
    if not isinstance(strata, CellStrata):
        return None
    answers = {item: answer for item, answer in campaign.answers().items() if answer.judged}
    items = found.find(list(answers), variable="rank", scale=settings.source.scale)
    labels, positives = np.zeros((2, len(strata.parts)))
    for answer, item in zip(answers.values(), items, strict=True):
        if item is None or not item.card.predicted & IN_OLD:
            continue
        code = IN_NEW | (NEW if item.card.predicted & OLD else 0)
        stratum = int(strata.assign(np.array([item.value]), np.array([code]))[0])
        if stratum >= 0 and strata.has_part(stratum, code):
            place = strata.part_of(stratum, code)
            labels[place] += _WORTH
            positives[place] += _WORTH * (answer is Answer.YES)
    return Prior(tuple(labels.tolist()), tuple(positives.tolist()))
