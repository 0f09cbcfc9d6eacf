"""From a file of labels to a campaign: all of them or, with an error, none."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

from assay.campaign.campaign import Campaign
from assay.errors import LabelConflictError, LabelError
from assay.exchange.content import Content, Limits
from assay.exchange.formats import find_format, format_of
from assay.exchange.rows import Labelled, People, check_rows, count, first
from assay.exchange.tables import Columns
from assay.results.reviewing import Told


@dataclass(frozen=True)
class Labels:
    """What a file of labels holds.

    Attributes
    ----------
    name : str
        What the file is called.
    format : str
    rows : tuple of Labelled
        Answers, each with its place in the file.
    without_label, skipped : int
        Rows that say nothing yet, and those that somebody put aside.
    """

    name: str
    format: str
    rows: tuple[Labelled, ...]
    without_label: int
    skipped: int


@dataclass(frozen=True)
class Imported:
    """What became of the rows of a file of labels.

    Attributes
    ----------
    new, revised, unchanged : int
    without_label : int
    spare : int
        How many of the new ones do not count, as their items had all the answers they want.
    skipped : int
        Items that somebody looked at and put aside.
    format : str
    """

    new: int
    revised: int
    unchanged: int
    without_label: int
    spare: int = 0
    skipped: int = 0
    format: str = "csv"


def read_labels(
    source: str | PathLike[str] | bytes,
    *,
    campaign: Campaign,
    format: str | None = None,
    id_column: str = "id",
    label_column: str = "label",
    reviewer_column: str | None = None,
    reviewer: str = "",
    rename: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> Labels:
    """Read and check a file of labels as `import_labels` does, without recording anything.

    Examples
    --------
    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9, 0.8]}, score="p", threshold=0.5, budget=2)
    >>> found = read_labels(b'{"id": "0", "label": "yes", "reviewer": "ann"}', campaign=campaign)
    >>> found.format, found.rows[0].reviewer
    ('jsonl', 'ann')
    """
    content = Content(source)
    found = format_of(content) if format is None else find_format(format)
    limits = limits or Limits()
    columns = Columns((id_column,), label_column, reviewer_column)
    people = People(reviewer, rename or {})
    checked = check_rows(
        people.name(found.read(content, columns, limits)),
        name=content.name,
        id_kind=campaign.settings.id_kind,
        limits=limits,
    )
    people.check(content.name)
    return Labels(content.name, found.name, **vars(checked))


def import_labels(
    campaign: Campaign,
    source: str | PathLike[str] | bytes,
    *,
    format: str | None = None,
    id_column: str = "id",
    label_column: str = "label",
    reviewer_column: str | None = None,
    reviewer: str = "",
    rename: Mapping[str, str] | None = None,
    revise: bool = False,
    limits: Limits | None = None,
) -> Imported:
    r"""Tell a campaign the labels of a file: all of them or, with an error, none.

    Doing it again changes nothing.

    Parameters
    ----------
    campaign : Campaign
        The one that asked for the items.
    source : str, path or bytes
        A file, or the bytes of one. Rows without a label are left out, other columns ignored.
    format : str, optional
        One of `FORMATS`; by default told from the file's name and content.
    id_column, label_column, reviewer_column : str
        Where tables, and jsonl, have ids, answers and, if they do, who gave them (`reviewer`).
    reviewer : str
        Who gave the answers that the file names nobody for.
    rename : mapping of str to str, optional
        Who people are here, by their names in the file, such as `label-studio:5`.
    revise : bool
        Let a reviewer's answers take the place of their different earlier ones.
    limits : Limits, optional
        How much is taken.

    Examples
    --------
    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9, 0.8, 0.7]}, score="p", threshold=0.5, budget=3)
    >>> batch = campaign.ask(3)
    >>> import_labels(campaign, b"id,label\n0,yes\n1,no\n2,\n")
    Imported(new=2, revised=0, unchanged=0, without_label=1, spare=0, skipped=0, format='csv')
    """
    found = read_labels(
        source,
        campaign=campaign,
        format=format,
        id_column=id_column,
        label_column=label_column,
        reviewer_column=reviewer_column,
        reviewer=reviewer,
        rename=rename,
        limits=limits,
    )
    told = [Told(row.item, row.answer, row.reviewer, row.ruling) for row in found.rows]
    try:
        recorded = campaign.record(told, revise=revise)
    except LabelConflictError:
        raise _conflict(campaign, found) from None
    except LabelError as error:
        raise _with_places(error, found) from None
    return Imported(
        new=recorded.new,
        revised=recorded.revised,
        unchanged=recorded.unchanged,
        without_label=found.without_label,
        spare=recorded.spare,
        skipped=found.skipped,
        format=found.format,
    )


def _conflict(campaign: Campaign, found: Labels) -> LabelConflictError:
    """Return the error that names every answer unlike the one its reviewer gave before."""
    reviews = campaign.reviews()
    told = []
    for row in found.rows:
        review = reviews.get(row.item)
        if review is None:
            continue
        before = review.ruling if row.ruling else review.answers.get(row.reviewer)
        if before is not None and before is not row.answer:
            told.append((row, before))
    places = [
        f"{row.where}: {row.item!r} is {row.answer.value!r} here and was told "
        f"{before.value!r} before"
        for row, before in told
    ]
    return LabelConflictError(
        f"{found.name} has {count(told, 'label')} unlike those told before; nothing was recorded",
        details=first(places),
        hint="with revise (--revise) the new answers count; the old ones stay in the log",
        ids=[str(row.item) for row, _ in told],
    )


def _with_places(error: LabelError, found: Labels) -> LabelError:
    """Return the campaign's error with the places of the ids that it names."""
    places = [f"{row.where}: {row.item!r}" for row in found.rows if str(row.item) in error.ids]
    details = "\n".join([f"in {found.name}:", first(places), error.details])
    return type(error)(error.problem, details=details, hint=error.hint, ids=error.ids)
