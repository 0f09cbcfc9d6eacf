"""``assay follow`` and ``rebase``: campaigns that continue others."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from assay.campaign import Campaign, Trend, extend_campaign, follow_campaign, rebase_campaign, trend
from assay.cli import options
from assay.cli.output import AsJson, collecting_warnings, say, tell
from assay.cli.render import facts, view
from assay.cli.summary import make_campaign
from assay.cli.taking import Typed, argument, flag, only, option, takes
from assay.core.goal import Asked
from assay.core.metrics import METRICS
from assay.errors import InputError, counted
from assay.labelling import Reviewing, waiting_in
from assay.predictions import Columns, Scan
from assay.results import printable

# Exit codes for pipelines.
_FAILED, _WRONG, _UNDECIDED = 1, 2, 3  # 2 is also the code of wrong usage
_SOURCE = only(Scan, "where", "table", "engine", "spark")


@takes(
    columns=options.columns_of_one("id", "slices"),
    source=_SOURCE,
    asked=only(Asked, "within", "budget"),
    judging=only(Reviewing, "question"),
)
def follow(
    file: Annotated[
        str | None, argument("FILE", "Predictions of the next period. Default: show the series.")
    ] = None,
    *,
    series: Annotated[str, option("Name of the series.")],
    period: Annotated[str | None, option("Name of the next period, such as 2026-w46.")] = None,
    id_column: options.ItemId = None,
    columns: Typed,
    source: Typed,
    previous: Annotated[
        str | None,
        options.about_data("Predictions of the last period, if they have moved.", "FILE"),
    ] = None,
    metric: Annotated[
        list[str] | None,
        options.about_goal(
            f"{', '.join(METRICS)}; of more classes accuracy, macro-f1 and others over all, or "
            "recall:CLASS; in the first period. Repeatable: the floor is of the first.",
            "METRIC",
        ),
    ] = None,
    asked: Typed,
    change_within: Annotated[
        float | None,
        options.about_goal("Stop at this half-width of the change since the last period."),
    ] = None,
    floor: Annotated[
        float | None,
        options.about_goal("Exit code 1 if the metric is below this value, at the confidence."),
    ] = None,
    fail_on_fall: Annotated[
        bool,
        options.about_goal(
            "Exit code 1 also if the metric fell since the last period, at the confidence."
        ),
    ] = False,
    allow_undecided: Annotated[
        bool,
        options.about_goal("Exit code 0 instead of 3 while there are too few labels to decide."),
    ] = False,
    confidence: Annotated[float | None, options.about_goal("Confidence of the interval.")] = None,
    judging: Typed,
    picture: Annotated[str | None, option("Write a chart of the series.", "FILE.svg")] = None,
    seed: Annotated[int | None, option("Random seed of every draw.")] = None,
    storage: options.StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Start the next period of a series, or show the series.

    Options default to those of the period before. Exit codes: 1 if the metric of the last period is
    below its floor at the confidence (with --fail-on-fall also if it fell since the period before),
    3 while that is undecided, 2 for errors. Without --fail-on-fall, starting a period ends with 0.
    """
    if (file is None) != (period is None):
        raise InputError(
            "FILE and --period must be given together",
            hint="assay follow FILE --series NAME --period 2026-w46; or --series NAME alone",
        )
    of_period: dict[str, Any] = {
        "id": id_column,
        **columns,
        **asked,
        **judging,
        "previous": previous,
        "metric": metric,
        "change_within": change_within,
        "confidence": confidence,
        "seed": seed,
    }
    warnings: list[str] = []
    if file is None or period is None:
        _refuse_without_file({**of_period, **source})
    else:
        url, of_period["floor"] = options.storage_url(storage), floor
        with options.reading(file), collecting_warnings() as warnings:
            scan = options.other_scan(file, source)
            follow_campaign(scan, series=series, period=period, storage=url, **of_period)
    main_trend = trend(
        series, floor=floor if file is None else None, storage=options.existing(storage)
    )
    if picture is not None:
        main_trend.save(picture)
    url = options.existing(storage)
    others = [trend(series, metric=each, storage=url) for each in main_trend.metrics[1:]]
    last = main_trend.latest
    passed = last.verdict(on_fall=fail_on_fall)
    tell(
        lambda: {**_trends_document(main_trend, others), "passed": passed},
        lambda: view([block for each in (main_trend, *others) for block in each.document().blocks]),
        warnings=warnings,
        next_command=options.follow_up("status" if last.done else "label", last.campaign, storage),
        as_json=as_json,
    )
    if passed is False:
        raise typer.Exit(_FAILED)
    is_gate = fail_on_fall or (file is None and last.floor is not None)
    if passed is None and is_gate and not allow_undecided:
        if not as_json:
            say("undecided: ", "yellow", "--allow-undecided ends with exit code 0 instead of 3")
        raise typer.Exit(_UNDECIDED)


def _trends_document(main_trend: Trend, others: Sequence[Trend]) -> dict[str, Any]:
    """Series as plain values; with several metrics, the others under ``others``."""
    content = main_trend.to_dict()
    return {**content, "others": [each.to_dict() for each in others]} if others else content


def _refuse_without_file(given: Mapping[str, object]) -> None:
    """Raise if options of a period are given, but no period begins."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"--{name.replace('_', '-')} describes a new period, and no FILE is given",
                hint="assay follow FILE --series NAME --period 2026-w46 ...; or leave it out",
            )


# Summary of a campaign that goes on with the labels of another.


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


def render_succession(campaign: Campaign) -> RenderableType:
    """Status of the campaign, and of its earlier labels."""
    source, before = campaign.settings.source, campaign.settings.before
    headline = Text.assemble((printable(campaign.name), "bold"), (" goes on", "dim"))
    lines: list[tuple[str, RenderableType]] = [
        ("read", f"{source.description}: {counted(source.rows, 'item')}"),
        ("labels", labels_summary(campaign)),
        ("now", "\n".join(map(str, campaign.estimates().rows))),
        ("before", "" if before is None else f"kept as {before.campaign}"),
    ]
    return Group(headline, Text(), facts(lines))


def labels_summary(campaign: Campaign, *, gone: str = "no longer apply") -> str:
    """Summary of the earlier labels; `gone` is the wording for those that no longer apply."""
    labels = labels_before(campaign)
    parts = [f"{labels['judged']:,} items judged before: {labels['counting']:,} count now"]
    if labels["waiting"]:
        parts.append(f"{labels['waiting']:,} will when their items are drawn")
    if labels["gone"]:
        parts.append(f"{labels['gone']:,} {gone}")
    return ", ".join(parts)


def labels_before(campaign: Campaign) -> dict[str, int]:
    """Count the items whose earlier labels count, wait, or no longer apply."""
    before, counting = campaign.settings.before, len(campaign.answers())
    judged, gone = (0, 0) if before is None else (before.judged, before.gone)
    waiting = len(waiting_in(campaign.desk.labelling)) - gone
    return {"judged": judged, "counting": counting, "waiting": waiting, "gone": gone}


# ``assay rebase``: go on with a campaign on changed predictions, or with new ones.


@takes(source=_SOURCE, columns=only(Columns, "aux"))
def rebase(
    file: Annotated[
        str | None,
        argument(
            "[FILE]",
            "The changed predictions, or with --add the new ones. Default: read again from "
            "where they were.",
        ),
    ] = None,
    *,
    add: Annotated[bool, flag("FILE has only new items, which join the others.", "--add")] = False,
    source: Typed,
    columns: Typed,
    name: options.NameOption = "campaign",
    storage: options.StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Continue a campaign on changed or additional predictions, keeping all labels."""
    url = options.existing(storage)
    scan = options.other_scan(file, source)
    make = partial(rebase_campaign, name, storage=url, predictions=scan, **columns)
    if add:
        make = partial(extend_campaign, _added(scan, columns), name, storage=url)
    what = file or source.get("table", "the predictions")
    make_campaign(make, what, _document, render_succession, storage, as_json=as_json)


def _added(scan: Scan | str | None, columns: Typed) -> Scan | str:
    """Predictions to add; raise if there are none, or an option does not apply."""
    if scan is None:
        raise typer.BadParameter(
            "no predictions are given: give FILE, or --spark URL and --table NAME"
        )
    if columns:
        raise InputError(
            "--aux does not apply to --add: new items have the columns of the others",
            hint="leave it out",
        )
    return scan
