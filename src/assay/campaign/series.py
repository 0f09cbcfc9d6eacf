"""Series of campaigns: each period goes on from the labels of the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from warnings import warn

import numpy as np

from assay.campaign.campaign import Campaign
from assay.campaign.carry_over import refuse_other_ids, start_beside
from assay.campaign.compare import (
    comparison_settings,
    given_columns,
    refuse_other_questions,
    reviewing_with,
)
from assay.campaign.create import settings_of
from assay.campaign.setup import set_up
from assay.core.answers import Answer
from assay.core.design import Design
from assay.core.evaluation import Prior
from assay.core.metrics import METRICS, canonical_metric
from assay.core.targets import refuse_bad_names
from assay.errors import AssayWarning, DesignError, InputError, PredictionsError, StorageError
from assay.labelling import Part, Reviewing, Series, Settings, find_campaign, whereabouts
from assay.predictions import (
    IN_NEW,
    IN_OLD,
    NEW,
    OLD,
    ComparedPredictions,
    Predictions,
    Scan,
    ScoreOf,
    ScoreScale,
    as_scan,
    engine_of,
    read_compared,
)
from assay.storage import Session, Store, open_storage

# The periods of a series: which there are, and what the last one tells the next.

_WORTH = 0.5  # what a label of the last period tells about where to look now


@dataclass(frozen=True)
class Member:
    """A period's campaign, as it is stored."""

    key: int
    settings: Settings
    series: Series


def members(session: Session, series: str) -> list[Member]:
    """Return the periods of a series, oldest first."""
    found = []
    for name in session.names():
        # A period that was rebased is kept under another name, and is no longer one of them.
        if name.startswith(f"{series}/") and " until " not in name:
            key, settings = find_campaign(session, name)
            if settings.series is not None and settings.series.name == series:
                found.append(Member(key, settings, settings.series))
    return sorted(found, key=lambda member: member.series.number)


def refuse_if_begun(session: Session, *, series: Series) -> None:
    """Raise where somebody has begun a period since this one was thought of."""
    there = [member.series.period for member in members(session, series.name)]
    if len(there) > series.number:
        raise StorageError(
            f"somebody else has begun period {there[-1]!r} of series {series.name!r} meanwhile",
            hint="look at it with `assay follow`, and begin the one after it",
        )


def prior_of(campaign: Campaign, found: ComparedPredictions, settings: Settings) -> Prior | None:
    """Return last period's labels by the part where the items would be if they were new.

    Of items that are still there the labels themselves count again, and need no prior.
    """
    strata = settings.strata
    answers = {item: answer for item, answer in campaign.answers().items() if answer.judged}
    items = found.find(list(answers), variable="rank", scale=settings.source.scale)
    labels, positives = np.zeros((2, len(strata.parts)))
    for answer, item in zip(answers.values(), items, strict=True):
        if item is None or not item.card.predicted & IN_OLD:
            continue
        code = IN_NEW | (NEW if item.card.predicted & OLD else 0)
        stratum = int(strata.assign(np.array([item.value]), np.array([code]))[0])
        if stratum >= 0 and strata.has_part(stratum, code):
            place = strata.part_of(stratum, code)
            labels[place] += _WORTH
            positives[place] += _WORTH * (answer is Answer.YES)
    return Prior(tuple(labels.tolist()), tuple(positives.tolist()))


_WITHIN = 0.02
# As many strata as the comparisons that follow have: cut alike, most cards lie in the same order.
_BINS = 8


def follow_campaign(
    predictions: object,
    *,
    series: str,
    period: str,
    id: str | None = None,
    score: str | None = None,
    predicted: str | None = None,
    threshold: float | None = None,
    positive: str | float | None = None,
    score_of: ScoreOf | None = None,
    scale: ScoreScale | None = None,
    show: Sequence[str] | None = None,
    metric: str | None = None,
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
    """Begin the next period of a series: a campaign of the same question on new predictions.

    The first period is a campaign as any other. Every later one is a comparison with the one
    before: it knows where errors were and looks there first, all labels of items that are still
    there count again, and beside the metric it estimates the change. What is not given is as it was
    in the period before.

    Parameters
    ----------
    predictions : path, SQL query, DataFrame, Arrow table, mapping of arrays, `Scan`, `Predictions`
        The items of this period, as in `create_campaign`.
    series, period : str
        What the series and the period are called: letters, digits, _ . and -. The campaign is
        called ``SERIES/PERIOD``.
    id, score, predicted, threshold, positive, score_of, scale, show
        As in `create_campaign`; an id is needed.
    metric : str
        As in `create_campaign`; in the first period, otherwise precision.
    within, change_within : float
        The half-widths that are wanted of the metric, and of its change since the period before:
        0.02, and as wide as `within`, where nothing else is said.
    floor : float, optional
        What the metric must not be below; `trend` tells when it is.
    budget, confidence, question, reviewers_per_item, overlap, storage, seed
        As in `create_campaign`.
    previous : optional
        The predictions of the period before; when left out, they are read from where they were.

    Returns
    -------
    Campaign
        Its metrics are ``precision:PERIOD`` and ``precision:PERIOD - precision:BEFORE``.

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
    _refuse_bad_name("period", period)
    _refuse_bad_name("series", series)
    store = open_storage(storage)
    with store.read() as session:
        earlier = members(session, series)
    if period in [member.series.period for member in earlier]:
        raise InputError(
            f"series {series!r} has a period {period!r} already",
            details=f"periods: {', '.join(member.series.period for member in earlier)}",
            hint="give the next one a name of its own",
        )
    given = given_columns(
        score=score,
        predicted=predicted,
        threshold=threshold,
        positive=positive,
        score_of=score_of,
        scale=scale,
    )
    reviewing = {"question": question, "per_item": reviewers_per_item, "share": overlap}
    if not earlier:
        if previous is not None:
            raise InputError(
                f"period {period!r} is the first of series {series!r}: there is none before it",
                hint="leave out previous=",
            )
        return _first(
            store,
            predictions,
            columns=given,
            around={"id": id, "show": show or ()},
            series=Series(
                series, period, 0, _followed(metric), floor, change_within, budget=budget
            ),
            within=_WITHIN if within is None and budget is None else within,
            confidence=0.95 if confidence is None else confidence,
            reviewing=reviewing_with(Reviewing(), **reviewing),
            seed=seed or 0,
        )
    last = earlier[-1]
    _refuse_change(last, metric=metric, seed=seed)
    own = last.settings.source.columns
    return _next(
        store,
        last,
        predictions,
        _before(store, last.settings, previous),
        given=given,
        around={"id": id or own["id"], "show": own["show"] if show is None else show},
        series=replace(
            last.series,
            period=period,
            number=len(earlier),
            floor=last.series.floor if floor is None else floor,
            change_within=last.series.change_within if change_within is None else change_within,
            budget=last.series.budget if budget is None else budget,
        ),
        within=last.settings.goal.targets[0].within if within is None else within,
        confidence=last.settings.goal.confidence if confidence is None else confidence,
        reviewing=reviewing_with(last.settings.reviewing, **reviewing),
    )


def _first(
    store: Store,
    predictions: object,
    *,
    columns: Mapping[str, object],
    around: Mapping[str, Any],
    series: Series,
    within: float | None,
    confidence: float,
    reviewing: Reviewing,
    seed: int,
) -> Campaign:
    if around["id"] is None and not isinstance(predictions, Predictions):
        raise PredictionsError(
            "a series needs ids",
            details="nothing else tells which items are still there in the next period",
            hint="say which column: id='url'",
        )
    target = f"{series.metric}:{series.period}"
    setup = set_up(
        predictions,
        around,
        classifiers={series.period: columns},
        metrics=[target if within is None else f"{target} within {within!r}"],
        budget=series.budget,
        confidence=confidence,
        design=Design(bins=_BINS),
        seed=seed,
    )
    name = f"{series.name}/{series.period}"
    settings = settings_of(setup, [as_scan(predictions)], name=name, seed=seed, reviewing=reviewing)
    return start_beside(
        store,
        [],
        replace(settings, series=series),
        found=setup.predictions,
        check=partial(refuse_if_begun, series=series),
    )


def _next(
    store: Store,
    last: Member,
    predictions: object,
    before: Scan,
    *,
    given: Mapping[str, object],
    around: Mapping[str, Any],
    series: Series,
    within: float | None,
    confidence: float,
    reviewing: Reviewing,
) -> Campaign:
    old, seed = last.settings, last.settings.seed
    then = old.source.columns["classifiers"][last.series.period]
    both = {last.series.period: then, series.period: {**then, **given}}
    named = {columns.get("score") for columns in both.values()}
    scores = [str(name) for name in named if name is not None and len(named) == 1]
    kept = {**around, "show": list(dict.fromkeys([*around["show"], *scores]))}
    found = read_compared([before, predictions], classifiers=both, **kept, seed=seed)
    _check_same(old.source.parts[-1], found.parts[0], last)
    refuse_other_ids(found, old)
    new = f"{series.metric}:{series.period}"
    targets = {new: within}
    if not found.are_alike(series.metric):  # else there is no change to be estimated: it is 0
        change = within if series.change_within is None else series.change_within
        targets[f"{new} - {series.metric}:{last.series.period}"] = change
    settings = comparison_settings(
        found,
        [before, as_scan(predictions)],
        classifiers=both,
        around=around,
        metrics=[
            text if wide is None else f"{text} within {wide!r}" for text, wide in targets.items()
        ],
        budget=series.budget,
        confidence=confidence,
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
            f"period {last.series.period!r} is not done: its labels so far are used",
            AssayWarning,
            stacklevel=3,
        )
    settings = replace(settings, series=series, prior=prior_of(campaign, found, settings))
    check = partial(refuse_if_begun, series=series)
    return start_beside(store, [old.name], settings, found=found, check=check)


def _before(store: Store, settings: Settings, previous: object) -> Scan:
    """Return where the predictions of the period before are."""
    if previous is not None:
        return as_scan(previous)
    part = settings.source.parts[-1]
    if part.scan is None:
        raise PredictionsError(
            f"the predictions of {settings.name!r} were given in memory: {part.description}",
            details="the change is estimated from both periods' predictions",
            hint="give them again: previous=...",
        )
    (scan,) = whereabouts(store, settings, [part])
    try:
        engine_of(scan, None)  # looks for files
    except PredictionsError as error:
        raise PredictionsError(
            error.problem,
            details=f"these are the predictions of {settings.name!r}, which the next period is "
            "compared with",
            hint="give them from where they are now: previous=... (--previous FILE)",
        ) from None
    return scan


def _check_same(then: Part, now: Predictions, last: Member) -> None:
    if now.fingerprint() != then.fingerprint:
        raise PredictionsError(
            f"{now.source} is not what period {last.series.period!r} was about",
            details=f"then {then.rows:,} rows, now {now.size:,}; some id, score or predicted label "
            "differs",
            hint="keep each period's predictions in a file of its own, and give those of the "
            "period before with previous= (--previous)",
        )


def _refuse_change(last: Member, *, metric: str | None, seed: int | None) -> None:
    """Raise where something is asked for that would make the periods incomparable."""
    for what, wanted, is_now in (
        ("metric", metric and canonical_metric(metric), last.series.metric),
        ("seed", seed, last.settings.seed),
    ):
        if wanted is not None and wanted != is_now:
            raise DesignError(
                f"series {last.series.name!r} has {what} {is_now!r}, and {wanted!r} is asked for",
                hint=f"leave it out, or begin another series with {what} {wanted!r}",
            )


def _followed(metric: str | None) -> str:
    """Return the metric of a new series."""
    name = canonical_metric("precision" if metric is None else metric)
    if not METRICS[name].is_of_classifier:
        raise DesignError(
            f"{name} is not followed: it has nothing to do with what a classifier says",
            hint=f"make a campaign of each period: create_campaign(metric={name!r})",
        )
    return name


def _refuse_bad_name(what: str, name: object) -> None:
    try:
        refuse_bad_names([str(name)])
    except InputError:
        raise InputError(
            f"a {what} cannot be called {str(name)[:200]!r}",
            details="a name is of letters, digits, _ . and -, at most 200 of them",
        ) from None
