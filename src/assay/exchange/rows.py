"""From rows as they stand in a file to answers that can be recorded, or to what is wrong."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from assay.core.answers import Answer, parse_answer
from assay.core.deck import Id
from assay.errors import AssayError, LabelError
from assay.exchange.limits import Limits
from assay.exchange.words import count, first

_FLAGS = {"": False, "false": False, "true": True}
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,19})")


@dataclass(frozen=True)
class Row:
    """What somebody said of an item, as it stands there.

    Attributes
    ----------
    where : str
        The place, such as "line 7".
    id : object
    label : object
        None where there is none.
    reviewer : str
        Empty where nobody is named.
    ruling : bool
        Whether it decides over the reviewers' heads.
    skipped : bool
        Whether somebody looked at the item and put it aside.
    problem : str
        Why the row cannot be taken; empty if it can.
    """

    where: str
    id: object = None
    label: object = None
    reviewer: str = ""
    ruling: bool = False
    skipped: bool = False
    problem: str = ""


@dataclass(frozen=True)
class Labelled:
    """A row with an answer, checked."""

    where: str
    item: Id
    answer: Answer
    reviewer: str
    ruling: bool


@dataclass(frozen=True)
class Checked:
    """What the rows of a file say."""

    rows: tuple[Labelled, ...]
    without_label: int
    skipped: int


def row_of(where: str, *, id: object, label: object, reviewer: object, ruling: object) -> Row:
    """Return a row whose cells may hold anything; None, or a blank text, is nothing.

    Examples
    --------
    >>> row_of("line 2", id="7", label=" ", reviewer="ann", ruling="TRUE")
    Row(where='line 2', id='7', label=None, reviewer='ann', ruling=True, skipped=False, problem='')
    >>> row_of("line 3", id="7", label="yes", reviewer=5, ruling=None).problem
    'reviewer 5 is no text'
    """
    label, reviewer = _nothing_if_blank(label), _nothing_if_blank(reviewer)
    if reviewer is not None and not isinstance(reviewer, str):
        return Row(where, problem=f"reviewer {reviewer!r} is no text")
    flag = "" if ruling is None else str(ruling).strip().lower()
    if flag not in _FLAGS:
        return Row(where, problem=f"ruling {ruling!r} is neither true nor false")
    return Row(where, id=id, label=label, reviewer=reviewer or "", ruling=_FLAGS[flag])


def _nothing_if_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


def check_rows(rows: Iterable[Row], *, name: str, id_kind: str, limits: Limits) -> Checked:
    """Return what rows say, or raise with those that are wrong.

    A row that says the same as one before it, of the same item by the same reviewer, is taken once;
    so are rulings, whoever gave them.

    Parameters
    ----------
    rows : iterable of Row
    name : str
        What the file is called.
    id_kind : {"integer", "string"}
        What ids are here; the text 7 in a file is either.
    limits : Limits

    Examples
    --------
    >>> row = Row("line 2", "7", "yes", "ann")
    >>> check_rows([row, row], name="a.csv", id_kind="integer", limits=Limits()).rows
    (Labelled(where='line 2', item=7, answer=<Answer.YES: 'yes'>, reviewer='ann', ruling=False),)
    """
    taken: dict[tuple[Id, str, bool], Labelled] = {}
    without_label, skipped, problems = 0, 0, []
    for number, row in enumerate(rows, start=1):
        limits.check_rows(number, name)
        try:
            if row.problem:
                raise LabelError(row.problem)
            if row.skipped or row.label is None:
                skipped, without_label = skipped + row.skipped, without_label + (not row.skipped)
                continue
            now = _labelled(row, id_kind)
            # Of rulings there is one, whoever gives it.
            who = "" if now.ruling else now.reviewer
            earlier = taken.setdefault((now.item, who, now.ruling), now)
            if earlier.answer is not now.answer:
                raise LabelError(
                    f"{now.item!r} is {now.answer.value!r} here and {earlier.answer.value!r} "
                    f"in {earlier.where}"
                )
        except AssayError as error:
            problems.append(f"{row.where}: {error.problem}")
    if problems:
        answers = ", ".join(answer.value for answer in Answer)
        raise LabelError(
            f"{count(problems, 'row')} of {name} cannot be taken; nothing was recorded",
            details=first(problems),
            hint=f"answers: {answers}; leave the label empty where there is none yet",
        )
    return Checked(tuple(taken.values()), without_label, skipped)


def _labelled(row: Row, id_kind: str) -> Labelled:
    return Labelled(
        where=row.where,
        item=_parse_id(row.id, id_kind),
        answer=parse_answer(row.label),
        reviewer=row.reviewer,
        ruling=row.ruling,
    )


def _parse_id(item: object, id_kind: str) -> Id:
    if id_kind == "string" and isinstance(item, str):
        return item
    if id_kind == "integer" and isinstance(item, int) and not isinstance(item, bool):
        return item
    if id_kind == "integer" and isinstance(item, str) and _INTEGER.fullmatch(item.strip()):
        return int(item)
    wanted = "whole number" if id_kind == "integer" else "string"
    raise LabelError(f"{item!r} is not a {wanted}, as the ids of this campaign are")
