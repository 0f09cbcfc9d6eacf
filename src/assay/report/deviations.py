"""What did not go straight from a question to its answer, by the log."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict

from assay.core.answers import Answer
from assay.labelling.estimates import waiting_in
from assay.labelling.review_rule import FROM_BEFORE, SKIP, WITHDRAWN, Review
from assay.labelling.state import Table
from assay.report.facts import Deviations
from assay.storage import Event


def deviations_in(table: Table, events: Iterable[Event]) -> Deviations:
    """Count what was revised, late, ruled, from before, or waits.

    Parameters
    ----------
    table : Table
    events : iterable of Event
        The whole log, oldest first.
    """
    counts: Counter[str] = Counter()
    reviews: dict[str, Review] = {}
    first: dict[str, Answer] = {}
    for event in events:
        review = reviews.setdefault(event.item_id, Review(table.wanted(event.item_id)))
        counts[_kind(event, review)] += 1
        counts["late"] += event.late
        review.take(event)
        if (settled := review.settled) is not None:
            first.setdefault(event.item_id, settled)
    before = table.settings.before
    return Deviations(
        revised_items=sum(answer is not reviews[id].settled for id, answer in first.items()),
        revised=counts["revised"],
        withdrawn=counts["withdrawn"],
        late=counts["late"],
        rulings=counts["ruling"],
        from_before=counts["from before"],
        before=None if before is None else asdict(before),
        waiting=len(waiting_in(table)),
    )


def _kind(event: Event, review: Review) -> str:
    """Return what an event is, beside what was said of its item before."""
    if event.answer == WITHDRAWN:
        return "withdrawn"
    if event.ruling:
        # Labels from before are written as rulings, so that nobody is asked again.
        return "from before" if event.reviewer == FROM_BEFORE else "ruling"
    given = review.answers.get(event.reviewer)
    return "revised" if given is not None and event.answer not in (SKIP, given) else "answer"
