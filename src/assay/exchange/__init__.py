"""Labels in and out of a campaign, for people who judge items in a spreadsheet or another tool."""

from assay.campaign.exchange import Imported, Labels, import_labels, read_labels
from assay.campaign.writing import Written, write_batch, write_labels
from assay.exchange.batch import Batch, shown_columns
from assay.exchange.formats import FORMATS, Format
from assay.exchange.sheets import Sheet, labels_sheet
from assay.label_files import LimitError, Limits

__all__ = [
    "FORMATS",
    "Batch",
    "Format",
    "Imported",
    "Labels",
    "LimitError",
    "Limits",
    "Sheet",
    "Written",
    "import_labels",
    "labels_sheet",
    "read_labels",
    "shown_columns",
    "write_batch",
    "write_labels",
]
