"""Labels in and out of a campaign as CSV, for people who judge items in a spreadsheet.

A spreadsheet runs a cell that begins like a formula, and whoever wrote the item may have wanted
that. Such cells are written with an apostrophe before them, which spreadsheets take for "this is
text", and read without it; cells that begin with an apostrophe get a second one, so that every
text comes back as it was.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from assay.answers import Answer, parse_answer
from assay.campaign import Campaign
from assay.core.deck import Id
from assay.errors import AssayError, InputError, LabelConflictError, LabelError, did_you_mean

__all__ = ["Imported", "Sheet", "batch_sheet", "import_labels", "labels_sheet", "shown_columns"]

_GUARDED = ("=", "+", "-", "@", "\t", "\r", "'")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,19})")
_SHOW_AT_MOST = 3  # examples in an error


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
        writer.writerow([_guard(column) for column in self.columns])
        writer.writerows([_guard(_as_text(value)) for value in row] for row in self.rows)
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
    columns = campaign.settings.source.columns
    kept_back = (columns["id"], columns["score"], columns["predicted"])
    return [name for name in columns["show"] if name not in kept_back]


def import_labels(
    campaign: Campaign,
    path: str | PathLike[str],
    *,
    id_column: str = "id",
    label_column: str = "label",
    reviewer: str = "",
    revise: bool = False,
) -> Imported:
    r"""Tell a campaign the labels of a CSV file: all of them or, with an error, none.

    Parameters
    ----------
    campaign : Campaign
        The one that asked for the items.
    path : str or path
        A CSV file in UTF-8. Rows with an empty label are left out; other columns are ignored.
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
    found = _read_labels(file, id_column, label_column, campaign.settings.id_kind)
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
            f"{file} has {_count(changed, 'label')} unlike those told before; nothing was recorded",
            details=_first(told),
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


@dataclass(frozen=True)
class _Label:
    line: int
    answer: Answer


@dataclass(frozen=True)
class _Found:
    labels: dict[Id, _Label]
    without_label: int


def _read_labels(file: Path, id_column: str, label_column: str, id_kind: str) -> _Found:
    """Return a file's labels, or raise with the lines that are wrong."""
    (_, header), *rows = _read_rows(file) or [(1, [])]
    columns = [_unguard(name) for name in header]
    id_at, label_at = (_place(file, columns, name) for name in (id_column, label_column))
    labels: dict[Id, _Label] = {}
    without_label, problems = 0, []
    for line, row in rows:
        try:
            if len(row) != len(columns):
                raise LabelError(f"{_count(row, 'field')}, the first line has {len(columns)}")
            if not row[label_at].strip():
                without_label += 1
                continue
            item = _parse_id(_unguard(row[id_at]), id_kind)
            answer = parse_answer(_unguard(row[label_at]))
            first = labels.setdefault(item, _Label(line, answer))
            if first.answer is not answer:
                raise LabelError(
                    f"{item!r} is {answer.value!r} here and {first.answer.value!r} "
                    f"in line {first.line}"
                )
        except AssayError as error:
            problems.append(f"line {line}: {error.problem}")
    if problems:
        raise LabelError(
            f"{_count(problems, 'row')} of {file} cannot be taken; nothing was recorded",
            details=_first(problems),
            hint="answers: yes, no, cannot judge; leave the label empty where there is none yet",
        )
    return _Found(labels, without_label)


def _read_rows(file: Path) -> list[tuple[int, list[str]]]:
    """Return the rows that are not blank, each with the line on which it begins."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} is not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}",
            hint="save it as 'CSV UTF-8'",
        ) from None
    rows = []
    line = 1
    limit = csv.field_size_limit(max(len(text), 1))  # the texts of items may be long
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        for row in reader:
            if row:
                rows.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"line {line} of {file} is not CSV: {error}") from None
    finally:
        csv.field_size_limit(limit)
    return rows


def _place(file: Path, columns: list[str], name: str) -> int:
    if columns.count(name) != 1:
        many = "not found" if name not in columns else "there more than once"
        raise InputError(
            f"column {name!r} is {many} in {file}",
            details=f"columns: {', '.join(columns)}",
            hint=did_you_mean(name, columns) if name not in columns else "",
        )
    return columns.index(name)


def _parse_id(text: str, id_kind: str) -> Id:
    if id_kind == "string":
        return text
    if not _INTEGER.fullmatch(text.strip()):
        raise LabelError(f"{text!r} is not a whole number, as the ids of this campaign are")
    return int(text)


def _with_lines(error: LabelError, file: Path, labels: dict[Id, _Label]) -> LabelError:
    """Return the campaign's error with the lines of the ids that it names."""
    lines = [
        f"line {label.line}: {item!r}" for item, label in labels.items() if str(item) in error.ids
    ]
    details = "\n".join([f"in {file}:", _first(lines), error.details])
    return type(error)(error.problem, details=details, hint=error.hint, ids=error.ids)


def _as_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _guard(text: str) -> str:
    return f"'{text}" if text.startswith(_GUARDED) else text


def _unguard(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith(_GUARDED) else text


def _first(problems: Sequence[str]) -> str:
    more = len(problems) - _SHOW_AT_MOST
    return "\n".join([*problems[:_SHOW_AT_MOST], *([f"and {more:,} more"] if more > 0 else [])])


def _count(things: Sequence[object], name: str) -> str:
    return f"{len(things):,} {name}{'' if len(things) == 1 else 's'}"
