"""CSV, for spreadsheets."""

from collections.abc import Iterable

from assay.exchange.content import Content, Limits
from assay.exchange.rows import Row
from assay.exchange.sheets import Batch, Sheet, sheet_of
from assay.exchange.tables import Columns, csv_rows


def read(content: Content, columns: Columns, limits: Limits) -> Iterable[Row]:
    """Return the rows of a file with a first line of names."""
    return csv_rows(content, columns, limits)


def write_batch(batch: Batch) -> bytes:
    """Return items to judge, with an empty column for the label."""
    return write_labels(sheet_of(batch))


def write_labels(sheet: Sheet) -> bytes:
    """Return labels, a row each."""
    return sheet.to_csv().encode()
