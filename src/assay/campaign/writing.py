"""From a campaign to a file: the next items to judge, or the labels so far."""

from dataclasses import dataclass

from assay.campaign.campaign import Campaign
from assay.errors import InputError
from assay.exchange.formats import FORMATS, Format, find_format
from assay.exchange.sheets import Batch, Sheet, sheet_of
from assay.labelling.review_rule import SKIP, WITHDRAWN
from assay.storage import Event


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
    items = campaign.ask(size, reviewer=reviewer, lease=lease)
    shown = tuple(shown_columns(campaign))
    batch = Batch(campaign.settings.question, shown, tuple(items))
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


_LABELS = ("id", "label", "reviewer", "told_at", "late", "ruling", "counts")


def labels_sheet(campaign: Campaign) -> Sheet:
    """Return what every reviewer says of an item now, in the order in which they began to.

    Recorded in this order in a campaign that has asked for the same items, the answers lead to the
    same estimate. `counts` tells those that decide about their items from further reviewers'
    answers and those that a ruling overrode. Answers from before a rebase are left out as long as
    they wait for their items to be drawn.
    """
    item_id = campaign.settings.item_id
    events = campaign.events()
    reviews = campaign.reviews()
    # A reviewer's latest event says what and when, the first since they said nothing says where.
    began: dict[tuple[str, str, bool], int] = {}
    latest: dict[tuple[str, str, bool], Event] = {}
    for event in events:
        # Of rulings there is one at a time, whoever gives it.
        key = (event.item_id, "" if event.ruling else event.reviewer, event.ruling)
        if event.answer == WITHDRAWN:
            began.pop(key, None)
            latest.pop(key, None)
        elif event.answer != SKIP:
            began.setdefault(key, event.id)
            latest[key] = event
    rows = []
    for key in sorted(began, key=began.__getitem__):
        event, review = latest[key], reviews.get(item_id(key[0]))
        if review is not None:
            counts = event.ruling or (review.ruling is None and event.reviewer in review.counted)
            flags = (event.late, event.ruling, counts)
            said = (item_id(event.item_id), event.answer, event.reviewer, event.told_at)
            rows.append((*said, *flags))
    return Sheet(_LABELS, tuple(rows))


def shown_columns(campaign: Campaign) -> list[str]:
    """Return the columns that reviewers may see: those chosen, but not what the classifier said.

    Who knows the prediction judges differently. The id is shown anyway.
    """
    source = campaign.settings.source
    kept_back = (source.columns["id"], *source.judgements)
    return [name for name in source.columns["show"] if name not in kept_back]
