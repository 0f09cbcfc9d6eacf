"""The answer of a campaign for a threshold, from its labelling so far."""

import numpy as np

from assay.core.engine import State
from assay.core.thresholds import ThresholdRun, flipped
from assay.labelling.state import Labelling
from assay.results import MetricAtThreshold, ThresholdAnswer

_PERCENT = 100.0
_FEW = 30  # labels of either half, below which nothing is said of the order of the scores


def threshold_of(labelling: Labelling) -> ThresholdAnswer | None:
    """Return what is known of the threshold; None where the campaign is not for one."""
    found, settings = labelling.rounds.threshold, labelling.settings
    question = settings.goal.question
    if found is None or question is None:
        return None
    run, now, state = found
    stratum = now.supported if now.certified is None else now.certified
    sizes, points = settings.strata.sizes, settings.strata.heaps[0].cuts.points
    names = dict.fromkeys(("precision", "recall", *(metric for metric, _ in question.floors)))
    metrics: list[MetricAtThreshold] = []
    if stratum is not None:
        told = run.intervals(state, list(names), int(sizes.size - 1 - stratum))
        metrics = [
            MetricAtThreshold(name, value, low, high)
            for name, (value, low, high, _) in zip(names, told, strict=True)
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
        notes=_notes(run, state),
    )


def _notes(run: ThresholdRun, state: State) -> tuple[str, ...]:
    """Return what is to be said of the scores themselves."""
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
        f"scores do not tell yes from no: of the lower ones {lower:.0%} are yes, of the higher "
        f"{upper:.0%}; is it the score of the other class (score_of='negative')?",
    )
