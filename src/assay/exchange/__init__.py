"""Files of labels: formats in which items are exported and labels imported."""

from assay.lazy import on_demand

__getattr__, __dir__, __all__ = on_demand(__name__, __file__)
