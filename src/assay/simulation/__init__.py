"""Whole evaluations on populations whose truth is known, thousands at a time."""

from typing import TYPE_CHECKING

from assay.lazy import on_demand

if TYPE_CHECKING:
    from assay.simulation.figures import COLOURS, draw, new_figure, save_figure
    from assay.simulation.frames import Frame, Truth, frame_of
    from assay.simulation.named_designs import DESIGN_NAMES, SEVERAL_DESIGNS, named_design
    from assay.simulation.planning.plan import plan
    from assay.simulation.planning.result import Planning, TextTable
    from assay.simulation.population import Population
    from assay.simulation.population import Population as Ensemble  # for several, once
    from assay.simulation.recycling.designs import Sizes
    from assay.simulation.recycling.samples import Option, expected_savings, mixed_size, sample_size
    from assay.simulation.rows import (
        Row,
        Simulation,
        TargetRow,
        ThresholdShares,
        Wanted,
        summarise,
    )
    from assay.simulation.runs import Runs, replay, replay_jointly
    from assay.simulation.score_curves import CurveRow, CurveSimulation, simulate_curves
    from assay.simulation.study import simulate, simulate_several
    from assay.simulation.sweeps import AtThreshold, Question
    from assay.simulation.threshold_study import THRESHOLD_DESIGNS
    from assay.simulation.workers import BLOCK, JointTask, Replayed, Task, run_tasks
else:
    __getattr__ = on_demand(
        __name__,
        {
            "figures": "COLOURS draw new_figure save_figure",
            "frames": "Frame Truth frame_of",
            "named_designs": "DESIGN_NAMES SEVERAL_DESIGNS named_design",
            "planning.plan": "plan",
            "planning.result": "Planning TextTable",
            "population": "Ensemble=Population Population",
            "recycling.designs": "Sizes",
            "recycling.samples": "Option expected_savings mixed_size sample_size",
            "rows": "Row Simulation TargetRow ThresholdShares Wanted summarise",
            "runs": "Runs replay replay_jointly",
            "score_curves": "CurveRow CurveSimulation simulate_curves",
            "study": "simulate simulate_several",
            "sweeps": "AtThreshold Question",
            "threshold_study": "THRESHOLD_DESIGNS",
            "workers": "BLOCK JointTask Replayed Task run_tasks",
        },
    )

__all__ = [
    "BLOCK",
    "COLOURS",
    "DESIGN_NAMES",
    "SEVERAL_DESIGNS",
    "THRESHOLD_DESIGNS",
    "AtThreshold",
    "CurveRow",
    "CurveSimulation",
    "Ensemble",
    "Frame",
    "JointTask",
    "Option",
    "Planning",
    "Population",
    "Question",
    "Replayed",
    "Row",
    "Runs",
    "Simulation",
    "Sizes",
    "TargetRow",
    "Task",
    "TextTable",
    "ThresholdShares",
    "Truth",
    "Wanted",
    "draw",
    "expected_savings",
    "frame_of",
    "mixed_size",
    "named_design",
    "new_figure",
    "plan",
    "replay",
    "replay_jointly",
    "run_tasks",
    "sample_size",
    "save_figure",
    "simulate",
    "simulate_curves",
    "simulate_several",
    "summarise",
]
