"""Curve of a campaign's score: its bins and labels, gathered for `core.curve`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from assay.core.bins import CURVES, FALLS, ScoreBins
from assay.core.curve import Band, CurveBands, curve_bands
from assay.core.cuts import confidence, rank
from assay.core.profile import Profile
from assay.core.state import State
from assay.core.strata import Side, Strata
from assay.core.thresholds import ThresholdRun, flipped
from assay.core.types import Bools, Floats, Ints
from assay.errors import AssayError, DesignError, PredictionsError
from assay.labelling.estimates import estimates_of
from assay.labelling.reserve import check_same, read_again, scans_of, whereabouts
from assay.labelling.settings import Settings
from assay.labelling.slice_items import SliceAnswers, column_values
from assay.labelling.state import Labelling
from assay.predictions import Predictions, Roles
from assay.results import (
    Area,
    CurvePoint,
    CurveValue,
    MetricAtThreshold,
    ThresholdAnswer,
    ThresholdCurve,
    metric_name,
)


def threshold_curve(labelling: Labelling, *, predictions: object = None) -> ThresholdCurve:
    """Threshold curve; the parameters are those of `Campaign.curve`."""
    settings = labelling.settings
    roles = _refuse(settings)
    scored = _scored(labelling, predictions)
    items = [item for item, answer in labelling.rounds.answers.items() if answer.judged]
    answered = SliceAnswers.on(labelling, items)
    yes = answered.predicted & 1 > 0
    scores = _scores(labelling, items, roles, yes, predictions)
    bins = _bins(settings, scored, scores, yes, answered.positive)
    if not bins.covered[-1]:
        raise DesignError(
            f"the labels of campaign {settings.name!r} do not give the curve of its score",
            details="no item with a high score is drawn: its metric is about items predicted no",
            hint="a campaign for accuracy, recall or F1 draws items of all scores",
        )
    chosen = settings.goal.threshold_for is None  # otherwise the campaign is looking for it
    own = scored.threshold if chosen else None
    known = curve_bands(
        bins,
        confidence=settings.goal.confidence,
        rng=np.random.default_rng([settings.seed, int(bins.labels.sum())]),
        own=own,
    )
    if own is not None:
        known = _through_estimates(known, labelling, own, scored.positives)
    return _result(labelling, bins, known, own)


def _through_estimates(
    known: CurveBands, labelling: Labelling, threshold: float, positives: int
) -> CurveBands:
    """Curve with the campaign's own estimates at its threshold."""
    at = int(np.searchsorted(known.threshold, threshold))
    if at == known.threshold.size or known.items[at] != positives:
        return known
    bands, estimates = dict(known.bands), estimates_of(labelling)
    for standing in labelling.rounds.standings:
        metric, each = standing.goal.metric, estimates[standing.name]
        if metric in bands and each.value is not None:
            ends = (each.value, each.low, each.high)
            bands[metric] = bands[metric].through(at, ends, FALLS.get(metric, 0))
    return replace(known, bands=bands)


def _refuse(settings: Settings) -> Roles:
    """Column roles of the only classifier; raise if it has no curve."""
    strata, source = settings.strata, settings.source
    if not settings.is_binary:
        raise DesignError(
            f"campaign {settings.name!r} has {len(settings.classes):,} classes, so there is no "
            "threshold",
            hint="for a threshold of one class create a campaign with positive='CLASS'",
        )
    if len(strata.classifiers) > 1 or source.compares:
        raise DesignError(
            f"campaign {settings.name!r} is of several classifiers: "
            f"{', '.join(strata.classifiers)}",
            details="its strata are by what all of them say, and a curve is of one score",
            hint="create a campaign of one of them, for accuracy or F1",
        )
    (roles,) = source.roles
    if roles is None:
        raise DesignError(
            f"campaign {settings.name!r} has no score, so it has no threshold",
            hint="create a campaign with the column of the scores, for accuracy or F1",
        )
    if strata.weighted:
        raise DesignError(
            f"items of campaign {settings.name!r} have weights, and a curve is of items that "
            "count alike",
            hint="create a campaign without weights",
        )
    if strata.groups:
        raise DesignError(
            f"campaign {settings.name!r} is about slices, and a curve is of all items",
            hint="create a campaign for accuracy or F1, without slices among its metrics",
        )
    if source.model is not None:
        raise DesignError(
            f"the strata of campaign {settings.name!r} are by a model with second opinions, "
            "not by the score",
            details="labels are then no random sample of the items with a score",
            hint="create a campaign for accuracy or F1, without aux",
        )
    return roles


def _scored(labelling: Labelling, predictions: object) -> Predictions:
    """Predictions with scores; a campaign with several metrics has only ranks."""
    settings = labelling.settings
    source, has_ranks = settings.source, not settings.goal.single
    if not has_ranks and predictions is None:
        return labelling.predictions()
    try:
        scans = (
            scans_of(predictions, source)
            if predictions is not None
            else whereabouts(labelling.store, settings)
        )
    except AssayError as error:
        raise PredictionsError(
            f"the scores of all items are not available: {error.problem}",
            details=error.details,
            hint=error.hint or "give the predictions again: predictions=...",
        ) from error
    scored = read_again(scans, settings)
    check_same(settings, scored)
    if not has_ranks:
        return scored
    (own,) = source.columns["classifiers"].values()
    others = {name: value for name, value in source.columns.items() if name != "classifiers"}
    alone = replace(source, columns={**others, **own})
    return read_again(scans, replace(settings, source=alone))


def _scores(
    labelling: Labelling, items: list[str], roles: Roles, yes: Bools, predictions: object
) -> Floats:
    """Scores of items, kept with them or looked up."""
    column = roles.score
    if column is None or not items:
        return np.zeros(0)
    kept = predictions is None or column in labelling.settings.source.kept
    values = column_values(labelling, items, column, None if kept else predictions)
    numbers = np.array([float(str(value)) for value in values])
    return np.asarray(roles.positive_scores(numbers, yes), dtype=np.float64)


def _bins(
    settings: Settings, predictions: Predictions, scores: Floats, yes: Bools, positive: Bools
) -> ScoreBins:
    """All items by score, with their labels."""
    scale = settings.source.scale
    there = {True: predictions.positives > 0, False: predictions.positives < predictions.size}
    sides = [side for side in (True, False) if there[side]]
    profiles = predictions.profile("score", scale, [*sides, None])
    parts = []
    for side in sides:
        profile = profiles[side]
        values = _variable(settings, profiles, side, predictions.threshold)
        stratum = _strata_of(settings.strata, side, values)
        mine = yes == side
        parts.append(_with_labels(profile, stratum, scores[mine], positive[mine]))
    chain = [np.full(part[0].size, place) for place, part in enumerate(parts)]
    ranges = [(part[0][0], part[0][-1]) for part in parts]
    if len(ranges) == 1 or ranges[0][0] > ranges[1][1] or ranges[1][0] > ranges[0][1]:
        chain = [np.zeros_like(each) for each in chain]  # one goes on where the other ends
    score, *columns = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(score, kind="stable")
    count, labels, positives, stratum, tied = (column[order] for column in columns)
    return ScoreBins(
        score=score[order],
        items=count,
        labels=labels,
        positives=positives,
        stratum=stratum.astype(np.int64),
        chain=np.concatenate(chain)[order],
        tied=tied > 0,
    )


def _variable(
    settings: Settings, profiles: Mapping[Side, Profile], side: bool, threshold: float | None
) -> Floats:
    """Stratification variable of each bin of a predicted label."""
    own, variable = profiles[side], settings.strata.variable
    if variable == "rank":
        return rank(own.low, profiles[None])
    if variable == "confidence":
        predicted = np.full(own.mean.shape, side)
        return confidence(own.mean, predicted, settings.source.scale, threshold or 0.0)
    return own.low


def _strata_of(strata: Strata, side: bool, values: Floats) -> Ints:
    """Stratum of each bin of a predicted label; -1 where nothing is drawn."""
    first = 0
    for heap in strata.heaps:
        if int(side) in heap.codes:
            return np.asarray(first + heap.cuts.assign(values))
        first += heap.cuts.n_strata
    return np.full(values.size, -1)


def _with_labels(
    profile: Profile, stratum: Ints, scores: Floats, positive: Bools
) -> tuple[Floats, Floats, Floats, Floats, Ints, Bools]:
    """Bins with their labels: score, items, labels, positives, stratum, whether tied.

    A bin whose items are all labelled is split into one bin per score.
    """
    number = profile.low.size
    place = np.clip(np.searchsorted(profile.low, scores, side="right") - 1, 0, number - 1)
    labels = np.bincount(place, minlength=number).astype(np.float64)
    positives = np.bincount(place, positive, number).astype(np.float64)
    count = profile.count.astype(np.float64)
    full = (labels == count)[place] if number else np.zeros(0, dtype=np.bool_)
    kept = labels < count
    single, at, each = np.unique(scores[full], return_index=True, return_counts=True)
    which = np.searchsorted(single, scores[full])
    hits = np.bincount(which, positive[full], single.size).astype(np.float64)
    own = stratum[place[full][at]]
    columns = (
        (profile.low[kept], single),
        (count[kept], each.astype(np.float64)),
        (labels[kept], each.astype(np.float64)),
        (positives[kept], hits),
        (stratum[kept], own),
        ((profile.low == profile.high)[kept], np.ones(single.size, dtype=np.bool_)),
    )
    score, items, known, outcome, drawn, tied = (np.concatenate(each) for each in columns)
    order = np.argsort(score, kind="stable")
    return (score[order], items[order], known[order], outcome[order], drawn[order], tied[order])


def _result(
    labelling: Labelling, bins: ScoreBins, known: CurveBands, threshold: float | None
) -> ThresholdCurve:
    points = tuple(
        CurvePoint(
            threshold=float(known.threshold[at]),
            items=int(known.items[at]),
            share=float(known.items[at] / known.total),
            metrics={name: _value(band, at) for name, band in known.bands.items()},
        )
        for at in range(known.threshold.size)
    )
    inner = points[known.inner]
    return ThresholdCurve(
        points=points,
        metrics=tuple(known.bands),
        areas={name: Area(*ends) for name, ends in known.areas.items()},
        confidence=labelling.settings.goal.confidence,
        band_from=inner[0].threshold,
        band_to=inner[-1].threshold,
        labels=int(bins.labels.sum()),
        items=int(known.total),
        threshold=threshold,
        notes=tuple(_notes(labelling, bins, known)),
    )


def _value(band: Band, at: int) -> CurveValue:
    ends = (band.value, band.low, band.high, band.lowest, band.highest)
    return CurveValue(*(float(each[at]) for each in ends))


def _notes(labelling: Labelling, bins: ScoreBins, known: CurveBands) -> Iterator[str]:
    """Yield the metrics that are not available with the reason, and other cautions."""
    missing = [metric_name(name) for name in CURVES if name not in known.bands]
    if not bins.covered[0]:
        low = float(known.threshold[0])
        yield (
            f"only precision is given, from {low:.6g} on, because this campaign does not draw some "
            "items; a campaign for accuracy, recall or F1 draws items of all scores"
        )
    elif missing:
        word = "yes" if "recall" not in known.bands else "no"
        yield f"no label is {word}, so {', '.join(missing)} cannot be estimated yet"
    area = known.areas.get("roc_auc")
    if area is not None and area[2] < 0.5:
        yield "items labelled no have higher scores than those labelled yes: is the score right?"
    empty = np.setdiff1d(bins.stratum[bins.stratum >= 0], bins.stratum[bins.labels > 0]).size
    if empty:
        yield f"{empty} of the strata have no label yet and rely on their neighbours"
    unjudged = sum(not answer.judged for answer in labelling.rounds.answers.values())
    if unjudged:
        yield f"{unjudged:,} items could not be judged; assumed to be like others of their score"
    if waiting := len(labelling.rounds.outstanding):
        yield f"{waiting:,} drawn items have no answer yet, and are left out"
    if not bins.complete:
        yield (
            "intervals are each for one threshold; the bands hold at all thresholds between the 1% "
            "and 99% quantiles of the score at once, each metric's by itself"
        )


# The answer of a campaign for a threshold, from its labelling so far.

_PERCENT = 100.0
_FEW = 30  # labels of either half: with fewer, no note on the order of the scores


def threshold_of(labelling: Labelling) -> ThresholdAnswer | None:
    """Answer about the threshold; None if the campaign is not for one."""
    run, settings = labelling.evaluation.procedure, labelling.settings
    question, state = settings.goal.question, labelling.rounds.complete
    if question is None or not isinstance(run, ThresholdRun):
        return None
    now = run.thresholds(state)
    stratum = now.supported if now.certified is None else now.certified
    sizes, points = settings.strata.sizes, settings.strata.heaps[0].cuts.points
    names = dict.fromkeys(("precision", "recall", *(metric for metric, _ in question.floors)))
    metrics: list[MetricAtThreshold] = []
    if stratum is not None:
        intervals = run.intervals(state, list(names), int(sizes.size - 1 - stratum))
        metrics = [
            MetricAtThreshold(name, value, low, high)
            for name, (value, low, high, _) in zip(names, intervals, strict=True)
        ]
    threshold = points[stratum - 1] if stratum else None
    if threshold is not None and settings.source.columns.get("scale") == "percent":
        threshold *= _PERCENT
    return ThresholdAnswer(
        question=str(question),
        confidence=settings.goal.confidence,
        certified=now.certified is not None,
        threshold=threshold,
        yes=0 if stratum is None else int(sizes[stratum:].sum()),
        items=settings.items,
        metrics=tuple(metrics),
        labels=int(state.tallies.n.sum()),
        settled=now.settled,
        gain=settings.goal.gain,
        chance=now.power,
        stopped=labelling.rounds.stopped,
        notes=_notes_of_scores(run, state),
    )


def _notes_of_scores(run: ThresholdRun, state: State) -> tuple[str, ...]:
    """Collect the notes on the scores themselves."""
    n, x = state.tallies.n, state.tallies.x
    half = int(np.searchsorted(np.cumsum(n), n.sum() / 2))
    low, high = (slice(None, half), slice(half, None))
    if min(n[low].sum(), n[high].sum()) < _FEW:
        return ()
    rates = run.ladder.rates(flipped(state.tallies))[::-1]
    sizes = state.tallies.N
    lower, upper = (
        float((sizes[each] * rates[each]).sum() / sizes[each].sum()) for each in (low, high)
    )
    if upper > lower or x.sum() in (0, n.sum()):
        return ()
    return (
        f"the scores do not separate yes from no: {lower:.0%} of the low ones are yes, "
        f"{upper:.0%} of the high ones; is it the score of the other class (score_of='negative')?",
    )
