"""``assay extend``: predictions of new items join a campaign."""

from typing import Annotated

import typer

from assay.cli.output import AsJson, collecting_warnings, telling_errors
from assay.cli.scans import reading
from assay.cli.storage import NameOption, StorageUrl, existing
from assay.cli.succeeded import tell_succeeded
from assay.extend import extend_campaign

__all__ = ["extend"]


def extend(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Predictions of the new items, and no others.")
    ],
    *,
    name: NameOption = "campaign",
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Let predictions of new items join a campaign; all labels are kept."""
    with telling_errors(as_json=as_json):
        url = existing(storage)
        with reading(file), collecting_warnings() as warnings:
            campaign = extend_campaign(file, name, storage=url)
        tell_succeeded(campaign, storage, warnings, as_json=as_json)
