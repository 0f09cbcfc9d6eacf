"""One of every result, with names of one's own choice in them."""

from dataclasses import replace

import numpy as np

import assay
from assay.audit.books import Checked, Verification
from assay.campaign import PeriodRow
from assay.results import (
    KINDS,
    Area,
    ClassRow,
    ClassTable,
    ConfusionCell,
    ConfusionMatrix,
    CurvePoint,
    CurveValue,
    Estimate,
    Estimates,
    JudgeFigure,
    JudgeGap,
    JudgeQuality,
    MetricAtThreshold,
    Mistake,
    Mistakes,
    Shown,
    SliceRow,
    Slices,
    ThresholdAnswer,
    ThresholdCurve,
)
from assay.simulation import CurveRow, CurveSimulation, Row, Simulation, TargetRow

ESTIMATE = Estimate(
    "precision", 0.93, 0.91, 0.95, 0.95, 0.01, 400, 2, (0.92, 0.94), "Wilson", True, None
)


def samples(name: str) -> dict[str, Shown]:
    """Return results that were made from data in which something is called so."""
    estimate = replace(ESTIMATE, stopped=name, notes=(name,), within=0.03)
    other = replace(estimate, metric=f"f1:{name}", worst_case=None)
    change = replace(ESTIMATE, metric="f1:a - f1:b", value=0.01, low=-0.01, high=0.03)
    doubt = "7 of 30 labels"
    share = (0.5, 0.25, 0.75)
    figure = JudgeFigure("", "sensitivity", *share, 0.1, 30, 25.0, "")
    values = CurveValue(0.5, 0.4, 0.6, 0.3, 0.7)
    points = tuple(
        CurvePoint(at, 10 - number, 1 - number / 10, {"precision": values, "recall": values})
        for number, at in enumerate((0.1, 0.4, 0.6))
    )
    held = {"precision": 0.9}
    target = TargetRow("precision", 0.9, 120.0, 0.95, 0.94, 0.001, 0.01, 0.01)
    return {
        "estimate": estimate,
        "estimates": Estimates({each.metric: each for each in (estimate, other, change)}),
        "slices": Slices(
            name,
            "precision",
            0.95,
            False,
            tuple(
                SliceRow(each, *share, 0.1, 9000, 7, 6000.0, 0.25, 0, why)
                for each, why in ((name, ""), ("few", doubt))
            ),
            (name,),
        ),
        "classes": ClassTable(
            (ClassRow(name, *share, *share, *share, 40, 50.0, 30.0, 70.0, 9, doubt),), 0.95, 3
        ),
        "confusion": ConfusionMatrix(
            (name, "dog"),
            (
                ConfusionCell(name, name, 80.0, 0.8, 0.7, 0.9, 8),
                ConfusionCell(name, "dog", 20.0, 0.2, 0.1, 0.3, 2),
            ),
            {name: 100, "dog": 0},
            0.95,
        ),
        "curve": ThresholdCurve(
            points,
            ("precision", "recall"),
            {"roc_auc": Area(0.9, 0.8, 0.95)},
            *(0.95, 0.1, 0.6, 30, 10, 0.4),
            notes=(name,),
        ),
        "judge": JudgeQuality(
            *(name, 0.5, 0.95, 40, 30, 0.75, "lang"),
            (figure, replace(figure, slice=name, doubt=doubt)),
            (JudgeGap("", "precision", 0.9, 0.8, 0.1, 0.05, 0.15, 0.02, 30),),
            (name,),
        ),
        "mistakes": Mistakes(
            "",
            tuple(
                Mistake(f"m{n}", KINDS[0], 0.9, 0.9, "high", 12.0, ("ann",), name, {"t": name})
                for n in range(23)
            ),
            100,
            {"waiting": 3},
            ("t",),
        ),
        "threshold": ThresholdAnswer(
            *("recall >= 0.9", 0.95, True, 0.4, 30, 100),
            (MetricAtThreshold("recall", 0.93, 0.91, 0.95),),
            *(80, True, 0.05, 0.0, None),
            (name,),
        ),
        "trend": assay.Trend(
            name,
            "precision",
            0.95,
            (PeriodRow("w1", "c", 900, 80, 9, True, ESTIMATE, change, 0.9, "w0"),),
        ),
        "simulation": Simulation(
            {"rows": 500},
            assay.Goal("precision", within=0.02),
            (Row(name, 120.0, 3.0, -20.0, None, (target,)),),
        ),
        "curves": CurveSimulation(
            {"roc_auc": 0.9},
            5,
            (CurveRow(name, 90.0, held, held, held, held, held, {"roc_auc": 1.0}),),
            {"precision": 0.8},
        ),
        "plan": _plan(name),
        "verification": Verification(name, (Checked(name, 3, (name,), (name,)),)),
    }


def _plan(name: str) -> assay.Planning:
    score = np.linspace(0.1, 1, 300)
    made = assay.plan({"p": score}, score="p", threshold=0.5, within=0.1, replications=2)
    return replace(made, advice=(name,), cautions=(name,))
