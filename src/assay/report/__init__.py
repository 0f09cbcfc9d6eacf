"""Reports: one moment of a campaign as HTML, Markdown and JSON.

    labelling -> gather (facts: plain values) -> sections (documents of results, and others)
          -> html | Markdown (`results.markdown`)

The JSON is the facts unchanged, so every statement of a page can be recomputed from the store.
"""

from assay.lazy import on_demand

__getattr__, __dir__, __all__ = on_demand(__name__, __file__)
