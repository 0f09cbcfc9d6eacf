"""Text for people: numbers, goals and states of a campaign in words.

Text from data (ids, texts, names) goes through `printable` first.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from assay.core.cut_methods import METHODS
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.metrics import METRICS
from assay.core.stopping import Reason
from assay.core.strata import Strata
from assay.core.targets import ALONE, without_slices
from assay.core.types import percent
from assay.errors import counted
from assay.results.document import Tone
from assay.results.estimate import Estimate, StratumRow, ends_text, value_text

_EQUAL = "strata of equal size"
_LABELS = ("labels", "positives")
_STRATA_AT_MOST, _STRATA_SHOWN = 40, 30  # with more, only the largest are shown


def strata_words(design: Design, strata: Strata) -> str:
    """Name the method of the strata; for ``auto``, the method chosen."""
    if all(heap.cuts.method == "spread" for heap in strata.heaps):
        return METHODS["spread"]
    if design.strata != "auto":
        return METHODS[design.strata]
    if all(heap.cuts.method != "depth" for heap in strata.heaps):
        return _EQUAL
    if len(strata.classifiers) == 1:
        return METHODS["depth"]
    return f"{METHODS['depth']} where all classifiers agree, of equal size elsewhere"


def _of_sample(goal: Goal) -> str:
    return f", for the {goal.sample_of:,} items that these were drawn from"


def goal_words(goal: Goal) -> str:
    """Goal in words; with several metrics all but their half-widths.

    >>> goal_words(Goal("precision", within=0.02, budget=900))
    '±0.02 at 95% confidence, with at most 900 labels'
    >>> goal_words(Goal("recall", at_least=0.9))
    'is it at least 0.9? At 95% confidence'
    >>> goal_words(Goal(threshold_for="recall >= 0.9", budget=900))
    'a threshold with recall >= 0.9 at 95% confidence, with at most 900 labels'
    >>> goal_words(Goal("accuracy", within=0.02, sample_of=90_000, sample_size=4_000))
    '±0.02 at 95% confidence, for the 90,000 items that these were drawn from'
    >>> from assay.core.targets import Target
    >>> both = (Target("f1", "cnn"), Target("f1", "mve"))
    >>> goal_words(Goal(targets=both, budget=500, simultaneous=True))
    '95% confidence for all metrics together, at most 500 labels'
    """
    sure = f"{percent(goal.confidence)} confidence"
    if not goal.single:
        sure += " for all metrics together" if goal.simultaneous else " for each metric"
        return sure if goal.budget is None else f"{sure}, at most {counted(goal.budget, 'label')}"
    if goal.threshold_for is not None:
        words = f"a threshold with {goal.threshold_for} at {sure}"
    elif goal.at_least is not None:
        words = f"is it at least {goal.at_least:g}? At {sure}"
    elif goal.within is not None:
        words = f"±{goal.within:g} at {sure}"
    else:
        words = f"the estimate from {counted(goal.budget or 0, 'label')}, at {sure}"
        return words if goal.sample_of is None else words + _of_sample(goal)
    words += "" if goal.sample_of is None else _of_sample(goal)
    if goal.budget is None:
        return words
    return f"{words}, with at most {counted(goal.budget, 'label')}"


def state_text(estimate: Estimate) -> tuple[str, Tone]:
    """Status of a metric, and whether it is good."""
    over = estimate.stopped is not None
    if estimate.within is None:
        return ("done", "good") if over else ("not yet", "warn")
    if estimate.is_near:
        return "met" if over else "within", "good"
    if estimate.half_width_like_rest <= estimate.within:
        return "unjudged", "warn"
    return ("missed", "bad") if over else ("not yet", "warn")


def shortened(rows: Sequence[StratumRow]) -> list[StratumRow]:
    """Rows; of very many the largest, and one for all others."""
    if len(rows) <= _STRATA_AT_MOST:
        return list(rows)
    order = sorted(range(len(rows)), key=lambda place: -rows[place].size)
    largest, others = (
        sorted(order[:_STRATA_SHOWN]),
        [rows[place] for place in order[_STRATA_SHOWN:]],
    )
    labels, positives = (sum(getattr(row, name) for row in others) for name in _LABELS)
    rest = StratumRow(
        f"{len(others):,} smaller strata",
        sum(row.size for row in others),
        labels,
        positives,
        sum(row.cannot_judge for row in others),
        rate=positives / labels if labels else None,  # drawn at several rates: no interval
    )
    return [*(rows[place] for place in largest), rest]


def as_heading(name: str) -> str:
    """Name of a metric at the beginning of a line.

    >>> as_heading("false omission rate"), as_heading("f1:CNN")
    ('False omission rate', 'f1:CNN')
    """
    return name if ":" in name else name[:1].upper() + name[1:]


def difference_words(estimate: Estimate) -> str:
    """Which of two classifiers is better, if that is established; empty if not a difference.

    >>> same = dict(confidence=0.95, standard_error=None, labels=9, cannot_judge=0, worst_case=None,
    ...             interval="", anytime=True, stopped=None)
    >>> difference_words(Estimate("f1:new - f1:old", 0.02, 0.01, 0.03, **same))
    'new is better than old: the interval is above 0'
    >>> difference_words(Estimate("f1:new - f1:old", 0.02, -0.01, 0.05, **same))
    'no difference between new and old is established yet: the interval includes 0'
    >>> difference_words(Estimate("recall:a:new - recall:a:old", -0.2, -0.3, -0.1, **same))
    'new is worse than old: the interval is below 0'
    """
    if not estimate.is_difference:
        return ""
    name = without_slices(estimate.metric)
    # A class's name may contain anything, also the separator of two classifiers.
    before, other = name[: name.rindex(":") + 1], name[name.rindex(":") + 1 :]
    sides = (
        (before[: separator.start()], before[separator.end() :])
        for separator in re.finditer(" - ", before)
    )
    one = next(new[len(what) :] for new, what in sides if new.startswith(what))
    if estimate.low <= 0 <= estimate.high:
        yet = "" if estimate.stopped else " yet"
        unknown = f"no difference between {one} and {other} is established{yet}"
        return f"{unknown}: the interval includes 0"
    above = estimate.low > 0
    kind = METRICS.get(name.partition(":")[0])  # for classes, more is better
    better = above == (kind is None or kind.better > 0)
    side = "above" if above else "below"
    return f"{one} is {('better' if better else 'worse')} than {other}: the interval is {side} 0"


_FEW = 20  # labels: with fewer, the size of a random sample is not reported
_MOST = 4  # metrics in a sentence


def plain_words(estimates: Mapping[str, Estimate]) -> str:
    """Summary in sentences that need no statistics.

    With many metrics, those that are farthest from their goals.

    >>> same = dict(confidence=0.95, standard_error=None, cannot_judge=0, worst_case=None,
    ...             interval="", anytime=True)
    >>> estimate = Estimate("precision", 0.947, 0.927, 0.966, labels=360, random_labels=620,
    ...                  stopped="measured to the requested width", **same)
    >>> print(plain_words({"precision": estimate}))
    Precision is between 0.927 and 0.966 (95% confidence); best estimate 0.947. 360 labels; a \
random sample would have needed about 620.
    """
    by_distance = sorted(estimates.values(), key=attrgetter("distance"), reverse=True)
    shown = [estimate for estimate in estimates.values() if estimate in by_distance[:_MOST]]
    sentences = [_plain_sentence(estimate) for estimate in shown]
    if (more := len(by_distance) - len(shown)) > 0:
        sentences.append(f"And {more:,} more metrics.")
    if len(shown) == 1:
        sentences.append(_labels_plainly(shown[0]))
    return " ".join(sentences)


def done_words(estimates: Iterable[Estimate]) -> str:
    """Reason why a campaign is over; empty while it goes on.

    >>> same = dict(confidence=0.95, standard_error=None, cannot_judge=0, worst_case=None,
    ...             interval="", anytime=True)
    >>> done_words([Estimate("recall", 0.9, 0.85, 0.94, labels=360, within=0.05,
    ...                      stopped="measured to the requested width", **same)])
    'recall is measured to ±0.05, as requested'
    """
    every = [*estimates]
    stopped = every[0].stopped or ""
    if stopped != Reason.GOAL_MET.in_words():
        return stopped
    if len(every) > 1 or every[0].within is None:
        return "every target has the requested width"
    return f"{every[0].name} is measured to ±{every[0].within:g}, as requested"


def _plain_sentence(estimate: Estimate) -> str:
    plain_name = estimate.name.removesuffix(f":{ALONE}")
    name = as_heading(plain_name)
    if estimate.value is None:
        return f"No estimate of {plain_name} yet."
    (low, high), value = ends_text(estimate), value_text(estimate)
    level = f"{percent(estimate.confidence)} confidence"
    if estimate.low == estimate.high:
        return f"{name} is {value}."
    sentence = f"{name} is between {low} and {high} ({level}); best estimate {value}."
    if estimate.verdict is not None and estimate.bound is not None:
        side = "at least" if estimate.verdict else "below"
        answer = "Yes" if estimate.verdict else "No"
        sentence = (
            f"{answer}: {name[:1].lower()}{name[1:]} is {side} {estimate.bound:.3f} ({level}); "
            f"best estimate {value}."
        )
    return (
        sentence
        if estimate.stopped is not None
        else f"So far: {sentence[:1].lower()}{sentence[1:]}"
    )


def _labels_plainly(estimate: Estimate) -> str:
    labels = f"{estimate.labels:,} {'label' if estimate.labels == 1 else 'labels'}"
    at_random = estimate.random_labels
    if at_random is None or estimate.labels < _FEW:
        return f"{labels}."
    return f"{labels}; a random sample would have needed about {at_random:,}."


def change_text(share: float) -> str:
    """Change in per cent, without a sign if it is zero.

    >>> change_text(-0.41), change_text(-0.0012), change_text(0.2)
    ('-41%', '0%', '+20%')
    """
    return "0%" if round(share, 2) == 0 else f"{share:+.0%}"
