"""Plan: what an evaluation is likely to cost, before anybody labels."""

from assay.simulation.planning.assumed import Supposed
from assay.simulation.planning.plan import plan
from assay.simulation.planning.result import (
    BudgetRow,
    CheaperRow,
    Cost,
    DesignRow,
    JudgeRow,
    Judging,
    Planning,
    Reading,
    TextTable,
    ThresholdRow,
    WithinRow,
)

__all__ = [
    "BudgetRow",
    "CheaperRow",
    "Cost",
    "DesignRow",
    "JudgeRow",
    "Judging",
    "Planning",
    "Reading",
    "Supposed",
    "TextTable",
    "ThresholdRow",
    "WithinRow",
    "plan",
]
