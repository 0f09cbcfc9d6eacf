"""Files from outside: their content within limits, zips and workbooks."""

from assay.lazy import on_demand

__getattr__, __dir__, __all__ = on_demand(__name__, __file__)
