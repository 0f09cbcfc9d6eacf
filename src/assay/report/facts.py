"""Facts of a report: the state of a campaign as plain values, all from the store."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.core.answers import Agreement
from assay.core.design import Design, ends_with_budget
from assay.core.goal import Goal
from assay.labelling import Settings
from assay.results import (
    ClassTable,
    ConfusionMatrix,
    Estimate,
    HistoryPoint,
    JudgeQuality,
    Slices,
    goal_words,
    strata_words,
)

Range = tuple[float | None, float | None]  # of scores; None for an open end


@dataclass(frozen=True)
class CampaignFacts:
    """Question of a campaign, and its dates; times are UTC."""

    name: str
    question: str
    created_at: str
    first_label_at: str | None
    last_label_at: str | None
    stopped: str | None


@dataclass(frozen=True)
class PopulationFacts:
    """Population of the metrics.

    `sampled`: items that labels are drawn from, those that some metric needs labels of;
    `weight_column`: column with the items' weights, if they differ.
    """

    items: int
    sampled: int
    source: str
    fingerprint: str
    id_column: str | None
    weight_column: str | None


@dataclass(frozen=True)
class HowFacts:
    """How labels are drawn and looked at, in words and as it is stored."""

    mode: str
    promise: str
    design_words: str
    goal_words: str
    seed: int
    design: Mapping[str, Any]
    goal: Mapping[str, Any]


# How a campaign draws labels and looks at them, in words.

_RECYCLED = (
    "samples of what each classifier calls yes, of the size of paper 3's section 3.2, with labels "
    "of the first used again for the others"
)
_SHARED_OUT = {
    "explore": "labels go mostly where errors are, with a share by size",
    "chance": "strata are drawn at random with known probabilities, most where errors are",
    "uni": "strata are drawn with equal probability",
    "pps": "strata are drawn in proportion to size",
    "opt": "strata are drawn in proportion to size and standard deviation",
    "pro": "labels are allocated in proportion to size",
    "equ": "equal numbers of labels per stratum",
    "opt-a1": "one Neyman allocation after a first round (OPT-A1)",
    "opt-a2": "Neyman allocation round by round (OPT-A2)",
    "recycle-shuffle": f"{_RECYCLED}, in random order",
    "recycle-sample": f"{_RECYCLED}, drawn again at random",
}
_ESTIMATED = {
    "unbiased": "each stratum's rate is that of its labels",
    "smoothed": "each stratum's rate is smoothed (m-estimate)",
}
_DRAWN = "a label counts once per draw of its item"
_QUOTED = "the estimate is corrected for adaptive allocation and for stopping"
_JOINT = "labels are allocated to all metrics together"


def how_facts(settings: Settings) -> HowFacts:
    """Facts about how labels are drawn and looked at."""
    mode, promise = _mode(settings.design, settings.goal)
    return HowFacts(
        mode=mode,
        promise=promise,
        design_words=_design_words(settings),
        goal_words=goal_words(settings.goal),
        seed=settings.seed,
        design=settings.design.to_dict(),
        goal=settings.goal.to_dict(),
    )


def _mode(design: Design, goal: Goal) -> tuple[str, str]:
    """Name of a design, and the guarantee of its interval."""
    if design.bets:
        return "guaranteed", (
            "all intervals that were ever shown cover the truth together, as often as the "
            "confidence says (a theorem, for any population whose items can be judged)"
        )
    if design.stop == "budget":
        return "fixed", (
            "the interval at the end of the budget covers the truth as often as its confidence "
            "says; earlier ones are not made for stopping"
        )
    if not design.may_stop:
        return "one look", (
            "the interval is for a single look at a number of labels fixed in advance; stopping "
            "when it is narrow makes it miss more often"
        )
    if design.stop == "centred":
        return "centred", (
            "the estimate ± the goal covers the truth as often as the confidence says when the "
            "campaign stops (by simulation, docs/certainty.md)"
        )
    if ends_with_budget(design, goal):
        return "default", (
            "the interval at the end of the budget covers the truth as often as its confidence "
            "says, and so does the wider one before it if you stop there (by simulation, "
            "docs/certainty.md)"
        )
    return "default", (
        "the interval covers the truth as often as its confidence says when the campaign stops "
        "(by simulation, docs/certainty.md); intervals shown before that may miss more often"
    )


def _design_words(settings: Settings) -> str:
    design, strata = settings.design, settings.strata
    number = f"{strata.n_strata:,} strata" if strata.n_strata > 1 else "one stratum"
    parts = [f"{number} by {strata.variable}: {strata_words(settings.design, strata)}"]
    model = settings.source.model
    if model is not None:
        columns = ", ".join(model.columns)
        parts = [
            f"{number} by a model of the outcome that {model.labels:,} labels taught: {columns}"
        ]
    elif not settings.source.has_score or strata.n_strata == 1:
        parts = [number]
    joint = not settings.goal.single and not design.recycles
    parts.append(_JOINT if joint else _SHARED_OUT[design.allocation])
    quoted = design.interval == "stratified"
    estimated = _DRAWN if design.recycles else _ESTIMATED[design.estimator]
    parts.append(_QUOTED if quoted else estimated)
    parts.append("no item is labelled twice" if design.recycles else "no item is drawn twice")
    if settings.epochs:
        parts.append(
            f"{settings.epochs[-1].judged:,} items were labelled before these strata were cut; "
            "they are known and not part of the sample"
        )
    if design.replacement:
        parts.append("the interval ignores that the population is finite")
    return "; ".join(parts)


@dataclass(frozen=True)
class MetricFacts:
    """Metric, with the savings by its labels."""

    estimate: Estimate
    state: str  # status of its goal, in a word
    items: int  # population of a random sample for it
    # Size of a simple random sample with the same variance; None if unknown.
    effective_labels: float | None
    first_value: float | None  # its value with the first answer to every item
    history: tuple[HistoryPoint, ...]  # the interval after rounds; the last is current


@dataclass(frozen=True)
class AnswerFacts:
    """Answers to the items that were drawn.

    `labels` have a yes or no that counts; `unanswered` have none that counts, of which
    `half_reviewed` wait for another reviewer, and `disputed` for a ruling.
    """

    rounds: int
    drawn: int
    labels: int
    cannot_judge: int
    broken: int
    unanswered: int
    half_reviewed: int
    disputed: int


@dataclass(frozen=True)
class StratumFacts:
    """One stratum.

    `share` is of all items or, if these have weights, of all weight. `drawn` counts draws, of which
    `counted` have a yes or no, and `rate` is the share of these with the outcome: if items have
    weights, one may be drawn again, and its label counts again.
    """

    stratum: str
    said_yes: bool | None
    ranges: tuple[Range, ...]
    size: int
    share: float
    drawn: int
    labels: int
    cannot_judge: int
    counted: int
    outcomes: int
    rate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ReviewerFacts:
    """Work of one reviewer; `name` is a number unless names were requested."""

    name: str
    answers: int
    cannot_judge: int
    broken: int
    skipped: int
    late: int
    spare: int


@dataclass(frozen=True)
class Deviations:
    """Deviations from one question and one answer per item."""

    revised_items: int  # items whose first answer was changed or withdrawn
    # revised, withdrawn, late, rulings: events: answers that replaced an earlier one; that were
    # withdrawn; that came after the lease; that overrode reviewers.
    revised: int
    withdrawn: int
    late: int
    rulings: int
    from_before: int  # prior labels
    # The campaign that this one replaced, with what became of its labels.
    before: Mapping[str, Any] | None
    # Answers from before a rebase to items that have not been drawn since, and do not count.
    waiting: int


@dataclass(frozen=True)
class Facts:
    """All facts of a report.

    `answer`: of a campaign for a threshold, and `saved` the savings by second opinions, in words;
    empty for others. `confusion`, `classes`: of campaigns with more classes than yes and no, one
    per classifier.
    """

    made_at: str
    assay: str
    campaign: CampaignFacts
    population: PopulationFacts
    how: HowFacts
    metrics: tuple[MetricFacts, ...]
    answers: AnswerFacts
    outcome: str
    variable: str
    is_probability: bool
    strata_interval: str
    strata: tuple[StratumFacts, ...]
    reviewers: tuple[ReviewerFacts, ...]
    agreement: Agreement | None
    deviations: Deviations
    slices: tuple[Slices, ...]
    saved: str
    judges: tuple[JudgeQuality, ...]
    notes: tuple[str, ...]
    answer: str = ""
    confusion: tuple[ConfusionMatrix, ...] = ()
    classes: tuple[ClassTable, ...] = ()
