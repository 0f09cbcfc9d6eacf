"""Campaigns: what users create, label, extend, compare and follow."""

from typing import TYPE_CHECKING

from assay.lazy import on_demand

if TYPE_CHECKING:
    from assay.campaign.arrays import evaluate
    from assay.campaign.campaign import Campaign
    from assay.campaign.classes import classes_of, read_of_any, refuse_of_yes_or_no
    from assay.campaign.compare import compare_campaign
    from assay.campaign.create import create_campaign
    from assay.campaign.exchange import (
        Written,
        config_suffix,
        import_labels,
        shown_columns,
        write_batch,
        write_labels,
        write_unjudged,
    )
    from assay.campaign.extend import extend_campaign, rebase_campaign
    from assay.campaign.load import load_campaign
    from assay.campaign.mistakes import MISTAKE_FORMATS, write_mistakes
    from assay.campaign.mlflow import log_to_mlflow
    from assay.campaign.prior_labels import find_prior_labels
    from assay.campaign.random_labels import estimate
    from assay.campaign.series import follow_campaign
    from assay.campaign.studio import Connection, Standing
    from assay.campaign.trends import PeriodRow, Trend, trend
    from assay.campaign.verdicts import Taken, import_verdicts
else:
    __getattr__ = on_demand(
        __name__,
        {
            "arrays": "evaluate",
            "campaign": "Campaign",
            "classes": "classes_of read_of_any refuse_of_yes_or_no",
            "compare": "compare_campaign",
            "create": "create_campaign",
            "exchange": (
                "Written config_suffix import_labels shown_columns write_batch write_labels "
                "write_unjudged"
            ),
            "extend": "extend_campaign rebase_campaign",
            "load": "load_campaign",
            "mistakes": "MISTAKE_FORMATS write_mistakes",
            "mlflow": "log_to_mlflow",
            "prior_labels": "find_prior_labels",
            "random_labels": "estimate",
            "series": "follow_campaign",
            "studio": "Connection Standing",
            "trends": "PeriodRow Trend trend",
            "verdicts": "Taken import_verdicts",
        },
    )

__all__ = [
    "MISTAKE_FORMATS",
    "Campaign",
    "Connection",
    "PeriodRow",
    "Standing",
    "Taken",
    "Trend",
    "Written",
    "classes_of",
    "compare_campaign",
    "config_suffix",
    "create_campaign",
    "estimate",
    "evaluate",
    "extend_campaign",
    "find_prior_labels",
    "follow_campaign",
    "import_labels",
    "import_verdicts",
    "load_campaign",
    "log_to_mlflow",
    "read_of_any",
    "rebase_campaign",
    "refuse_of_yes_or_no",
    "shown_columns",
    "trend",
    "write_batch",
    "write_labels",
    "write_mistakes",
    "write_unjudged",
]
