"""doccano's text classification, as JSONL.

doccano takes `text` and `label` from each line and keeps all else as metadata, which comes back in
its export beside an `id` of its own [1]_. So our id travels as `assay_id`. It guesses at encodings
and refuses empty texts; what is written here is ASCII, and no text is empty. It exports a zip of
files: ``all.jsonl`` where users share their labels, otherwise ``USERNAME.jsonl`` for each.

References
----------
.. [1] https://github.com/doccano/doccano, backend/data_import and backend/data_export
"""

import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from assay.errors import InputError
from assay.exchange.batch import Batch
from assay.exchange.json_texts import as_text, ascii_json, records_of_lines
from assay.label_files import Columns, Content, LimitError, Limits, Row
from assay.results import Item

__all__ = ["is_zip", "read", "write_batch"]

ID = "assay_id"
_SHARED = "all"  # what doccano calls the file of everybody's labels
_MOST_BYTES = 100_000_000  # of what a zip holds
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")  # what files begin with; the second is empty


def write_batch(batch: Batch) -> bytes:
    """Return one line an item, with no label yet."""
    lines = [
        ascii_json({"text": _text(item, batch.columns), "label": [], ID: str(item.id)})
        for item in batch.items
    ]
    return b"".join(line + b"\n" for line in lines)


def read(content: Content, _columns: Columns, limits: Limits) -> Iterator[Row]:
    """Yield what each line says; of a zip, what the lines of each file in it say."""
    if not is_zip(content):
        yield from _rows(content, limits)
        return
    files = _unzip(content)
    for name, file in files.items():
        user = PurePosixPath(name).stem
        reviewer = "" if len(files) == 1 and user == _SHARED else f"doccano:{user}"
        for row in _rows(file, limits):
            yield replace(row, where=f"{name}, {row.where}", reviewer=reviewer)


def is_zip(content: Content) -> bool:
    """Tell whether it is a zip, which of all formats only doccano makes."""
    return content.data().startswith(_ZIPS)


def _text(item: Item, columns: tuple[str, ...]) -> str:
    """Return all that reviewers see, as doccano shows one text."""
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
        return Row(where, problem=f"there is no {ID!r}: it is no line of ours")
    labels = record.get("label")
    if not isinstance(labels, list):
        return Row(where, problem="there is no list of labels: is this doccano's JSONL export?")
    if len(labels) > 1:
        return Row(where, problem=f"it has {len(labels)} labels, {labels!r}; one is wanted")
    return Row(where, id=ids[0], label=labels[0] if labels else None)


def _unzip(content: Content) -> dict[str, Content]:
    """Return the files of a zip by name; raise rather than unpack a bomb."""
    files: dict[str, Content] = {}
    left = _MOST_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(content.data())) as archive:
            for name in archive.namelist():
                if not name.endswith(".jsonl"):
                    continue
                with archive.open(name) as file:
                    data = file.read(left + 1)
                left -= len(data)
                if left < 0:
                    raise LimitError(
                        f"{content.name} holds more than {_MOST_BYTES:,} bytes; "
                        "nothing was recorded",
                        hint="take its files one by one",
                    )
                files[name] = Content(data)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise InputError(f"{content.name} is a zip that cannot be read: {error}") from None
    if not files:
        raise InputError(
            f"{content.name} holds no .jsonl file", hint="export from doccano as JSONL"
        )
    return files
