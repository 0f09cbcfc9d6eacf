"""Results that are handed out, as text, HTML and DataFrames."""

from typing import TYPE_CHECKING

from assay.errors import printable
from assay.lazy import on_demand

if TYPE_CHECKING:
    from assay.results.class_table import CLASS_HEADINGS, ClassRow, ClassTable
    from assay.results.confusion import ConfusionCell, ConfusionMatrix
    from assay.results.curve import AREAS, Area, CurvePoint, CurveValue, ThresholdCurve, distinct
    from assay.results.estimates import Estimate, Estimates, Item, StratumRow, notes_once
    from assay.results.frames import (
        Backend,
        column_types,
        frame_of,
        free_names,
        types_of,
        write_whole,
    )
    from assay.results.html import (
        html_block,
        html_headline,
        html_remarks,
        html_table,
        html_text,
        stretch,
    )
    from assay.results.judge import JudgeFigure, JudgeGap, JudgeQuality
    from assay.results.mistakes import KINDS, Mistake, Mistakes
    from assay.results.progress import (
        REMEMBERED,
        Dispute,
        HistoryPoint,
        Outlook,
        Pace,
        Receipt,
        Recorded,
        ReviewerRow,
        Savings,
        Turn,
        outlook_of,
        pace_of,
        thinned,
    )
    from assay.results.slices import SliceRow, Slices
    from assay.results.text import (
        as_heading,
        change_text,
        difference_words,
        ends_text,
        goal_words,
        metric_name,
        plain_words,
        shortened,
        state_text,
        strata_words,
        text_table,
        value_text,
    )
    from assay.results.threshold import MetricAtThreshold, ThresholdAnswer
else:
    __getattr__ = on_demand(
        __name__,
        {
            "class_table": "CLASS_HEADINGS ClassRow ClassTable",
            "confusion": "ConfusionCell ConfusionMatrix",
            "curve": "AREAS Area CurvePoint CurveValue ThresholdCurve distinct",
            "estimates": "Estimate Estimates Item StratumRow notes_once",
            "frames": "Backend column_types frame_of free_names types_of write_whole",
            "html": "html_block html_headline html_remarks html_table html_text stretch",
            "judge": "JudgeFigure JudgeGap JudgeQuality",
            "mistakes": "KINDS Mistake Mistakes",
            "progress": (
                "REMEMBERED Dispute HistoryPoint Outlook Pace Receipt Recorded ReviewerRow "
                "Savings Turn outlook_of pace_of thinned"
            ),
            "slices": "SliceRow Slices",
            "text": (
                "as_heading change_text difference_words ends_text goal_words metric_name "
                "plain_words shortened state_text strata_words text_table value_text"
            ),
            "threshold": "MetricAtThreshold ThresholdAnswer",
        },
    )

__all__ = [
    "AREAS",
    "CLASS_HEADINGS",
    "KINDS",
    "REMEMBERED",
    "Area",
    "Backend",
    "ClassRow",
    "ClassTable",
    "ConfusionCell",
    "ConfusionMatrix",
    "CurvePoint",
    "CurveValue",
    "Dispute",
    "Estimate",
    "Estimates",
    "HistoryPoint",
    "Item",
    "JudgeFigure",
    "JudgeGap",
    "JudgeQuality",
    "MetricAtThreshold",
    "Mistake",
    "Mistakes",
    "Outlook",
    "Pace",
    "Receipt",
    "Recorded",
    "ReviewerRow",
    "Savings",
    "SliceRow",
    "Slices",
    "StratumRow",
    "ThresholdAnswer",
    "ThresholdCurve",
    "Turn",
    "as_heading",
    "change_text",
    "column_types",
    "difference_words",
    "distinct",
    "ends_text",
    "frame_of",
    "free_names",
    "goal_words",
    "html_block",
    "html_headline",
    "html_remarks",
    "html_table",
    "html_text",
    "metric_name",
    "notes_once",
    "outlook_of",
    "pace_of",
    "plain_words",
    "printable",
    "shortened",
    "state_text",
    "strata_words",
    "stretch",
    "text_table",
    "thinned",
    "types_of",
    "value_text",
    "write_whole",
]
