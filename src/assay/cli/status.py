"""``assay status`` and ``assay estimate``: the state of a campaign, estimates from given labels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from assay.campaign import Campaign
from assay.cli import options
from assay.cli.confirm import allow_source
from assay.cli.output import AsJson, console, emit, say_next, working
from assay.cli.render import commitment_line, note_lines, view, view_of
from assay.cli.taking import Typed, argument, flag, only, option, takes
from assay.core.metrics import METRICS
from assay.errors import DesignError, counted
from assay.labelling import find_campaign
from assay.predictions import Columns
from assay.results import (
    Block,
    Cell,
    ClassTable,
    Column,
    ConfusionMatrix,
    Estimate,
    Estimates,
    Notice,
    Pairs,
    Paragraph,
    Result,
    Table,
    cautions_of,
    difference_words,
    ends_text,
    goal_words,
    notes_once,
    plain_words,
    printable,
    state_text,
    strata_table,
    value_text,
)
from assay.storage import open_store

if TYPE_CHECKING:
    from assay.core.goal import Goal


_MOST_LISTED = 50  # the newest


_about_slices = partial(option, panel="Slices")
_about_source = partial(option, panel="Source of the predictions")


def status(
    name: Annotated[
        str | None,
        argument("NAME", "Name of the campaign. Default: the only one, or all as a list."),
    ] = None,
    *,
    by: Annotated[
        str | None,
        _about_slices(
            "Show the metric in every slice, by the values of this column.", "COLUMN", "--by"
        ),
    ] = None,
    metric: Annotated[
        str | None,
        _about_slices("Metric to show by slice. Default: the first.", "METRIC", "--metric"),
    ] = None,
    simultaneous: Annotated[
        bool,
        _about_slices(
            "Apply the confidence to all slices together, not to each.", None, "--simultaneous"
        ),
    ] = False,
    classes: Annotated[
        bool,
        flag("Show precision, recall and F1 of each class, and the confusion matrix.", "--classes"),
    ] = False,
    every: Annotated[bool, flag("List all campaigns, not only the newest 50.", "--all")] = False,
    confirm: Annotated[
        bool,
        _about_source(
            "Show where the campaign reads its predictions, and allow it here.", None, "--confirm"
        ),
    ] = False,
    yes: Annotated[
        bool, _about_source("With --confirm: do not ask for confirmation.", None, "--yes")
    ] = False,
    storage: options.StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show a campaign's estimate and progress, or list campaigns.

    Assay rereads the predictions, with your rights, when the reserve of items runs out. Whoever can
    write to the storage can change the place, so you confirm it (--confirm) once per machine and
    again after a change. Creating a campaign confirms it on that machine.
    """
    if by is None and (metric is not None or simultaneous):
        raise DesignError(
            f"{'--metric' if metric is not None else '--simultaneous'} applies only to slices",
            hint="name a column: assay status NAME --by COLUMN",
        )
    if yes and not confirm:
        raise DesignError("--yes applies only to --confirm", hint="add --confirm")
    if name is None and (by is not None or classes or confirm):
        name = options.named(name, storage)
    if name is not None and confirm:
        allow_source(name, storage, yes=yes, as_json=as_json)
        return
    name = name or _only_or_list(options.existing(storage), every=every, as_json=as_json)
    if name is None:
        return
    campaign, slices = options.open_campaign(name, storage), None
    if by is not None:
        with working(f"looking up {by}"):
            slices = campaign.slices(by, metric=metric, simultaneous=simultaneous)
    tables = _classes(campaign) if classes else []
    if as_json:
        tables_by_kind: dict[str, object] = {} if slices is None else {"slices": slices.to_dict()}
        if tables:
            tables_by_kind |= {
                kind: [each.to_dict() for each in tables if isinstance(each, of)]
                for kind, of in (("classes", ClassTable), ("confusion", ConfusionMatrix))
            }
        emit({**_document(campaign), **tables_by_kind})
        return
    _show(campaign, storage, [*([] if slices is None else [slices]), *tables])


def _classes(campaign: Campaign) -> list[Result]:
    """Metrics of each class and the matrix, of every classifier."""
    settings = campaign.settings
    if settings.classes.is_yes_or_no:
        raise DesignError(
            f"campaign {campaign.name!r} asks yes or no and has no classes",
            hint="leave out --classes",
        )
    results: list[Callable[[str], Result]] = [campaign.by_class]
    results += [campaign.confusion] if settings.classes.has_matrix else []
    return [of(name) for name in settings.strata.classifiers for of in results]


def _only_or_list(url: str, *, every: bool, as_json: bool) -> str | None:
    """List the campaigns, as JSON always all; return the name instead if there is only one."""
    names, every = options.names_in(url), every or as_json
    if len(names) == 1 and not as_json:
        return names[0]
    older = 0 if every else max(len(names) - _MOST_LISTED, 0)
    _list(url, names[older:], as_json=as_json)
    if older:
        console().print(Text(f"older campaigns: {older:,}, with --all", "dim"))
    return None


def _list(url: str, names: Sequence[str], *, as_json: bool) -> None:
    store = open_store(url)
    campaigns = []
    for name in names:
        with store.read() as session:
            campaigns.append(Campaign(store, *find_campaign(session, name), None))
    if as_json:
        emit({"storage": store.name, "campaigns": [_document(campaign) for campaign in campaigns]})
        return
    screen = console()
    if not campaigns:
        screen.print(
            Text(
                f"No campaigns in {printable(store.name)} yet. Start with `assay "
                "create FILE` or `assay demo`."
            )
        )
        return
    columns = (*_NAMES, *map(Column, ("estimate", "interval", "labels")), _STATE)
    screen.print(view([Table("Campaigns", columns, tuple(map(_listed, campaigns)))]))


_NAMES = (Column("campaign", "text"), Column("metric", "text"))
_STATE = Column("state", "text")


def _listed(campaign: Campaign) -> tuple[str | Cell, ...]:
    estimate, metrics = campaign.estimate(), len(campaign.estimates())
    is_done = estimate.stopped is not None
    return (
        Cell(campaign.name, "strong"),
        estimate.name + (f" (1 of {metrics})" if metrics > 1 else ""),
        "–" if estimate.value is None else value_text(estimate),
        "[{}, {}]".format(*ends_text(estimate)),
        f"{sum(row.labels for row in campaign.strata()):,}",
        Cell("done", "good") if is_done else Cell("labelling", "warn"),
    )


def _show(campaign: Campaign, storage: str | None, results: list[Result]) -> None:
    estimates, settings = campaign.estimates(), campaign.settings
    items = counted(settings.items, "item")
    screen = console()
    screen.print(
        Text.assemble(
            (printable(campaign.name), "bold"),
            (f"  {printable(settings.source.description)}, {items}", "dim"),
        )
    )
    screen.print()
    if settings.goal.threshold_for is not None:
        answer = campaign.threshold()
        screen.print(Text(answer.words, "bold"))
        screen.print(note_lines(answer.notes) if answer.notes else Text())
    screen.print(view(_estimates(campaign)))
    if reviewers := _reviewers(campaign):
        screen.print()
        screen.print(reviewers)
    views = [view_of(each.document()) for each in results]
    if not views and settings.goal.threshold_for is None:  # a ladder has too many to read
        views = [view([strata_table(campaign.strata(), settings.strata.counted)])]
    for each in views:
        screen.print()
        screen.print(each)
    savings = campaign.savings()
    saved = () if savings is None else (savings.words,)
    little = cautions_of(estimates.values(), settings.forecast)
    if notes := (*settings.notes, *notes_once(estimates), *saved, *little):
        screen.print()
        screen.print(note_lines(notes))
    screen.print()
    screen.print(commitment_line(settings), soft_wrap=True)
    if not campaign.done:
        say_next(screen, options.follow_up("label", campaign.name, storage))


def _reviewers(campaign: Campaign) -> Text | None:
    """Agreement of reviewers, and waiting disputes; None if items want one reviewer."""
    if campaign.settings.reviewing.per_item == 1:
        return None
    line = Text.assemble(("reviewers  ", "cyan"), str(campaign.agreement()))
    if disputes := len(campaign.disputes()):
        items = "1 item waits" if disputes == 1 else f"{disputes:,} items wait"
        line.append(f"; {items} for a ruling", "yellow")
    return line


def _estimates(campaign: Campaign) -> tuple[Block, ...]:
    goal, estimates = campaign.settings.goal, campaign.estimates()
    answers = None
    if len(estimates) > 1:
        answers = len(campaign.answers())
    elif not goal.single:
        goal = goal.goals[0]
    blocks = standing_of(estimates, goal, answers=answers)
    return blocks if campaign.done else (*blocks, Paragraph(_left(campaign)))


def _left(campaign: Campaign) -> str:
    """Labels left, and until there are enough labels to say, those of a random sample."""
    left, forecast = campaign.outlook().text, campaign.settings.forecast
    if forecast is None or any(each.random_labels for each in campaign.estimates().values()):
        return left
    return f"{left}; {forecast.at_random}"


def _document(campaign: Campaign) -> dict[str, object]:
    settings, estimates = campaign.settings, campaign.estimates()
    goal = settings.goal
    single = {"estimate": campaign.estimate().to_dict()} if len(estimates) == 1 else {}
    return {
        "campaign": campaign.name,
        "done": campaign.done,
        **single,
        "estimates": estimates.to_dict(),
        "goal": goal.to_dict(),
        "design": settings.design.to_dict(),
        "strata": [asdict(row) for row in campaign.strata()],
        "agreement": asdict(campaign.agreement()),
        "disputes": len(campaign.disputes()),
        "strata_notes": list(settings.strata.notes),
        "score_notes": list(settings.source.doubts),
        "source": {"description": settings.source.description, "rows": settings.source.rows},
        "commitment": settings.commitment,
        "labels_left": asdict(campaign.outlook()),
        **({} if settings.forecast is None else {"forecast": settings.forecast.to_dict()}),
        **({} if (savings := campaign.savings()) is None else {"savings": asdict(savings)}),
        **({} if goal.threshold_for is None else {"threshold": campaign.threshold().to_dict()}),
    }


# ``assay estimate``: the interval from labels that were drawn at random before.


@takes(
    columns=only(Columns, "id", "score", "predicted", "threshold", "positive", "score_of", "scale")
)
def estimate(
    labels: Annotated[
        str,
        argument(
            "LABELS",
            "Labels of a random sample: .csv or .parquet with columns 'id' (or named as in "
            "--id) and 'label' (yes, no, cannot judge).",
        ),
    ],
    *,
    predictions: Annotated[
        str,
        options.about_data(
            "Predictions of all items, labelled or not: .parquet, .csv, .csv.gz.", "FILE"
        ),
    ],
    columns: Typed,
    metric: Annotated[str, option(f"{', '.join(METRICS)}.")] = "precision",
    confidence: Annotated[float, option("Confidence of the interval.")] = 0.95,
    as_json: AsJson = False,
) -> None:
    """Estimate a metric from labels of a random sample.

    The sample must be random, of all items or of one predicted label. Hand-picked items give a
    wrong result, however narrow the interval.
    """
    with working(f"reading {predictions}"):
        from assay.campaign import estimate as estimate_from  # takes long to load

        result = estimate_from(
            labels, predictions=predictions, **columns, metric=metric, confidence=confidence
        )
    if as_json:
        emit(result.to_dict())
        return
    screen = console()
    screen.print(view(standing_of(Estimates({result.metric: result}), None)))
    screen.print()
    screen.print(note_lines(result.notes))


# Estimates of a campaign and its goal, as blocks: current values, and missing labels.


def standing_of(
    estimates: Estimates, goal: "Goal | None", *, answers: int | None = None
) -> tuple[Block, ...]:
    """Estimates with a sentence, the figures, their basis, and what is missing.

    `answers`: number of items with an answer; default: the labels of the first estimate.
    """
    rows_ = estimates.rows
    is_done = goal is None or rows_[0].stopped is not None
    is_good = is_done and all(state_text(row)[0] != "unjudged" for row in rows_)
    rows = [*_basis(estimates, answers)]
    if goal is not None:
        several = len(rows_) > 1
        progress = _progress_of_several(estimates) if several else progress_text(rows_[0], goal)
        rows.append(("done" if is_done else "not done", progress))
        rows += [("goal", goal_words(goal))] if several else []
    rows.append(("interval", rows_[0].interval))
    headline = Notice("good" if is_good else "warn", plain_words(estimates))
    return (headline, *estimates.figures, Pairs(tuple(rows)))


def _basis(estimates: Estimates, answers: int | None) -> Iterator[tuple[str, str]]:
    every = estimates.rows
    first, several = every[0], len(every) > 1
    for each in every:
        if difference := difference_words(each):
            yield "difference", difference
        if each.bound_words:
            yield "decided by", each.bound_words.partition(": ")[2]
    yield "answers" if several else "labels", f"{first.labels if answers is None else answers:,}"
    if waiting := max(each.open for each in every):
        up_to = "up to " if several else ""
        yield "open", f"{up_to}{waiting:,} wait for an answer"
    if not several and first.worst_case is not None:
        yield "cannot judge", f"{first.cannot_judge:,}: {first.unjudged_words}"


def progress_text(estimate: Estimate, goal: "Goal") -> str:
    """Labels that are still missing, or the reason why the campaign is over.

    >>> from assay.core.goal import Goal
    >>> from assay.results import Estimate
    >>> estimate = Estimate(
    ...     "precision", 0.9, 0.86, 0.93, 0.95, 0.018, 250, 0, None, "Wilson", False, None)
    >>> progress_text(estimate, Goal("precision", within=0.02, budget=500))
    'half-width 0.0350, goal 0.02; 250 of 500 labels'
    """
    parts = []
    if goal.within is not None:
        parts.append(f"half-width {estimate.half_width:.4f}, goal {goal.within:g}")
        if estimate.stopped is None and estimate.half_width <= goal.within:
            parts.append("narrow enough; one more round must confirm it")
    if goal.at_least is not None and estimate.stopped is None:
        parts.append(f"at least {goal.at_least:g}: undecided")
    if goal.budget is not None:
        budget = counted(goal.budget, "label")
        parts.append(f"{estimate.labels + estimate.cannot_judge:,} of {budget}")
    if estimate.stopped is not None:
        parts.append(estimate.stopped)
    return "; ".join(parts)


def _progress_of_several(estimates: Estimates) -> str:
    with_goal = [each for each in estimates.rows if each.within is not None]
    near = sum(state_text(each)[1] == "good" for each in with_goal)
    parts = [f"{near} of {len(with_goal)} metrics have the requested width"] if with_goal else []
    stopped = estimates.rows[0].stopped
    return "; ".join([*parts, *([stopped] if stopped else [])]) or "within the budget"
