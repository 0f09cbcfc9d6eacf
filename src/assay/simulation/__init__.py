"""Whole evaluations on populations whose truth is known, thousands at a time."""

from assay.lazy import on_demand

__getattr__, __dir__, __all__ = on_demand(__name__, __file__)
