"""The labelling of a campaign: its items drawn, assigned, answered and counted."""

from typing import TYPE_CHECKING

from assay.lazy import on_demand

if TYPE_CHECKING:
    from assay.labelling.accept import (
        LONGEST_COMMENT,
        check_lease,
        check_sent,
        check_told,
        checked_request,
        comment_of,
        contradicts,
        kinds_of,
        now_words,
        reviewer_of,
        told_by_one,
    )
    from assay.labelling.assignments import LEASE_SECONDS, Assignments, TurnReply, TurnRequest
    from assay.labelling.class_table import class_table_of
    from assay.labelling.confirmation import (
        confirm_source,
        is_confirmed,
        refuse_unconfirmed,
        source_text,
    )
    from assay.labelling.confusion import confusion_of, whose_classes
    from assay.labelling.curve import threshold_curve
    from assay.labelling.epochs import Dealt, Epoch, epoch_seed
    from assay.labelling.estimates import (
        Frame,
        agreement_in,
        campaign_frame,
        estimates_of,
        reviewers_in,
        strata_in,
        waiting_in,
        worth_of,
    )
    from assay.labelling.judge import judge_of, judges_of
    from assay.labelling.judged import judged_cells, judged_columns, judged_items, mistakes_of
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
    from assay.labelling.review_rule import FROM_BEFORE, SKIP, WITHDRAWN, Review, answered, words_of
    from assay.labelling.rounds import Rounds
    from assay.labelling.savings import savings_of
    from assay.labelling.settings import (
        Before,
        Lessons,
        Part,
        Reviewing,
        Series,
        Settings,
        Source,
        find_campaign,
        listed_names,
    )
    from assay.labelling.shown import is_whole, sealed
    from assay.labelling.slices import slices_of
    from assay.labelling.state import Labelling, ReplacedError, without_collection
    from assay.labelling.threshold import threshold_of
else:
    __getattr__ = on_demand(
        __name__,
        {
            "accept": (
                "LONGEST_COMMENT check_lease check_sent check_told checked_request comment_of "
                "contradicts kinds_of now_words reviewer_of told_by_one"
            ),
            "assignments": "LEASE_SECONDS Assignments TurnReply TurnRequest",
            "confirmation": "confirm_source is_confirmed refuse_unconfirmed source_text",
            "class_table": "class_table_of",
            "confusion": "confusion_of whose_classes",
            "curve": "threshold_curve",
            "epochs": "Dealt Epoch epoch_seed",
            "estimates": (
                "Frame agreement_in campaign_frame estimates_of reviewers_in strata_in "
                "waiting_in worth_of"
            ),
            "judge": "judge_of judges_of",
            "judged": "judged_cells judged_columns judged_items mistakes_of",
            "reserve": (
                "ShortReserveError card_row check_same depth more_cards read_again scans_of "
                "whereabouts"
            ),
            "review_rule": "FROM_BEFORE SKIP WITHDRAWN Review answered words_of",
            "rounds": "Rounds",
            "savings": "savings_of",
            "settings": (
                "Before Lessons Part Reviewing Series Settings Source find_campaign listed_names"
            ),
            "shown": "is_whole sealed",
            "slices": "slices_of",
            "state": "Labelling ReplacedError without_collection",
            "threshold": "threshold_of",
        },
    )

__all__ = [
    "FROM_BEFORE",
    "LEASE_SECONDS",
    "LONGEST_COMMENT",
    "SKIP",
    "WITHDRAWN",
    "Assignments",
    "Before",
    "Dealt",
    "Epoch",
    "Frame",
    "Labelling",
    "Lessons",
    "Part",
    "ReplacedError",
    "Review",
    "Reviewing",
    "Rounds",
    "Series",
    "Settings",
    "ShortReserveError",
    "Source",
    "TurnReply",
    "TurnRequest",
    "agreement_in",
    "answered",
    "campaign_frame",
    "card_row",
    "check_lease",
    "check_same",
    "check_sent",
    "check_told",
    "checked_request",
    "class_table_of",
    "comment_of",
    "confirm_source",
    "confusion_of",
    "contradicts",
    "depth",
    "epoch_seed",
    "estimates_of",
    "find_campaign",
    "is_confirmed",
    "is_whole",
    "judge_of",
    "judged_cells",
    "judged_columns",
    "judged_items",
    "judges_of",
    "kinds_of",
    "listed_names",
    "mistakes_of",
    "more_cards",
    "now_words",
    "read_again",
    "refuse_unconfirmed",
    "reviewer_of",
    "reviewers_in",
    "savings_of",
    "scans_of",
    "sealed",
    "slices_of",
    "source_text",
    "strata_in",
    "threshold_curve",
    "threshold_of",
    "told_by_one",
    "waiting_in",
    "whereabouts",
    "whose_classes",
    "without_collection",
    "words_of",
    "worth_of",
]
