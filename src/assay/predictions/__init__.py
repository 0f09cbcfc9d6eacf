"""Where predictions come from: one small contract, and what reads them."""

from assay.predictions.base import Card, IdKind, Predictions, Side
from assay.predictions.read import from_arrays, read_predictions

__all__ = ["Card", "IdKind", "Predictions", "Side", "from_arrays", "read_predictions"]
