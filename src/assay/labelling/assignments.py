"""Assignments: the items that each reviewer is given, and what happens to the answers.

An item is assigned to at most as many reviewers as it wants, each with a lease in the database's
time. When a lease expires, the item goes to the next reviewer who asks. Late answers are recorded,
flagged, and count by the same rule as any other (`assay.labelling.review_rule`).
"""

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from assay.core.stopping import Reason
from assay.errors import AssayError
from assay.labelling.reserve import ShortReserveError
from assay.labelling.review_rule import SKIP, WITHDRAWN
from assay.labelling.state import Labelling
from assay.results import Dispute, Item, Receipt, Turn
from assay.storage import CardRow, Claim, Label, Session

LEASE_SECONDS = 600.0

# Minimum number of cards of a round, as with `ask`: with a round for every answer the stopping rule
# would look after every answer, and the next item's strata would be apparent.
_ROUND = 20


@dataclass(frozen=True)
class TurnRequest:
    """Labels that a reviewer's page sends, and the items that it wants."""

    labels: Sequence[Label]  # each with a key
    reviewer: str
    want: int  # number of items that the reviewer is to hold
    lease: float  # seconds for which nobody else gets them
    # Whether the reviewer must not learn the effect of another answer: items that the stopping rule
    # has used are then closed to them.
    blind: bool = False


@dataclass(frozen=True)
class TurnReply:
    """Reply to a request; `short` if there were too few cards for more items."""

    turn: Turn
    short: ShortReserveError | None = None


class Assignments:
    """Items that a campaign's reviewers are given, and their answers.

    `labelling`: the campaign's labelling so far.
    """

    def __init__(self, labelling: Labelling) -> None:
        self._labelling = labelling

    def turn(self, request: TurnRequest) -> Turn:
        """Record a reviewer's labels, and give them the next items, in one transaction."""
        (reply,) = self.turns([request])
        receipts = reply.turn.receipts
        while reply.short is not None:
            # The answers are stored; the predictions are read outside of the transaction.
            try:
                self._labelling.grow(reply.short)
            except AssayError:
                # The labels are saved all the same, and the dealt items can be judged.
                if not receipts and not reply.turn.items:
                    raise
                break
            (reply,) = self.turns([replace(request, labels=())])
        return replace(reply.turn, receipts=receipts)

    def turns(self, requests: Sequence[TurnRequest]) -> list[TurnReply]:
        """Handle requests of several reviewers' pages in one transaction: all or none.

        All labels are recorded first. If there are too few cards, a reply has the items dealt
        before.
        """
        with self._labelling.write() as session:
            claims = _Claims(session, self._labelling.key)
            receipts = self._receive(session, claims, requests)
            served = [self._serve_or_less(session, claims, request) for request in requests]
            claims.write()
        return [
            TurnReply(self._answer(its_receipts, items, request.reviewer), short)
            for request, its_receipts, (items, short) in zip(
                requests, receipts, served, strict=True
            )
        ]

    def ask(self, n: int, *, reviewer: str | None, lease: float) -> list[Item]:
        """Give a reviewer up to `n` items for `lease` seconds; without a reviewer, no claim."""
        while True:
            try:
                with self._labelling.write() as session:
                    claims = _Claims(session, self._labelling.key)
                    items = self._serve(session, claims, reviewer, n, lease=lease, least=1)
                    claims.write()
                    return items
            except ShortReserveError as short:
                self._labelling.grow(short)

    def rule(self, ruling: Label) -> Receipt:
        """Decide an item, overriding its reviewers."""
        with self._labelling.write() as session:
            claims = _Claims(session, self._labelling.key)
            request = TurnRequest([ruling], ruling.reviewer, want=0, lease=0.0)
            ((receipt,),) = self._receive(session, claims, [request])
            claims.write()
            return receipt

    def disputes(self) -> list[Dispute]:
        """Items that wait for a ruling, in the order of dealing."""
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
            # Not the settled ones: undoing would reveal other reviewers' answers.
            team=self._labelling.answered,
        )

    def _receive(
        self, session: Session, claims: "_Claims", requests: Sequence[TurnRequest]
    ) -> list[tuple[Receipt, ...]]:
        """Record the labels sent, in as few statements as possible."""
        new: dict[str, Label] = {}  # by item, to be recorded together
        keys: set[str] = set()

        def record() -> None:
            self._labelling.add(session, list(new.values()))
            new.clear()
            keys.clear()

        receipts = []
        for request in requests:
            its = []
            for label in request.labels:
                if label.item_id in new or label.key in keys:
                    record()  # the next label depends on it
                receipt = self._look_at(claims, label, blind=request.blind)
                its.append(receipt)
                if receipt.status != "saved":
                    continue
                new[label.item_id] = replace(label, late=receipt.late)
                keys.add(label.key or "")
                claim = Claim(label.item_id, label.reviewer)
                claims.end(claim)
                if label.answer == WITHDRAWN:
                    record()
                    # They will give another answer; meanwhile others may have the item.
                    if self._is_free(claims, label):
                        claims.give(claim, request.lease)
            receipts.append(tuple(its))
        record()
        return receipts

    def _look_at(self, claims: "_Claims", label: Label, *, blind: bool) -> Receipt:
        """Check a label, and return its receipt."""
        key = label.key or ""
        if (before := self._labelling.sent.get(key)) is not None:
            if before.content() == replace(label, late=before.late).content():
                return Receipt(key, "again", before.late)
            told = "something else was sent under this key before, and stands"
            return Receipt(key, "conflict", message=told)
        # Claimed, but not drawn: the campaign may have been rebased since.
        drawn = self._labelling.rounds.card(label.item_id) is not None
        claim = Claim(label.item_id, label.reviewer)
        if not (drawn if label.ruling else claims.was_made(claim)):
            told = "this item was not assigned to you"
            return Receipt(key, "refused", message=told)
        if blind and self._would_try_again(label):
            told = "its round is complete and counted; the owner can change your answer"
            return Receipt(key, "refused", message=told)
        return Receipt(key, "saved", not label.ruling and self._comes_late(claims, label))

    def _would_try_again(self, label: Label) -> bool:
        """Whether a reviewer changes or withdraws an answer that the stopping rule has used.

        Whoever gives the last answer of a round sees whether the campaign goes on. A second answer
        would let them choose the one that ends it.
        """
        own = self._labelling.review(label.item_id).labels.get(label.reviewer)
        if own is None or label.answer in (own.answer, SKIP):
            return False
        return self._labelling.rounds.is_looked_at(label.item_id)

    def _is_free(self, claims: "_Claims", label: Label) -> bool:
        """Whether an item still waits, and a reviewer may have it again."""
        waits = self._labelling.rounds.waits(label.item_id)
        return waits and self._rank(claims, label.item_id, label.reviewer) is not None

    def _comes_late(self, claims: "_Claims", label: Label) -> bool:
        """Whether a first answer comes after the lease has expired."""
        if label.answer in (SKIP, WITHDRAWN):
            return False
        if label.reviewer in self._labelling.review(label.item_id).labels:
            return False
        return label.reviewer not in claims.holders(label.item_id)

    def _serve_or_less(
        self, session: Session, claims: "_Claims", request: TurnRequest
    ) -> tuple[list[Item], ShortReserveError | None]:
        """Items for a request; if cards are missing, those dealt before."""
        who, want, lease = request.reviewer, request.want, request.lease
        try:
            return self._serve(session, claims, who, want, lease=lease, least=_ROUND), None
        except ShortReserveError as short:
            return self._serve(session, claims, who, want, lease=lease, least=0), short

    def _serve(
        self,
        session: Session,
        claims: "_Claims",
        reviewer: str | None,
        n: int,
        *,
        lease: float,  # seconds
        least: int,  # minimum size of a further round if items are short; 0: no further round
    ) -> list[Item]:
        """Claim and return up to `n` items."""
        if n < 1:
            return []
        cards = self._to_judge(claims, reviewer, n)
        # More than one round only if all of one was judged before a rebase.
        while (
            least and len(cards) < n and self._labelling.deal(session, max(n - len(cards), least))
        ):
            cards = self._to_judge(claims, reviewer, n)
            if cards:
                break
        if self._labelling.rounds.reason is not Reason.GO_ON:
            return []
        if reviewer is not None:
            for card in cards:
                claims.give(Claim(card.item_id, reviewer), lease)
        return [self._item(card) for card in cards]

    def _to_judge(self, claims: "_Claims", reviewer: str | None, n: int) -> list[CardRow]:
        """Up to `n` cards for a reviewer: first those they have, last those they skipped.

        The search ends early: a hundred thousand cards may wait for a file of answers.
        """
        held = sum(map(self._labelling.rounds.waits, claims.held_by(reviewer)))
        ranked: dict[int, list[CardRow]] = {-1: [], 0: []}
        for card in self._labelling.rounds.outstanding:
            rank = self._rank(claims, card.item_id, reviewer)
            if rank is not None:
                ranked.setdefault(rank, []).append(card)
                if len(ranked[-1]) == held and len(ranked[-1]) + len(ranked[0]) >= n:
                    break
        return [card for rank in sorted(ranked) for card in ranked[rank]][:n]

    def _rank(self, claims: "_Claims", item_id: str, reviewer: str | None) -> int | None:
        """Rank of an item for a reviewer: -1 if they have it, else how often they skipped it.

        None: it is not for them, or not now.
        """
        review, held = self._labelling.review(item_id), claims.holders(item_id)
        if review.complete or reviewer in review.labels:
            return None
        others = sum(name != reviewer and name not in review.labels for name in held)
        if len(review.labels) + others >= review.wanted:
            return None
        return -1 if reviewer in held else review.skips.get(reviewer or "", 0)

    def _item(self, card: CardRow) -> Item:
        settings, kept = self._labelling.settings, json.loads(card.shown)
        seen = {name: kept[name] for name in settings.source.columns["show"] if name in kept}
        return Item(settings.item_id(card.item_id), seen)


_NONE: frozenset[str] = frozenset()


class _Claims:
    """Live claims in a transaction: read once, and changes are written at its end.

    No other process writes meanwhile.
    """

    def __init__(self, session: Session, campaign: int) -> None:
        self._session, self._campaign = session, campaign
        self._by_item: dict[str, set[str]] = {}
        self._by_reviewer: dict[str, set[str]] = {}
        self._changed: dict[Claim, float | None] = {}  # the lease; None: given back
        for claim in session.live_claims(campaign):
            self._add(claim)

    def _add(self, claim: Claim) -> None:
        self._by_item.setdefault(claim.item_id, set()).add(claim.reviewer)
        self._by_reviewer.setdefault(claim.reviewer, set()).add(claim.item_id)

    def holders(self, item_id: str) -> Set[str]:
        """Reviewers who hold a claim on an item."""
        return self._by_item.get(item_id, _NONE)

    def held_by(self, reviewer: str | None) -> Set[str]:
        """Items that a reviewer holds claims on."""
        return self._by_reviewer.get(reviewer or "", _NONE)

    def was_made(self, claim: Claim) -> bool:
        """Whether a reviewer was ever given an item."""
        if claim in self._changed or claim.reviewer in self.holders(claim.item_id):
            return True
        return bool(self._session.claimed(self._campaign, claim.reviewer, [claim.item_id]))

    def give(self, claim: Claim, lease: float) -> None:
        """Give an item to a reviewer for `lease` seconds, or renew the lease."""
        self._add(claim)
        self._changed[claim] = lease

    def end(self, claim: Claim) -> None:
        """End a reviewer's claim on an item, if there is one."""
        if claim.reviewer in self.holders(claim.item_id):
            self._by_item[claim.item_id].discard(claim.reviewer)
            self._by_reviewer[claim.reviewer].discard(claim.item_id)
            self._changed[claim] = None

    def write(self) -> None:
        """Store the changes."""
        by_lease: dict[float | None, list[Claim]] = {}
        for claim, lease in self._changed.items():
            by_lease.setdefault(lease, []).append(claim)
        self._session.give_back(self._campaign, by_lease.pop(None, []))
        for lease, claims in by_lease.items():
            self._session.claim(self._campaign, claims, lease or 0.0)
