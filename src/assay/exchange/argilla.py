"""Argilla 2: records for `Record.from_dict`, and answers from its exports.

`Record.to_dict` and `dataset.records.to_json` omit whether a response was submitted, discarded, or
is only a draft; ``to_list(flatten=True)`` includes it. So a response without a status is accepted
only if it must have been submitted: it is its record's only one, and the record is completed.
Discarded is a skip, a draft is ignored, and suggestions are never written or read. An optional text
question `comment` has the user's comment.

References
----------
.. [1] https://docs.argilla.io/latest/reference/argilla/records/records
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from assay.core.answers import answers_to
from assay.errors import InputError, LabelError
from assay.exchange.rows import Row, as_text, ascii_json, records_of
from assay.exchange.tables import Batch, Columns
from assay.files import Content, Limits

_QUESTION, _COMMENT = "answer", "comment"
_FLAT = ".responses"
_Response = tuple[object, object, object]  # the value, who gave it, and its status
_HOW = "json.dump(dataset.records.to_list(flatten=True), file) tells"


def write_batch(batch: Batch) -> bytes:
    """One record per item: our id is its id, and the displayed columns are its fields.

    Argilla's names may only have small letters, digits, - and _: columns become `text_1` and so on.
    """
    if any(str(item.id) == "" for item in batch.items):
        raise InputError("an item has an empty id, which Argilla does not accept")
    return ascii_json(
        [
            {
                "id": str(item.id),
                "fields": {
                    "item": str(item.id),
                    **{
                        f"text_{number}": as_text(item[column])
                        for number, column in enumerate(batch.columns, start=1)
                    },
                },
                "metadata": {},
                "responses": {},
            }
            for item in batch.items
        ],
        indent=1,
    )


def config(batch: Batch) -> bytes | None:
    """Labels of the question, as a list; None for yes and no."""
    if batch.classes.is_yes_or_no:
        return None
    return ascii_json(answers_to(batch.classes), indent=1)


def read(content: Content, _columns: Columns, limits: Limits) -> Iterator[Row]:
    """Yield every response to the question, by any user."""
    for where, record in records_of(content, limits, "record"):
        try:
            questions = _questions(record)
            responses = [each for name in _ours(questions) for each in _responses(record, name)]
            written = _responses(record, _COMMENT) if _COMMENT in questions else []
        except LabelError as error:
            yield Row(where, problem=error.problem)
            continue
        if not responses:
            yield Row(where, id=record.get("id"))
        comments = {repr(user): value for value, user, _ in written}
        for response in responses:
            row = _row(where, record, response, alone=len(responses) == 1)
            comment = comments.get(repr(response[1])) or ""
            if isinstance(comment, str):
                yield replace(row, comment=comment)
            else:
                yield replace(row, problem=row.problem or f"comment {comment!r} is not text")


def _row(where: str, record: dict[str, Any], response: _Response, *, alone: bool) -> Row:
    value, user, status = response
    row = Row(where, id=record.get("id"), reviewer="" if user is None else f"argilla:{user}")
    if isinstance(user, bool) or not isinstance(user, int | str | None):
        return replace(row, problem=f"{user!r} is not a user")
    if status is None and alone and record.get("status") == "completed":
        status = "submitted"
    if status == "submitted":
        return replace(row, label=value)
    if status == "discarded":
        return replace(row, skipped=True)
    if status == "draft":
        return row
    if status is None:
        return replace(row, problem=f"it does not say whether a response was submitted; {_HOW}")
    return replace(row, problem=f"{status!r} is not the status of a response")


def _questions(record: dict[str, Any]) -> list[str]:
    """Questions with responses in a record, nested or flattened."""
    if "fields" not in record:
        # If one record has responses, all have the keys.
        names = [key for key, value in record.items() if key.endswith(_FLAT) and value is not None]
        return [name.removesuffix(_FLAT) for name in names]
    responses = record.get("responses")
    if not isinstance(responses, dict):
        raise LabelError("its responses are not an object")
    return list(responses)


def _responses(record: dict[str, Any], question: str) -> list[_Response]:
    """Responses to a question: nested, as in `to_dict`, or flattened."""
    if "fields" in record:
        given = record["responses"][question]
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise LabelError("its responses are not a list of objects")
        return [(each.get("value"), each.get("user_id"), each.get("status")) for each in given]
    name = question + _FLAT
    columns = [record[name], record.get(f"{name}.users"), record.get(f"{name}.status")]
    if not all(isinstance(each, list) and len(each) == len(columns[0]) for each in columns):
        raise LabelError(f"{name!r}, its users and its status are not lists of one length")
    return list(zip(*columns, strict=True))


def _ours(questions: Iterable[str]) -> list[str]:
    """Name of our question, if there is one: by its name, or the only one."""
    others = [each for each in questions if each != _COMMENT]
    if _QUESTION in others or len(others) <= 1:
        return [_QUESTION] if _QUESTION in others else others
    raise LabelError(f"none of its questions is {_QUESTION!r}: {', '.join(others)}")
