"""``assay extend``: predictions of new items join a campaign."""

from typing import Annotated

import typer

from assay.campaign.extend import extend_campaign
from assay.cli.output import AsJson, collecting_warnings, telling_errors
from assay.cli.scans import EngineName, SparkUrl, TableName, Where, other_scan, reading
from assay.cli.storage import NameOption, StorageUrl, existing
from assay.cli.succeeded import tell_succeeded


def extend(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="Predictions of the new items, and no others."),
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
    """Let predictions of new items join a campaign; all labels are kept."""
    with telling_errors(as_json=as_json):
        url = existing(storage)
        scan = other_scan(file, engine=engine, where=where, table=table, spark=spark)
        if scan is None:
            raise typer.BadParameter(
                "no predictions are named: give FILE, or with --spark a --table"
            )
        with reading(file or str(table)), collecting_warnings() as warnings:
            campaign = extend_campaign(scan, name, storage=url)
        tell_succeeded(campaign, storage, warnings, as_json=as_json)
