"""Import and export of labels: all rows of a file or, with an error, none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import Annotated, Any

import narwhals as nw

from assay.campaign.campaign import Campaign
from assay.errors import InputError, LabelConflictError, LabelError, counted
from assay.exchange import (
    FORMATS,
    FURTHER,
    Batch,
    Columns,
    FileLabel,
    Format,
    People,
    Sheet,
    check_rows,
    find_format,
    first,
    format_of,
    read_map,
    sheet_of,
)
from assay.files import Content, Limits
from assay.labelling import (
    SKIP,
    WITHDRAWN,
    contradicts,
    judged_cells,
    judged_columns,
    judged_items,
    now_words,
    without_collection,
)
from assay.options import CliOption
from assay.results import free_names
from assay.storage import LABEL_FIELDS, StoredLabel

_FILES = (str, bytes, PathLike)
_OF_A_JUDGE = ("csv", "jsonl")  # formats of items for a judge


@dataclass(frozen=True)
class Labels:
    """Contents of a label file."""

    name: str  # name of the file
    format: str
    rows: tuple[FileLabel, ...]  # answers, each with its place in the file
    # without_label, skipped: rows without a label yet, and skipped rows.
    without_label: int
    skipped: int


@dataclass(frozen=True)
class Imported:
    """Outcome of an import of labels."""

    new: int
    revised: int
    unchanged: int
    without_label: int
    # Number of new labels that do not count: their items had all the answers they want.
    spare: int = 0
    skipped: int = 0  # skipped items
    format: str = "csv"


_reading = partial(CliOption, panel="Label file")
_FORMATS = f"{', '.join(FORMATS)}. Default: inferred from the file."
_IDS = "Column with the item ids. Default: named as in the predictions, or 'id'."
_ANSWERS = "Column with the labels: yes, no or a class; cannot judge, broken."
_REVIEWERS = "Column with the reviewers' names. Default: 'reviewer', if there is one."
_COMMENTS = "Column with comments. Default: 'comment', unless reviewers see a column of that name."
_RENAME = "Map a user of the tool to a reviewer: label-studio:5=ann; repeatable."
_MAP = "Meaning of a word: spam=yes; repeatable. Or a CSV file with columns word,answer."


@dataclass(frozen=True)
class Reading:
    """How a file of labels is read; the columns are those of tables, and of jsonl."""

    format: Annotated[str | None, _reading(_FORMATS, "FORMAT")] = None
    id_column: Annotated[str | None, _reading(_IDS, "COL")] = None
    label_column: Annotated[str, _reading(_ANSWERS, "COL")] = "label"
    reviewer_column: Annotated[str | None, _reading(_REVIEWERS, "COL")] = None
    comment_column: Annotated[str | None, _reading(_COMMENTS, "COL")] = None
    reviewer: Annotated[str, _reading("Reviewer of labels without a name.", "WHO")] = ""
    rename: Annotated[Mapping[str, str] | None, _reading(_RENAME, "TOOL=NAME", list[str])] = None
    # Meaning of the file's words: ``{"spam": "yes", "ham": "no"}``, or the class of each; or a file
    # with them, as `read_map` reads it.
    map: Annotated[
        Mapping[str, object] | str | PathLike[str] | None, _reading(_MAP, "WORD=ANSWER", list[str])
    ] = None
    encoding: Annotated[
        str | None, _reading("Encoding of the file, such as latin-1. Default: UTF-8.", "NAME")
    ] = None
    limits: Limits = field(default_factory=Limits)  # of the content

    def columns(self, campaign: Campaign, format: Format) -> Columns:
        """Columns to read of a file with labels of a campaign."""
        own = campaign.settings.source.columns["id"]
        ids = (self.id_column,) if self.id_column is not None else (own or "id", "id")
        named = {"reviewer": self.reviewer_column, "comment": self.comment_column}
        return Columns(
            tuple(dict.fromkeys(ids)),
            self.label_column,
            further=_further(campaign, format),
            named={name: column for name, column in named.items() if column is not None},
        )


def read_labels(
    # A file, the bytes of one, or a table of pandas, polars or pyarrow. Rows without a label are
    # left out, other columns ignored.
    source: Any,
    *,
    campaign: Campaign,  # campaign of the labelled items
    **options: Any,  # of `Reading`
) -> Labels:
    """Read and check a file of labels as `import_labels` does, without recording anything.

    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9, 0.8]}, score="p", threshold=0.5, budget=2)
    >>> labels = read_labels(b'{"id": "0", "label": "yes", "reviewer": "ann"}', campaign=campaign)
    >>> labels.format, labels.rows[0].reviewer
    ('jsonl', 'ann')
    """
    reading = Reading(**options)
    content, map = _content(source, reading.encoding), reading.map
    if reading.format is not None:
        file_format = find_format(reading.format)
    else:
        file_format = format_of(content) if isinstance(source, _FILES) else FORMATS["jsonl"]
    people = People(reading.reviewer, reading.rename or {})
    rows = file_format.read(content, reading.columns(campaign, file_format), reading.limits)
    checked = check_rows(
        people.name(rows),
        name=content.name,
        id_kind=campaign.settings.id_kind,
        limits=reading.limits,
        map=read_map(map) if isinstance(map, str | PathLike) else map,
        classes=campaign.settings.classes,
    )
    people.check(content.name)
    return Labels(content.name, file_format.name, **vars(checked))


def _content(source: Any, encoding: str | None) -> Content:
    """Content to read; a DataFrame as the equivalent JSON lines."""
    if isinstance(source, _FILES):
        return Content(source, encoding)
    try:
        rows = nw.from_native(source, eager_only=True).to_arrow().to_pylist()
    except TypeError:
        raise InputError(
            f"labels cannot be read from {type(source).__name__}",
            details="expected a path, bytes, or a DataFrame of pandas, polars or pyarrow",
            hint="a mapping of ids and answers goes to `tell`",
        ) from None
    lines = [json.dumps(row, default=str) for row in rows]
    content = Content("\n".join([*lines, ""]).encode())
    content.name = "the DataFrame"
    return content


def _further(campaign: Campaign, format: Format) -> tuple[str, ...]:
    """Columns to read besides ids and labels.

    Items may show a column `comment`. In a table that column is taken for theirs; jsonl keeps shown
    columns in an object of its own.
    """
    shown = campaign.settings.source.columns["show"] if format.name != "jsonl" else ()
    return tuple(name for name in FURTHER if name != "comment" or name not in shown)


def import_labels(
    campaign: Campaign,  # campaign that asked for the items
    source: Any,
    *,
    revise: bool = False,  # let answers replace earlier ones of the same reviewer
    **reading: Any,  # options of `Reading`
) -> Imported:
    r"""Record the labels of a file: all of them or, with an error, none.

    Repeating the import changes nothing.

    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9, 0.8, 0.7]}, score="p", threshold=0.5, budget=3)
    >>> batch = campaign.ask(3)
    >>> import_labels(campaign, b"id,label\n0,yes\n1,no\n2,\n")
    Imported(new=2, revised=0, unchanged=0, without_label=1, spare=0, skipped=0, format='csv')
    """
    with without_collection():
        labels = read_labels(source, campaign=campaign, **reading)
        try:
            recorded = campaign.desk.record(labels.rows, revise=revise)
        except LabelConflictError:
            raise _conflict(campaign, labels) from None
        except LabelError as error:
            raise _with_places(campaign, error, labels) from None
    read = {name: getattr(labels, name) for name in ("without_label", "skipped", "format")}
    return Imported(**vars(recorded), **read)


def _conflict(campaign: Campaign, labels: Labels) -> LabelConflictError:
    """Error that lists every answer that differs from its reviewer's earlier one."""
    reviews, id_of = campaign.desk.reviews(), campaign.settings.item_id
    conflicts = []
    for row in labels.rows:
        review = reviews.get(id_of(row.item_id))
        if review is None:
            continue
        before = review.ruled if row.ruling else review.labels.get(row.reviewer)
        if before is not None and contradicts(before, row):
            conflicts.append((row, before))
    places = [
        f"{row.where}: {id_of(row.item_id)!r} is {now_words(before, row)} here and was "
        f"{before.answer!r} before"
        for row, before in conflicts
    ]
    unlike = counted(len(conflicts), "label")
    return LabelConflictError(
        f"{labels.name} has {unlike} unlike earlier ones; nothing was recorded",
        details=first(places),
        hint="with revise (--revise) the new answers count; the old ones stay in the log",
        ids=[row.item_id for row, _ in conflicts],
    )


def _with_places(campaign: Campaign, error: LabelError, labels: Labels) -> LabelError:
    """Error of the campaign, with the places of the ids that it names."""
    places = [
        f"{row.where}: {campaign.settings.item_id(row.item_id)!r}"
        for row in labels.rows
        if row.item_id in error.ids
    ]
    details = "\n".join([f"in {labels.name}:", first(places), error.details])
    return type(error)(error.problem, details=details, hint=error.hint, ids=error.ids)


# From a campaign to a file: the next items to judge, or the labels so far.


@dataclass(frozen=True)
class Written:
    """Contents of a file to write."""

    content: bytes
    sheet: Sheet  # the same as rows
    # suffix, media_type: how the file's name should end, and what it is.
    suffix: str
    media_type: str
    # Configuration that the tool needs before it takes the file, if any.
    config: bytes | None = None
    config_suffix: str = ""  # suffix of the configuration's file name

    @property
    def count(self) -> int:
        """Number of items or labels."""
        return len(self.sheet.rows)


def write_batch(
    campaign: Campaign,
    size: int,  # number of items
    *,
    format: str = "csv",  # one of `FORMATS` that has `write_batch`
    # Reviewer who will judge them: nobody else gets them for `lease` seconds.
    reviewer: str | None = None,
    lease: float = 600.0,
) -> Written:
    r"""Next items to judge, as a file.

    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
    >>> write_batch(campaign, 1, format="jsonl").content
    b'{"id": "0", "shown": {}, "label": null}\n'
    """
    file_format = find_format(format)
    if file_format.write_batch is None:
        raise _cannot(
            file_format, "a batch", [each for each in FORMATS.values() if each.write_batch]
        )
    if reviewer is None and campaign.settings.reviewing.per_item > 1:
        raise InputError(
            f"campaign {campaign.name!r} gives some items to several reviewers, and no "
            "reviewer is named for the batch",
            hint="name the reviewer (--reviewer); a team that shares a tool may have one name",
        )
    items = campaign.ask(size, reviewer=reviewer, lease=lease)
    shown = tuple(campaign.settings.source.seen)
    batch = Batch(campaign.settings.question, shown, tuple(items), campaign.settings.classes)
    return Written(
        file_format.write_batch(batch),
        sheet_of(batch),
        file_format.suffix,
        file_format.media_type,
        file_format.config_of(batch),
        file_format.config_suffix,
    )


def config_suffix(campaign: Campaign, format: str) -> str:
    """Suffix of the configuration file that a tool needs; empty if it needs none."""
    file_format = FORMATS.get(format)
    nothing = Batch("", (), (), campaign.settings.classes)
    return (
        ""
        if file_format is None or file_format.config_of(nothing) is None
        else file_format.config_suffix
    )


def write_unjudged(
    campaign: Campaign, size: int, *, column: str | None = None, format: str = "csv"
) -> Written:
    r"""Items for a judge, as a file with an empty column for its verdict.

    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
    >>> write_unjudged(campaign, 1).content
    b'id,verdict\r\n0,\r\n'
    """
    file_format = find_format(format)
    if file_format.name not in _OF_A_JUDGE:
        raise _cannot(file_format, "items for a judge", [FORMATS[name] for name in _OF_A_JUDGE])
    shown = tuple(campaign.settings.source.seen)
    names = free_names(shown, ("id", "verdict", "score"))
    rows = (
        (item.id, *(item[name] for name in shown), None)
        for item in campaign.unjudged(size, column=column)
    )
    sheet = Sheet(("id", *names, "verdict"), tuple(rows))
    content = sheet.to_csv() if file_format.name == "csv" else sheet.to_jsonl()
    return Written(content, sheet, file_format.suffix, file_format.media_type)


def write_labels(campaign: Campaign, *, format: str = "csv") -> Written:
    r"""Write the current labels of all reviewers, as a file.

    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
    >>> write_labels(campaign).content
    b'id,label,reviewer,told_at,late,ruling,counts,comment,predicted,score,weight\r\n'
    """
    file_format = find_format(format)
    if file_format.write_labels is None:
        raise _cannot(
            file_format, "labels", [each for each in FORMATS.values() if each.write_labels]
        )
    sheet = labels_sheet(campaign)
    return Written(
        file_format.write_labels(sheet), sheet, file_format.suffix, file_format.media_type
    )


def _cannot(format: Format, what: str, others: list[Format]) -> InputError:
    return InputError(
        f"{what} cannot be written as {format.name}",
        details=f"formats: {', '.join(each.name for each in others)}",
    )


# Columns of a label file; keys stay between a page and the storage.
_FIRST = ("item_id", "answer", "reviewer", "told_at", "late", "ruling")
_LATER = tuple(name for name in LABEL_FIELDS if name not in (*_FIRST, "key"))
_LABELS = ("id", "label", *_FIRST[2:], "counts", *_LATER)


def labels_sheet(campaign: Campaign) -> Sheet:
    """List the current labels of all reviewers, in the order in which each first answered.

    Recorded in this order in a campaign that has asked for the same items, the answers lead to the
    same estimate. `counts` marks answers that decide about their items, as opposed to those of
    further reviewers and those that a ruling overrode. Answers from before a rebase are left out
    until their items are drawn.

    Each row also has the predictions, the scores and the shown columns of its item. The item's
    sampling weight is shared among the rows that decide about it, so that weighted sums over all
    rows count every item once; other rows have none.
    """
    item_id = campaign.settings.item_id
    events = campaign.events()
    reviews = campaign.desk.reviews()
    # A reviewer's latest event gives the label and the time, the first one its place in the order.
    began: dict[tuple[str, str, bool], int] = {}
    latest: dict[tuple[str, str, bool], StoredLabel] = {}
    for event in events:
        # There is one ruling at a time, whoever gives it.
        key = (event.item_id, "" if event.ruling else event.reviewer, event.ruling)
        if event.answer == WITHDRAWN:
            began.pop(key, None)
            latest.pop(key, None)
        elif event.answer != SKIP:
            began.setdefault(key, event.id)
            latest[key] = event
    labelling = campaign.desk.labelling
    further = judged_columns(labelling, _LABELS)
    cells_by_item = {item.id: judged_cells(labelling, item) for item in judged_items(labelling)}
    weight, nothing = further.index("weight"), (None,) * len(further)
    rows = []
    for key in sorted(began, key=began.__getitem__):
        event, review = latest[key], reviews.get(item_id(key[0]))
        if review is not None:
            counts = event.ruling or (review.ruling is None and event.reviewer in review.counted)
            _, *first = (getattr(event, name) for name in _FIRST)
            later = (getattr(event, name) for name in _LATER)
            cells: list[Any] = list(cells_by_item.get(item_id(event.item_id), nothing))
            if cells[weight] is not None:
                sharing = len(review.counted) if review.ruling is None else 1
                cells[weight] = cells[weight] / sharing if counts else None
            rows.append((item_id(event.item_id), *first, counts, *later, *cells))
    return Sheet((*_LABELS, *further), tuple(rows))
