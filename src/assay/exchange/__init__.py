"""Files of labels: formats in which items go out to be judged and labels come back."""

from assay.exchange.content import MOST_BYTES, Content, LimitError, Limits, is_zip, unzip
from assay.exchange.formats import FORMATS, Format, find_format, format_of
from assay.exchange.rows import (
    FURTHER,
    FileLabel,
    People,
    as_text,
    check_rows,
    count,
    first,
)
from assay.exchange.tables import (
    Batch,
    Columns,
    Sheet,
    guard,
    read_label_file,
    sheet_of,
    unguard,
)

__all__ = [
    "FORMATS",
    "FURTHER",
    "MOST_BYTES",
    "Batch",
    "Columns",
    "Content",
    "FileLabel",
    "Format",
    "LimitError",
    "Limits",
    "People",
    "Sheet",
    "as_text",
    "check_rows",
    "count",
    "find_format",
    "first",
    "format_of",
    "guard",
    "is_zip",
    "read_label_file",
    "sheet_of",
    "unguard",
    "unzip",
]
