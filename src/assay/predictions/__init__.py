"""Where predictions come from: one small contract, and what reads them."""

from assay.core.strata import Side
from assay.core.stratify import sides_to_cut
from assay.predictions.contract import Card, CellPredictions, Decks, Found, IdKind, Predictions
from assay.predictions.read import Labelled, from_arrays, read_labelled, read_predictions
from assay.predictions.scan import ENGINES, Scan
from assay.predictions.several import (
    Classifiers,
    LabelledClassifiers,
    read_classifiers,
    read_labelled_classifiers,
)

__all__ = [
    "ENGINES",
    "Card",
    "CellPredictions",
    "Classifiers",
    "Decks",
    "Found",
    "IdKind",
    "Labelled",
    "LabelledClassifiers",
    "Predictions",
    "Scan",
    "Side",
    "from_arrays",
    "read_classifiers",
    "read_labelled",
    "read_labelled_classifiers",
    "read_predictions",
    "sides_to_cut",
]
