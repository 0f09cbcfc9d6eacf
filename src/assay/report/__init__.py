"""Reports: one moment of a campaign as HTML, Markdown and JSON.

    labelling -> gather (facts: plain values) -> sections (blocks: words, tables, figures)
          -> html | markdown

JSON is the facts as they are; so whatever a page says can be recomputed from the store.
"""

from typing import TYPE_CHECKING

from assay.lazy import on_demand

if TYPE_CHECKING:
    from assay.report.charts import Curve, curve_of, curve_svg, draw_curve
    from assay.report.report import SUFFIXES, Report, kind_of, report_of
    from assay.report.threshold_chart import COLOURS, draw_thresholds
    from assay.report.threshold_page import curve_page, curve_part
    from assay.report.trend_chart import Mark, draw_trend
else:
    __getattr__ = on_demand(
        __name__,
        {
            "charts": "Curve curve_of curve_svg draw_curve",
            "report": "SUFFIXES Report kind_of report_of",
            "threshold_chart": "COLOURS draw_thresholds",
            "threshold_page": "curve_page curve_part",
            "trend_chart": "Mark draw_trend",
        },
    )

__all__ = [
    "COLOURS",
    "SUFFIXES",
    "Curve",
    "Mark",
    "Report",
    "curve_of",
    "curve_page",
    "curve_part",
    "curve_svg",
    "draw_curve",
    "draw_thresholds",
    "draw_trend",
    "kind_of",
    "report_of",
]
