"""One JSON object a line, for programs."""

import json
from collections.abc import Iterable, Iterator

from assay.exchange.batch import Batch
from assay.exchange.json_texts import records_of_lines
from assay.exchange.sheets import Sheet
from assay.label_files import Columns, Content, Limits, Row

__all__ = ["read", "write_batch", "write_labels"]


def read(content: Content, columns: Columns, limits: Limits) -> Iterator[Row]:
    """Yield what each line says under the columns' names."""
    for line in records_of_lines(content, limits):
        if isinstance(line, Row):
            yield line
            continue
        where, record = line
        key = next((name for name in columns.ids if name in record), None)
        if key is None or columns.label not in record:
            missing = columns.ids[0] if key is None else columns.label
            yield Row(
                where, problem=f"there is no {missing!r}, but {', '.join(record) or 'nothing'}"
            )
            continue
        reviewer = record.get(columns.reviewer or "reviewer")
        yield Row(
            where,
            id=record[key],
            label=None if record[columns.label] == "" else record[columns.label],
            reviewer="" if reviewer is None else str(reviewer),
            ruling=record.get("ruling") is True,
        )


def write_batch(batch: Batch) -> bytes:
    """Return items to judge; what they show is an object of its own, with types as they were."""
    return _lines(
        {
            "id": str(item.id),
            "shown": {name: item[name] for name in batch.columns},
            "label": None,
        }
        for item in batch.items
    )


def write_labels(sheet: Sheet) -> bytes:
    """Return labels, a line each."""
    return _lines({**record, "id": str(record["id"])} for record in sheet.records())


def _lines(records: Iterable[dict[str, object]]) -> bytes:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode()
