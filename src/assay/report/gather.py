"""Facts of a report, gathered from a campaign's labelling."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from assay.core.answers import Answer
from assay.core.cuts import Cuts
from assay.core.strata import Strata
from assay.errors import VERSION
from assay.labelling import (
    FROM_BEFORE,
    SKIP,
    WITHDRAWN,
    Labelling,
    Review,
    Settings,
    agreement_in,
    class_tables_of,
    estimates_of,
    judges_of,
    matrices_of,
    reviewers_in,
    savings_of,
    slices_of,
    strata_in,
    threshold_of,
    waiting_in,
    worth_of,
)
from assay.report.facts import (
    AnswerFacts,
    CampaignFacts,
    Deviations,
    Facts,
    MetricFacts,
    PopulationFacts,
    Range,
    ReviewerFacts,
    StratumFacts,
    how_facts,
)
from assay.results import Estimate, HistoryPoint, Slices, notes_once, state_text, thinned
from assay.storage import StoredLabel

# Savings by a metric's labels, and its value with the first answers.

_POINTS = 200  # of a metric's history; screens show no more
_ALL_POINTS = 2400  # of all metrics'
_LOOKS = 30  # at rounds that wait for answers, shared by all metrics


def _metrics(labelling: Labelling, estimates: Mapping[str, Estimate]) -> tuple[MetricFacts, ...]:
    """Metrics with the savings by their labels."""
    past = labelling.rounds.history
    more = labelling.rounds.unfinished(_LOOKS // len(estimates))
    first = _with_first_answers(labelling)
    points = max(2, min(_POINTS, _ALL_POINTS // len(estimates)))
    made = []
    for standing in labelling.rounds.standings:
        name, estimate, now = standing.name, estimates[standing.name], HistoryPoint.of(standing)
        before = [*past.get(name, ()), *more.get(name, ())]
        history = [*(point for point in before if point.labels < now.labels), now]
        effective, _ = worth_of(labelling, standing, estimate)
        made.append(
            MetricFacts(
                estimate=estimate,
                state=state_text(estimate)[0],
                items=standing.items,
                effective_labels=effective,
                first_value=first[name],
                history=tuple(thinned(history, points)),
            )
        )
    return tuple(made)


def _with_first_answers(labelling: Labelling) -> dict[str, float | None]:
    """Value of each metric with the first answer to every item.

    There is no interval: if the design bets, bets were settled by the answers that count. With
    weights the values are unknown: only draws are counted by their first answers, not items.
    """
    state = replace(labelling.rounds.state, open=None)  # only the values are needed
    if labelling.settings.strata.weighted:
        return dict.fromkeys((each.name for each in labelling.evaluation.standings(state)), None)
    standings = labelling.evaluation.standings(replace(state, tallies=state.first_given))
    return {each.name: HistoryPoint.of(each).value for each in standings}


# Deviations, by the log.


def _deviations(labelling: Labelling, events: Iterable[StoredLabel]) -> Deviations:
    """Count revised, late, ruled, earlier and waiting labels; `events` is the whole log."""
    counts: Counter[str] = Counter()
    reviews: dict[str, Review] = {}
    first: dict[str, Answer] = {}
    for event in events:
        review = reviews.setdefault(
            event.item_id, Review(labelling.settings.reviewers_wanted(event.item_id))
        )
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
    """Kind of an event, given the earlier labels of its item."""
    if event.answer == WITHDRAWN:
        return "withdrawn"
    if event.ruling:
        # Prior labels are written as rulings, so that nobody is asked again.
        return "from before" if event.reviewer == FROM_BEFORE else "ruling"
    given = review.answers.get(event.reviewer)
    return "revised" if given is not None and event.answer not in (SKIP, given) else "answer"


# Strata of a report: their rates, and their ranges of scores.

_WILSON = "Wilson 1927, for each stratum by itself"
_CUT = "limited to what the remaining items allow"


def _strata(labelling: Labelling) -> tuple[StratumFacts, ...]:
    """Strata with their rates, and an interval for each rate."""
    strata, state = labelling.settings.strata, labelling.rounds.state
    n, x = map(labelling.evaluation.by_stratum, (state.tallies.n, state.tallies.x))
    ranges, predicted_yes = _ranges(labelling.settings), _predicted_yes(strata)
    return tuple(
        StratumFacts(
            stratum=row.stratum,
            said_yes=predicted_yes[h],
            ranges=ranges[h],
            size=row.size,
            share=row.size / int(strata.sizes.sum()) if row.weight is None else row.weight,
            drawn=int(state.dealt[h]),
            labels=row.labels,
            cannot_judge=row.cannot_judge,
            counted=int(n[h]),
            outcomes=int(x[h]),
            rate=row.rate,
            low=row.low,
            high=row.high,
        )
        for h, row in enumerate(strata_in(labelling))
    )


def _predicted_yes(strata: Strata) -> Sequence[bool | None]:
    if strata.says_yes is None:
        return [None] * strata.n_strata
    return [bool(says) for says in strata.says_yes.tolist()]


def _variable(settings: Settings) -> str:
    if settings.source.model is not None:
        return "log odds"
    return settings.strata.variable if settings.source.has_score else ""


def _ranges(settings: Settings) -> list[tuple[Range, ...]]:
    strata = settings.strata
    least: dict[bool | None, float | None] = {}
    most: dict[bool | None, float | None] = {}
    by_score = strata.variable == "score" and settings.source.model is None
    if by_score:  # the threshold bounds the predicted labels
        least[True] = most[False] = settings.source.columns.get("threshold")
    return [
        ranges
        for heap in strata.heaps
        for ranges in _of_cuts(heap.cuts, least.get(heap.side), most.get(heap.side))
    ]


def _of_cuts(
    cuts: Cuts, least: float | None = None, most: float | None = None
) -> list[tuple[Range, ...]]:
    """Ranges of the strata of some cuts, between the known ends.

    >>> _of_cuts(Cuts(method="gmm", points=(0.2, 0.3), owner=(1, 0, 1)), most=0.5)
    [((0.2, 0.3),), ((None, 0.2), (0.3, 0.5))]
    """
    ends = [least, *cuts.points, most]
    owned: list[tuple[Range, ...]] = [()] * cuts.n_strata
    for place, stratum in enumerate(cuts.owner):
        owned[stratum] += ((ends[place], ends[place + 1]),)
    return owned


def facts_of(labelling: Labelling, *, names: bool) -> Facts:
    """Facts of a report, from one moment."""
    with labelling.read() as session:  # the rest reads only the table
        events = session.labels(labelling.key)
        created_at = session.created_at(labelling.key)
    settings = labelling.settings
    estimates = estimates_of(labelling)
    metrics = _metrics(labelling, estimates)
    agreement = agreement_in(labelling)
    return Facts(
        made_at=events[-1].told_at if events else created_at,
        assay=VERSION,
        campaign=CampaignFacts(
            name=settings.name,
            question=settings.question,
            created_at=created_at,
            first_label_at=events[0].told_at if events else None,
            last_label_at=events[-1].told_at if events else None,
            stopped=metrics[0].estimate.stopped,
        ),
        population=_population(settings),
        how=how_facts(settings),
        metrics=metrics,
        answers=_answers(labelling),
        # If strata straddle predicted labels, correct predictions are counted.
        outcome=settings.strata.counted,
        variable=_variable(settings),
        is_probability=settings.source.scale == "probability"
        and settings.strata.variable in ("score", "confidence"),
        # With weights, draws are not items.
        strata_interval=_WILSON if settings.strata.weighted else f"{_WILSON}, {_CUT}",
        strata=_strata(labelling),
        reviewers=_reviewers(labelling, events, names=names),
        agreement=agreement if agreement.items else None,
        deviations=_deviations(labelling, events),
        slices=_slices(settings, labelling),
        saved=_saved(labelling),
        judges=judges_of(labelling),
        notes=(*settings.notes, *notes_once(estimates)),
        answer="" if (threshold := threshold_of(labelling)) is None else str(threshold),
        confusion=matrices_of(labelling),
        classes=class_tables_of(labelling),
    )


def _population(settings: Settings) -> PopulationFacts:
    source = settings.source
    return PopulationFacts(
        items=settings.items,
        sampled=int(settings.strata.sizes.sum()),
        source=source.description,
        fingerprint=source.fingerprint,
        id_column=source.columns["id"],
        weight_column=source.columns.get("sample_weight"),
    )


def _saved(labelling: Labelling) -> str:
    savings = savings_of(labelling)
    return "" if savings is None else savings.sentence


def _slices(settings: Settings, labelling: Labelling) -> tuple[Slices, ...]:
    """First metric that is not a difference, by the columns named as slices."""
    goal = settings.goal
    names: list[str | None] = [None]
    if not goal.single and settings.is_binary:  # with classes, not every metric has slices
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


_COUNTED = ("answers", "cannot_judge", "broken", "skipped", "late", "spare")


def _reviewers(
    labelling: Labelling, events: Sequence[StoredLabel], *, names: bool
) -> tuple[ReviewerFacts, ...]:
    """Work of the reviewers, in the order of their first labels.

    A reviewer who has only ruled has judged no item; prior labels have no reviewer.
    """
    rows = {row.name: row for row in reviewers_in(labelling)}
    order = dict.fromkeys(event.reviewer for event in events if not event.ruling)
    return tuple(
        ReviewerFacts(
            (name or "(nobody named)") if names else f"reviewer {place}",
            **{each: getattr(rows[name], each) for each in _COUNTED},
        )
        for place, name in enumerate(order, start=1)
    )
