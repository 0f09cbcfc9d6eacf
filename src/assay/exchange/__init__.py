"""Files of labels: formats in which items go out to be judged and labels come back."""

from assay.lazy import on_demand

__getattr__, __dir__, __all__ = on_demand(__name__, __file__)
