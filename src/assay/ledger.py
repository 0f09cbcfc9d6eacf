"""From the rounds that were dealt and the answers that came back to where the evaluation stands.

Nothing here is stored: a ledger is rebuilt from the store's rounds and label events, so a resumed
campaign stands exactly where the interrupted one did.

A round is complete when every card of it and of all rounds before it has an answer. The stopping
rule looks once at each complete round, with the answers of the rounds up to it; the order in which
people answered makes no difference. A revised answer to an earlier round makes the looks run again.

Where the design bets, the bets on a round are settled when it is complete, in the order in which
its cards were dealt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.answers import Answer
from assay.core.stop import Reason
from assay.core.tallies import Tallies
from assay.core.types import Floats, Ints
from assay.engine import State
from assay.evaluation import Evaluation
from assay.history import HistoryPoint
from assay.store import CardRow

__all__ = ["Ledger"]


_DEALT, _JUDGED, _OUTCOMES, _UNJUDGED = range(4)  # the rows of a count table, (4, places)


@dataclass(eq=False)
class _Round:
    """A round's cards in the order they were dealt, and the counts of their answers.

    `first` counts the answers as they were first given.
    """

    cards: Sequence[CardRow]
    table: Floats
    first: Floats
    missing: int


class Ledger:
    """Cards on the table, the answers to them, and what follows.

    Parameters
    ----------
    evaluation : Evaluation
        What the answers are counted for.
    """

    _complete: State  # after the last complete round
    _reason: Reason

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._cards: dict[str, tuple[CardRow, int]] = {}
        self._waiting: dict[str, CardRow] = {}
        self._answers: dict[str, Answer] = {}
        self._ever_answered: set[str] = set()
        self._rounds: list[_Round] = []
        self._total = self._empty_table()
        self._total_first = self._empty_table()
        self._forget_looks()

    @property
    def answers(self) -> Mapping[str, Answer]:
        """The answer that counts for every judged item."""
        return self._answers

    @property
    def state(self) -> State:
        """Where the evaluation stands now, with all answers so far."""
        return self._state(self._total, self._total_first, len(self._rounds))

    def state_if(self, answers: Mapping[str, Answer]) -> State:
        """Return where the evaluation would stand if waiting cards had these answers."""
        table = self._total.copy()
        for item_id, answer in answers.items():
            self._count(self._waiting[item_id], answer, +1, table)
        return self._state(table, self._total_first, len(self._rounds))

    @property
    def reason(self) -> Reason:
        """Why the evaluation is over, if it is, by the complete rounds."""
        self._look_at_complete_rounds()
        return self._reason

    @property
    def history(self) -> Mapping[str, Sequence[HistoryPoint]]:
        """What was known of each metric after each complete round, by the answers that count now.

        It ends where there was a reason to stop.
        """
        self._look_at_complete_rounds()
        return {name: tuple(points) for name, points in self._history.items()}

    def unfinished(self, looks: int) -> Mapping[str, Sequence[HistoryPoint]]:
        """Return what is known after rounds that wait for answers, by those that are there.

        Nothing is decided by it. Where there are more such rounds than `looks`, evenly spaced ones
        are taken; the last is where the evaluation stands (`state`), and is left out.
        """
        waiting = self._rounds[self._looked : -1] if self.reason is Reason.GO_ON else []
        chosen = np.linspace(0, len(waiting) - 1, min(looks, len(waiting))).round()
        table, first = self._seen.copy(), self._seen_first.copy()
        points: dict[str, list[HistoryPoint]] = {}
        for place, each in enumerate(waiting):
            table += each.table
            first += each.first
            if place in chosen:
                state = self._state(table, first, self._looked + place + 1)
                for standing in self._evaluation.standings(state):
                    points.setdefault(standing.name, []).append(HistoryPoint.of(standing))
        return points

    @property
    def outstanding(self) -> list[CardRow]:
        """Cards that wait for an answer, in the order they came to wait."""
        return list(self._waiting.values())

    def card(self, item_id: str) -> CardRow | None:
        """Return the item's card, if it was ever dealt."""
        found = self._cards.get(item_id)
        return None if found is None else found[0]

    def deal(self, cards: Sequence[CardRow]) -> None:
        """Put a round's cards on the table."""
        table = self._empty_table()
        for card in cards:
            table[_DEALT, self._evaluation.place(card)] += 1
            self._cards[card.item_id] = (card, len(self._rounds))
            self._waiting[card.item_id] = card
        self._rounds.append(_Round(list(cards), table, table.copy(), len(cards)))
        self._total += table
        self._total_first += table

    def record(self, item_id: str, answer: Answer) -> None:
        """Take an answer; a later one to the same item takes the earlier one's place."""
        card, number = self._cards[item_id]
        its = self._rounds[number]
        if item_id in self._answers:
            self.withdraw(item_id)
        if item_id not in self._ever_answered:
            self._ever_answered.add(item_id)
            self._count(card, answer, +1, its.first, self._total_first)
        del self._waiting[item_id]
        its.missing -= 1
        self._count(card, answer, +1, its.table, self._total)
        self._answers[item_id] = answer

    def withdraw(self, item_id: str) -> None:
        """Let an item wait for an answer again.

        What it was first told stays what it was first told: rounds that were dealt since rest on
        it.
        """
        card, number = self._cards[item_id]
        its = self._rounds[number]
        self._count(card, self._answers.pop(item_id), -1, its.table, self._total)
        self._waiting[item_id] = card
        its.missing += 1
        if number < self._looked:
            self._forget_looks()

    def _look_at_complete_rounds(self) -> None:
        while self._reason is Reason.GO_ON and self._looked < len(self._rounds):
            latest = self._rounds[self._looked]
            if latest.missing:
                break
            self._looked += 1
            self._seen += latest.table
            self._seen_first += latest.first
            after = self._evaluation.fold(
                self._complete,
                self._state(self._seen, self._seen_first, self._looked),
                self._kinds(latest),
            )
            decision = self._evaluation.decide(after)
            self._complete = replace(after, streak=decision.streak)
            self._reason = decision.reason
            for standing in decision.standings:
                self._history.setdefault(standing.name, []).append(HistoryPoint.of(standing))

    def _forget_looks(self) -> None:
        self._looked = 0
        self._seen, self._seen_first = self._empty_table(), self._empty_table()
        self._complete = self._evaluation.begin()
        self._reason = Reason.GO_ON
        self._history: dict[str, list[HistoryPoint]] = {}

    def _empty_table(self) -> Floats:
        return np.zeros((4, len(self._evaluation.sizes)))

    def _state(self, table: Floats, first: Floats, rounds: int) -> State:
        dealt = self._evaluation.by_stratum(table[_DEALT])
        return replace(
            self._complete,
            tallies=self._tallies(table),
            dealt=dealt,
            room=self._complete.room + self._complete.dealt - dealt,
            rounds=rounds,
            first=self._tallies(first),
        )

    def _tallies(self, table: Floats) -> Tallies:
        return Tallies(self._evaluation.sizes, *table[[_JUDGED, _OUTCOMES, _UNJUDGED]])

    def _kinds(self, complete: _Round) -> Ints:
        """Return a round's cards as `fold` takes them.

        Their order is the reserve's, by a hash of their ids: it knows nothing of their answers.
        """
        return np.array([self._kind(card) for card in complete.cards], dtype=np.int64)

    def _kind(self, card: CardRow) -> int:
        answer = self._answers[card.item_id]
        if not answer.judged:
            return -1
        return 2 * card.stratum + self._is_outcome(card, answer)

    def _is_outcome(self, card: CardRow, answer: Answer) -> bool:
        return self._evaluation.is_outcome(card, answer is Answer.YES)

    def _count(self, card: CardRow, answer: Answer, by: int, *tables: Floats) -> None:
        place = self._evaluation.place(card)
        for table in tables:
            if not answer.judged:
                table[_UNJUDGED, place] += by
                continue
            table[_JUDGED, place] += by
            table[_OUTCOMES, place] += by * self._is_outcome(card, answer)
