"""Rows of a file of labels, checked: valid answers, or problems."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.core.answers import Answer, answers_to, find_answer, parse_answer
from assay.core.deck import Id
from assay.core.types import read_json
from assay.core.vocabulary import Vocabulary
from assay.errors import AssayError, InputError, LabelError, counted, did_you_mean
from assay.files import Content, Limits
from assay.labelling import comment_of, reviewer_of
from assay.storage import Label

# Problems and numbers in words.

_SHOW_AT_MOST = 3  # examples in an error
_LONGEST = 300  # characters of one, as a stranger's label may have a million


def first(problems: Sequence[str]) -> str:
    """First few problems, and the number of further ones."""
    more = len(problems) - _SHOW_AT_MOST
    shown = [shorten(problem) for problem in problems[:_SHOW_AT_MOST]]
    return "\n".join([*shown, *([f"and {more:,} more"] if more > 0 else [])])


def shorten(text: str) -> str:
    """Shorten a text for an error: of a long one, keep the start and the end.

    >>> shorten("brief"), len(shorten("long" * 1000))
    ('brief', 305)
    """
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} ... {text[-half:]}"


_FLAGS = {"": False, "false": False, "true": True}
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,19})")
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,14}))\.0+")  # float64 holds fifteen digits exactly


@dataclass(slots=True)  # not frozen, because a frozen row takes longer to make
class Row:
    """One answer for an item, as it is in the file."""

    where: str  # the place, such as "line 7"
    id: object = None
    label: object = None  # None if there is none
    reviewer: str = ""  # empty if there is none
    ruling: bool = False  # whether it overrides the reviewers
    comment: str = ""  # comment on the label; empty if there is none
    skipped: bool = False  # whether a reviewer skipped the item
    problem: str = ""  # why the row cannot be taken; empty if it can


@dataclass(frozen=True, kw_only=True)
class FileLabel(Label):
    """A checked row with an answer: a label, and its place in the file."""

    where: str


@dataclass(frozen=True)
class Checked:
    """Labels in the rows of a file."""

    rows: tuple[FileLabel, ...]
    without_label: int
    skipped: int


FURTHER = ("reviewer", "ruling", "comment")
"""Names of the optional fields of a row, beside its id and label."""


def row_of(
    where: str,  # the row's place in its file, for errors
    *,
    # id, label, reviewer, ruling, comment: the row's cells.
    id: object,
    label: object,
    reviewer: object = None,
    ruling: object = None,
    comment: object = None,
) -> Row:
    """Row from cells of any type; None or a blank text is missing.

    >>> row = row_of("line 2", id="7", label=" ", reviewer="ann", ruling="TRUE")
    >>> row.label, row.reviewer, row.ruling
    (None, 'ann', True)
    >>> row_of("line 3", id="7", label="yes", reviewer=5, ruling=None).problem
    'reviewer 5 is not text'
    """
    if isinstance(label, str) and not label.strip():
        label = None
    for name, text in (("reviewer", reviewer), ("comment", comment)):
        if text is not None and not isinstance(text, str):
            return Row(where, problem=f"{name} {text!r} is not text")
    flag = "" if ruling is None else str(ruling).strip().lower()
    if flag not in _FLAGS:
        return Row(where, problem=f"ruling {ruling!r} is neither true nor false")
    return Row(where, id, label, _or_nothing(reviewer), _FLAGS[flag], _or_nothing(comment))


def _or_nothing(text: object) -> str:
    return text if isinstance(text, str) and not text.isspace() else ""


def check_rows(
    rows: Iterable[Row],
    *,
    name: str,  # name of the file
    id_kind: str,  # kind of the ids; the text 7 in a file is either
    limits: Limits,
    # Meaning of words in the file: yes, no, cannot judge, broken; or a class.
    map: Mapping[str, object] | None = None,
    classes: Vocabulary,  # the campaign's
) -> Checked:
    """Labels of the rows; raise with those that are invalid.

    A row that repeats an earlier one, of the same item by the same reviewer, counts once; so do
    rulings, by anyone.

    >>> row = Row("line 2", "7", "yes", "ann")
    >>> about = {"name": "a.csv", "id_kind": "integer", "limits": Limits(), "classes": Vocabulary()}
    >>> checked = check_rows([row, row], **about)
    >>> [(label.item_id, label.answer, label.reviewer, label.where) for label in checked.rows]
    [('7', 'yes', 'ann', 'line 2')]
    """
    labels: dict[tuple[str, str, bool], FileLabel] = {}
    without_label, skipped, problems = 0, 0, []
    answer_of = _Meaning(map or {}, classes)
    for number, row in enumerate(rows, start=1):
        limits.check_rows(number, name)
        try:
            if row.problem:
                raise LabelError(row.problem)
            if row.skipped or row.label is None:
                skipped, without_label = skipped + row.skipped, without_label + (not row.skipped)
                continue
            item = _parse_id(row.id, id_kind)
            now = _label(row, item, answer_of(row.label))
            # An item has one ruling, by anyone.
            who = "" if now.ruling else now.reviewer
            earlier = labels.setdefault((now.item_id, who, now.ruling), now)
            if earlier.answer != now.answer:
                raise LabelError(
                    f"{item!r} is {now.answer!r} here and {earlier.answer!r} in {earlier.where}"
                )
            if earlier.comment != now.comment:
                raise LabelError(f"{item!r} has another comment here than in {earlier.where}")
        except AssayError as error:
            problems.append(f"{row.where}: {error.problem}")
    if problems:
        raise LabelError(
            f"{counted(len(problems), 'row')} of {name} cannot be imported; nothing was recorded",
            details=first(problems),
            hint=answer_of.hint,
        )
    return Checked(tuple(labels.values()), without_label, skipped)


_MAPPED = 4  # words in a hint


class _Meaning:
    """Meaning of the labels in a file: it has few different ones, and many rows of each.

    `map`: meaning of words; `classes`: the campaign's.
    """

    def __init__(self, map: Mapping[str, object], classes: Vocabulary) -> None:
        self._classes = classes
        self._words = {_word(word): parse_answer(answer, classes) for word, answer in map.items()}
        self._known: dict[str, Answer] = {}
        self._strange: dict[str, None] = {}  # labels that mean nothing

    def __call__(self, label: object) -> Answer:
        """Meaning of a label; raise if it has none."""
        if isinstance(label, str) and label in self._known:
            return self._known[label]
        if isinstance(label, list) and len(label) > 1 and self._classes.named_in(label) is None:
            raise LabelError(f"it has {len(label)} labels, {label!r}, and an item has one")
        answer = self._words.get(_word(label)) or find_answer(self._each(label), self._classes)
        if answer is None:
            self._strange[shorten(str(label).strip())] = None
            raise LabelError(f"{label!r} is not an answer")
        if isinstance(label, str):
            self._known[label] = answer
        return answer

    def _each(self, label: object) -> object:
        """Label; of several classes, each as mapped."""
        named = self._classes.named_in(label) if self._words else None
        if named is None or named == [label]:
            return label
        return [self._words.get(_word(each), each) for each in named]

    @property
    def hint(self) -> str:
        """Hint for labels without meaning, and for rows with other problems."""
        binary = self._classes.is_yes_or_no
        answers = ", ".join(answers_to()) if binary else self._classes.unknown("")[0]
        if not self._strange or len(self._strange) > _MAPPED:
            return f"answers: {answers}; leave the label empty where there is none yet"
        meanings = {word: self._classes.nearest(word) or "..." for word in self._strange}
        if binary:
            meanings = dict.fromkeys(self._strange, "...")
            return f"give the meaning of each ({answers}): map={meanings!r}"
        return f"give the class of each: map={meanings!r}"


def _word(label: object) -> str:
    return str(label).strip().lower()


def _label(row: Row, item: Id, answer: Answer) -> FileLabel:
    return FileLabel(
        item_id=str(item),
        answer=answer.value,
        reviewer=row.reviewer,
        ruling=row.ruling,
        comment=comment_of(row.comment) if row.comment else "",
        where=row.where,
    )


def _parse_id(item: object, id_kind: str) -> Id:
    if id_kind == "string" and isinstance(item, str):
        return item
    if id_kind == "integer" and isinstance(item, int) and not isinstance(item, bool):
        return item
    if id_kind == "integer" and isinstance(item, str) and _INTEGER.fullmatch(item.strip()):
        return int(item)
    if id_kind == "integer" and (whole := _WHOLE.fullmatch(str(item).strip())):
        return int(whole[1])  # as spreadsheets and pandas write whole numbers beside missing ones
    kind = "whole number" if id_kind == "integer" else "string"
    raise LabelError(f"{item!r} is not a {kind}, as the ids of this campaign are")


# Reviewers of the answers in a file: people have other names in other tools.

_LIST_AT_MOST = 20  # names in an error


class People:
    """Map from names in a file to names of a campaign's reviewers.

    `unnamed`: reviewer of the answers without a name; `rename`: names here, by the names in the
    file.

    >>> people = People("", {"label-studio:5": "ann"})
    >>> [row.reviewer for row in people.name([Row("task 1", reviewer="label-studio:5")])]
    ['ann']
    """

    def __init__(self, unnamed: str, rename: Mapping[str, str]) -> None:
        self._unnamed = reviewer_of(unnamed, empty=True)
        self._rename: dict[str, str] = {}
        for name_in_file, new_name in rename.items():
            name = reviewer_of(new_name)
            if self._rename.setdefault(reviewer_of(name_in_file), name) != name:
                raise InputError(f"{name_in_file!r} has more than one new name")
        self._known: set[str] = set()

    def name(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows, each with a reviewer name that the store accepts."""
        names: dict[str, str] = {}  # a file has few names, and many rows of each
        for row in rows:
            name = names.get(row.reviewer)
            if name is None:
                try:
                    name_in_file = reviewer_of(row.reviewer, empty=True)
                except InputError as error:
                    yield replace(row, problem=row.problem or error.problem)
                    continue
                if name_in_file:
                    self._known.add(name_in_file)
                name = names[row.reviewer] = (
                    self._rename.get(name_in_file, name_in_file) or self._unnamed
                )
            yield row if row.reviewer == name else replace(row, reviewer=name)

    def check(self, file: str) -> None:
        """Raise if a name to be renamed is not in the file: it is a typo."""
        absent = [name for name in self._rename if name not in self._known]
        if absent:
            names_in_file = sorted(self._known)
            more = ", ..." if len(names_in_file) > _LIST_AT_MOST else ""
            names = ", ".join(map(repr, names_in_file[:_LIST_AT_MOST])) or "none"
            raise LabelError(
                f"the name {absent[0]!r} to rename is not in {file}; nothing was recorded",
                details=f"names in it: {names}{more}",
                hint=did_you_mean(absent[0], names_in_file),
            )


# Untrusted JSON: any problem is reported as an error about the file.


def records_of(content: Content, limits: Limits, word: str) -> list[tuple[str, dict[str, Any]]]:
    """Objects of a JSON list, each with its place, such as "task 3"."""
    try:
        document = read_json(content.text())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{content.name} is not JSON: {_why(error)}") from None
    if not isinstance(document, list):
        raise InputError(
            f"{content.name} does not contain a list of {word}s, but {_kind(document)}"
        )
    limits.check_rows(len(document), content.name)
    records = [(f"{word} {number}", each) for number, each in enumerate(document, start=1)]
    for where, record in records:
        if not isinstance(record, dict):
            raise InputError(f"{where} of {content.name} is not a {word}, but {_kind(record)}")
        limits.check_field(record, content.name, where)
    return records


def records_of_lines(
    content: Content, limits: Limits
) -> Iterator[tuple[str, dict[str, Any]] | Row]:
    """Yield the objects of a JSON lines file, each with its line, or a row with the problem."""
    for count, (number, line) in enumerate(_lines(content.text()), start=1):
        limits.check_rows(count, content.name)
        where = f"line {number}"
        try:
            record = read_json(line)
        except (ValueError, RecursionError) as error:
            yield Row(where, problem=f"not JSON: {_why(error)}")
            continue
        limits.check_field(record, content.name, where)
        if isinstance(record, dict):
            yield where, record
        else:
            yield Row(where, problem=f"no JSON object, but {_kind(record)}")


def as_text(value: object) -> str:
    """Write a shown value as text: texts unchanged, empty for None, otherwise JSON.

    >>> as_text("a"), as_text(None), as_text(1.5)
    ('a', '', '1.5')
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def ascii_json(value: object, indent: int | None = None) -> bytes:
    r"""JSON in ASCII, for tools that guess encodings.

    >>> ascii_json({"text": "é"})
    b'{"text": "\\u00e9"}'
    """
    return json.dumps(value, indent=indent).encode()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank with their numbers, one at a time: there may be many."""
    number, end = 1, 0
    # A JSON text may contain any line end but this one.
    for match in re.finditer(r"\S[^\n]*", text):
        number += text.count("\n", end, match.start())
        start, end = text.rfind("\n", 0, match.start()) + 1, match.end()
        yield number, text[start:end]


def _why(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (line {error.lineno}, column {error.colno})"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return kinds.get(type(value), f"a {type(value).__name__}")
