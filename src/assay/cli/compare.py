"""``assay compare``: two model versions, or two weeks."""

from functools import partial
from typing import Annotated, Any

from rich.console import Group, RenderableType
from rich.text import Text

from assay.campaign import Campaign, compare_campaign
from assay.cli import options
from assay.cli.output import AsJson
from assay.cli.render import facts, view
from assay.cli.series import labels_before, labels_summary
from assay.cli.summary import make_campaign, several_facts, targets_table
from assay.cli.taking import Typed, argument, only, option, takes
from assay.core.goal import Asked
from assay.core.metrics import METRICS
from assay.core.strata import Strata
from assay.errors import counted
from assay.labelling import Reviewing
from assay.predictions import NOWHERE, Scan, predictions_of_both
from assay.results import printable

# Summary of a new comparison: common items, and the labels that count again.


def _document(campaign: Campaign) -> dict[str, Any]:
    settings = campaign.settings
    strata = settings.strata
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


def render_comparison(campaign: Campaign) -> RenderableType:
    """Show the compared predictions, and what is known of them already."""
    settings = campaign.settings
    strata, goal = settings.strata, settings.goal
    old, new = strata.classifiers
    form = ".1%" if strata.weighted else ","
    items = {name: format(count, form) for name, count in _items(strata).items()}
    lines: list[tuple[str, RenderableType]] = [
        (name, f"{part.description}: {counted(part.rows, 'item')}")
        for name, part in zip(strata.classifiers, settings.source.parts, strict=True)
    ]
    lines += [
        (
            "weight" if strata.weighted else "items",
            f"{items['in_both']} in both, {items['only_in_old']} in {old} only, "
            f"{items['only_in_new']} in {new} only",
        ),
        (
            "disagree",
            f"on {items['disagree']} of {'all weight' if strata.weighted else 'those in both'}",
        ),
        *several_facts(settings),
    ]
    if settings.before is not None:
        lines += [
            ("from before", ", ".join(settings.before.campaigns)),
            ("known", labels_summary(campaign, gone="say nothing about it")),
            ("now", "\n".join(map(str, campaign.estimates().rows))),
        ]
    headline = Text.assemble((printable(campaign.name), "bold"), (" is ready", "dim"))
    return Group(headline, Text(), facts(lines), Text(), view([targets_table(goal)]))


def _items(strata: Strata) -> dict[str, int] | dict[str, float]:
    """Count the common items, and those with different predictions.

    If items have weights, their shares of all weight.
    """
    counts = dict.fromkeys(("in_both", "only_in_old", "only_in_new", "disagree"), 0)
    count_for = strata.impressions or [items for *_, items in strata.parts]
    codes = [code for _, code, _ in strata.parts]
    for code, items in [*zip(codes, count_for, strict=True), *strata.rest]:
        old, new = predictions_of_both(code, len(strata.classes))
        if old == NOWHERE:
            counts["only_in_new"] += items
        elif new == NOWHERE:
            counts["only_in_old"] += items
        else:
            counts["in_both"] += items
            counts["disagree"] += items if old != new else 0
    if not strata.weighted or not strata.items:
        return counts
    return {name: count / strata.items for name, count in counts.items()}


_METRICS = [name for name, kind in METRICS.items() if kind.is_of_classifier]


@takes(
    columns=options.columns_of_one("id"),
    source=only(Scan, "where", "engine", "spark"),
    asked=only(Asked, "budget", "confidence"),
    judging=only(Reviewing, "question"),
)
def compare(
    old: Annotated[
        str,
        argument(
            "OLD",
            "Earlier predictions: a file, a pattern, a folder, a database or a SELECT; - "
            "with --spark and --table.",
            shown=False,
        ),
    ],
    new: Annotated[str, argument("NEW", "Later predictions.", shown=False)],
    *,
    id_column: options.ItemId = None,
    columns: Typed,
    source: Typed,
    table: options.TableNames = None,
    names: Annotated[
        tuple[str, str], options.about_data("Names of the two versions.", "OLD NEW", "--names")
    ] = ("old", "new"),
    metric: Annotated[
        str | None,
        options.about_goal(
            f"{', '.join(_METRICS)}; of more classes accuracy, macro-f1 and others over all, or "
            "recall:CLASS. Default: precision, or accuracy.",
            "METRIC",
        ),
    ] = None,
    within: Annotated[
        float | None,
        options.about_goal("Stop at this half-width of the difference; 0.02 is ±2 points."),
    ] = None,
    level_within: Annotated[
        float | None,
        options.about_goal("Stop at this half-width of the new version's own metric, too."),
    ] = None,
    asked: Typed,
    labels_from: Annotated[
        list[str] | None,
        option("Campaign with the same question whose labels are reused; repeatable.", "NAME"),
    ] = None,
    judging: Typed,
    seed: Annotated[
        int | None,
        option(
            "Random seed of every draw. Default: 0, or the seed of the campaigns in --labels-from.",
            shown=False,
        ),
    ] = None,
    name: options.NameOption = "comparison",
    storage: options.StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Measure the difference between two model versions or two weeks."""
    scans = options.two_scans((old, new), source, table)
    make = partial(
        compare_campaign,
        scans[0],
        scans[1],
        id=id_column,
        **columns,
        names=names,
        metric=metric,
        within=within,
        level_within=level_within,
        **asked,
        labels_from=labels_from or (),
        **judging,
        name=name,
        storage=options.storage_url(storage),
        seed=seed,
    )
    make_campaign(
        make, options.source_names(scans), _document, render_comparison, storage, as_json=as_json
    )
