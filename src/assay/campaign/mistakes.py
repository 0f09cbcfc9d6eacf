"""Files of a classifier's mistakes: CSV, JSON lines or Parquet."""

import io
from collections.abc import Callable

import pyarrow.parquet as pq

from assay.campaign.exchange import Written
from assay.errors import InputError, did_you_mean
from assay.exchange import FORMATS, Sheet
from assay.results import Mistakes


def _parquet(mistakes: Mistakes, _sheet: Sheet) -> bytes:
    file = io.BytesIO()
    pq.write_table(mistakes.to_frame(backend="pyarrow"), file)
    return file.getvalue()


_WRITERS: dict[str, Callable[[Mistakes, Sheet], bytes]] = {
    "csv": lambda _, sheet: sheet.to_csv(),
    "jsonl": lambda _, sheet: sheet.to_jsonl(),
    "parquet": _parquet,
}
MISTAKE_FORMATS = tuple(_WRITERS)


def write_mistakes(mistakes: Mistakes, *, format: str = "csv") -> Written:
    r"""Return mistakes as a file, one row each.

    >>> from assay.campaign.create import create_campaign
    >>> campaign = create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
    >>> estimate = campaign.tell({item.id: False for item in campaign.ask(1)}, reviewer="ann")
    >>> write_mistakes(campaign.errors()).content.decode().splitlines()[1]
    '0,false positive,0.9,0.9,"yes, score of any value",1.0,ann,'
    """
    if format not in _WRITERS:
        raise InputError(
            f"mistakes cannot be written as {format!r}",
            details=f"formats: {', '.join(_WRITERS)}",
            hint=did_you_mean(format, list(_WRITERS)),
        )
    columns, rows = mistakes.records()
    sheet = Sheet(columns, tuple(tuple(row[name] for name in columns) for row in rows))
    kind = FORMATS[format]
    return Written(_WRITERS[format](mistakes, sheet), sheet, kind.suffix, kind.media_type)
