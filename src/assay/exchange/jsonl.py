"""One JSON object a line, for programs."""

import json
from collections.abc import Iterable, Iterator

from assay.exchange.content import Content, Limits
from assay.exchange.rows import Row, records_of_lines, row_of
from assay.exchange.sheets import Batch, Sheet
from assay.exchange.tables import Columns


def read(content: Content, columns: Columns, limits: Limits) -> Iterator[Row]:
    """Yield what each line says under the columns' names."""
    for line in records_of_lines(content, limits):
        if isinstance(line, Row):
            yield line
            continue
        where, record = line
        key = next((name for name in columns.ids if name in record), columns.ids[0])
        wanted = [key, columns.label, *columns.named.values()]
        missing = [name for name in wanted if name not in record]
        if missing:
            there = ", ".join(record) or "nothing"
            yield Row(where, problem=f"there is no {missing[0]!r}, but {there}")
            continue
        further = {name: record.get(columns.named.get(name, name)) for name in columns.further}
        yield row_of(where, id=record[key], label=record[columns.label], **further)


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
