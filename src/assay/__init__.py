"""Assay: how good is a classifier, with an interval, from few human labels."""

from typing import TYPE_CHECKING

from assay.errors import (
    VERSION,
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
from assay.lazy import on_demand

if TYPE_CHECKING:
    from assay.audit import backup_storage, restore_storage, verify_bundle, verify_campaign
    from assay.campaign import (
        Campaign,
        Trend,
        compare_campaign,
        create_campaign,
        estimate,
        evaluate,
        extend_campaign,
        follow_campaign,
        load_campaign,
        log_to_mlflow,
        rebase_campaign,
        trend,
    )
    from assay.core.answers import Answer
    from assay.core.design import Design
    from assay.core.goal import Goal
    from assay.exchange import read_judgements
    from assay.predictions import Predictions, Scan, from_arrays
    from assay.report import Report
    from assay.results import Estimate, Estimates, Item, SliceRow, Slices, StratumRow
    from assay.simulation import (
        Ensemble,
        Planning,
        Population,
        Simulation,
        plan,
        simulate,
        simulate_several,
    )
    from assay.storage import Label
else:
    __getattr__ = on_demand(
        __name__,
        {
            "audit": "backup_storage restore_storage verify_bundle verify_campaign",
            "campaign": (
                "Campaign Trend compare_campaign create_campaign estimate evaluate "
                "extend_campaign follow_campaign load_campaign log_to_mlflow rebase_campaign "
                "trend"
            ),
            "core.answers": "Answer",
            "core.design": "Design",
            "core.goal": "Goal",
            "exchange": "read_judgements",
            "predictions": "Predictions Scan from_arrays",
            "report": "Report",
            "results": "Estimate Estimates Item SliceRow Slices StratumRow",
            "simulation": "Ensemble Planning Population Simulation plan simulate simulate_several",
            "storage": "Label",
        },
        "audit campaign core exchange labelling predictions report results simulation storage",
    )

__version__ = VERSION

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
    "Label",
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
    "backup_storage",
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
    "read_judgements",
    "rebase_campaign",
    "restore_storage",
    "simulate",
    "simulate_several",
    "trend",
    "verify_bundle",
    "verify_campaign",
]


def __dir__() -> list[str]:
    """Return the public names alone."""
    return sorted(__all__)
