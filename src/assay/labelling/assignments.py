"""Assignments: which item each reviewer is given, and what becomes of their answers.

An item is before at most as many reviewers as it wants, each with a lease in the database's time.
An item whose lease has run out is given to the next who asks. What comes late is recorded, flagged,
and counts by the same rule as any other answer (`assay.labelling.review_rule`).
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

from assay.core.stopping import Reason
from assay.errors import AssayError
from assay.labelling.reserve import ShortReserveError
from assay.labelling.review_rule import SKIP, WITHDRAWN
from assay.labelling.state import Labelling
from assay.results import Dispute, Item, Receipt, Turn
from assay.storage import CardRow, Claim, Label, Session

LEASE_SECONDS = 600.0

# Cards a round has at least, as with `ask`: a round for every answer would let the stopping rule
# look after every answer, and would show which strata the next item is from.
_ROUND = 20


class Assignments:
    """The items that reviewers of a campaign are given, and their answers.

    Parameters
    ----------
    labelling : Labelling
        The campaign's labelling so far.
    """

    def __init__(self, labelling: Labelling) -> None:
        self._labelling = labelling

    def turn(self, labels: Sequence[Label], *, reviewer: str, want: int, lease: float) -> Turn:
        """Record what a reviewer sends, and give them the next items, in one transaction.

        Parameters
        ----------
        labels : sequence of Label
            What the reviewer sends, each with a key.
        reviewer : str
        want : int
            Items that the reviewer is to have at hand.
        lease : float
            Seconds for which nobody else is given them.
        """
        receipts: tuple[Receipt, ...] = ()
        while True:
            short = None
            with self._labelling.write() as session:
                for label in labels:
                    sent = replace(label, reviewer=reviewer, ruling=False)
                    receipts += (self._receive(session, sent, lease=lease),)
                try:
                    items = self._serve(session, reviewer, want, lease=lease, least=_ROUND)
                except ShortReserveError as error:
                    short = error
            if short is None:
                return self._answer(receipts, items, reviewer)
            # The answers are stored; the predictions are read outside of the transaction.
            labels = ()
            try:
                self._labelling.grow(short)
            except AssayError:
                # What was sent is saved all the same, and what was dealt can be judged.
                with self._labelling.write() as session:
                    items = self._serve(session, reviewer, want, lease=lease, least=0)
                if not receipts and not items:
                    raise
                return self._answer(receipts, items, reviewer)

    def ask(self, n: int, *, reviewer: str | None, lease: float) -> list[Item]:
        """Give a reviewer up to so many items, for so many seconds; None: without a claim."""
        while True:
            try:
                with self._labelling.write() as session:
                    return self._serve(session, reviewer, n, lease=lease, least=1)
            except ShortReserveError as short:
                self._labelling.grow(short)

    def rule(self, ruling: Label) -> Receipt:
        """Decide an item over the heads of its reviewers."""
        with self._labelling.write() as session:
            return self._receive(session, ruling, lease=0.0)

    def disputes(self) -> list[Dispute]:
        """Return the items that wait for a ruling, in the order in which they were dealt."""
        self._labelling.catch_up()
        waiting = [
            (card, self._labelling.review(card.item_id))
            for card in self._labelling.rounds.outstanding
        ]
        return [
            Dispute(self._item(card), review.counted_labels)
            for card, review in waiting
            if review.disputed
        ]

    def _answer(self, receipts: tuple[Receipt, ...], items: Sequence[Item], reviewer: str) -> Turn:
        done = self._labelling.rounds.reason is not Reason.GO_ON
        return Turn(
            receipts=receipts,
            items=tuple(items),
            state="done" if done else "go on" if items else "wait",
            yours=self._labelling.answers_of[reviewer],
            # Not those that are settled: whoever can undo would see what others have said.
            team=self._labelling.answered,
        )

    def _receive(self, session: Session, label: Label, *, lease: float) -> Receipt:
        campaign, key = self._labelling.key, label.key or ""
        reviewer, item_id = label.reviewer, label.item_id
        if (before := session.submitted(campaign, key)) is not None:
            if before.content() == replace(label, late=before.late).content():
                return Receipt(key, "again", before.late)
            told = "something else was sent under this key before, and stands"
            return Receipt(key, "conflict", message=told)
        # Claimed, but not drawn: since then the campaign may have been rebased.
        drawn = self._labelling.rounds.card(item_id) is not None
        if not (drawn if label.ruling else session.claimed(campaign, reviewer, [item_id])):
            told = "this item is none that you were given"
            return Receipt(key, "refused", message=told)
        late = not label.ruling and self._comes_late(session, label)
        self._labelling.add(session, [replace(label, late=late)])
        if label.answer == WITHDRAWN and self._is_free(session, item_id, reviewer):
            # They will want to say something else.
            session.claim(campaign, reviewer, [item_id], lease)
        else:
            session.give_back(campaign, reviewer, [item_id])
        return Receipt(key, "saved", late)

    def _is_free(self, session: Session, item_id: str, reviewer: str) -> bool:
        """Tell whether a reviewer may have an item: meanwhile it may be before somebody else."""
        return any(card.item_id == item_id for card in self._to_judge(session, reviewer))

    def _comes_late(self, session: Session, label: Label) -> bool:
        """Tell whether a first answer comes when the lease has run out."""
        if label.answer in (SKIP, WITHDRAWN):
            return False
        if label.reviewer in self._labelling.review(label.item_id).labels:
            return False
        return Claim(label.item_id, label.reviewer) not in session.live_claims(self._labelling.key)

    def _serve(
        self, session: Session, reviewer: str | None, n: int, *, lease: float, least: int
    ) -> list[Item]:
        """Return up to `n` items, and claim them.

        Where they are too few, a round of `least` or more is dealt; with 0 it is not.
        """
        if n < 1:
            return []
        cards = self._to_judge(session, reviewer)
        # More than one round only where all of one was judged before a rebase.
        while (
            least and len(cards) < n and self._labelling.deal(session, max(n - len(cards), least))
        ):
            cards = self._to_judge(session, reviewer)
            if cards:
                break
        cards = cards[:n]
        if self._labelling.rounds.reason is not Reason.GO_ON:
            return []
        if reviewer is not None:
            session.claim(self._labelling.key, reviewer, [card.item_id for card in cards], lease)
        return [self._item(card) for card in cards]

    def _to_judge(self, session: Session, reviewer: str | None) -> list[CardRow]:
        """Return what a reviewer may judge now: first what they have, last what they skipped."""
        holders: dict[str, set[str]] = {}
        for claim in session.live_claims(self._labelling.key):
            holders.setdefault(claim.item_id, set()).add(claim.reviewer)
        found: list[tuple[int, CardRow]] = []
        for card in self._labelling.rounds.outstanding:
            review, held = self._labelling.review(card.item_id), holders.get(card.item_id, set())
            if review.complete or reviewer in review.labels:
                continue
            others = {name for name in held if name != reviewer and name not in review.labels}
            if len(review.labels) + len(others) >= review.wanted:
                continue
            rank = -1 if reviewer in held else review.skips[reviewer or ""]
            found.append((rank, card))
        return [card for _, card in sorted(found, key=itemgetter(0))]

    def _item(self, card: CardRow) -> Item:
        settings, kept = self._labelling.settings, json.loads(card.shown)
        seen = {name: kept[name] for name in settings.source.columns["show"] if name in kept}
        return Item(settings.item_id(card.item_id), seen)
