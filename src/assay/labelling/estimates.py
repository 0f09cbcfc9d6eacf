"""Estimates, strata, reviewers and agreement of a campaign, from its labelling so far."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from math import inf, isfinite
from typing import Any, Literal, get_args

import numpy as np

from assay.core.answers import Agreement, Answer, agreement_of
from assay.core.design import ends_with_budget, holds
from assay.core.estimate import rates
from assay.core.forecast import (
    effective_labels,
    labels_at_random,
    labels_per_range,
    labels_per_share,
    two_digits,
)
from assay.core.intervals import INTERVALS, wilson
from assay.core.metrics import METRICS
from assay.core.standing import Standing
from assay.core.stopping import Reason
from assay.core.targets import is_difference
from assay.errors import InputError, counted, did_you_mean
from assay.labelling.state import Labelling
from assay.results import (
    Backend,
    Estimate,
    Estimates,
    HistoryPoint,
    ReviewerRow,
    StratumRow,
    frame_of,
    types_of,
)


def estimates_of(labelling: Labelling) -> Estimates:
    """Compute the current estimates of all requested metrics, by name."""
    stopped, around = labelling.rounds.stopped, _notes_on_answers(labelling)
    return Estimates(
        {
            each.name: _estimate(labelling, each, stopped, around)
            for each in labelling.rounds.standings
        }
    )


def _estimate(
    labelling: Labelling, standing: Standing, stopped: str | None, around: tuple[str, ...]
) -> Estimate:
    notes = (
        *_notes_on_interval(labelling, standing),
        *_notes_on_weights(labelling, standing),
        *around,
    )
    verdict = labelling.rounds.reason.verdict
    if standing.goal.threshold_for is not None:
        return estimate_of(standing, _AT_THRESHOLD, notes, stopped=stopped, verdict=verdict)
    reference = _reference(standing)
    estimate = estimate_of(standing, reference, notes, stopped=stopped, verdict=verdict)
    at_random = worth_of(labelling, standing, estimate)[1]
    return replace(estimate, random_labels=None if at_random is None else two_digits(at_random))


def estimate_of(
    standing: Standing,
    interval: str,
    notes: tuple[str, ...],
    *,
    stopped: str | None = None,
    verdict: bool | None = None,
) -> Estimate:
    """Estimate of a target from its standing; `interval` and the others as in `Estimate`."""
    goal, design, now = standing.goal, standing.design, standing.look
    defined = bool(now.moments.defined)
    return Estimate(
        metric=standing.name,
        value=float(now.moments.value) if defined else None,
        low=float(now.low),
        high=float(now.high),
        confidence=goal.confidence,
        standard_error=float(np.sqrt(now.moments.variance)) if defined else None,
        labels=standing.labels,
        cannot_judge=standing.unjudged,
        worst_case=standing.worst_case if standing.unjudged else None,
        interval=interval,
        anytime=design.anytime,
        stopped=stopped,
        notes=notes,
        verdict=verdict,
        within=goal.within,
        open=standing.open,
        could_move=standing.could_move,
        holds=holds(design, goal, spent=_is_spent(standing)),
        bound=_bound(standing, verdict),
        like_rest=standing.like_rest,
    )


def _is_spent(standing: Standing) -> bool:
    return standing.state.spent is not None and bool(standing.state.spent)


def _reference(standing: Standing) -> str:
    """Cite the method of the interval."""
    design, kind = standing.design, INTERVALS[standing.design.interval]
    at_end = _is_spent(standing) and ends_with_budget(design, standing.goal)
    return kind.once if kind.once and (at_end or design.stop == "budget") else kind.reference


_AT_THRESHOLD = "certified at the reported threshold, by bets"


def _notes_on_interval(labelling: Labelling, standing: Standing) -> list[str]:
    moments, goal = standing.look.moments, standing.goal
    bounded = moments.bounded.nonzero()[0].tolist()
    notes: list[str] = []
    if goal.threshold_for is not None:
        return [
            "the metric is that at the reported threshold, which moves with the labels; "
            "Campaign.threshold has narrower intervals"
        ]
    if not moments.defined:
        notes.append("too few labels for an estimate")
    elif bounded:
        which = ", ".join(str(h + 1) for h in bounded)
        where = f"strata {which} of {standing.tallies.N.size}"
        if not labelling.settings.goal.single:
            where = "some strata"  # the strata of one metric have no visible numbers
        notes.append(
            f"too few labels in {where} to estimate their variance: "
            "its largest possible value is used"
        )
    if goal.sample_of is not None and moments.defined:
        notes.append(
            f"the {goal.sample_size:,} items are a random sample of {goal.sample_of:,}, and the "
            f"interval is for all of these: ±{standing.of_sample:.2g} of it is the sample's own"
        )
    return [*notes, *_notes_on_looks(labelling, standing)]


def _notes_on_looks(labelling: Labelling, standing: Standing) -> list[str]:
    """Collect the notes on the looks that the interval is made for."""
    design, goal, notes = labelling.settings.design, standing.goal, list[str]()
    if ends_with_budget(design, goal) and labelling.rounds.reason is Reason.GO_ON:
        notes.append(holds(design, goal, spent=False))
    if design.recycles:
        notes.append(
            "paper 3 gives the sizes of its samples and no interval: this is the normal one "
            "(docs/several.md)"
        )
    elif standing.look.moments.defined and not design.may_stop:
        if goal.within is not None:
            notes.append(
                "the interval assumes a single look; stopping on its width makes it miss more "
                "often (docs/certainty.md)"
            )
        elif labelling.rounds.reason is Reason.GO_ON:
            notes.append(
                "the interval is made for a single look at the end of the budget; do not stop on "
                "earlier ones"
            )
    return notes


def _notes_on_weights(labelling: Labelling, standing: Standing) -> list[str]:
    """Collect the notes for items with weights."""
    if not labelling.settings.strata.weighted:
        return []
    state = labelling.rounds.state
    once, tallies = state.once, state.tallies
    if once is None:
        return []
    answered = int((once.judged + once.unjudged).sum())
    draws = int((tallies.n + tallies.u).sum())
    notes = ["items count by weight and are drawn in proportion to it"]
    if draws > answered:
        notes[0] += f": {draws:,} draws met {answered:,} items, some of them again"
    budget = standing.goal.budget
    if labelling.rounds.reason is Reason.BUDGET_SPENT and (budget is None or answered < budget):
        notes.append("the items that were not drawn weigh too little to draw more")
    return notes


def _notes_on_answers(labelling: Labelling) -> tuple[str, ...]:
    """Collect the notes on answers that are missing not at random."""
    waiting = {card.item_id for card in labelling.rounds.outstanding}
    notes: list[str] = []
    half_answered = sum(
        len(ids & waiting) for ids in labelling.items_of_rounds if not ids <= waiting
    )
    if labelling.settings.before is not None and half_answered:
        notes.append(
            f"{half_answered:,} drawn items have no answer yet; until they do, new items count "
            "too little"
        )
    if waiting and labelling.rounds.reason is not Reason.GO_ON:
        notes.append(
            f"{len(waiting):,} drawn items had no answer at the stop: the interval is that of "
            "the rounds before, or assumes the worst case"
        )
    if disputed := sum(labelling.review(item_id).disputed for item_id in waiting):
        items = counted(disputed, "item")
        notes.append(f"reviewers disagree on {items}, which count after a ruling")
    return tuple(notes)


# Savings of labels compared with a simple random sample, and the bound of a verdict.


def worth_of(
    labelling: Labelling, standing: Standing, estimate: Estimate
) -> tuple[float | None, float | None]:
    """Sizes of random samples with the same variance, and with an interval as narrow.

    None for a difference, for which a random sample has no simple formula; before anything is
    known; and if the labels of a part show no spread.
    """
    metric, value = standing.goal.metric, estimate.value
    if value is None or is_difference(standing.name) or metric not in METRICS:
        return None, None
    if standing.goal.targets[0].label == "" and metric != "accuracy":
        return None, None
    design = labelling.settings.design
    hit_rates = rates(standing.tallies, design.estimator, replacement=design.replacement)
    totals, kind = standing.tallies.N * hit_rates, METRICS[metric]
    weighted = labelling.settings.strata.weighted
    if kind.power is None:
        denominator = float(standing.metric.denominator(totals))
        per_share = labels_per_share(metric, value, standing.size, denominator)
    else:
        says_yes = standing.metric.rises(totals)
        per_share = labels_per_range(metric, standing.tallies.N, totals, says_yes)
    range_ = 1 - kind.lowest  # as shares of it
    # A random sample would have its unjudged items, too.
    value, half_width = (value - kind.lowest) / range_, estimate.half_width_like_rest / range_
    items = inf if weighted else standing.size  # items drawn by weight may be drawn again
    if (standing.tallies.n + standing.tallies.u >= standing.tallies.N).all():
        effective: float | None = items
    elif half_width <= 0:
        return None, None
    else:
        error = (estimate.standard_error or 0.0) / range_
        effective = effective_labels(value, error, per_share=per_share, items=items)
    at_random = labels_at_random(
        value, half_width, confidence=estimate.confidence, per_share=per_share, items=items
    )
    return _finite(effective), _finite(at_random)


def _finite(labels: float | None) -> float | None:
    return labels if labels is not None and isfinite(labels) else None


def _bound(standing: Standing, verdict: bool | None) -> float | None:
    """One-sided bound behind a verdict.

    The two-sided interval spends half of the error on either end, a verdict all of it on one. Its
    bound is an end of the interval of confidence 2 c - 1, and no worse than the limit itself.
    """
    state, limit = standing.state, standing.goal.at_least
    if verdict is None or state.bets is None or limit is None:
        return None
    against, in_favour = state.worst_bets or (state.bets, state.bets)
    wider = 2 * standing.goal.confidence - 1
    if verdict:
        return max(float(against.ends(wider)[0]), float(standing.look.low), limit)
    return min(float(in_favour.ends(wider)[1]), float(standing.look.high), limit)


# Counts by stratum and by reviewer, and how far reviewers agree: all of one moment.


def strata_in(labelling: Labelling) -> list[StratumRow]:
    """One row per stratum: its definition, its size, and its labels so far."""
    strata = labelling.settings.strata
    counts = np.zeros((3, strata.n_strata), dtype=np.int64)
    for item_id, answer in labelling.rounds.answers.items():
        card = labelling.rounds.card(item_id)
        if card is not None:
            counts[_row(labelling, card.predicted, answer), card.stratum] += 1
    shares: list[float] | list[None] = [None] * strata.n_strata
    if strata.weighted:
        shares = (strata.weights / strata.weights.sum()).tolist()
    return [
        StratumRow(text, size, int(yes + no), int(yes), int(unjudged), share, *rate)
        for text, size, (yes, no, unjudged), share, rate in zip(
            labelling.settings.strata_words,
            strata.sizes.tolist(),
            counts.T,
            shares,
            _rates(labelling),
            strict=True,
        )
    ]


def _rates(labelling: Labelling) -> list[tuple[float | None, ...]]:
    """Share of outcomes in each stratum with its interval's ends; None without labels.

    The interval is Wilson's, for each stratum by itself, as if the number of labels had been fixed
    in advance. Without weights it is limited to the shares that the stratum's size allows.
    """
    settings, known = labelling.settings, labelling.rounds.state.tallies
    n, x = map(labelling.evaluation.by_stratum, (known.n, known.x))
    rate, sizes = x / np.maximum(n, 1.0), settings.strata.sizes
    low, high = wilson(rate, 0 * rate, n, settings.goal.confidence)
    if not settings.strata.weighted:
        low, high = np.maximum(low, x / sizes), np.minimum(high, (sizes - n + x) / sizes)
    table = np.stack([rate, low, high], axis=1).tolist()
    return [tuple(row) if labels else (None,) * 3 for row, labels in zip(table, n, strict=True)]


def _row(labelling: Labelling, predicted: int, answer: Answer) -> int:
    """Row that counts an answer: yes, no, or neither; with more classes, correct or not."""
    if not answer.judged:
        return 2
    classes = labelling.settings.classes
    if classes.is_yes_or_no:
        return int(answer is not Answer.YES)
    return int(classes.number(answer) != labelling.settings.strata.first_prediction(predicted))


def reviewers_in(labelling: Labelling) -> list[ReviewerRow]:
    """Work of each reviewer, by name."""
    people = {name: Counter[str]() for name in labelling.last_label_at}
    for review in labelling.reviews.values():
        for name, times in review.skips.items():
            people[name]["skipped"] += times
        for name, label in review.labels.items():
            people[name].update(("answers", label.answer))
            people[name]["late"] += label.late
        for name in review.spare:
            people[name]["spare"] += 1
    return [
        ReviewerRow(
            name=name,
            answers=counts["answers"],
            cannot_judge=counts["cannot judge"],
            broken=counts["broken"],
            skipped=counts["skipped"],
            late=counts["late"],
            spare=counts["spare"],
            last_at=labelling.last_label_at[name],
        )
        for name, counts in sorted(people.items())
    ]


def agreement_in(labelling: Labelling) -> Agreement:
    """Agreement of reviewers, on the items meant for several of them.

    Rulings do not count, nor do answers of more reviewers than an item wants.
    """
    counted = (review.counted for review in labelling.reviews.values())
    return agreement_of(
        [
            {name: answer.category for name, answer in each.items()}
            for each in counted
            if len(each) > 1
        ]
    )


def waiting_in(labelling: Labelling) -> dict[str, Answer]:
    """Answers from before a rebase to items that have not been drawn since."""
    return {
        item_id: answer
        for item_id, review in labelling.reviews.items()
        if (answer := review.settled) is not None and labelling.rounds.card(item_id) is None
    }


# A campaign's labels, strata and history as DataFrames.

Frame = Literal["labels", "strata", "history"]
FRAMES: tuple[str, ...] = get_args(Frame)


def history_in(
    labelling: Labelling, *, unfinished: int = 0
) -> Mapping[str, Sequence[HistoryPoint]]:
    """Estimates of each metric after each complete round, from the answers that count now.

    Plus at most `unfinished` points of rounds that still wait for answers.
    """
    past, more = labelling.rounds.history, labelling.rounds.unfinished(unfinished)
    return {name: (*past.get(name, ()), *more.get(name, ())) for name in {**past, **more}}


def campaign_frame(labelling: Labelling, what: Frame, *, backend: Backend) -> Any:
    """DataFrame of `Campaign.to_frame`."""
    if what == "strata":
        rows: list[dict[str, Any]] = [row.to_dict() for row in strata_in(labelling)]
        return frame_of(rows, types_of(StratumRow), backend=backend)
    if what == "history":
        rows = [
            {"metric": metric, **asdict(point)}
            for metric, points in history_in(labelling).items()
            for point in points
        ]
        return frame_of(rows, {"metric": str, **types_of(HistoryPoint)}, backend=backend)
    if what == "labels":
        from assay.labelling.judged import labels_frame  # takes long to load, and few need it

        return labels_frame(labelling, backend=backend)
    raise InputError(
        f"there is no frame of {what!r}",
        details=f"frames: {', '.join(FRAMES)}",
        hint=did_you_mean(str(what), FRAMES),
    )
