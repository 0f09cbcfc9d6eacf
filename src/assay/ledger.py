"""From the rounds that were dealt and the answers that came back to where the evaluation stands.

Nothing here is stored: a ledger is rebuilt from the store's rounds and label events, so a resumed
campaign stands exactly where the interrupted one did.

A round is complete when every card of it and of all rounds before it has an answer. The stopping
rule looks once at each complete round, with the answers of the rounds up to it; the order in which
people answered makes no difference. A revised answer to an earlier round makes the looks run again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.answers import Answer
from assay.core.metrics import Ratio
from assay.core.stop import Reason
from assay.core.tallies import Tallies
from assay.core.types import Floats, Ints
from assay.design import Design, Goal
from assay.engine import Look, State, look
from assay.store import CardRow

__all__ = ["Ledger"]


_DEALT, _JUDGED, _OUTCOMES, _UNJUDGED = range(4)  # the rows of a count table, (4, H)


@dataclass(eq=False)
class _Round:
    table: Floats
    missing: int


class Ledger:
    """Cards on the table, the answers to them, and what follows.

    Parameters
    ----------
    design, goal, metric
        What the looks need.
    sizes : array, shape (H,)
        Items in each stratum.
    judges_prediction : bool
        The outcome counted is "the prediction was correct" rather than "the item is positive".
    """

    def __init__(
        self, design: Design, goal: Goal, metric: Ratio, sizes: Ints, *, judges_prediction: bool
    ) -> None:
        self._design, self._goal, self._metric = design, goal, metric
        self._sizes = sizes.astype(np.float64)
        self._judges_prediction = judges_prediction
        self._cards: dict[str, tuple[CardRow, int]] = {}
        self._waiting: dict[str, CardRow] = {}
        self._answers: dict[str, Answer] = {}
        self._rounds: list[_Round] = []
        self._total = self._empty_table()
        self._looked = 0
        self._seen = self._empty_table()
        self._streak: Ints = np.zeros((), dtype=np.int64)
        self._reason = Reason.GO_ON

    @property
    def answers(self) -> Mapping[str, Answer]:
        """The answer that counts for every judged item."""
        return self._answers

    @property
    def state(self) -> State:
        """Where the evaluation stands now, with all answers so far."""
        return self._state(self._total, len(self._rounds))

    @property
    def reason(self) -> Reason:
        """Why the evaluation is over, if it is, by the complete rounds."""
        self._look_at_complete_rounds()
        return self._reason

    @property
    def outstanding(self) -> list[CardRow]:
        """Cards that wait for an answer, in the order they were dealt."""
        return list(self._waiting.values())

    def card(self, item_id: str) -> CardRow | None:
        """Return the item's card, if it was ever dealt."""
        found = self._cards.get(item_id)
        return None if found is None else found[0]

    def deal(self, cards: Sequence[CardRow]) -> None:
        """Put a round's cards on the table."""
        table = self._empty_table()
        for card in cards:
            table[_DEALT, card.stratum] += 1
            self._cards[card.item_id] = (card, len(self._rounds))
            self._waiting[card.item_id] = card
        self._rounds.append(_Round(table, len(cards)))
        self._total += table

    def record(self, item_id: str, answer: Answer) -> None:
        """Take an answer; a later one to the same item takes the earlier one's place."""
        card, number = self._cards[item_id]
        before = self._answers.get(item_id)
        if before is None:
            del self._waiting[item_id]
            self._rounds[number].missing -= 1
        else:
            self._count(card, number, before, -1)
            if number < self._looked:
                self._forget_looks()
        self._count(card, number, answer, +1)
        self._answers[item_id] = answer

    def look(self) -> Look:
        """Look at all answers so far."""
        return look(self._design, self._goal, self._metric, self.state)

    def _look_at_complete_rounds(self) -> None:
        while self._reason is Reason.GO_ON and self._looked < len(self._rounds):
            latest = self._rounds[self._looked]
            if latest.missing:
                break
            self._looked += 1
            self._seen += latest.table
            state = self._state(self._seen, self._looked)
            now = look(self._design, self._goal, self._metric, state)
            self._streak, self._reason = now.streak, Reason(int(now.reason))

    def _forget_looks(self) -> None:
        self._looked = 0
        self._seen = self._empty_table()
        self._streak = np.zeros((), dtype=np.int64)
        self._reason = Reason.GO_ON

    def _empty_table(self) -> Floats:
        return np.zeros((4, len(self._sizes)))

    def _state(self, table: Floats, rounds: int) -> State:
        dealt = table[_DEALT]
        tallies = Tallies(N=self._sizes, n=table[_JUDGED], x=table[_OUTCOMES], u=table[_UNJUDGED])
        return State(tallies, dealt, self._sizes - dealt, rounds, self._streak)

    def _count(self, card: CardRow, number: int, answer: Answer, by: int) -> None:
        for table in (self._rounds[number].table, self._total):
            if answer is Answer.CANNOT_JUDGE:
                table[_UNJUDGED, card.stratum] += by
                continue
            positive = answer is Answer.YES
            outcome = positive == card.predicted if self._judges_prediction else positive
            table[_JUDGED, card.stratum] += by
            table[_OUTCOMES, card.stratum] += by * outcome
