"""Facts of a report: one moment of a campaign as plain values, all from the store."""

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

Range = tuple[float | None, float | None]  # of scores; None where it has no end


@dataclass(frozen=True)
class CampaignFacts:
    """What was asked, and when; times are UTC."""

    name: str
    question: str
    created_at: str
    first_label_at: str | None
    last_label_at: str | None
    stopped: str | None


@dataclass(frozen=True)
class PopulationFacts:
    """What the metrics are about.

    `sampled` are the items that labels are drawn from: those that some metric needs labels of.
    `weight_column` has what an item counts for, where that is not the same for all.
    """

    items: int
    sampled: int
    source: str
    fingerprint: str
    id_column: str | None
    weight_column: str | None


@dataclass(frozen=True)
class HowFacts:
    """How labels were drawn and are looked at, in words and as it is stored."""

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
    "explore": "labels go where the errors are, and never quite nowhere else",
    "chance": "strata are drawn at random with known chances, most where the errors are",
    "uni": "every stratum is drawn with the same chance",
    "pps": "strata are drawn in proportion to their items",
    "opt": "strata are drawn in proportion to their items and their spread",
    "pro": "labels are shared out in proportion to the items",
    "equ": "every stratum gets equally many labels",
    "opt-a1": "after a first round, labels are shared out once by the spread found (OPT-A1)",
    "opt-a2": "labels are shared out round by round by the spread found (OPT-A2)",
    "recycle-shuffle": f"{_RECYCLED}, in random order",
    "recycle-sample": f"{_RECYCLED}, drawn again at random",
}
_ESTIMATED = {
    "unbiased": "every stratum's rate is that of its labels",
    "smoothed": "every stratum's rate is smoothed (m-estimate)",
}
_DRAWN = "a label counts as often as its item was drawn"
_QUOTED = "the value allows for how labels were drawn, and for the stop"
_JOINT = "labels go where all metrics together need fewest more"


def how_facts(settings: Settings) -> HowFacts:
    """Return how labels are drawn and looked at."""
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
    """Return what a design is called, and what its interval promises."""
    if design.bets:
        return "guaranteed", (
            "every interval that was ever shown is right at once, as often as its confidence says: "
            "by a theorem, for any population whose items can be judged"
        )
    if design.stop == "budget":
        return "fixed", (
            "the interval at the end of the budget is right as often as its confidence says; those "
            "before it are not made for it"
        )
    if not design.may_stop:
        return "one look", (
            "the interval is right for one look, at a number of labels that was fixed before; "
            "stopping at a narrow moment makes it right less often"
        )
    if design.stop == "centred":
        return "centred", (
            "the estimate ± the goal is itself right as often as the confidence says, at the look "
            "that stopped it: by simulation, docs/certainty.md"
        )
    if ends_with_budget(design, goal):
        return "default", (
            "the interval at the end of the budget is right as often as its confidence says, and "
            "so is the wider one before it if you stop there: by simulation, docs/certainty.md"
        )
    return "default", (
        "the interval is made to be right, as often as its confidence says, at the narrow look "
        "that stopped it: by simulation, docs/certainty.md; looks on the way may miss"
    )


def _design_words(settings: Settings) -> str:
    design, strata = settings.design, settings.strata
    number = f"{strata.n_strata:,} strata" if strata.n_strata > 1 else "one stratum"
    parts = [f"{number} by {strata.variable}: {strata_words(settings.design, strata)}"]
    model = settings.source.model
    if model is not None:
        told = ", ".join(model.columns)
        parts = [f"{number} by a model of the outcome that {model.labels:,} labels taught: {told}"]
    elif not settings.source.has_score or strata.n_strata == 1:
        parts = [number]
    joint = not settings.goal.single and not design.recycles
    parts.append(_JOINT if joint else _SHARED_OUT[design.allocation])
    quoted = design.interval == "stratified"
    estimated = _DRAWN if design.recycles else _ESTIMATED[design.estimator]
    parts.append(_QUOTED if quoted else estimated)
    parts.append(
        "nobody is asked for an item twice" if design.recycles else "no item is drawn twice"
    )
    if settings.epochs:
        parts.append(
            f"{settings.epochs[-1].judged:,} items that were judged before these strata were cut "
            "are known, and no random sample of them: a stratum's share is of what was looked at"
        )
    if design.replacement:
        parts.append("the interval leaves out that the population is finite")
    return "; ".join(parts)


@dataclass(frozen=True)
class MetricFacts:
    """A metric, with what its labels are worth."""

    estimate: Estimate
    state: str  # whether its goal is met, in a word
    items: int  # the items that a random sample for it would be drawn from
    # The simple random sample that would vary as much; None where that cannot be said.
    effective_labels: float | None
    first_value: float | None  # what it would be with the first answer to every item
    history: tuple[HistoryPoint, ...]  # the interval after rounds, the last as it is now


@dataclass(frozen=True)
class AnswerFacts:
    """What became of the items that were drawn.

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

    `share` is of all items or, where these have weights, of all weight. `drawn` counts draws, of
    which `counted` have a yes or no, and `rate` is the share of these with the outcome: where items
    have weights, one may be drawn again, and its label counts again.
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
    """What one reviewer has done; `name` is a number unless names were asked for."""

    name: str
    answers: int
    cannot_judge: int
    broken: int
    skipped: int
    late: int
    spare: int


@dataclass(frozen=True)
class Deviations:
    """What did not go straight from a question to its answer."""

    revised_items: int  # items whose answer is another one than it first was, or is none any more
    # revised, withdrawn, late, rulings: events: answers that took an earlier one's place; that were
    # taken back; that came when the lease had run out; that decided over reviewers' heads.
    revised: int
    withdrawn: int
    late: int
    rulings: int
    from_before: int  # labels that were there before the campaign was made
    # The campaign whose place this one took, with what became of its labels.
    before: Mapping[str, Any] | None
    # Answers from before a rebase to items that have not been drawn since, and do not count.
    waiting: int


@dataclass(frozen=True)
class Facts:
    """All that a report says.

    `answer` is that of a campaign for a threshold, and `saved` what second opinions save, in words;
    empty of others. `confusion` and `classes` are of campaigns of more classes than yes and no, one
    a classifier.
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
