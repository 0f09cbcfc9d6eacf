"""Assay: how good is a classifier, from as few human labels as the mathematics allows."""

from assay.answers import Answer
from assay.campaign import Campaign
from assay.create import create_campaign, load_campaign
from assay.design import Design, Goal
from assay.errors import (
    AssayError,
    AssayWarning,
    DesignError,
    InputError,
    LabelConflictError,
    LabelError,
    MissingDependencyError,
    PredictionsError,
    StorageError,
)
from assay.extend import extend_campaign
from assay.poststratified import estimate
from assay.predictions import Predictions, Scan, from_arrays
from assay.rebase import rebase_campaign
from assay.results import Estimate, Estimates, Item, StratumRow
from assay.simulation import Ensemble, Population, Simulation, simulate, simulate_several
from assay.verify import verify_campaign

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AssayError",
    "AssayWarning",
    "Campaign",
    "Design",
    "DesignError",
    "Ensemble",
    "Estimate",
    "Estimates",
    "Goal",
    "InputError",
    "Item",
    "LabelConflictError",
    "LabelError",
    "MissingDependencyError",
    "Population",
    "Predictions",
    "PredictionsError",
    "Scan",
    "Simulation",
    "StorageError",
    "StratumRow",
    "__version__",
    "create_campaign",
    "estimate",
    "extend_campaign",
    "from_arrays",
    "load_campaign",
    "rebase_campaign",
    "simulate",
    "simulate_several",
    "verify_campaign",
]
