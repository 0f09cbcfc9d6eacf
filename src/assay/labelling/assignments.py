"""Assignments: the items that each reviewer is given, and what happens to the answers.

An item is assigned to at most as many reviewers as it wants, each with a lease in the database's
time. When a lease expires, the item goes to the next reviewer who asks. Late answers are recorded,
flagged, and count by the same rule as any other (`assay.labelling.review_rule`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.core.stopping import Reason
from assay.errors import AssayError
from assay.labelling.reserve import ShortReserveError
from assay.labelling.review_rule import SKIP, WITHDRAWN
from assay.labelling.state import Labelling
from assay.labelling.waiting import Claims
from assay.results import Dispute, Item, Receipt, Turn
from assay.storage import CardRow, Claim, Label, Session

LEASE_SECONDS = 600.0

# Minimum number of cards of a round, as with `ask`: with a round for every answer the stopping rule
# would look after every answer, and the next item's strata would be apparent.
_ROUND = 20

_AT_ONCE = 50  # items looked at beyond those wanted: others may have some


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
            sent = [label.item_id for request in requests for label in request.labels]
            claims = Claims(
                session,
                self._labelling.key,
                reviewers=(request.reviewer for request in requests),
                most=max((request.want for request in requests), default=0) + len(sent),
                item_ids=[*sent, *self._labelling.waiting.first(_AT_ONCE)],
            )
            receipts = self._receive(session, claims, requests)
            served = [self._serve_or_less(session, claims, request) for request in requests]
            claims.write()
        return [
            TurnReply(self._answer(own_receipts, items, request.reviewer), short)
            for request, own_receipts, (items, short) in zip(
                requests, receipts, served, strict=True
            )
        ]

    def ask(self, n: int, *, reviewer: str | None, lease: float) -> list[Item]:
        """Give a reviewer up to `n` items for `lease` seconds; without a reviewer, no claim."""
        while True:
            try:
                with self._labelling.write() as session:
                    who = [] if reviewer is None else [reviewer]
                    claims = Claims(session, self._labelling.key, reviewers=who, most=n)
                    items = self._serve(session, claims, reviewer, n, lease=lease, least=1)
                    claims.write()
                    return items
            except ShortReserveError as short:
                self._labelling.grow(short)

    def rule(self, ruling: Label) -> Receipt:
        """Decide an item, overriding its reviewers."""
        with self._labelling.write() as session:
            claims = Claims(session, self._labelling.key)
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

    def answered(self, item_id: str) -> Item | None:
        """Item with an answer that counts; None if there is none of this id."""
        card = self._labelling.rounds.card(item_id)
        counts = item_id in self._labelling.rounds.answers
        return self._item(card) if counts and card is not None else None

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
        self, session: Session, claims: Claims, requests: Sequence[TurnRequest]
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
            own_receipts = []
            for label in request.labels:
                if label.item_id in new or label.key in keys:
                    record()  # the next label depends on it
                receipt = self._look_at(claims, label, blind=request.blind)
                own_receipts.append(receipt)
                if receipt.status != "saved":
                    continue
                new[label.item_id] = replace(label, late=receipt.late)
                keys.add(label.key or "")
                claim = Claim(label.item_id, label.reviewer)
                claims.end(claim)
                if label.answer == WITHDRAWN:
                    record()
                    # They will give another answer; meanwhile others may have the item.
                    waits = self._labelling.rounds.waits(label.item_id)
                    if waits and self._may_have(claims, label.item_id, label.reviewer):
                        claims.give(claim, request.lease)
            receipts.append(tuple(own_receipts))
        record()
        return receipts

    def _look_at(self, claims: Claims, label: Label, *, blind: bool) -> Receipt:
        """Check a label, and return its receipt."""
        key = label.key or ""
        if (before := self._labelling.sent.get(key)) is not None:
            if before.content() == replace(label, late=before.late).content():
                return Receipt(key, "again", before.late)
            message = "another answer was already sent under this key, and is kept"
            return Receipt(key, "conflict", message=message)
        # Claimed, but not drawn: the campaign may have been rebased since.
        drawn = self._labelling.rounds.card(label.item_id) is not None
        claim = Claim(label.item_id, label.reviewer)
        if not (drawn if label.ruling else claims.was_made(claim)):
            message = "this item was not assigned to you"
            return Receipt(key, "refused", message=message)
        if blind and self._would_try_again(label):
            message = "its round is complete and counted; the owner can change your answer"
            return Receipt(key, "refused", message=message)
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

    def _comes_late(self, claims: Claims, label: Label) -> bool:
        """Whether a first answer comes after the lease has expired."""
        if label.answer in (SKIP, WITHDRAWN):
            return False
        if label.reviewer in self._labelling.review(label.item_id).labels:
            return False
        return label.reviewer not in claims.holders(label.item_id)

    def _serve_or_less(
        self, session: Session, claims: Claims, request: TurnRequest
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
        claims: Claims,
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

    def _to_judge(self, claims: Claims, reviewer: str | None, n: int) -> list[CardRow]:
        """Up to `n` cards for a reviewer: first those they have, last those they skipped."""
        rounds, waiting = self._labelling.rounds, self._labelling.waiting
        claimed = [
            item_id
            for item_id in claims.items_of(reviewer)
            if rounds.waits(item_id) and self._may_have(claims, item_id, reviewer)
        ]
        claimed = sorted(claimed, key=waiting.place)[:n]
        chosen = [*claimed, *self._free(claims, reviewer, n - len(claimed))]
        return [card for card in map(rounds.card, chosen) if card is not None]

    def _free(self, claims: Claims, reviewer: str | None, n: int) -> list[str]:
        """Up to `n` items that a reviewer does not have yet."""
        waiting = self._labelling.waiting
        ranked: dict[int, list[str]] = {0: []}  # by the times that the reviewer skipped them
        left: list[str] = []
        size = n + _AT_ONCE
        while len(ranked[0]) < n and (some := waiting.take(size, claims.now)):
            still = [item_id for item_id in some if self._labelling.rounds.waits(item_id)]
            claims.load(still)
            for item_id in still:
                if not (self._may_have(claims, item_id, None) or claims.is_changed(item_id)):
                    self._put_aside(claims, item_id)
                    continue
                left.append(item_id)
                is_new = reviewer not in claims.holders(item_id)
                if is_new and self._may_have(claims, item_id, reviewer):
                    skips = self._labelling.review(item_id).skips.get(reviewer or "", 0)
                    ranked.setdefault(skips, []).append(item_id)
            size *= 2
        waiting.add(left)
        return [item_id for skips in sorted(ranked) for item_id in ranked[skips]][:n]

    def _put_aside(self, claims: Claims, item_id: str) -> None:
        """Put aside an item that nobody else may have until a claim ends, or its labels change."""
        if not self._labelling.review(item_id).complete:
            self._labelling.waiting.put_aside(item_id, min(claims.holders(item_id).values()))

    def _may_have(self, claims: Claims, item_id: str, reviewer: str | None) -> bool:
        """Whether an item still wants a label of this reviewer, beside those who hold it."""
        review = self._labelling.review(item_id)
        if review.complete or reviewer in review.labels:
            return False
        others = sum(
            name != reviewer and name not in review.labels for name in claims.holders(item_id)
        )
        return len(review.labels) + others < review.wanted

    def _item(self, card: CardRow) -> Item:
        settings, kept = self._labelling.settings, json.loads(card.shown)
        seen = {name: kept[name] for name in settings.source.columns["show"] if name in kept}
        return Item(settings.item_id(card.item_id), seen)
