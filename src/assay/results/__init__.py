"""Results that are handed out, as text, HTML and DataFrames."""

from assay.errors import printable
from assay.results.estimates import Estimate, Estimates, Item, StratumRow, notes_once
from assay.results.frames import Backend, frame_of, types_of, write_whole
from assay.results.html import html_block, html_headline, html_remarks, html_table, stretch
from assay.results.progress import (
    REMEMBERED,
    Dispute,
    HistoryPoint,
    Outlook,
    Pace,
    Receipt,
    Recorded,
    ReviewerRow,
    Turn,
    outlook_of,
    pace_of,
    thinned,
)
from assay.results.slices import SliceRow, Slices
from assay.results.text import (
    as_heading,
    difference_words,
    ends_text,
    goal_words,
    metric_name,
    shortened,
    state_text,
    strata_words,
    value_text,
)

__all__ = [
    "REMEMBERED",
    "Backend",
    "Dispute",
    "Estimate",
    "Estimates",
    "HistoryPoint",
    "Item",
    "Outlook",
    "Pace",
    "Receipt",
    "Recorded",
    "ReviewerRow",
    "SliceRow",
    "Slices",
    "StratumRow",
    "Turn",
    "as_heading",
    "difference_words",
    "ends_text",
    "frame_of",
    "goal_words",
    "html_block",
    "html_headline",
    "html_remarks",
    "html_table",
    "metric_name",
    "notes_once",
    "outlook_of",
    "pace_of",
    "printable",
    "shortened",
    "state_text",
    "strata_words",
    "stretch",
    "thinned",
    "types_of",
    "value_text",
    "write_whole",
]
