"""Storage of campaigns, their items, and all labels, in SQLite or PostgreSQL."""

from assay.lazy import on_demand

__getattr__, __dir__, __all__ = on_demand(__name__, __file__)
