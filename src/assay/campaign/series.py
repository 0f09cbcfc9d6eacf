"""Series of campaigns: each period starts from the knowledge of the previous one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.campaign.begin import (
    OF_ONE,
    Period,
    begin_alone,
    begin_as_comparison,
    begin_with_lessons,
)
from assay.campaign.campaign import Campaign
from assay.campaign.classes import refuse_of_weeks, with_classes
from assay.campaign.compare import reviewing_with
from assay.campaign.periods import (
    Member,
    following,
    members,
    refuse_bad_name,
    refuse_change,
    scan_before,
)
from assay.campaign.trends import Trend, trend_in
from assay.core.goal import Asked
from assay.errors import InputError
from assay.labelling import Reviewing, Series
from assay.options import picked
from assay.predictions import Columns, Given, IdColumns, ScoreOf, ScoreScale, key_name, shown_with
from assay.storage import Store, open_storage

_WITHIN = 0.02


def follow_campaign(
    predictions: object,
    *,
    series: str,
    period: str,
    id: IdColumns | None = None,
    score: str | None = None,
    predicted: str | None = None,
    threshold: float | None = None,
    positive: str | float | None = None,
    score_of: ScoreOf | None = None,
    scale: ScoreScale | None = None,
    show: Sequence[str] | None = None,
    sample_weight: str | None = None,
    aux: Sequence[str] | None = None,
    classes: Given | None = None,
    probabilities: str | None = None,
    metric: str | Sequence[str] | None = None,
    within: float | None = None,
    change_within: float | None = None,
    floor: float | None = None,
    budget: int | None = None,
    confidence: float | None = None,
    question: str | None = None,
    reviewers_per_item: int | None = None,
    overlap: float | None = None,
    previous: object = None,
    storage: str | None = None,
    seed: int | None = None,
) -> Campaign:
    """Start the next period of a series: a campaign of the same question on new predictions.

    The first period is an ordinary campaign. Every later one is a comparison with the previous one.
    It knows where errors were and looks there first, all labels of items that are still present
    count again, and it estimates the change as well as the metric. Options default to those of the
    previous period.

    With `aux`, each period is a campaign of its own, in an order of its own, and begins with what
    the previous period's labels say of these columns. No labels count again, and the change is
    estimated from both periods' intervals.

    With `sample_weight`, an item counts in each period by its weight in that period. Each period is
    a campaign of its own, too. Items arrive by the same numbers, so most judged items are drawn
    again, and their labels count. The change is estimated from both periods' intervals.

    Parameters
    ----------
    predictions : path, SQL query, DataFrame, Arrow table, mapping of arrays, `Scan`, `Predictions`
        Items of this period, as in `create_campaign`.
    series, period : str
        Names of the series and the period: letters, digits, _ . and -. The campaign's name is
        ``SERIES/PERIOD``.
    id, score, predicted, threshold, positive, score_of, scale, show
        As in `create_campaign`; an id is required.
    sample_weight : str, optional
        As in `create_campaign`; from the first period on, or never.
    aux : sequence of str, optional
        As in `create_campaign`; from the first period on, or never.
    classes, probabilities
        As in `create_campaign`. A class that is new in a later period joins the earlier ones:
        labels that name a class still count, and items that were none of these are asked about
        again.
    metric : str or sequence of str, optional
        As in `create_campaign`; default in the first period: precision, or accuracy with more
        classes than yes and no. Several metrics share the same labels, and the floor is of the
        first.
    within, change_within : float
        Requested half-widths of the metric, and of its change since the previous period. Default:
        0.02, and the same as `within`.
    floor : float, optional
        Lower limit of the metric; `trend` reports when the metric is below it.
    budget, confidence, question, reviewers_per_item, overlap, storage, seed
        As in `create_campaign`.
    previous : optional
        Predictions of the previous period. Default: read from their stored location.

    Returns
    -------
    Campaign
        Its metrics are ``precision:PERIOD`` and ``precision:PERIOD - precision:BEFORE``; with `aux`
        only ``precision``, and with `sample_weight` ``precision:PERIOD``.

    Examples
    --------
    >>> import assay, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> storage = f"sqlite:///{folder.name}/labels.db"
    >>> monday = {"url": ["a", "b", "c"], "p": [0.9, 0.8, 0.7]}
    >>> campaign = assay.follow_campaign(
    ...     monday, series="spam", period="mon", id="url", score="p", threshold=0.5, within=0.1,
    ...     storage=storage)
    >>> estimate = campaign.tell({item.id: True for item in campaign.ask(3)})
    >>> tuesday = {"url": ["b", "c", "d"], "p": [0.9, 0.6, 0.8]}
    >>> campaign = assay.follow_campaign(
    ...     tuesday, series="spam", period="tue", previous=monday, storage=storage)
    >>> [item.id for item in campaign.ask()]
    ['d']
    >>> folder.cleanup()
    """
    refuse_bad_name("period", period)
    refuse_bad_name("series", series)
    store = open_storage(storage)
    with store.read() as session:
        earlier = members(session, series)
    _refuse_repeated(period, [member.series for member in earlier])
    metrics = [metric] if isinstance(metric, str) else list(metric or ())
    refuse_of_weeks(metrics)
    given = _Given(
        predictions,
        picked(Columns, locals()),
        metrics,
        Asked(within=within, budget=budget),
        confidence,
        {"question": question, "per_item": reviewers_per_item, "share": overlap},
        seed,
        previous,
    )
    if not earlier:
        new = Series(series, period, 0, "", floor, change_within, budget=budget)
        return _begin_series(store, given, new)
    last = earlier[-1]
    refuse_change(
        last,
        metrics=metrics,
        seed=None if last.settings.source.aux else seed,
        aux=aux,
        sample_weight=sample_weight,
    )
    changed: dict[str, Any] = {"floor": floor, "change_within": change_within, "budget": budget}
    changed = {name: value for name, value in changed.items() if value is not None}
    new = replace(last.series, period=period, number=len(earlier), **changed)
    return _continue_series(store, given, new, last)


def _refuse_repeated(period: str, earlier: Sequence[Series]) -> None:
    if period in [each.period for each in earlier]:
        raise InputError(
            f"series {earlier[0].name!r} has a period {period!r} already",
            details=f"periods: {', '.join(each.period for each in earlier)}",
            hint="give the next one a name of its own",
        )


@dataclass(frozen=True, eq=False)
class _Given:
    """Arguments of `follow_campaign`; None where the previous period's apply."""

    predictions: object
    columns: Columns
    metrics: Sequence[str]
    asked: Asked
    confidence: float | None
    reviewing: Mapping[str, Any]
    seed: int | None
    previous: object


def _begin_series(store: Store, given: _Given, series: Series) -> Campaign:
    """Begin the first period."""
    if given.previous is not None:
        raise InputError(
            f"period {series.period!r} is the first of series {series.name!r}: there is none "
            "before it",
            hint="leave out previous=",
        )
    columns, asked, id = given.columns, given.asked, key_name(given.columns.id)
    shared = {"aux": list(columns.aux or ()), "sample_weight": columns.sample_weight}
    begin = begin_with_lessons if columns.aux else begin_alone
    whole = asked.within is None and asked.budget is None
    period = Period(
        store,
        given.predictions,
        series,
        columns=columns.of_one,
        shared={
            "id": id,
            "show": shown_with(id, columns.show or ()),
            **{name: value for name, value in shared.items() if value},
        },
        asked=replace(
            asked,
            within=_WITHIN if whole else asked.within,
            confidence=0.95 if given.confidence is None else given.confidence,
        ),
        reviewing=reviewing_with(Reviewing(), **given.reviewing),
        seed=given.seed or 0,
    )
    return with_classes(
        lambda classes: begin(
            replace(period, series=following(series, given.metrics, classes), classes=classes)
        ),
        [(given.predictions, columns.of_one)],
        classes=columns.classes,
        metrics=given.metrics,
    )


def _continue_series(store: Store, given: _Given, series: Series, last: Member) -> Campaign:
    """Begin a later period, with the previous one's options where none are given."""
    then, columns, goal = last.settings.source.columns, given.columns, last.settings.goal
    within, confidence = given.asked.within, given.confidence
    period = Period(
        store,
        given.predictions,
        series,
        columns=columns.of_one,
        shared={
            "id": key_name(columns.id) or then["id"],
            "show": then["show"] if columns.show is None else columns.show,
        },
        asked=Asked(
            within=goal.targets[0].within if within is None else within,
            budget=series.budget,
            confidence=goal.confidence if confidence is None else confidence,
        ),
        reviewing=reviewing_with(last.settings.reviewing, **given.reviewing),
        seed=last.settings.seed,
        last=last,
    )
    if last.settings.source.aux:
        aux = then["aux"] if columns.aux is None else columns.aux
        own = {name: then[name] for name in OF_ONE if then.get(name) is not None}
        seed = last.settings.seed if given.seed is None else given.seed
        period = replace(period.on(own, aux=list(aux)), seed=seed)
        return begin_with_lessons(period, given.previous)
    own = then["classifiers"][last.series.period]
    if last.settings.strata.weighted:
        weight = columns.sample_weight or then["sample_weight"]
        return begin_alone(period.on(own, sample_weight=weight))
    before = scan_before(store, last.settings, given.previous)
    return begin_as_comparison(period.on(own), last, before, columns.classes)


def trend(
    series: str,
    *,
    metric: str | None = None,
    floor: float | None = None,
    storage: str | None = None,
) -> Trend:
    """Trend of a metric over the periods of a series.

    The interval of each period, and of each change, holds at its own confidence: of twenty periods
    without a change, one appears to have moved by chance.

    Parameters
    ----------
    series, storage : str
        As given to `follow_campaign`.
    metric : str, optional
        One of the followed metrics. Default: the first.
    floor : float, optional
        For the last period, in place of its own.

    Examples
    --------
    >>> import assay, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> storage = f"sqlite:///{folder.name}/labels.db"
    >>> monday = {"url": ["a", "b", "c"], "p": [0.9, 0.8, 0.7]}
    >>> campaign = assay.follow_campaign(
    ...     monday, series="spam", period="mon", id="url", score="p", threshold=0.5, within=0.1,
    ...     floor=0.9, storage=storage)
    >>> estimate = campaign.tell({item.id: item.id == "a" for item in campaign.ask(3)})
    >>> trend = assay.trend("spam", storage=storage)
    >>> trend.below_floor
    True
    >>> print(trend.latest.said)
    first period. Floor 0.90: not met.
    >>> folder.cleanup()
    """
    return trend_in(open_storage(storage), series, Campaign, metric=metric, floor=floor)
