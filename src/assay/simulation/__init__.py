"""Whole evaluations on populations whose truth is known, thousands at a time."""

from assay.simulation.ensemble import Ensemble
from assay.simulation.figures import COLOURS, draw, draw_several, new_figure, save_figure
from assay.simulation.joint_replay import JointRuns, replay_jointly
from assay.simulation.planning.plan import plan
from assay.simulation.planning.result import Planning, TextTable
from assay.simulation.population import Frame, Population, Truth, frame_of
from assay.simulation.recycling.formulas import expected_savings, sample_size
from assay.simulation.recycling.samples import Option, mixed_size
from assay.simulation.recycling.sizes import Sizes
from assay.simulation.runs import Runs, replay
from assay.simulation.several import (
    SEVERAL_DESIGNS,
    SeveralRow,
    SeveralSimulation,
    TargetRow,
    simulate_several,
)
from assay.simulation.study import DESIGN_NAMES, Row, Simulation, named_design, simulate, summarise
from assay.simulation.sweeps import AtThreshold, Question
from assay.simulation.workers import Replayed, Task, run_tasks

__all__ = [
    "COLOURS",
    "DESIGN_NAMES",
    "SEVERAL_DESIGNS",
    "AtThreshold",
    "Ensemble",
    "Frame",
    "JointRuns",
    "Option",
    "Planning",
    "Population",
    "Question",
    "Replayed",
    "Row",
    "Runs",
    "SeveralRow",
    "SeveralSimulation",
    "Simulation",
    "Sizes",
    "TargetRow",
    "Task",
    "TextTable",
    "Truth",
    "draw",
    "draw_several",
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
    "simulate_several",
    "summarise",
]
