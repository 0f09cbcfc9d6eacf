"""From a campaign to a file: the next items to judge, or the labels so far."""

from dataclasses import dataclass

from assay.campaign.campaign import Campaign
from assay.errors import InputError
from assay.exchange.batch import Batch
from assay.exchange.formats import FORMATS, Format, find_format
from assay.exchange.sheets import Sheet, labels_sheet, sheet_of


@dataclass(frozen=True)
class Written:
    """What goes into a file.

    Attributes
    ----------
    content : bytes
    sheet : Sheet
        The same as rows.
    suffix, media_type : str
        How the file's name should end, and what it is.
    config : bytes or None
        What the tool must be told before it takes the file, where there is such a thing.
    """

    content: bytes
    sheet: Sheet
    suffix: str
    media_type: str
    config: bytes | None = None

    @property
    def count(self) -> int:
        """How many items or labels it has."""
        return len(self.sheet.rows)


def write_batch(
    campaign: Campaign,
    size: int,
    *,
    format: str = "csv",
    reviewer: str | None = None,
    lease: float = 600.0,
) -> Written:
    r"""Return the next items to judge, as a file.

    Parameters
    ----------
    campaign : Campaign
    size : int
        How many items.
    format : str
        One of `FORMATS` that has `write_batch`.
    reviewer : str, optional
        Who will judge them: nobody else is given them for `lease` seconds.
    lease : float

    Examples
    --------
    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
    >>> write_batch(campaign, 1, format="jsonl").content
    b'{"id": "0", "shown": {}, "label": null}\n'
    """
    found = find_format(format)
    if found.write_batch is None:
        raise _cannot(found, "a batch", [each for each in FORMATS.values() if each.write_batch])
    if reviewer is None and campaign.settings.reviewing.per_item > 1:
        raise InputError(
            f"campaign {campaign.name!r} wants several reviewers for some items, and nobody says "
            "who judges the batch",
            hint="name them (--reviewer); a team that shares a tool may have one name",
        )
    batch = Batch.of(campaign, size, reviewer=reviewer, lease=lease)
    content = found.write_batch(batch)
    config = None if found.config is None else found.config(batch)
    return Written(content, sheet_of(batch), found.suffix, found.media_type, config)


def write_labels(campaign: Campaign, *, format: str = "csv") -> Written:
    r"""Return what every reviewer says now, as a file.

    Parameters
    ----------
    campaign : Campaign
    format : str
        One of `FORMATS` that has `write_labels`.

    Examples
    --------
    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
    >>> write_labels(campaign).content
    b'id,label,reviewer,told_at,late,ruling,counts\r\n'
    """
    found = find_format(format)
    if found.write_labels is None:
        raise _cannot(found, "labels", [each for each in FORMATS.values() if each.write_labels])
    sheet = labels_sheet(campaign)
    return Written(found.write_labels(sheet), sheet, found.suffix, found.media_type)


def _cannot(format: Format, what: str, others: list[Format]) -> InputError:
    return InputError(
        f"{what} cannot be written as {format.name}",
        details=f"formats: {', '.join(each.name for each in others)}",
    )
