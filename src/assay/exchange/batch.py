"""The next items to judge, and what their reviewers see."""

from dataclasses import dataclass
from typing import Self

from assay.campaign.campaign import Campaign
from assay.results.estimates import Item


@dataclass(frozen=True)
class Batch:
    """Items to judge.

    Attributes
    ----------
    question : str
        What is asked of each.
    columns : tuple of str
        What the items show.
    items : tuple of Item
    """

    question: str
    columns: tuple[str, ...]
    items: tuple[Item, ...]

    @classmethod
    def of(
        cls, campaign: Campaign, size: int, *, reviewer: str | None = None, lease: float = 600.0
    ) -> Self:
        """Ask a campaign for a batch; with a reviewer, the items are theirs for a while."""
        items = campaign.ask(size, reviewer=reviewer, lease=lease)
        return cls(campaign.settings.question, tuple(shown_columns(campaign)), tuple(items))


def shown_columns(campaign: Campaign) -> list[str]:
    """Return the columns that reviewers may see: those chosen, but not what the classifier said.

    Who knows the prediction judges differently. The id is shown anyway.
    """
    source = campaign.settings.source
    kept_back = (source.columns["id"], *source.judgements)
    return [name for name in source.columns["show"] if name not in kept_back]
