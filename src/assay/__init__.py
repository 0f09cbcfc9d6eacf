"""Assay: how good is a classifier, from as few human labels as the mathematics allows."""

from assay.audit.verify import verify_campaign
from assay.audit.verify_bundle import verify_bundle
from assay.campaign.campaign import Campaign
from assay.campaign.compare import compare_campaign
from assay.campaign.create import create_campaign, load_campaign
from assay.campaign.evaluate import evaluate
from assay.campaign.extend import extend_campaign
from assay.campaign.mlflow import log_to_mlflow
from assay.campaign.poststratified import estimate
from assay.campaign.rebase import rebase_campaign
from assay.campaign.series import follow_campaign
from assay.campaign.trend import Trend, trend
from assay.core.answers import Answer
from assay.core.design import Design
from assay.core.goal import Goal
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
from assay.predictions import Predictions, Scan, from_arrays
from assay.report import Report
from assay.results.estimates import Estimate, Estimates, Item, StratumRow
from assay.results.slices import SliceRow, Slices
from assay.simulation import Ensemble, Population, Simulation, simulate, simulate_several
from assay.simulation.planning import Planning, plan

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
    "Planning",
    "Population",
    "Predictions",
    "PredictionsError",
    "Report",
    "Scan",
    "Simulation",
    "SliceRow",
    "Slices",
    "StorageError",
    "StratumRow",
    "Trend",
    "__version__",
    "compare_campaign",
    "create_campaign",
    "estimate",
    "evaluate",
    "extend_campaign",
    "follow_campaign",
    "from_arrays",
    "load_campaign",
    "log_to_mlflow",
    "plan",
    "rebase_campaign",
    "simulate",
    "simulate_several",
    "trend",
    "verify_bundle",
    "verify_campaign",
]
