"""The audit bundle, and the verification of a storage or a bundle."""

from assay.lazy import on_demand

__getattr__, __dir__, __all__ = on_demand(__name__, __file__)
