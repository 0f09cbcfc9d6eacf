"""Files of labels: formats in which items go out to be judged and labels come back."""

from assay.exchange.batch import Batch
from assay.exchange.formats import FORMATS, Format
from assay.exchange.sheets import Sheet
from assay.label_files import LimitError, Limits

__all__ = ["FORMATS", "Batch", "Format", "LimitError", "Limits", "Sheet"]
