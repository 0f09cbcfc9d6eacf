"""Whole evaluations on populations whose truth is known, thousands at a time."""

from assay.simulation.names import DESIGN_NAMES, named_design
from assay.simulation.population import Frame, Population
from assay.simulation.replay import Runs, replay
from assay.simulation.study import Row, Simulation, simulate, summarise
from assay.simulation.workers import Task, run_tasks

__all__ = [
    "DESIGN_NAMES",
    "Frame",
    "Population",
    "Row",
    "Runs",
    "Simulation",
    "Task",
    "named_design",
    "replay",
    "run_tasks",
    "simulate",
    "summarise",
]
