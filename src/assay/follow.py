"""The same question week after week: each period a campaign that goes on from the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from warnings import warn

import numpy as np

from assay.answers import Answer
from assay.beginning import begin_with_several
from assay.campaign import Campaign
from assay.compare import comparison_settings, given_columns
from assay.core.types import Ints
from assay.core.venn import CellStrata, refuse_bad_names
from assay.create import find_campaign, open_storage, settings_of
from assay.design import Design
from assay.errors import AssayWarning, DesignError, InputError, PredictionsError
from assay.predictions import Predictions, Scan
from assay.predictions.compared import IN_NEW, NEW, OLD, ComparedPredictions, read_compared
from assay.predictions.scan import as_scan
from assay.reserve import depth, more_cards
from assay.settings import Part, Prior, Reviewing, Series, Settings
from assay.store import Session, Store
from assay.succession import go_on_beside, refuse_other_ids
from assay.targets import JointGoal

__all__ = ["Member", "follow_campaign", "members"]

_WITHIN = 0.02
# As many strata as the comparisons that follow have: cut alike, most cards lie in the same order.
_BINS = 8
_WORTH = 0.5  # what a label of the last period tells about where to look now


@dataclass(frozen=True)
class Member:
    """A period's campaign, as it is stored."""

    key: int
    settings: Settings
    series: Series


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
    id, score, predicted, threshold, positive, show
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
    refuse_bad_names([period])
    _refuse_bad_series(series)
    store = open_storage(storage)
    with store.read() as session:
        earlier = members(session, series)
    if period in [member.series.period for member in earlier]:
        raise InputError(
            f"series {series!r} has a period {period!r} already",
            details=f"periods: {', '.join(member.series.period for member in earlier)}",
            hint="give the next one a name of its own",
        )
    given = given_columns(score=score, predicted=predicted, threshold=threshold, positive=positive)
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
            series=Series(series, period, 0, metric or "precision", floor),
            within=_WITHIN if within is None and budget is None else within,
            budget=budget,
            confidence=0.95 if confidence is None else confidence,
            reviewing=_reviewing(Reviewing(), reviewing),
            seed=seed or 0,
        )
    last = earlier[-1]
    _refuse_change(last, metric=metric, seed=seed)
    own = last.settings.source.columns
    return _next(
        store,
        last,
        predictions,
        _before(last.settings, previous),
        columns={**own["classifiers"][last.series.period], **given},
        around={"id": id or own["id"], "show": own["show"] if show is None else show},
        series=replace(
            last.series,
            period=period,
            number=len(earlier),
            floor=last.series.floor if floor is None else floor,
        ),
        widths=_widths(last.settings, within, change_within),
        budget=_goal(last.settings).budget if budget is None else budget,
        confidence=_goal(last.settings).confidence if confidence is None else confidence,
        reviewing=_reviewing(last.settings.reviewing, reviewing),
    )


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


def _first(
    store: Store,
    predictions: object,
    *,
    columns: Mapping[str, object],
    around: Mapping[str, Any],
    series: Series,
    within: float | None,
    budget: int | None,
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
    beginning = begin_with_several(
        predictions,
        around,
        classifiers={series.period: columns},
        metric="",
        metrics=[target if within is None else f"{target} within {within!r}"],
        within=None,
        budget=budget,
        confidence=confidence,
        simultaneous=False,
        design=Design(bins=_BINS),
        seed=seed,
    )
    name = f"{series.name}/{series.period}"
    settings = settings_of(
        beginning, [as_scan(predictions)], name=name, seed=seed, reviewing=reviewing
    )
    settings = replace(settings, series=series)
    cards = more_cards(settings, beginning.predictions, depth(settings))
    return go_on_beside(store, [], settings, cards, found=beginning.predictions)


def _next(
    store: Store,
    last: Member,
    predictions: object,
    before: Scan,
    *,
    columns: Mapping[str, object],
    around: Mapping[str, Any],
    series: Series,
    widths: tuple[float | None, float | None],
    budget: int | None,
    confidence: float,
    reviewing: Reviewing,
) -> Campaign:
    old, seed = last.settings, last.settings.seed
    held = before.source if isinstance(before.source, Predictions) else before
    both = {last.series.period: columns, series.period: columns}
    found = read_compared([held, predictions], classifiers=both, **around, seed=seed)
    _check_same(old.source.parts[-1], found.parts[0], last)
    refuse_other_ids(found, old)
    level, change = widths
    new = f"{series.metric}:{series.period}"
    difference = f"{new} - {series.metric}:{last.series.period}"
    settings = comparison_settings(
        found,
        [before, as_scan(predictions)],
        columns=columns,
        around=around,
        metrics=[
            text if within is None else f"{text} within {within!r}"
            for text, within in ((new, level), (difference, change))
        ],
        budget=budget,
        confidence=confidence,
        design=old.design,
        reviewing=reviewing,
        name=f"{series.name}/{series.period}",
        seed=seed,
    )
    campaign = Campaign(store, last.key, old, None)
    if not campaign.done:
        warn(
            f"period {last.series.period!r} is not done: its labels so far are used",
            AssayWarning,
            stacklevel=3,
        )
    settings = replace(settings, series=series, prior=_prior(campaign, found, settings))
    cards = more_cards(settings, found, depth(settings))
    return go_on_beside(store, [old.name], settings, cards, found=found)


def _prior(campaign: Campaign, found: ComparedPredictions, settings: Settings) -> Prior | None:
    """Return last period's labels by the part where the items would be if they were new.

    Of items that are still there the labels themselves count again, and need no prior.
    """
    strata = settings.strata
    if not isinstance(strata, CellStrata):
        return None
    answers = {item: answer for item, answer in campaign.answers().items() if answer.judged}
    items = found.find(list(answers), variable="rank", scale=settings.source.scale)
    labels, positives = np.zeros((2, len(strata.parts)))
    for answer, item in zip(answers.values(), items, strict=True):
        if item is None:
            continue
        code = IN_NEW | (NEW if item.card.predicted & OLD else 0)
        stratum = int(strata.assign(np.array([item.value]), _ints(code))[0])
        if stratum >= 0 and strata.has_part(stratum, code):
            place = strata.part_of(stratum, code)
            labels[place] += _WORTH
            positives[place] += _WORTH * (answer is Answer.YES)
    return Prior(tuple(labels.tolist()), tuple(positives.tolist()))


def _ints(code: int) -> Ints:
    return np.array([code], dtype=np.int64)


def _before(settings: Settings, previous: object) -> Scan:
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
    return Scan.from_dict(part.scan)


def _check_same(then: Part, now: Predictions, last: Member) -> None:
    if now.fingerprint() != then.fingerprint:
        raise PredictionsError(
            f"{now.source} is not what period {last.series.period!r} was about",
            details=f"then {then.rows:,} rows, now {now.size:,}; some id, score or predicted label "
            "differs",
            hint="keep each period's predictions in a file of its own, and give those of the "
            "period before with previous= (--previous)",
        )


def _goal(settings: Settings) -> JointGoal:
    if isinstance(settings.goal, JointGoal):
        return settings.goal
    raise DesignError(f"campaign {settings.name!r} is no period of a series")


def _widths(
    settings: Settings, within: float | None, change_within: float | None
) -> tuple[float | None, float | None]:
    """Return the half-widths of the metric and of its change."""
    level, *change = [target.within for target in _goal(settings).targets]
    if within is None:
        within = level
    if change_within is None:
        change_within = change[0] if change else within
    return within, change_within


def _reviewing(before: Reviewing, given: Mapping[str, Any]) -> Reviewing:
    return replace(before, **{name: value for name, value in given.items() if value is not None})


def _refuse_change(last: Member, *, metric: str | None, seed: int | None) -> None:
    """Raise where something is asked for that would make the periods incomparable."""
    for what, wanted, is_now in (
        ("metric", metric, last.series.metric),
        ("seed", seed, last.settings.seed),
    ):
        if wanted is not None and wanted != is_now:
            raise DesignError(
                f"series {last.series.name!r} has {what} {is_now!r}, and {wanted!r} is asked for",
                hint=f"leave it out, or begin another series with {what} {wanted!r}",
            )


def _refuse_bad_series(series: object) -> None:
    try:
        refuse_bad_names([str(series)])
    except InputError:
        raise InputError(
            f"a series cannot be called {series!r}",
            details="a name is of letters, digits, _ . and -",
        ) from None
