"""The order in which one person judges items: batch by batch, with skipping and undoing."""

from collections import deque
from uuid import uuid4

from assay.campaign.campaign import Campaign
from assay.core.answers import Answer
from assay.core.deck import Id
from assay.errors import LabelConflictError
from assay.labelling.review_rule import SKIP
from assay.results.estimates import Item
from assay.results.reviewing import Submit

_BATCH = 20


class Labelling:
    """One person's sitting with a campaign. Every answer is told, and so saved, at once.

    Where the person has a name, nobody else is given the same items: every answer renews the claims
    on the rest of the batch.
    """

    def __init__(self, campaign: Campaign, reviewer: str | None = None) -> None:
        self._campaign, self._reviewer = campaign, reviewer
        self._queue: deque[Item] = deque(campaign.ask(_BATCH, reviewer=reviewer))
        self._before: list[Item] = []
        self._answers: dict[Id, Answer] = {}

    @property
    def item(self) -> Item | None:
        """The item to judge now; None when the campaign is done."""
        return self._queue[0] if self._queue else None

    @property
    def left(self) -> int:
        """Items left in this batch."""
        return len(self._queue)

    @property
    def judged(self) -> int:
        """Items that were judged in this sitting."""
        return len(self._answers)

    @property
    def can_undo(self) -> bool:
        """Whether an item was judged before this one, in this sitting."""
        return bool(self._before)

    def given(self, item: Item) -> Answer | None:
        """Return the answer that was given to an item in this sitting."""
        return self._answers.get(item.id)

    def answer(self, answer: Answer) -> bool:
        """Judge the item and go on; False where somebody else has judged it otherwise meanwhile."""
        item = self._queue[0]
        if self._reviewer is not None:
            self._submit(item, answer.value)
        elif not self._tell(item, answer):
            self._queue.popleft()
            self._ask_for_more()
            return False
        self._answers[item.id] = answer
        self._go_on()
        return True

    def skip(self) -> str:
        """Put the item off to the end of the batch, or keep its answer, and say which."""
        before = self.given(self._queue[0])
        if before is not None:
            self._go_on()
            return f"{before}, kept"
        if self._reviewer is not None:
            self._submit(self._queue.popleft(), SKIP)
            self._ask_for_more()
            return "put off"
        self._queue.rotate(-1)
        return "put off" if len(self._queue) > 1 else "the only item left in this batch"

    def undo(self) -> None:
        """Go back to the item before; its answer counts until there is another."""
        self._queue.appendleft(self._before.pop())

    def _tell(self, item: Item, answer: Answer) -> bool:
        try:
            self._campaign.tell({item.id: answer}, revise=item.id in self._answers)
        except LabelConflictError:
            return False
        return True

    def _submit(self, item: Item, word: str) -> None:
        submit = Submit(uuid4().hex, item.id, word)
        self._campaign.review([submit], reviewer=self._reviewer or "")

    def _go_on(self) -> None:
        self._before.append(self._queue.popleft())
        self._ask_for_more()

    def _ask_for_more(self) -> None:
        # Not before the batch is empty: a new round is dealt when the old one is answered, so that
        # the stopping rule looks as often as the design has it, however fast the person is.
        if not self._queue:
            self._queue.extend(self._campaign.ask(_BATCH, reviewer=self._reviewer))
        elif self._reviewer is not None:
            self._renew()

    def _renew(self) -> None:
        """Renew the claims on the batch, and leave out what somebody else was given meanwhile."""
        open_ = [item for item in self._queue if item.id not in self._answers]
        if open_:
            held = self._campaign.ask(len(open_), reviewer=self._reviewer)
            kept = [item for item in self._queue if item in held or item.id in self._answers]
            self._queue = deque([*kept, *(item for item in held if item not in kept)])
