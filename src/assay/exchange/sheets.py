"""Labels and batches as rows under named columns."""

import csv
import io
from dataclasses import dataclass

from assay.campaign.campaign import Campaign
from assay.exchange.batch import Batch
from assay.exchange.json_texts import as_text
from assay.label_files import guard
from assay.labelling.review_rule import SKIP, WITHDRAWN
from assay.storage import Event

_LABELS = ("id", "label", "reviewer", "told_at", "late", "ruling", "counts")
_READ = ("id", "label", "reviewer", "ruling")  # what these columns say is read back


@dataclass(frozen=True)
class Sheet:
    r"""Rows under named columns.

    Examples
    --------
    >>> Sheet(("id", "label"), (("=1+1", "yes"), (-5, None))).to_csv()
    "id,label\r\n'=1+1,yes\r\n'-5,\r\n"
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def to_csv(self) -> str:
        """Return the sheet as RFC 4180 has it, with cells guarded against spreadsheets."""
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow([guard(column) for column in self.columns])
        writer.writerows([guard(as_text(value)) for value in row] for row in self.rows)
        return text.getvalue()

    def records(self) -> list[dict[str, object]]:
        """Return one mapping a row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def sheet_of(batch: Batch) -> Sheet:
    """Return a batch's items, with a column for the label that is still empty."""
    names: list[str] = []
    for name in batch.columns:
        free = name
        while free in (*_READ, *names) or (free != name and free in batch.columns):
            free = f"shown {free}"
        names.append(free)
    rows = ((item.id, *(item[name] for name in batch.columns), None) for item in batch.items)
    return Sheet(("id", *names, "label"), tuple(rows))


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
