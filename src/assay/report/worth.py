"""Worth of a metric's labels: beside a simple random sample, and with the first answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite

from assay.core.estimate import rates
from assay.core.forecast import (
    effective_labels,
    labels_at_random,
    labels_per_range,
    labels_per_share,
)
from assay.core.metrics import METRICS
from assay.core.standing import Standing
from assay.core.targets import is_difference
from assay.labelling import Labelling
from assay.report.facts import MetricFacts
from assay.results import Estimate, HistoryPoint, state_text, thinned

_POINTS = 200  # of a metric's history; no screen shows more
_ALL_POINTS = 2400  # of all metrics'
_LOOKS = 30  # at rounds that wait for answers, shared by all metrics


def metric_facts(
    labelling: Labelling, estimates: Mapping[str, Estimate]
) -> tuple[MetricFacts, ...]:
    """Return every metric with what its labels are worth."""
    past = labelling.rounds.history
    more = labelling.rounds.unfinished(_LOOKS // len(estimates))
    standings = labelling.rounds.standings
    first = _with_first_answers(labelling)
    points = max(2, min(_POINTS, _ALL_POINTS // len(estimates)))
    return tuple(
        _facts(
            labelling,
            estimates[each.name],
            each,
            first_value=first[each.name],
            past=[*past.get(each.name, ()), *more.get(each.name, ())],
            points=points,
        )
        for each in standings
    )


def _facts(
    labelling: Labelling,
    estimate: Estimate,
    standing: Standing,
    *,
    first_value: float | None,
    past: Sequence[HistoryPoint],
    points: int,
) -> MetricFacts:
    now = HistoryPoint.of(standing)
    history = [*(point for point in past if point.labels < now.labels), now]
    effective, at_random = _worth(labelling, standing, estimate)
    return MetricFacts(
        estimate=estimate,
        state=state_text(estimate)[0],
        items=standing.items,
        effective_labels=effective,
        random_labels=at_random,
        first_value=first_value,
        history=tuple(thinned(history, points)),
    )


def _worth(
    labelling: Labelling, standing: Standing, estimate: Estimate
) -> tuple[float | None, float | None]:
    """Return the random samples that would vary as much, and have an interval as narrow.

    Neither is said of a difference, for which a random sample has no formula as simple, nor
    before anything is known, nor where no spread was seen in labels of a part.
    """
    metric, value = standing.goal.metric, estimate.value
    if value is None or is_difference(standing.name) or metric not in METRICS:
        return None, None
    design = labelling.settings.design
    found = rates(standing.tallies, design.estimator, replacement=design.replacement)
    totals, kind = standing.tallies.N * found, METRICS[metric]
    weighted = labelling.settings.strata.weighted
    if kind.power is None:
        denominator = float(standing.metric.denominator(totals))
        per_share = labels_per_share(metric, value, standing.size, denominator)
    else:
        says_yes = standing.metric.rises(totals)
        per_share = labels_per_range(metric, standing.tallies.N, totals, says_yes)
    range_ = 1 - kind.lowest  # as shares of it
    value, half_width = (value - kind.lowest) / range_, estimate.half_width / range_
    items = inf if weighted else standing.size  # what is drawn by weight may be drawn again
    if (standing.tallies.n + standing.tallies.u >= standing.tallies.N).all():
        effective: float | None = items
    elif estimate.half_width <= 0:
        return None, None
    else:
        error = (estimate.standard_error or 0.0) / range_
        effective = effective_labels(value, error, per_share=per_share, items=items)
    at_random = labels_at_random(
        value,
        half_width,
        confidence=estimate.confidence,
        per_share=per_share,
        items=items,
    )
    return _finite(effective), _finite(at_random)


def _finite(labels: float | None) -> float | None:
    return labels if labels is not None and isfinite(labels) else None


def _with_first_answers(labelling: Labelling) -> dict[str, float | None]:
    """Return what each metric would be with the first answer to every item.

    There is no interval: where the design bets, bets were settled by the answers that count. Where
    items have weights it is not known: only draws are counted by their first answers, not items.
    """
    state = replace(labelling.rounds.state, open=None)  # of which the values are asked for alone
    if labelling.settings.strata.weighted:
        return dict.fromkeys((each.name for each in labelling.evaluation.standings(state)), None)
    found = labelling.evaluation.standings(replace(state, tallies=state.first or state.tallies))
    return {each.name: HistoryPoint.of(each).value for each in found}
