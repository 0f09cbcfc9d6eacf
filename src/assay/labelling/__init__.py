"""Labelling of a campaign: its items drawn, assigned, answered and counted."""

from assay.lazy import on_demand

__getattr__, __dir__, __all__ = on_demand(__name__, __file__)
