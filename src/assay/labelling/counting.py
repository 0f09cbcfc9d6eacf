"""What lies on the table, counted: by stratum, by reviewer, and how far reviewers agree.

Nothing here looks at the store: all of it is of one moment, the one that the table shows.
"""

from collections import Counter

import numpy as np

from assay.core.agreement import Agreement, agreement_of
from assay.core.answers import Answer
from assay.core.strata import Strata
from assay.labelling.state import Table
from assay.results.estimates import StratumRow
from assay.results.reviewing import ReviewerRow

_ROWS = {True: 0, False: 1, None: 2}  # by outcome


def strata_in(table: Table) -> list[StratumRow]:
    """Return one row a stratum: what it is, its size, and its labels so far."""
    strata = table.settings.strata
    counts = np.zeros((3, strata.n_strata), dtype=np.int64)
    for item_id, answer in table.ledger.answers.items():
        card = table.ledger.card(item_id)
        if card is not None:
            counts[_ROWS[answer.outcome], card.stratum] += 1
    shares: list[float] | list[None] = [None] * strata.n_strata
    if isinstance(strata, Strata) and strata.weighted:
        shares = (strata.weights / strata.weights.sum()).tolist()
    return [
        StratumRow(text, size, int(yes + no), int(yes), int(unjudged), share)
        for text, size, (yes, no, unjudged), share in zip(
            strata.describe(), strata.sizes.tolist(), counts.T, shares, strict=True
        )
    ]


def reviewers_in(table: Table) -> list[ReviewerRow]:
    """Return what each reviewer has done, by name."""
    people = {name: Counter[str]() for name in table.last_said}
    for review in table.reviews.values():
        for name, times in review.skips.items():
            people[name]["skipped"] += times
        for name, answer in review.answers.items():
            people[name].update(("answers", answer.value))
            people[name]["late"] += name in review.late
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
            last_at=table.last_said[name],
        )
        for name, counts in sorted(people.items())
    ]


def agreement_in(table: Table) -> Agreement:
    """Return how often reviewers agree, on the items that were meant for several of them.

    Rulings do not matter here, nor do answers of more reviewers than an item wants.
    """
    counted = (review.counted for review in table.reviews.values())
    return agreement_of(
        [
            {name: _category(answer) for name, answer in each.items()}
            for each in counted
            if len(each) > 1
        ]
    )


def waiting_in(table: Table) -> dict[str, Answer]:
    """Return answers from before a rebase to items that have not been drawn since."""
    return {
        item_id: answer
        for item_id, review in table.reviews.items()
        if (answer := review.settled) is not None and table.ledger.card(item_id) is None
    }


def _category(answer: Answer) -> str:
    """Return what two answers must share to agree."""
    return answer.value if answer.judged else Answer.CANNOT_JUDGE.value
