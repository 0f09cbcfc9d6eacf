"""Labels in and out of a campaign as CSV, for people who judge items in a spreadsheet."""

import csv
import io
import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from assay.campaign import Campaign
from assay.core.deck import Id
from assay.errors import LabelConflictError, LabelError
from assay.label_files import Label, count, first, guard, read_label_file

__all__ = ["Imported", "Sheet", "batch_sheet", "import_labels", "labels_sheet", "shown_columns"]


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
        writer.writerows([guard(_as_text(value)) for value in row] for row in self.rows)
        return text.getvalue()

    def records(self) -> list[dict[str, object]]:
        """Return one mapping a row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Imported:
    """What became of the rows of a file of labels."""

    new: int
    revised: int
    unchanged: int
    without_label: int


def labels_sheet(campaign: Campaign) -> Sheet:
    """Return every answer that counts, in the order in which they were told."""
    # A later event for the same item takes the earlier one's place, and its place in the order.
    counting = {event.item_id: event for event in campaign.events()}
    events = sorted(counting.values(), key=lambda event: event.id)
    item_id = campaign.settings.item_id
    return Sheet(
        ("id", "label", "reviewer", "told_at"),
        tuple((item_id(e.item_id), e.answer, e.reviewer, e.told_at) for e in events),
    )


def batch_sheet(campaign: Campaign, size: int) -> Sheet:
    """Return the next items to judge, with a column for the label that is still empty."""
    shown = shown_columns(campaign)
    rows = tuple((item.id, *(item[name] for name in shown), None) for item in campaign.ask(size))
    taken = ("id", "label")
    names = [f"shown {name}" if name in taken else name for name in shown]
    return Sheet(("id", *names, "label"), rows)


def shown_columns(campaign: Campaign) -> list[str]:
    """Return the columns that reviewers may see: those chosen, but not what the classifier said.

    Who knows the prediction judges differently. The id is shown anyway.
    """
    source = campaign.settings.source
    kept_back = (source.columns["id"], *source.judgements)
    return [name for name in source.columns["show"] if name not in kept_back]


def import_labels(
    campaign: Campaign,
    path: str | PathLike[str],
    *,
    id_column: str = "id",
    label_column: str = "label",
    reviewer: str = "",
    revise: bool = False,
) -> Imported:
    r"""Tell a campaign the labels of a file: all of them or, with an error, none.

    Parameters
    ----------
    campaign : Campaign
        The one that asked for the items.
    path : str or path
        A CSV file in UTF-8, or Parquet. Rows without a label are left out, other columns ignored.
    id_column, label_column : str
        Where the ids and the answers are.
    reviewer : str
        Who says so.
    revise : bool
        Let answers take the place of different earlier ones.

    Examples
    --------
    >>> import tempfile
    >>> from assay.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9, 0.8, 0.7]}, score="p", threshold=0.5, budget=3)
    >>> batch = campaign.ask(3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     labels = Path(folder) / "labels.csv"
    ...     _ = labels.write_text("id,label\n0,yes\n1,no\n2,\n")
    ...     import_labels(campaign, labels)
    Imported(new=2, revised=0, unchanged=0, without_label=1)
    """
    file = Path(path)
    found = read_label_file(
        file,
        id_columns=[id_column],
        label_column=label_column,
        id_kind=campaign.settings.id_kind,
    )
    before = campaign.answers()
    known = {item: label for item, label in found.labels.items() if item in before}
    changed = [item for item, label in known.items() if label.answer is not before[item]]
    if changed and not revise:
        told = [
            f"line {known[item].line}: {item!r} is {known[item].answer.value!r} here and was told "
            f"{before[item].value!r} before"
            for item in changed
        ]
        raise LabelConflictError(
            f"{file} has {count(changed, 'label')} unlike those told before; nothing was recorded",
            details=first(told),
            hint="with revise (--revise) the new answers count; the old ones stay in the log",
        )
    answers = {item: label.answer for item, label in found.labels.items()}
    try:
        campaign.tell(answers, reviewer=reviewer, revise=revise)
    except LabelError as error:
        raise _with_lines(error, file, found.labels) from None
    return Imported(
        new=len(answers) - len(known),
        revised=len(changed),
        unchanged=len(known) - len(changed),
        without_label=found.without_label,
    )


def _with_lines(error: LabelError, file: Path, labels: dict[Id, Label]) -> LabelError:
    """Return the campaign's error with the lines of the ids that it names."""
    lines = [
        f"line {label.line}: {item!r}" for item, label in labels.items() if str(item) in error.ids
    ]
    details = "\n".join([f"in {file}:", first(lines), error.details])
    return type(error)(error.problem, details=details, hint=error.hint, ids=error.ids)


def _as_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
