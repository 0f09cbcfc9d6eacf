"""Campaigns that have asked for every one of their items, and ids that files like to spoil."""

from collections.abc import Mapping, Sequence

from assay.campaign.campaign import Campaign
from assay.campaign.create import create_campaign
from assay.core.deck import Id

AWKWARD = (
    "007",
    "NA",
    "null",
    "None",
    "1e5",
    "1.0",
    "true",
    " padded ",
    "two\nlines",
    "two\r\nlines",
    'quo"te',
    "it's",
    "'=guarded",
    "=1+1",
    "-5",
    "@a",
    "\ttab",
    "comma, and; more",
    "naïve 😀 漢字",
    "\u2028separator",
    "<b>&amp;$text_1",
    "\\back\\u0041",
)


def campaign_of(
    ids: Sequence[Id],
    columns: Mapping[str, Sequence[object]] | None = None,
    *,
    per_item: int = 1,
) -> Campaign:
    """Return a campaign in memory that has asked for every one of the items."""
    shown = {name: list(values) for name, values in (columns or {}).items()}
    campaign = create_campaign(
        {"id": list(ids), "p": [0.9] * len(ids), **shown},
        id="id",
        score="p",
        threshold=0.5,
        show=list(shown),
        budget=len(ids),
        storage="sqlite://",
        reviewers_per_item=per_item,
        overlap=0.0 if per_item == 1 else 1.0,
    )
    campaign.ask(len(ids), reviewer="nobody" if per_item > 1 else None)
    return campaign
