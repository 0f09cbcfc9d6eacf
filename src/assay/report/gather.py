"""From the table to all that a report says."""

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version

from assay.core.answers import Answer
from assay.core.goal import JointGoal
from assay.labelling.estimates import agreement_in, estimates_of, reviewers_in
from assay.labelling.settings import Settings
from assay.labelling.slices import slices_of
from assay.labelling.state import Table
from assay.report.deviations import deviations_in
from assay.report.facts import AnswerFacts, CampaignFacts, Facts, PopulationFacts, ReviewerFacts
from assay.report.how import how_facts
from assay.report.strata import interval_of, outcome_of, strata_facts
from assay.report.worth import metric_facts
from assay.results.estimates import notes_once
from assay.results.slices import Slices
from assay.storage import Event


def facts_of(table: Table, *, names: bool) -> Facts:
    """Return all that a report says, of one moment.

    Parameters
    ----------
    table : Table
    names : bool
        Call reviewers by their names, and not by numbers in the order of their first answers.
    """
    with table.read() as session:  # what follows looks at the table only
        events = session.labels(table.key)
        created_at = session.created_at(table.key)
    settings = table.settings
    estimates = estimates_of(table)
    metrics = metric_facts(table, estimates)
    agreement = agreement_in(table)
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
        answers=_answers(table),
        outcome=outcome_of(settings.strata),
        variable=settings.strata.variable if settings.source.has_score else "",
        is_probability=settings.source.scale == "probability"
        and settings.strata.variable in ("score", "confidence"),
        strata_interval=interval_of(settings.strata),
        strata=strata_facts(table, settings.goal.confidence),
        reviewers=_reviewers(table, events, names=names),
        agreement=agreement if agreement.items else None,
        deviations=deviations_in(table, events),
        slices=_slices(settings, table),
        notes=(*settings.strata.notes, *notes_once(estimates)),
    )


def _slices(settings: Settings, table: Table) -> tuple[Slices, ...]:
    """Return the first metric that is no difference, by the columns that were named as slices."""
    goal = settings.goal
    names: list[str | None] = [None]
    if isinstance(goal, JointGoal):
        names = [target.name for target in goal.targets if target.minus is None]
    if not names or not table.ledger.answers:
        return ()
    return tuple(slices_of(table, column, metric=names[0]) for column in settings.source.slices)


def _answers(table: Table) -> AnswerFacts:
    given = Counter(table.ledger.answers.values())
    waiting = [table.review(card.item_id) for card in table.ledger.outstanding]
    return AnswerFacts(
        rounds=len(table.rounds),
        drawn=given.total() + len(waiting),
        labels=sum(number for answer, number in given.items() if answer.judged),
        cannot_judge=given[Answer.CANNOT_JUDGE],
        broken=given[Answer.BROKEN],
        unanswered=len(waiting),
        half_reviewed=sum(bool(each.answers) and not each.complete for each in waiting),
        disputed=sum(each.disputed for each in waiting),
    )


def _reviewers(table: Table, events: Sequence[Event], *, names: bool) -> tuple[ReviewerFacts, ...]:
    """Return what reviewers did, in the order in which they first said something.

    Who has only ruled has judged no item; labels from before were nobody's here.
    """
    rows = {row.name: row for row in reviewers_in(table)}
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
