"""Label Studio: tasks with our id in their data, and its full JSON export.

Tasks never contain predictions: knowing them would bias reviewers. In an export a task has
`annotations` (`completions` in versions before 1.0), each by one user. A user's latest annotation
of a task counts; a cancelled one is a skip.

References
----------
.. [1] https://labelstud.io/guide/task_format
.. [2] https://labelstud.io/guide/export
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import quoteattr

from assay.core.answers import Answer, answers_to
from assay.core.vocabulary import Vocabulary
from assay.errors import InputError, LabelError
from assay.exchange.rows import Row, as_text, ascii_json, records_of
from assay.exchange.tables import Batch, Columns
from assay.files import Content, Limits

TASK_ID = "assay_id"
_CHOSEN = ("choices", "taxonomy")
_CONTROL, _COMMENT = "answer", "comment"
_KEYS = {
    Answer.YES: "y",
    Answer.NO: "n",
    Answer.NONE_OF_THESE: "0",
    Answer.CANNOT_JUDGE: "c",
    Answer.BROKEN: "b",
}
_MOST_KEYS = 9  # classes that have a key each: 1 to 9
_MOST_CHOICES = 50  # answers that are all on the page; of more, one is found in a tree by its name
_VARIABLE = re.compile(r"\$(?=\w)")  # Label Studio puts a task's data in the place of $name
_NO_ANSWERS = (
    "it has no annotations: it is a task before anybody answered. Export the project from "
    "Label Studio as JSON when people have answered, and import that"
)
_NEVER = datetime.min.replace(tzinfo=UTC)


def write_tasks(batch: Batch) -> bytes:
    """One task per item.

    Columns may have any name; Label Studio treats a name after a ``$`` as a variable, with few
    valid characters. So names and texts are both data, under numbers.
    """
    tasks = []
    for item in batch.items:
        data = {TASK_ID: str(item.id), "question": batch.question}
        for number, column in enumerate(batch.columns, start=1):
            data |= {f"name_{number}": column, f"text_{number}": as_text(item[column])}
        tasks.append({"data": data})
    return ascii_json(tasks, indent=1)


def task_config(batch: Batch) -> bytes:
    """Labelling configuration for the tasks, as XML."""
    lines = ["<View>", '  <Header value="$question"/>']
    for number, _ in enumerate(batch.columns, start=1):
        lines.append(f'  <Header value="$name_{number}" size="5"/>')
        lines.append(f'  <Text name="text_{number}" value="$text_{number}"/>')
    lines += ['  <Header value="id" size="5"/>', f'  <Text name="item" value="${TASK_ID}"/>']
    lines += _control(batch.classes)
    lines.append(
        f'  <TextArea name="{_COMMENT}" toName="item" rows="2" maxSubmissions="1" '
        'placeholder="Comment, if you like"/>'
    )
    return "\n".join([*lines, "</View>", ""]).encode()


def _control(classes: Vocabulary) -> list[str]:
    """Choose the controls for an answer: buttons, buttons with a filter, or a searchable tree.

    If an item may have several classes, several can be chosen. Up to nine classes have a key each.
    A tree has no keys, and is fast with thousands of classes.
    """
    answers = answers_to(classes)
    few, tree = len(classes) <= _MOST_KEYS, len(answers) > _MOST_CHOICES
    tag = "Taxonomy" if tree else "Choices"
    how = 'maxUsages="1"' if tree else 'choice="single"'
    if classes.multilabel:
        how = 'choice="multiple"' if not tree else f'maxUsages="{len(classes)}"'
    shape = "" if tree else f' showInline="{str(few).lower()}"'
    lines = [f'  <{tag} name="{_CONTROL}" toName="item" {how} required="true"{shape}>']
    if not few and not tree:
        lines.insert(0, f'  <Filter name="filter" toName="{_CONTROL}" minlength="0"/>')
    for number, answer in enumerate(answers, start=1):
        key = "" if tree else _KEYS.get(answer, str(number) if few else "")
        lines.append(f"    {_choice_tag(answer, key, classes.guidelines.get(answer, ''))}")
    return [*lines, f"  </{tag}>"]


def _choice_tag(answer: Answer, key: str, guideline: str) -> str:
    """XML tag of one answer."""
    shown = _VARIABLE.sub("\N{FULLWIDTH DOLLAR SIGN}", answer)
    more = {"alias": answer if shown != answer else "", "hotkey": key, "hint": guideline}
    attributes = [f" {name}={quoteattr(value)}" for name, value in more.items() if value]
    return f"<Choice value={quoteattr(shown)}{''.join(attributes)}/>"


def looks_minimal(record: dict[str, Any]) -> bool:
    """Whether a record is from Label Studio's JSON-MIN export."""
    return "data" not in record and "annotation_id" in record


def read(content: Content, _columns: Columns, limits: Limits) -> Iterator[Row]:
    """Yield each user's answer to each task."""
    for where, task in records_of(content, limits, "task"):
        if looks_minimal(task):
            raise InputError(
                f"{content.name} is a JSON-MIN export, which leaves out what was skipped",
                hint="export it from Label Studio as JSON",
            )
        yield from _rows(where, task)


def _rows(where: str, task: dict[str, Any]) -> Iterable[Row]:
    data = task.get("data")
    if not isinstance(data, dict) or TASK_ID not in data:
        return [Row(where, problem=f"its data has no {TASK_ID!r}, so Assay did not make this task")]
    given = task.get("annotations", task.get("completions"))
    if given is None:
        return [Row(where, problem=_NO_ANSWERS)]
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        return [Row(where, problem="its annotations are not a list of objects")]
    latest: dict[str, tuple[datetime, Row]] = {}
    for number, annotation in enumerate(given, start=1):
        place = f"{where}, annotation {number}"
        try:
            row, when = _row(place, data[TASK_ID], annotation), _when(annotation)
        except LabelError as error:
            return [Row(place, problem=error.problem)]
        if row.reviewer not in latest or latest[row.reviewer][0] <= when:
            latest[row.reviewer] = (when, row)
    return [row for _, row in latest.values()] or [Row(where, id=data[TASK_ID])]


def _row(where: str, item: object, annotation: dict[str, Any]) -> Row:
    row = Row(where, id=item, reviewer=_reviewer(annotation.get("completed_by")))
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        return replace(row, skipped=True)
    result = annotation.get("result")
    if not isinstance(result, list) or not all(isinstance(part, dict) for part in result):
        raise LabelError("its result is not a list of objects")
    return replace(row, label=_choice(result), comment=_comment(result))


def _comment(result: Sequence[dict[str, Any]]) -> str:
    """Comment; several texts become lines."""
    lines: list[str] = []
    for part in result:
        if part.get("type") == "textarea" and part.get("from_name") == _COMMENT:
            value = part.get("value")
            texts = value.get("text") if isinstance(value, dict) else None
            texts = [texts] if isinstance(texts, str) else texts
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise LabelError("its comment is not a list of texts")
            lines += texts
    return "\n".join(lines)


def _choice(result: Sequence[dict[str, Any]]) -> str | list[str] | None:
    """Choice, a list if there are several; None if there is none.

    Of a tree it is the end of its path.
    """
    made = [part for part in result if part.get("type") in _CHOSEN]
    ours = [part for part in made if part.get("from_name") == _CONTROL] or made
    if not ours:
        return None
    values = [part["value"] if isinstance(part.get("value"), dict) else {} for part in ours]
    chosen = [value.get(str(part["type"])) for part, value in zip(ours, values, strict=True)]
    if len(chosen) > 1 or not isinstance(chosen[0], list) or not chosen[0]:
        raise LabelError(f"expected one choice, got {chosen!r}")
    names = [str(each[-1]) if isinstance(each, list) and each else str(each) for each in chosen[0]]
    return names if len(names) > 1 else names[0]


def _reviewer(user: object) -> str:
    """Reviewer name of a user, from the only data in every kind of export: the number.

    Some exports have only the number, others also the address; one person must have one name.
    """
    if isinstance(user, dict):
        user = user["id"] if user.get("id") is not None else user.get("email")
    if user is None:
        return ""
    if isinstance(user, bool) or not isinstance(user, int | str):
        raise LabelError(f"completed_by {user!r} is not a user")
    return f"label-studio:{user}"


def _when(annotation: dict[str, Any]) -> datetime:
    time = annotation.get("updated_at") or annotation.get("created_at")
    if time is None:
        return _NEVER
    try:
        if isinstance(time, int | float) and not isinstance(time, bool):
            return datetime.fromtimestamp(time, UTC)  # completions had seconds
        when = datetime.fromisoformat(str(time))
    except (ValueError, OverflowError, OSError):  # on some platforms
        raise LabelError(f"{time!r} is not a time") from None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
