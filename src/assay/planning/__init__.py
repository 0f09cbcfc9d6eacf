"""What an evaluation is likely to cost, before anybody labels: `plan`."""

from assay.planning.planning import plan
from assay.planning.result import (
    BudgetRow,
    CheaperRow,
    Cost,
    DesignRow,
    Planning,
    Reading,
    TextTable,
    WithinRow,
)
from assay.planning.supposed import Supposed

__all__ = [
    "BudgetRow",
    "CheaperRow",
    "Cost",
    "DesignRow",
    "Planning",
    "Reading",
    "Supposed",
    "TextTable",
    "WithinRow",
    "plan",
]
