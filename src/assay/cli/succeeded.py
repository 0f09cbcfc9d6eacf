"""What is told of a campaign that goes on with the labels of another."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from assay.campaign.campaign import Campaign
from assay.cli.output import tell
from assay.cli.render import facts
from assay.cli.storage import follow_up
from assay.results.text import printable


def tell_succeeded(
    campaign: Campaign, storage: str | None, warnings: Sequence[str], *, as_json: bool
) -> None:
    """Tell what became of the labels, how the campaign stands, and what to do next."""
    next_command = follow_up("status" if campaign.done else "label", campaign.name, storage)
    tell(
        partial(_document, campaign),
        partial(_view, campaign),
        warnings=warnings,
        next_command=next_command,
        as_json=as_json,
    )


def _document(campaign: Campaign) -> dict[str, Any]:
    source, before = campaign.settings.source, campaign.settings.before
    return {
        "campaign": campaign.name,
        "before": None if before is None else before.campaign,
        "read": {
            "source": source.description,
            "rows": source.rows,
            "parts": [{"source": part.description, "rows": part.rows} for part in source.parts],
        },
        "labels": labels_before(campaign),
        "done": campaign.done,
        "estimates": campaign.estimates().to_dict(),
    }


def _view(campaign: Campaign) -> RenderableType:
    source, before = campaign.settings.source, campaign.settings.before
    headline = Text.assemble((printable(campaign.name), "bold"), (" goes on", "dim"))
    lines: list[tuple[str, RenderableType]] = [
        ("read", f"{source.description}: {source.rows:,} items"),
        ("labels", labels_told(campaign)),
        ("now", str(campaign.estimates())),
        ("before", "" if before is None else f"kept as {before.campaign}"),
    ]
    return Group(headline, Text(), facts(lines))


def labels_told(campaign: Campaign, *, gone: str = "no longer apply") -> str:
    """Say what became of the labels from before, and in which words of those that are `gone`."""
    labels = labels_before(campaign)
    told = [f"{labels['judged']:,} items judged before: {labels['counting']:,} count now"]
    if labels["waiting"]:
        told.append(f"{labels['waiting']:,} will when their items are drawn")
    if labels["gone"]:
        told.append(f"{labels['gone']:,} {gone}")
    return ", ".join(told)


def labels_before(campaign: Campaign) -> dict[str, int]:
    """Return of how many items the labels from before count, wait, or no longer apply."""
    before, counting = campaign.settings.before, len(campaign.answers())
    judged, gone = (0, 0) if before is None else (before.judged, before.gone)
    waiting = len(campaign.waiting_answers()) - gone
    return {"judged": judged, "counting": counting, "waiting": waiting, "gone": gone}
