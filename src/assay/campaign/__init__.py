"""Campaigns: what users create, label, extend, compare and follow."""

from assay.lazy import on_demand

__getattr__, __dir__, __all__ = on_demand(__name__, __file__)
