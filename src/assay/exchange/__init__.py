"""Files of labels: formats in which items go out to be judged and labels come back."""

from assay.exchange.content import LimitError, Limits
from assay.exchange.formats import FORMATS, Format
from assay.exchange.sheets import Batch, Sheet

__all__ = ["FORMATS", "Batch", "Format", "LimitError", "Limits", "Sheet"]
