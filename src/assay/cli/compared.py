"""What is told of a new comparison: what the two have in common, and which labels count again."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from assay.campaign.campaign import Campaign
from assay.cli.created_several import several_facts, targets_table
from assay.cli.output import tell
from assay.cli.render import facts
from assay.cli.storage import follow_up
from assay.cli.succeeded import labels_before, labels_told
from assay.core.goal import JointGoal
from assay.core.venn import CellStrata
from assay.labelling.settings import Settings
from assay.predictions.pair import IN_NEW, IN_OLD, NEW, OLD
from assay.results.text import printable

_BOTH = IN_OLD | IN_NEW


def tell_compared(
    campaign: Campaign, storage: str | None, warnings: Sequence[str], *, as_json: bool
) -> None:
    """Tell what is compared, what is known of it already, and what to do next."""
    next_command = follow_up("status" if campaign.done else "label", campaign.name, storage)
    tell(
        partial(_document, campaign),
        partial(_view, campaign),
        warnings=warnings,
        next_command=next_command,
        as_json=as_json,
    )


def _document(campaign: Campaign) -> dict[str, Any]:
    settings = campaign.settings
    strata, _ = _several(settings)
    before = settings.before
    return {
        "campaign": campaign.name,
        "read": {
            "parts": [
                {"name": name, "source": part.description, "rows": part.rows}
                for name, part in zip(strata.classifiers, settings.source.parts, strict=True)
            ],
            **_items(strata),
        },
        "goal": settings.goal.to_dict(),
        "labels_from": [] if before is None else list(before.campaigns),
        "labels": labels_before(campaign),
        "done": campaign.done,
        "estimates": campaign.estimates().to_dict(),
    }


def _view(campaign: Campaign) -> RenderableType:
    settings = campaign.settings
    strata, goal = _several(settings)
    old, new = strata.classifiers
    items = _items(strata)
    lines: list[tuple[str, RenderableType]] = [
        (name, f"{part.description}: {part.rows:,} items")
        for name, part in zip(strata.classifiers, settings.source.parts, strict=True)
    ]
    lines += [
        (
            "items",
            f"{items['in_both']:,} in both, {items['only_in_old']:,} in {old} only, "
            f"{items['only_in_new']:,} in {new} only",
        ),
        ("disagree", f"on {items['disagree']:,} of those in both"),
        *several_facts(settings.source, goal, strata),
    ]
    if settings.before is not None:
        lines += [
            ("from before", ", ".join(settings.before.campaigns)),
            ("known", labels_told(campaign, gone="say nothing about it")),
            ("now", str(campaign.estimates())),
        ]
    headline = Text.assemble((printable(campaign.name), "bold"), (" is ready", "dim"))
    return Group(headline, Text(), facts(lines), Text(), targets_table(goal))


def _items(strata: CellStrata) -> dict[str, int]:
    """Return how many items the two have in common, and of how many they say something else."""
    cells = [*((code, items) for _, code, items in strata.parts), *strata.rest]

    def count(where: int) -> int:
        return sum(items for code, items in cells if code & _BOTH == where)

    return {
        "in_both": count(_BOTH),
        "only_in_old": count(IN_OLD),
        "only_in_new": count(IN_NEW),
        "disagree": sum(
            items
            for code, items in cells
            if code & _BOTH == _BOTH and code & (OLD | NEW) in (OLD, NEW)
        ),
    }


def _several(settings: Settings) -> tuple[CellStrata, JointGoal]:
    strata, goal = settings.strata, settings.goal
    if isinstance(strata, CellStrata) and isinstance(goal, JointGoal):
        return strata, goal
    raise TypeError(f"a {type(goal).__name__} with {type(strata).__name__}")
