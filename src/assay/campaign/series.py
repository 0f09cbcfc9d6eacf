"""Series of campaigns: each period starts from the knowledge of the previous one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import Any
from warnings import warn

import numpy as np

from assay.campaign.campaign import Campaign
from assay.campaign.carry_over import refuse_other_ids, start_beside
from assay.campaign.classes import classes_of_several, refuse_of_weeks, with_classes
from assay.campaign.compare import (
    comparison_settings,
    refuse_names_of_classes,
    refuse_other_questions,
    reviewing_with,
    scores_to_keep,
)
from assay.campaign.create import settings_of
from assay.campaign.periods import (
    Member,
    check_same_before,
    following,
    members,
    refuse_bad_name,
    refuse_change,
    refuse_if_begun,
    refuse_without_ids,
    scan_before,
)
from assay.campaign.recut import lessons_from
from assay.campaign.setup import Setup, by_lessons, seed_after, set_up
from assay.core.design import Design
from assay.core.evaluation import Prior
from assay.core.goal import Asked
from assay.core.rules import refuse
from assay.core.targets import written
from assay.core.vocabulary import Vocabulary
from assay.errors import AssayWarning, DesignError, InputError
from assay.labelling import Reviewing, Series, Settings
from assay.options import picked
from assay.predictions import (
    NOWHERE,
    Columns,
    Given,
    IdColumns,
    Predictions,
    Scan,
    ScoreOf,
    ScoreScale,
    are_alike,
    as_scan,
    code_of_both,
    key_name,
    read_compared,
    said_by_both,
    shown_with,
)
from assay.storage import Store, open_storage

_WORTH = 0.5  # weight of a last period's label for where to look now


def prior_of(campaign: Campaign, found: Predictions, settings: Settings) -> Prior | None:
    """Last period's labels by the part in which their items would be if they were new.

    Labels of items that are still present count directly, and need no prior.
    """
    strata, classes = settings.strata, settings.classes
    answers = {item: answer for item, answer in campaign.answers().items() if answer.judged}
    label = settings.goal.targets[0].label
    items = found.find(list(answers), variable="rank", scale=settings.source.scale)
    labels, positives = np.zeros((2, len(strata.parts)))
    for answer, item in zip(answers.values(), items, strict=True):
        said = NOWHERE if item is None else said_by_both(item.card.predicted, len(classes))[0]
        if item is None or said == NOWHERE:
            continue
        code = int(code_of_both(np.array(NOWHERE), np.array(said), len(classes)))
        stratum = int(strata.assign(np.array([item.value]), np.array([code]))[0])
        if stratum >= 0 and strata.has_part(stratum, code):
            place = strata.part_of(stratum, code)
            labels[place] += _WORTH
            outcome = label or ("yes" if settings.is_binary else classes.names[said])
            positives[place] += _WORTH * (answer == outcome)
    return Prior(tuple(labels.tolist()), tuple(positives.tolist()))


_WITHIN = 0.02
# As many strata as the later comparisons have: with equal cuts, most cards keep their order.
_BINS = 8


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
    id = key_name(id)
    store = open_storage(storage)
    with store.read() as session:
        earlier = members(session, series)
    if period in [member.series.period for member in earlier]:
        raise InputError(
            f"series {series!r} has a period {period!r} already",
            details=f"periods: {', '.join(member.series.period for member in earlier)}",
            hint="give the next one a name of its own",
        )
    given = picked(Columns, locals()).of_one
    metrics = [metric] if isinstance(metric, str) else list(metric or ())
    refuse_of_weeks(metrics)
    reviewing = {"question": question, "per_item": reviewers_per_item, "share": overlap}
    if not earlier:
        if previous is not None:
            raise InputError(
                f"period {period!r} is the first of series {series!r}: there is none before it",
                hint="leave out previous=",
            )
        begin = _learning if aux else _first
        make = partial(
            begin,
            store,
            predictions,
            columns=given,
            around={
                "id": id,
                "show": shown_with(id, show or ()),
                **({"aux": list(aux)} if aux else {}),
                **({"sample_weight": sample_weight} if sample_weight else {}),
            },
            asked=Asked(
                within=_WITHIN if within is None and budget is None else within,
                budget=budget,
                confidence=0.95 if confidence is None else confidence,
            ),
            reviewing=reviewing_with(Reviewing(), **reviewing),
            seed=seed or 0,
        )
        new = Series(series, period, 0, "", floor, change_within, budget=budget)
        return with_classes(
            lambda known: make(series=following(new, metrics, known), classes=known),
            [(predictions, given)],
            classes=classes,
            metrics=metrics,
        )
    last = earlier[-1]
    learns = bool(last.settings.source.aux)
    refuse_change(
        last,
        metrics=metrics,
        seed=None if learns else seed,
        aux=aux,
        sample_weight=sample_weight,
    )
    own = last.settings.source.columns
    around = {"id": id or own["id"], "show": own["show"] if show is None else show}
    new_series = replace(
        last.series,
        period=period,
        number=len(earlier),
        floor=last.series.floor if floor is None else floor,
        change_within=last.series.change_within if change_within is None else change_within,
        budget=last.series.budget if budget is None else budget,
    )
    goal = last.settings.goal
    wanted: dict[str, Any] = {
        "series": new_series,
        "asked": Asked(
            within=goal.targets[0].within if within is None else within,
            budget=new_series.budget,
            confidence=goal.confidence if confidence is None else confidence,
        ),
        "reviewing": reviewing_with(last.settings.reviewing, **reviewing),
    }
    if learns:
        then = {name: own.get(name) for name in _OF_ONE if own.get(name) is not None}
        return _learning(
            store,
            predictions,
            columns={**then, **given},
            around={**around, "aux": list(own["aux"] if aux is None else aux)},
            **wanted,
            seed=last.settings.seed if seed is None else seed,
            last=last,
            previous=previous,
        )
    if last.settings.strata.weighted:
        then = own["classifiers"][last.series.period]
        return _first(
            store,
            predictions,
            columns={**then, **given},
            around={**around, "sample_weight": sample_weight or own["sample_weight"]},
            **wanted,
            seed=last.settings.seed,
            last=last,
        )
    return _next(
        store,
        last,
        predictions,
        scan_before(store, last.settings, previous),
        given=given,
        classes=classes,
        around=around,
        **wanted,
    )


# For an unnamed classifier: options default to the previous period's.
_OF_ONE = ("score", "predicted", "threshold", "positive", "score_of", "scale")


def _learning(
    store: Store,
    predictions: object,
    *,
    columns: Mapping[str, Any],
    around: Mapping[str, Any],
    series: Series,
    asked: Asked,
    reviewing: Reviewing,
    seed: int,
    classes: Vocabulary | None = None,
    last: Member | None = None,
    previous: object = None,
) -> Campaign:
    """Begin a period with second opinions, using the previous period's lessons."""
    if series.more:
        raise DesignError(
            f"{len(series.metrics)} metrics are followed beside aux=",
            details="with second opinions a period is of one metric",
            hint="name one metric; or leave out aux=",
        )
    refuse({"change_within": series.change_within}, {"aux": True})
    refuse_without_ids(around["id"], predictions)
    read = {**around, **{name: columns.get(name) for name in _OF_ONE[:4]}, **columns}
    lessons = None
    if last is not None:
        lessons, missing = lessons_from(store, last.settings.name, read, previous)
        if missing:
            warn(
                f"period {last.series.period!r} has learned from columns that are not there now: "
                f"{', '.join(missing)}; the first strata are by the score",
                AssayWarning,
                stacklevel=3,
            )
    setup = set_up(
        predictions,
        read,
        replace(asked, metric=series.metric),
        classes=classes,
        scale=read.get("scale"),
        seed=seed_after(seed, lessons),
        bind=True,
    )
    setup = by_lessons(setup, lessons)
    return _begin(store, setup, predictions, series, reviewing)


def _begin(
    store: Store,
    setup: Setup,  # the predictions, read and cut
    predictions: object,
    series: Series,
    reviewing: Reviewing,
    *,
    last: Member | None = None,  # a period whose labels count again
) -> Campaign:
    """Store the campaign of a period without a comparison."""
    name, scans = f"{series.name}/{series.period}", [as_scan(predictions)]
    settings = settings_of(setup, scans, name=name, seed=setup.seed, reviewing=reviewing)
    before = [] if last is None else [last.settings]
    for each in before:
        refuse_other_ids(setup.predictions, each)
    refuse_other_questions(before, settings)
    return start_beside(
        store,
        [each.name for each in before],
        replace(settings, series=series),
        found=setup.predictions,
        check=partial(refuse_if_begun, series=series),
    )


def _first(
    store: Store,
    predictions: object,
    *,
    columns: Mapping[str, object],
    around: Mapping[str, Any],
    series: Series,
    asked: Asked,
    reviewing: Reviewing,
    seed: int,
    classes: Vocabulary | None = None,
    last: Member | None = None,
) -> Campaign:
    """Begin the first period or, with sample weights, any: `last` is then the previous one."""
    refuse_without_ids(around["id"], predictions)
    weighted = "sample_weight" in around
    refuse({"change_within": series.change_within}, {"sample_weight": weighted})
    if classes is not None:
        refuse_names_of_classes([series.period], classes)
    setup = set_up(
        predictions,
        around,
        replace(
            asked,
            within=None,
            metrics=[written(f"{each}:{series.period}", asked.within) for each in series.metrics],
        ),
        classifiers={series.period: columns},
        classes=classes,
        design=Design(bins=_BINS),
        seed=seed,
    )
    return _begin(store, setup, predictions, series, reviewing, last=last)


def _next(
    store: Store,
    last: Member,
    predictions: object,
    before: Scan,
    *,
    given: Mapping[str, object],
    classes: Given | None,
    around: Mapping[str, Any],
    series: Series,
    asked: Asked,
    reviewing: Reviewing,
) -> Campaign:
    old, seed = last.settings, last.settings.seed
    then = old.source.columns["classifiers"][last.series.period]
    both = {last.series.period: then, series.period: {**then, **given}}
    named = {columns.get("score") for columns in both.values()}
    scores = scores_to_keep(
        [before, predictions],
        around["id"],
        around["show"],
        tuple(str(name) for name in named if name is not None and len(named) == 1),
    )
    kept = {**around, "show": list(dict.fromkeys([*around["show"], *scores]))}
    known = None
    if not old.is_binary:
        of_both = [(predictions, both[series.period])]
        known = classes_of_several(of_both, classes, series.metrics, [old.classes], look=True)
    columns: dict[str, Any] = {"classifiers": both, **kept, "seed": seed}
    found = read_compared([before, predictions], classes=known, **columns)
    # With more classes now, the fingerprint is that of the former numbers.
    same = known is None or known.names == old.classes.names
    then_read = found if same else read_compared([before, before], classes=old.classes, **columns)
    check_same_before(old.source.parts[-1], then_read.parts[0], last)
    refuse_other_ids(found, old)
    targets = {f"{metric}:{series.period}": asked.within for metric in series.metrics}
    change = asked.within if series.change_within is None else series.change_within
    for metric in series.metrics:
        if not are_alike(found, metric):  # otherwise there is no change to estimate: it is 0
            first, second = series.period, last.series.period
            targets[f"{metric}:{first} - {metric}:{second}"] = change
    settings = comparison_settings(
        found,
        [before, as_scan(predictions)],
        classifiers=both,
        classes=known,
        around=around,
        asked=replace(asked, within=None, metrics=list(starmap(written, targets.items()))),
        design=old.design,
        reviewing=reviewing,
        name=f"{series.name}/{series.period}",
        seed=seed,
        scores=scores,
    )
    refuse_other_questions([old], settings)
    campaign = Campaign(store, last.key, old, None)
    if not campaign.done:
        warn(
            f"period {last.series.period!r} is in progress: using its labels so far",
            AssayWarning,
            stacklevel=3,
        )
    settings = replace(settings, series=series, prior=prior_of(campaign, found, settings))
    check = partial(refuse_if_begun, series=series)
    return start_beside(store, [old.name], settings, found=found, check=check)
