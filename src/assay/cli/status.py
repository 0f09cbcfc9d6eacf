"""``assay status``: where a campaign stands, or which there are."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from assay.campaign import Campaign
from assay.cli.output import AsJson, console, emit, say_next, telling_errors
from assay.cli.storage import StorageUrl, existing, follow_up, open_campaign
from assay.create import load_campaign
from assay.report import (
    estimate_view,
    metric_name,
    new_table,
    note_lines,
    printable,
    strata_table,
)
from assay.store import open_store

__all__ = ["status"]


def status(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="The campaign; all of them when left out."),
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show where a campaign stands, or list the campaigns."""
    with telling_errors(as_json=as_json):
        if name is None:
            _list(existing(storage), as_json=as_json)
        elif as_json:
            emit(_document(open_campaign(name, storage)))
        else:
            _show(open_campaign(name, storage), storage)


def _list(url: str, *, as_json: bool) -> None:
    with open_store(url).read() as session:
        names = session.names()
    campaigns = [load_campaign(name, storage=url) for name in names]
    if as_json:
        emit({"storage": url, "campaigns": [_document(campaign) for campaign in campaigns]})
        return
    screen = console()
    if not campaigns:
        screen.print(Text(f"There is no campaign in {printable(url)} yet."))
        return
    table = new_table("campaign", "metric", "estimate", "interval", "labels", "state")
    for campaign in campaigns:
        now = campaign.estimate()
        over = now.stopped is not None
        table.add_row(
            Text(printable(campaign.name), "bold"),
            metric_name(now.metric),
            "–" if now.value is None else f"{now.value:.3f}",
            Text(f"[{now.low:.3f}, {now.high:.3f}]"),
            f"{now.labels:,}",
            Text("done" if over else "labelling", "green" if over else "yellow"),
        )
    screen.print(table)


def _show(campaign: Campaign, storage: str | None) -> None:
    estimate, settings = campaign.estimate(), campaign.settings
    screen = console()
    screen.print(
        Text.assemble(
            (printable(campaign.name), "bold"),
            (f"  {printable(settings.source.description)}, {settings.source.rows:,} items", "dim"),
        )
    )
    screen.print()
    screen.print(estimate_view(estimate, settings.goal))
    screen.print()
    screen.print(strata_table(campaign.strata()))
    if notes := (*settings.strata.notes, *estimate.notes):
        screen.print()
        screen.print(note_lines(notes))
    if estimate.stopped is None:
        say_next(screen, follow_up("label", campaign.name, storage))


def _document(campaign: Campaign) -> dict[str, object]:
    settings = campaign.settings
    return {
        "campaign": campaign.name,
        "done": campaign.done,
        "estimate": campaign.estimate().to_dict(),
        "goal": settings.goal.to_dict(),
        "design": settings.design.to_dict(),
        "strata": [asdict(row) for row in campaign.strata()],
        "strata_notes": list(settings.strata.notes),
        "source": {"description": settings.source.description, "rows": settings.source.rows},
    }
