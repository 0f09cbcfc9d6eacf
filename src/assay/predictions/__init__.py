"""Where predictions come from: one small contract, and what reads them."""

from assay.predictions.base import Card, Found, IdKind, Predictions, Side
from assay.predictions.read import Labelled, from_arrays, read_labelled, read_predictions
from assay.predictions.sides import sides_to_cut

__all__ = [
    "Card",
    "Found",
    "IdKind",
    "Labelled",
    "Predictions",
    "Side",
    "from_arrays",
    "read_labelled",
    "read_predictions",
    "sides_to_cut",
]
