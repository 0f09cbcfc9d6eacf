"""Items that wait for an answer, and the claims on them.

Items that others hold are put aside, so that finding the next one does not pass over them.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush

from assay.storage import Claim, Session

_MORE = 10  # claims to read beyond those wanted: some may be on items that are settled


class WaitingItems:
    """Items that may be free for a further reviewer, in the order in which they began to wait.

    An item that is held by as many reviewers as it wants is put aside until the first of their
    leases ends. A lease ends earlier only when its holder says something of the item, and whoever
    takes that in calls `add`.

    >>> waiting = WaitingItems()
    >>> waiting.add(["a", "b", "c"])
    >>> waiting.take(2, now=0.0)
    ['a', 'b']
    >>> waiting.put_aside("a", until=60.0)
    >>> waiting.take(2, now=59.0), waiting.take(2, now=60.0)
    (['c'], ['a'])
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._queue: list[tuple[int, str]] = []  # a heap
        self._queued: set[str] = set()
        self._aside: list[tuple[float, str]] = []  # a heap
        self._now = 0.0

    def place(self, item_id: str) -> int:
        """Place of an item in the order."""
        return self._places.setdefault(item_id, len(self._places))

    def add(self, item_ids: Iterable[str]) -> None:
        """Add items that may be free, new ones or again."""
        for item_id in item_ids:
            if item_id not in self._queued:
                self._queued.add(item_id)
                heappush(self._queue, (self.place(item_id), item_id))

    def first(self, most: int) -> list[str]:
        """Items that will probably be taken next."""
        return [item_id for _, item_id in self._queue[:most]]

    def take(self, most: int, now: float) -> list[str]:
        """Take the first items out, at a time of the database."""
        is_back = now < self._now  # the clock was set back: claims from its future have ended
        self._now = now
        while self._aside and (is_back or self._aside[0][0] <= now):
            _, item_id = heappop(self._aside)
            self.add([item_id])
        taken = [heappop(self._queue)[1] for _ in range(min(most, len(self._queue)))]
        self._queued.difference_update(taken)
        return taken

    def put_aside(self, item_id: str, until: float) -> None:
        """Put an item aside until a time of the database."""
        heappush(self._aside, (until, item_id))


class Claims:
    """Live claims in a transaction: read when needed, and changes are written at its end.

    No other process writes meanwhile.
    """

    def __init__(
        self,
        session: Session,
        campaign: int,
        *,
        reviewers: Iterable[str] = (),  # those whose items are wanted
        most: int = 0,  # of them for each reviewer
        item_ids: Iterable[str] = (),  # items whose claims will be wanted
    ) -> None:
        self._session, self._campaign = session, campaign
        self._ends: dict[str, dict[str, float]] = {}  # of the claims on an item, by reviewer
        self._changed: dict[Claim, float | None] = {}  # the lease; None: given back
        self._touched: set[str] = set()  # items of these claims
        self._items_by_reviewer: dict[str, set[str]] = {}  # items, by reviewer
        self._load(item_ids, sorted(set(reviewers)), most + _MORE)

    @property
    def now(self) -> float:
        """Time of the transaction."""
        return self._session.now

    def load(self, item_ids: Iterable[str]) -> None:
        """Read the claims on items, in as few queries as possible."""
        self._load(item_ids, [], 0)

    def _load(self, item_ids: Iterable[str], reviewers: Sequence[str], most: int) -> None:
        new = [item_id for item_id in dict.fromkeys(item_ids) if item_id not in self._ends]
        live = self._session.live_claims(self._campaign, new, reviewers, most)
        self._ends |= {item_id: {} for item_id in new}
        for claim, end in live.items():
            self._ends.setdefault(claim.item_id, {})[claim.reviewer] = end
            self._items_by_reviewer.setdefault(claim.reviewer, set()).add(claim.item_id)

    def holders(self, item_id: str) -> Mapping[str, float]:
        """Reviewers who hold a claim on an item, each with the time of its end."""
        if item_id not in self._ends:
            self.load([item_id])
        return self._ends[item_id]

    def items_of(self, reviewer: str | None) -> set[str]:
        """Items that a reviewer holds claims on."""
        return self._items_by_reviewer.get(reviewer or "", set())

    def was_made(self, claim: Claim) -> bool:
        """Whether a reviewer was ever given an item."""
        if claim in self._changed or claim.reviewer in self.holders(claim.item_id):
            return True
        return bool(self._session.claimed(self._campaign, claim.reviewer, [claim.item_id]))

    def is_changed(self, item_id: str) -> bool:
        """Whether a claim on an item was given or ended in this transaction."""
        return item_id in self._touched

    def give(self, claim: Claim, lease: float) -> None:
        """Give an item to a reviewer for `lease` seconds, or renew the lease."""
        self.holders(claim.item_id)  # reads the others, if that was not done
        self._ends[claim.item_id][claim.reviewer] = self.now + lease
        self._items_by_reviewer.setdefault(claim.reviewer, set()).add(claim.item_id)
        self._change(claim, lease)

    def end(self, claim: Claim) -> None:
        """End a reviewer's claim on an item, if there is one."""
        if claim.reviewer in self.holders(claim.item_id):
            del self._ends[claim.item_id][claim.reviewer]
            self._items_by_reviewer[claim.reviewer].discard(claim.item_id)
            self._change(claim, None)

    def _change(self, claim: Claim, lease: float | None) -> None:
        self._changed[claim] = lease
        self._touched.add(claim.item_id)

    def write(self) -> None:
        """Store the changes."""
        by_lease: dict[float | None, list[Claim]] = {}
        for claim, lease in self._changed.items():
            by_lease.setdefault(lease, []).append(claim)
        self._session.give_back(self._campaign, by_lease.pop(None, []))
        for lease, claims in by_lease.items():
            self._session.claim(self._campaign, claims, lease or 0.0)
