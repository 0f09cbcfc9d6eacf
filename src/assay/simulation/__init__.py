"""Whole evaluations on populations whose truth is known, thousands at a time."""

from assay.simulation.ensemble import Ensemble
from assay.simulation.population import Frame, Population, Truth, frame_of
from assay.simulation.replay import Runs, replay
from assay.simulation.several import (
    SEVERAL_DESIGNS,
    SeveralRow,
    SeveralSimulation,
    TargetRow,
    simulate_several,
)
from assay.simulation.simulate import (
    DESIGN_NAMES,
    Row,
    Simulation,
    named_design,
    simulate,
    summarise,
)
from assay.simulation.workers import Replayed, Task, run_tasks

__all__ = [
    "DESIGN_NAMES",
    "SEVERAL_DESIGNS",
    "Ensemble",
    "Frame",
    "Population",
    "Replayed",
    "Row",
    "Runs",
    "SeveralRow",
    "SeveralSimulation",
    "Simulation",
    "TargetRow",
    "Task",
    "Truth",
    "frame_of",
    "named_design",
    "replay",
    "run_tasks",
    "simulate",
    "simulate_several",
    "summarise",
]
