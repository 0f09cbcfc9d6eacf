"""Files of labels: formats in which items go out to be judged and labels come back."""

from assay.exchange.batch import Batch
from assay.exchange.formats import FORMATS, Format
from assay.exchange.limits import LimitError, Limits
from assay.exchange.sheets import Sheet

__all__ = ["FORMATS", "Batch", "Format", "LimitError", "Limits", "Sheet"]
