"""Whole evaluations on populations whose truth is known, thousands at a time."""

from assay.simulation.replay import Runs, replay

__all__ = ["Runs", "replay"]
