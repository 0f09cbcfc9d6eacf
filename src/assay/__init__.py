"""Assay: how good is a classifier, with an interval, from few human labels."""

from assay.errors import VERSION
from assay.lazy import on_demand

__version__ = VERSION
__getattr__, __dir__, __all__ = on_demand(__name__, __file__)
