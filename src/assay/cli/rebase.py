"""``assay rebase``: go on with a campaign on predictions that have changed."""

from typing import Annotated

import typer

from assay.campaign.rebase import rebase_campaign
from assay.cli.output import AsJson, collecting_warnings, telling_errors
from assay.cli.scans import EngineName, SparkUrl, TableName, Where, other_scan, reading
from assay.cli.storage import NameOption, StorageUrl, existing
from assay.cli.succeeded import tell_succeeded


def rebase(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="The predictions as they are now; from where they were when left out.",
        ),
    ] = None,
    *,
    where: Where = None,
    table: TableName = None,
    engine: EngineName = None,
    spark: SparkUrl = None,
    name: NameOption = "campaign",
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a campaign on predictions that have changed; all labels are kept."""
    with telling_errors(as_json=as_json):
        url = existing(storage)
        scan = other_scan(file, engine=engine, where=where, table=table, spark=spark)
        with reading(file or "the predictions"), collecting_warnings() as warnings:
            campaign = rebase_campaign(name, storage=url, predictions=scan)
        tell_succeeded(campaign, storage, warnings, as_json=as_json)
