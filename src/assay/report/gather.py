"""Facts of a report gathered from a campaign's labelling."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version

import numpy as np

from assay.core.answers import Answer
from assay.core.cuts import Cuts
from assay.core.design import Design
from assay.core.intervals import wilson
from assay.core.strata import Strata
from assay.labelling import (
    FROM_BEFORE,
    SKIP,
    WITHDRAWN,
    Labelling,
    Review,
    Settings,
    agreement_in,
    estimates_of,
    reviewers_in,
    slices_of,
    strata_in,
    waiting_in,
)
from assay.report.facts import (
    AnswerFacts,
    CampaignFacts,
    Deviations,
    Facts,
    HowFacts,
    PopulationFacts,
    Range,
    ReviewerFacts,
    StratumFacts,
)
from assay.report.worth import metric_facts
from assay.results import Slices, goal_words, notes_once, strata_words
from assay.storage import StoredLabel

# What did not go straight from a question to its answer, by the log.


def deviations_in(labelling: Labelling, events: Iterable[StoredLabel]) -> Deviations:
    """Count what was revised, late, ruled, from before, or waits.

    Parameters
    ----------
    labelling : Labelling
    events : iterable of StoredLabel
        The whole log, oldest first.
    """
    counts: Counter[str] = Counter()
    reviews: dict[str, Review] = {}
    first: dict[str, Answer] = {}
    for event in events:
        review = reviews.setdefault(event.item_id, Review(labelling.wanted(event.item_id)))
        counts[_kind(event, review)] += 1
        counts["late"] += event.late
        review.take(event)
        if (settled := review.settled) is not None:
            first.setdefault(event.item_id, settled)
    before = labelling.settings.before
    return Deviations(
        revised_items=sum(answer is not reviews[id].settled for id, answer in first.items()),
        revised=counts["revised"],
        withdrawn=counts["withdrawn"],
        late=counts["late"],
        rulings=counts["ruling"],
        from_before=counts["from before"],
        before=None if before is None else asdict(before),
        waiting=len(waiting_in(labelling)),
    )


def _kind(event: StoredLabel, review: Review) -> str:
    """Return what an event is, beside what was said of its item before."""
    if event.answer == WITHDRAWN:
        return "withdrawn"
    if event.ruling:
        # Labels from before are written as rulings, so that nobody is asked again.
        return "from before" if event.reviewer == FROM_BEFORE else "ruling"
    given = review.answers.get(event.reviewer)
    return "revised" if given is not None and event.answer not in (SKIP, given) else "answer"


# How a campaign draws labels and looks at them, in words.

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
}
_ESTIMATED = {
    "unbiased": "every stratum's rate is that of its labels",
    "smoothed": "every stratum's rate is smoothed (m-estimate)",
}
_QUOTED = "the value allows for how labels were drawn, and for the stop"
_JOINT = "labels go where all metrics together need fewest more"


def how_facts(settings: Settings) -> HowFacts:
    """Return how labels are drawn and looked at."""
    mode, promise = _mode(settings.design)
    return HowFacts(
        mode=mode,
        promise=promise,
        design_words=_design_words(settings),
        goal_words=goal_words(settings.goal),
        seed=settings.seed,
        design=settings.design.to_dict(),
        goal=settings.goal.to_dict(),
    )


def _mode(design: Design) -> tuple[str, str]:
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
    return "default", (
        "the interval is made to be right, as often as its confidence says, at the narrow look "
        "that stopped it: by simulation, docs/certainty.md; looks on the way may miss"
    )


def _design_words(settings: Settings) -> str:
    design, strata = settings.design, settings.strata
    number = f"{strata.n_strata:,} strata" if strata.n_strata > 1 else "one stratum"
    parts = [f"{number} by {strata.variable}: {strata_words(settings.design, strata)}"]
    if not settings.source.has_score or strata.n_strata == 1:
        parts = [number]
    joint = not settings.goal.single
    parts.append(_JOINT if joint else _SHARED_OUT[design.allocation])
    quoted = design.interval == "stratified"
    parts.append(_QUOTED if quoted else _ESTIMATED[design.estimator])
    parts.append("no item is drawn twice")
    if design.replacement:
        parts.append("the interval leaves out that the population is finite")
    return "; ".join(parts)


# A report's strata: what was found in each, and where on the line of scores it lies.


def outcome_of(strata: Strata) -> str:
    """Return what is counted in a stratum.

    Where strata straddle predicted labels, that is whether the prediction was correct.
    """
    return "correct" if strata.straddles else "yes"


def interval_of(strata: Strata) -> str:
    """Return how the intervals of the strata's rates are made."""
    wilson = "Wilson 1927, for each stratum by itself"
    # Where items have weights, draws are not items.
    return wilson if strata.weighted else f"{wilson}, cut to what its items leave possible"


def strata_facts(labelling: Labelling, confidence: float) -> tuple[StratumFacts, ...]:
    """Return the strata with their rates, and an interval for each rate.

    Parameters
    ----------
    labelling : Labelling
    confidence : float
        Of each interval by itself.
    """
    strata, state = labelling.settings.strata, labelling.rounds.state
    n, x = map(labelling.evaluation.by_stratum, (state.tallies.n, state.tallies.x))
    sizes = strata.sizes
    rate = x / np.maximum(n, 1.0)
    low, high = wilson(rate, np.zeros_like(rate), n, confidence)
    if not strata.weighted:
        # So many items have the outcome, and so many have not: the labels say so.
        low, high = np.maximum(low, x / sizes), np.minimum(high, (sizes - n + x) / sizes)
    ranges, said = _ranges(labelling.settings), _said(strata)
    return tuple(
        StratumFacts(
            stratum=row.stratum,
            said_yes=said[h],
            ranges=ranges[h],
            size=row.size,
            share=row.size / int(sizes.sum()) if row.weight is None else row.weight,
            drawn=int(state.dealt[h]),
            labels=row.labels,
            cannot_judge=row.cannot_judge,
            counted=int(n[h]),
            outcomes=int(x[h]),
            rate=float(rate[h]) if n[h] else None,
            low=float(low[h]),
            high=float(high[h]),
        )
        for h, row in enumerate(strata_in(labelling))
    )


def _said(strata: Strata) -> Sequence[bool | None]:
    if strata.says_yes is None:
        return [None] * strata.n_strata
    return [bool(says) for says in strata.says_yes.tolist()]


def _ranges(settings: Settings) -> list[tuple[Range, ...]]:
    strata = settings.strata
    least: dict[bool | None, float | None] = {}
    most: dict[bool | None, float | None] = {}
    if strata.variable == "score":  # the threshold ends what is predicted yes, or no
        least[True] = most[False] = settings.source.columns.get("threshold")
    return [
        ranges
        for heap in strata.heaps
        for ranges in _of_cuts(heap.cuts, least.get(heap.side), most.get(heap.side))
    ]


def _of_cuts(
    cuts: Cuts, least: float | None = None, most: float | None = None
) -> list[tuple[Range, ...]]:
    """Return where each stratum of some cuts lies, between the ends that are known.

    Examples
    --------
    >>> _of_cuts(Cuts(method="gmm", points=(0.2, 0.3), owner=(1, 0, 1)), most=0.5)
    [((0.2, 0.3),), ((None, 0.2), (0.3, 0.5))]
    """
    ends = [least, *cuts.points, most]
    owned: list[tuple[Range, ...]] = [()] * cuts.n_strata
    for place, stratum in enumerate(cuts.owner):
        owned[stratum] += ((ends[place], ends[place + 1]),)
    return owned


def facts_of(labelling: Labelling, *, names: bool) -> Facts:
    """Return all that a report says, of one moment.

    Parameters
    ----------
    labelling : Labelling
    names : bool
        Call reviewers by their names, and not by numbers in the order of their first answers.
    """
    with labelling.read() as session:  # what follows looks at the table only
        events = session.labels(labelling.key)
        created_at = session.created_at(labelling.key)
    settings = labelling.settings
    estimates = estimates_of(labelling)
    metrics = metric_facts(labelling, estimates)
    agreement = agreement_in(labelling)
    return Facts(
        made_at=events[-1].told_at if events else created_at,
        assay=version("assay"),
        campaign=CampaignFacts(
            name=settings.name,
            question=settings.question,
            created_at=created_at,
            first_label_at=events[0].told_at if events else None,
            last_label_at=events[-1].told_at if events else None,
            stopped=metrics[0].estimate.stopped,
        ),
        population=PopulationFacts(
            items=settings.items,
            sampled=int(settings.strata.sizes.sum()),
            source=settings.source.description,
            fingerprint=settings.source.fingerprint,
            id_column=settings.source.columns["id"],
            weight_column=settings.source.columns.get("sample_weight"),
        ),
        how=how_facts(settings),
        metrics=metrics,
        answers=_answers(labelling),
        outcome=outcome_of(settings.strata),
        variable=settings.strata.variable if settings.source.has_score else "",
        is_probability=settings.source.scale == "probability"
        and settings.strata.variable in ("score", "confidence"),
        strata_interval=interval_of(settings.strata),
        strata=strata_facts(labelling, settings.goal.confidence),
        reviewers=_reviewers(labelling, events, names=names),
        agreement=agreement if agreement.items else None,
        deviations=deviations_in(labelling, events),
        slices=_slices(settings, labelling),
        notes=(*settings.strata.notes, *notes_once(estimates)),
    )


def _slices(settings: Settings, labelling: Labelling) -> tuple[Slices, ...]:
    """Return the first metric that is no difference, by the columns that were named as slices."""
    goal = settings.goal
    names: list[str | None] = [None]
    if not goal.single:
        names = [target.name for target in goal.targets if target.minus is None]
    if not names or not labelling.rounds.answers:
        return ()
    return tuple(slices_of(labelling, column, metric=names[0]) for column in settings.source.slices)


def _answers(labelling: Labelling) -> AnswerFacts:
    given = Counter(labelling.rounds.answers.values())
    waiting = [labelling.review(card.item_id) for card in labelling.rounds.outstanding]
    return AnswerFacts(
        rounds=len(labelling.items_of_rounds),
        drawn=given.total() + len(waiting),
        labels=sum(number for answer, number in given.items() if answer.judged),
        cannot_judge=given[Answer.CANNOT_JUDGE],
        broken=given[Answer.BROKEN],
        unanswered=len(waiting),
        half_reviewed=sum(bool(each.answers) and not each.complete for each in waiting),
        disputed=sum(each.disputed for each in waiting),
    )


def _reviewers(
    labelling: Labelling, events: Sequence[StoredLabel], *, names: bool
) -> tuple[ReviewerFacts, ...]:
    """Return what reviewers did, in the order in which they first said something.

    Who has only ruled has judged no item; labels from before were nobody's here.
    """
    rows = {row.name: row for row in reviewers_in(labelling)}
    order = dict.fromkeys(event.reviewer for event in events if not event.ruling)
    return tuple(
        ReviewerFacts(
            name=(name or "(nobody named)") if names else f"reviewer {place}",
            answers=rows[name].answers,
            cannot_judge=rows[name].cannot_judge,
            broken=rows[name].broken,
            skipped=rows[name].skipped,
            late=rows[name].late,
            spare=rows[name].spare,
        )
        for place, name in enumerate(order, start=1)
    )
