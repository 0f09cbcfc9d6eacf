"""Labels in files: who said what of which item, row by row, whatever the file's format is."""

from assay.label_files.cells import guard, unguard
from assay.label_files.content import Content
from assay.label_files.limits import UNLIMITED, LimitError, Limits
from assay.label_files.read import Label, LabelFile, read_label_file
from assay.label_files.rows import Checked, Labelled, Row, check_rows, row_of
from assay.label_files.tables import Columns, csv_rows, parquet_rows
from assay.label_files.words import count, first
from assay.label_files.zips import MOST_BYTES, is_zip, unzip

__all__ = [
    "MOST_BYTES",
    "UNLIMITED",
    "Checked",
    "Columns",
    "Content",
    "Label",
    "LabelFile",
    "Labelled",
    "LimitError",
    "Limits",
    "Row",
    "check_rows",
    "count",
    "csv_rows",
    "first",
    "guard",
    "is_zip",
    "parquet_rows",
    "read_label_file",
    "row_of",
    "unguard",
    "unzip",
]
