"""What is told of a new campaign: what was read, how it is cut, and what for."""

from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from assay.campaign import Campaign
from assay.core.metrics import METRICS
from assay.core.strata import METHODS
from assay.core.variable import Scale
from assay.design import Goal
from assay.exchange import shown_columns
from assay.report import facts, metric_name, note_lines, printable, sizes_table

__all__ = ["document", "view"]


def view(campaign: Campaign, *, scale_given: bool) -> RenderableType:
    """Return what people are told."""
    notes = _notes(campaign)
    return Group(
        Text.assemble((printable(campaign.name), "bold"), (" is ready", "dim")),
        Text(),
        facts(_facts(campaign, scale_given=scale_given)),
        Text(),
        sizes_table(campaign.strata()),
        *([Text(), note_lines(notes)] if notes else []),
    )


def document(campaign: Campaign, *, scale_given: bool) -> dict[str, Any]:
    """Return the same as plain values."""
    settings = campaign.settings
    source = settings.source
    return {
        "campaign": campaign.name,
        "read": {
            "source": source.description,
            "rows": source.rows,
            "ids": source.id_kind,
            "fingerprint": source.fingerprint,
        },
        "goal": settings.goal.to_dict(),
        "design": settings.design.to_dict(),
        "variable": settings.design.variable,
        "scale": source.scale,
        "scale_given": scale_given,
        "strata": [asdict(row) for row in campaign.strata()],
        "notes": _notes(campaign),
    }


def _facts(campaign: Campaign, *, scale_given: bool) -> list[tuple[str, RenderableType]]:
    settings = campaign.settings
    design, source = settings.design, settings.source
    return [
        ("read", f"{source.description}: {source.rows:,} items, ids are {source.id_kind}s"),
        ("metric", f"{metric_name(settings.goal.metric)}: {METRICS[settings.goal.metric]}"),
        ("goal", _goal_text(settings.goal)),
        ("strata", f"{design.strata}, {design.bins} a predicted label: {METHODS[design.strata]}"),
        ("cut by", _variable_text(campaign)),
        ("scale", f"{source.scale}, {_scale_reason(source.scale, given=scale_given)}"),
        ("labels", f"{design.allocation} allocation, {design.estimator} estimates"),
    ]


def _goal_text(goal: Goal) -> str:
    parts = []
    if goal.within is not None:
        parts.append(f"within ±{goal.within:g} at {100 * goal.confidence:.4g}% confidence")
    if goal.at_least is not None:
        sure = f"{100 * goal.confidence:.4g}% confidence"
        parts.append(f"is it at least {goal.at_least:g}? yes or no, at {sure}")
    if goal.budget is not None:
        parts.append(f"at most {goal.budget:,} answers")
    return ", ".join(parts)


def _variable_text(campaign: Campaign) -> str:
    source = campaign.settings.source
    if source.columns["score"] is None:
        return "nothing, as there is no score"
    if campaign.settings.design.variable == "score":
        return "the score"
    how = {"probability": "the probability of the predicted class", "margin": "the margin's size"}
    return f"confidence: {how[source.scale]}"


def _scale_reason(scale: Scale, *, given: bool) -> str:
    if given:
        return "as given"
    there = "all scores lie" if scale == "probability" else "not all scores lie"
    return f"because {there} between 0 and 1"


def _notes(campaign: Campaign) -> list[str]:
    columns = campaign.settings.source.columns
    shown = [*shown_columns(campaign), columns["id"]]
    kept_back = [name for name in columns["show"] if name not in shown]
    notes = list(campaign.settings.strata.notes)
    if kept_back:
        names = ", ".join(kept_back)
        notes.append(f"reviewers are not shown {names}: what the classifier said would sway them")
    return notes
