"""Files of a classifier's mistakes: tables, and a dataset for Hugging Face."""

import io
import zipfile
from collections.abc import Callable

import pyarrow.parquet as pq

from assay.campaign.exchange import Written
from assay.errors import InputError, counted, did_you_mean
from assay.exchange import Sheet
from assay.results import Mistakes


def _parquet(mistakes: Mistakes, _sheet: Sheet) -> bytes:
    file = io.BytesIO()
    pq.write_table(mistakes.to_frame(backend="pyarrow"), file)
    return file.getvalue()


_CARD = """---
configs:
- config_name: default
  data_files:
  - split: errors
    path: data/errors.parquet
---

{}, exported by Assay. Load it from the unpacked folder:

```python
from datasets import load_dataset

errors = load_dataset("folder", split="errors")
```
"""


def _dataset(mistakes: Mistakes, sheet: Sheet) -> bytes:
    """Zip file of a folder that Hugging Face's datasets load."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.md", _CARD.format(counted(len(mistakes), "item")))
        archive.writestr("data/errors.parquet", _parquet(mistakes, sheet))
    return file.getvalue()


_WRITERS: dict[str, tuple[Callable[[Mistakes, Sheet], bytes], str, str]] = {
    "csv": (lambda _, sheet: sheet.to_csv(), ".csv", "text/csv"),
    "jsonl": (lambda _, sheet: sheet.to_jsonl(), ".jsonl", "application/jsonl"),
    "parquet": (_parquet, ".parquet", "application/vnd.apache.parquet"),
    "zip": (_dataset, ".zip", "application/zip"),
}
MISTAKE_FORMATS = tuple(_WRITERS)


def write_mistakes(mistakes: Mistakes, *, format: str = "csv") -> Written:
    r"""Mistakes as a file, one row each.

    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
    >>> estimate = campaign.tell({item.id: False for item in campaign.ask(1)}, reviewer="ann")
    >>> write_mistakes(campaign.errors()).content.decode().splitlines()[1]
    '0,false positive,0.9,0.9,"yes, score of any value",1.0,ann,,'
    """
    if format not in _WRITERS:
        raise InputError(
            f"mistakes cannot be written as {format!r}",
            details=f"formats: {', '.join(_WRITERS)}",
            hint=did_you_mean(format, list(_WRITERS)),
        )
    columns, rows = mistakes.records()
    sheet = Sheet(columns, tuple(tuple(row[name] for name in columns) for row in rows))
    write, suffix, media_type = _WRITERS[format]
    return Written(write(mistakes, sheet), sheet, suffix, media_type)
