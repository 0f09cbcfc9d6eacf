"""Formats of label files, and how to recognize them."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assay.errors import InputError, did_you_mean
from assay.exchange import argilla, doccano, label_studio
from assay.exchange.rows import Row
from assay.exchange.tables import (
    Batch,
    Columns,
    Sheet,
    batch_as_csv,
    batch_as_jsonl,
    csv_rows,
    jsonl_rows,
    parquet_rows,
    xlsx_rows,
)
from assay.files import Content, Limits, is_workbook, is_zip


@dataclass(frozen=True)
class Format:
    """A format: its name, and functions that read and write it."""

    name: str
    suffix: str
    media_type: str
    read: Callable[[Content, Columns, Limits], Iterable[Row]]  # from a file's content to its rows
    # write_batch, write_labels: from items to label, or labels, to a file's content.
    write_batch: Callable[[Batch], bytes] | None = None
    write_labels: Callable[[Sheet], bytes] | None = None
    # From items to label to a configuration that the tool needs first; None if that is quick to
    # type.
    config: Callable[[Batch], bytes | None] | None = None
    config_suffix: str = ""  # how the name of a file with that ends, behind the other file's

    def config_of(self, batch: Batch) -> bytes | None:
        """Write the configuration that the tool needs before it imports items; None if none."""
        return None if self.config is None else self.config(batch)


_ALL = (
    Format("csv", ".csv", "text/csv", csv_rows, batch_as_csv, Sheet.to_csv),
    Format("jsonl", ".jsonl", "application/jsonl", jsonl_rows, batch_as_jsonl, Sheet.to_jsonl),
    Format(
        "label-studio",
        ".json",
        "application/json",
        label_studio.read,
        label_studio.write_tasks,
        config=label_studio.task_config,
        config_suffix=".config.xml",
    ),
    Format(
        "doccano",
        ".jsonl",
        "application/jsonl",
        doccano.read,
        doccano.write_batch,
        config=doccano.config,
        config_suffix=".labels.json",
    ),
    Format(
        "argilla",
        ".json",
        "application/json",
        argilla.read,
        argilla.write_batch,
        config=argilla.config,
        config_suffix=".labels.json",
    ),
    Format(
        "xlsx",
        ".xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        xlsx_rows,
    ),
    Format("parquet", ".parquet", "application/vnd.apache.parquet", parquet_rows),
)
FORMATS = {each.name: each for each in _ALL}
"""Formats that `assay import` reads, by name; `assay export` writes those with a writer."""

_PARQUET = b"PAR1"  # first bytes of such a file


def find_format(name: str) -> Format:
    """Format of this name; raise if there is none.

    >>> find_format("doccano").suffix
    '.jsonl'
    """
    if name not in FORMATS:
        raise InputError(
            f"{name!r} is not a format",
            details=f"formats: {', '.join(FORMATS)}",
            hint=did_you_mean(name, FORMATS),
        )
    return FORMATS[name]


def format_of(content: Content) -> Format:
    """Format of a file, from the suffix of its name and its first bytes.

    >>> format_of(Content(b"id,label")).name
    'csv'
    >>> format_of(Content(b'{"assay_id": "7", "text": "a", "label": ["yes"]}')).name
    'doccano'
    """
    if content.suffix in (".csv", ".tsv", ".parquet"):
        return FORMATS[content.suffix[1:].replace("tsv", "csv")]
    if is_zip(content):  # which of all other formats only doccano makes
        return FORMATS["xlsx" if is_workbook(content) else "doccano"]
    if content.data().startswith(_PARQUET):
        return FORMATS["parquet"]
    text = content.text().lstrip()
    if text.startswith("["):
        return FORMATS[_of_list(text, content.name)]
    if text.startswith("{"):
        return FORMATS[_of_lines(text)]
    return FORMATS["csv"]


def _of_list(text: str, name: str) -> str:
    try:
        first = next(iter(json.loads(text)), None)
    except (ValueError, RecursionError):
        first = None  # reading it reports the problem
    keys = first.keys() if isinstance(first, dict) else ()
    if "data" in keys or "annotation_id" in keys:
        return "label-studio"
    if "fields" in keys or "_server_id" in keys or any(key.endswith(".responses") for key in keys):
        return "argilla"
    if "label" in keys:
        return "jsonl"
    raise InputError(
        f"{name} begins like JSON, but has no known format",
        details=f"formats: {', '.join(FORMATS)}",
        hint="name its format (--format)",
    )


def _of_lines(text: str) -> str:
    try:
        first = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return "jsonl"
    # If items may have several classes, our own lines may have a list, too, and no text.
    ours = "text" not in first and doccano.ID not in first
    return "doccano" if isinstance(first.get("label"), list) and not ours else "jsonl"
