"""doccano's text classification, as JSONL.

doccano reads `text` and `label` from each line and keeps all else as metadata, which its export
returns beside its own `id` [1]_. So our id is stored as `assay_id`. doccano guesses encodings and
rejects empty texts; so files written here are ASCII, and no text is empty. It exports a zip of
files: ``all.jsonl`` if users share their labels, otherwise ``USERNAME.jsonl`` for each. Comments on
a text are a list, `Comments`; they become one comment.

References
----------
.. [1] https://github.com/doccano/doccano, backend/data_import and backend/data_export
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from assay.core.answers import Answer, answers_to
from assay.errors import InputError
from assay.exchange.rows import Row, as_text, ascii_json, records_of_lines
from assay.exchange.tables import Batch, Columns
from assay.files import Content, Limits, is_zip, unzip
from assay.results import Item

ID = "assay_id"
_COMMENTS = "Comments"
_MOST_KEYS = 9  # classes that have a key each: 1 to 9
_KEYS = {Answer.NONE_OF_THESE: "0", Answer.CANNOT_JUDGE: "c", Answer.BROKEN: "b"}
_SHARED = "all"  # doccano's name for the file of all labels


def write_batch(batch: Batch) -> bytes:
    """One line per item, with no label yet."""
    lines = [
        ascii_json({"text": _text(item, batch.columns), "label": [], ID: str(item.id)})
        for item in batch.items
    ]
    return b"".join(line + b"\n" for line in lines)


def config(batch: Batch) -> bytes | None:
    """Labels in doccano's import format, with keys for up to nine; None for yes and no."""
    if batch.classes.is_yes_or_no:
        return None
    few = len(batch.classes) <= _MOST_KEYS
    labels = []
    for number, answer in enumerate(answers_to(batch.classes), start=1):
        key = _KEYS.get(answer, str(number)) if few else _KEYS.get(answer)
        label: dict[str, object] = {"text": answer.value, "suffix_key": key}
        labels.append({**label, "background_color": "#209cee", "text_color": "#ffffff"})
    return ascii_json(labels, indent=1)


def read(content: Content, _columns: Columns, limits: Limits) -> Iterator[Row]:
    """Yield the row of each line; of a zip, the rows of each file in it."""
    if not is_zip(content):
        yield from _rows(content, limits)
        return
    files = unzip(content, ".jsonl")
    if not files:
        raise InputError(
            f"{content.name} contains no .jsonl file", hint="export from doccano as JSONL"
        )
    for name, file in files:
        user = PurePosixPath(name).stem
        reviewer = "" if len(files) == 1 and user == _SHARED else f"doccano:{user}"
        for row in _rows(file, limits):
            yield replace(row, where=f"{name}, {row.where}", reviewer=reviewer)


def _text(item: Item, columns: tuple[str, ...]) -> str:
    """All that reviewers see, as one text for doccano."""
    if len(columns) == 1 and (only := as_text(item[columns[0]])):
        return only
    if not columns:
        return str(item.id) or "(empty)"
    return "\n\n".join(f"{column}:\n{as_text(item[column])}" for column in columns)


def _rows(content: Content, limits: Limits) -> Iterator[Row]:
    for line in records_of_lines(content, limits):
        yield line if isinstance(line, Row) else _row(*line)


def _row(where: str, record: dict[str, Any]) -> Row:
    kept = [record, record.get("meta"), record.get("metadata")]  # the last two by older versions
    ids = [each[ID] for each in kept if isinstance(each, dict) and ID in each]
    if not ids:
        return Row(where, problem=f"it has no {ID!r}, so Assay did not write this line")
    labels = record.get("label")
    if not isinstance(labels, list):
        return Row(where, problem="it has no list of labels; export from doccano as JSONL")
    written = record.get(_COMMENTS) or []
    if not isinstance(written, list) or not all(isinstance(each, str) for each in written):
        return Row(where, problem=f"its {_COMMENTS} are not a list of texts")
    comment = "\n".join(written)
    label = labels if len(labels) > 1 else next(iter(labels), None)
    return Row(where, id=ids[0], label=label, comment=comment)
