"""The order in which one person judges items: batch by batch, with skipping and undoing."""

from collections import deque

from assay.answers import Answer
from assay.campaign import Campaign
from assay.core.deck import Id
from assay.errors import LabelConflictError
from assay.results import Item

__all__ = ["Labelling"]


class Labelling:
    """One person's sitting with a campaign. Every answer is told, and so saved, at once."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._queue: deque[Item] = deque(campaign.ask())
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
        try:
            self._campaign.tell({item.id: answer}, revise=item.id in self._answers)
        except LabelConflictError:
            self._queue.popleft()
            self._ask_when_empty()
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
        self._queue.rotate(-1)
        return "put off" if len(self._queue) > 1 else "the only item left in this batch"

    def undo(self) -> None:
        """Go back to the item before; its answer counts until there is another."""
        self._queue.appendleft(self._before.pop())

    def _go_on(self) -> None:
        self._before.append(self._queue.popleft())
        self._ask_when_empty()

    def _ask_when_empty(self) -> None:
        # Not before: a new round is dealt when the old one is answered, so that the stopping rule
        # looks as often as the design has it, however fast the person is.
        if not self._queue:
            self._queue.extend(self._campaign.ask())
