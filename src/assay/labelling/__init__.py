"""The labelling of a campaign: its items drawn, assigned, answered and counted."""

from assay.labelling.accept import (
    LONGEST_COMMENT,
    check_lease,
    check_sent,
    check_told,
    comment_of,
    contradicts,
    now_words,
    reviewer_of,
    told_by_one,
    told_by_several,
)
from assay.labelling.assignments import LEASE_SECONDS, Assignments
from assay.labelling.confirmation import (
    confirm_source,
    is_confirmed,
    refuse_unconfirmed,
    source_text,
)
from assay.labelling.estimates import (
    Frame,
    agreement_in,
    campaign_frame,
    estimates_of,
    reviewers_in,
    strata_in,
    waiting_in,
)
from assay.labelling.reserve import (
    ShortReserveError,
    card_row,
    check_same,
    depth,
    more_cards,
    read_again,
    scans_of,
    whereabouts,
)
from assay.labelling.review_rule import FROM_BEFORE, SKIP, WITHDRAWN, WORDS, Review, answered
from assay.labelling.rounds import Rounds
from assay.labelling.settings import (
    Before,
    Part,
    Reviewing,
    Series,
    Settings,
    Source,
    find_campaign,
)
from assay.labelling.slices import slices_of
from assay.labelling.state import Labelling

__all__ = [
    "FROM_BEFORE",
    "LEASE_SECONDS",
    "LONGEST_COMMENT",
    "SKIP",
    "WITHDRAWN",
    "WORDS",
    "Assignments",
    "Before",
    "Frame",
    "Labelling",
    "Part",
    "Review",
    "Reviewing",
    "Rounds",
    "Series",
    "Settings",
    "ShortReserveError",
    "Source",
    "agreement_in",
    "answered",
    "campaign_frame",
    "card_row",
    "check_lease",
    "check_same",
    "check_sent",
    "check_told",
    "comment_of",
    "confirm_source",
    "contradicts",
    "depth",
    "estimates_of",
    "find_campaign",
    "is_confirmed",
    "more_cards",
    "now_words",
    "read_again",
    "refuse_unconfirmed",
    "reviewer_of",
    "reviewers_in",
    "scans_of",
    "slices_of",
    "source_text",
    "strata_in",
    "told_by_one",
    "told_by_several",
    "waiting_in",
    "whereabouts",
]
