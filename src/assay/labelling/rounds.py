"""Rounds that were dealt, the answers to them, and the state of the evaluation.

Nothing here is stored: it is rebuilt from the store's rounds and label events, so a resumed
campaign continues exactly where the interrupted one was.

A round is complete when every card of it and of all rounds before it has an answer. The stopping
rule looks once at each complete round, with the answers of the rounds up to it; the order in which
people answered makes no difference. A revised answer to an earlier round makes the looks run again.

The displayed estimates count every answer so far (`Rounds.standings`), and take cards without one
at their worst.

If the design bets, the bets on a round are settled when it is complete, in the order in which its
cards were dealt.

If items have weights, a card may be dealt again, in any round. Its answer counts every time, and
nobody is asked twice.

If the strata of a campaign that bets were cut anew, its rounds follow on those from before the cut,
and both record the answers: bets go on with the bettors' wealth (`assay.labelling.settings`).
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from assay.core.answers import Answer
from assay.core.evaluation import Evaluation
from assay.core.standing import Standing, told
from assay.core.state import State
from assay.core.stopping import Reason
from assay.core.tallies import Tallies
from assay.core.types import Floats, Ints
from assay.core.weights import DistinctItems
from assay.predictions import RANKED
from assay.results import HistoryPoint
from assay.storage import CardRow

if TYPE_CHECKING:
    from assay.core.thresholds import ThresholdLook, ThresholdRun

# Columns of the counts at a place: cards, then their items, each once.
_DEALT, _JUDGED, _OUTCOMES, _UNJUDGED = range(4)
# Behind them are the columns of `State.outcomes`, if any.
_ITEMS = slice(4, 10)
_ITEMS_DEALT, _ITEMS_JUDGED, _ITEMS_UNJUDGED = range(4, 7)
_WEIGHT_JUDGED, _WEIGHT_OUTCOMES, _WEIGHT_UNJUDGED = range(7, 10)

_NO_CARDS: Ints = np.empty(0, dtype=np.int64)

_Table = Floats | dict[int, Floats]  # the counts of every place, or of some


@lru_cache(maxsize=1_000)
def _counts_of(outcome: bool | None, by: int, item: int, weight: int) -> Floats:
    """Return the counts that an answer adds to its place in a table; arrays are slow to make."""
    if outcome is None:
        return np.array((0, 0, 0, by, 0, 0, item, 0, 0, weight), float)
    return np.array((0, by, by * outcome, 0, 0, item, 0, weight, weight * outcome, 0), float)


@dataclass(eq=False)
class _Round:
    """Cards of a round in the order of dealing, and the counts of their answers.

    `first` counts the answers as they were first given. Both hold only the places of the round's
    cards: the memory of a round depends on its cards, not on the number of strata.
    """

    number: int
    cards: Sequence[CardRow]
    table: dict[int, Floats]
    first: dict[int, Floats]
    missing: int = 0

    def add_to(self, table: Floats, first: Floats) -> None:
        """Add the round's counts to those of all places."""
        for whole, mine in ((table, self.table), (first, self.first)):
            for place, counts in mine.items():
                whole[place] += counts


class Rounds:
    """Rounds of a campaign, the answers to them, and the resulting state."""

    _complete: State  # after the last complete round
    _stood: tuple[Standing, ...] | None  # standing of the targets then, if it was asked for
    _reason: Reason

    def __init__(
        self,
        evaluation: Evaluation,  # evaluation that the answers are counted for
        # Returns the number of budgeted answers to items that are not dealt.
        elsewhere: Callable[[], int] | None = None,
        # Rounds from before the strata were cut anew. The first round is then of the items judged
        # by that time, among them all of theirs, and nobody bets on it.
        former: "Rounds | None" = None,
        *,
        # Whether others follow on these: then there was no reason to stop, whatever the answers
        # now.
        goes_on: bool = False,
    ) -> None:
        self._evaluation = evaluation
        self._elsewhere = elsewhere
        self._former, self._goes_on = former, goes_on
        self._cards: dict[str, CardRow] = {}
        self._dealt_in: dict[str, list[int]] = {}  # rounds of each item, in order
        self._waiting: dict[str, CardRow] = {}
        self._answers: dict[str, Answer] = {}
        self._first_answers: dict[str, Answer] = {}
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
        """State of the evaluation now, with all answers so far."""
        return self._state(self._total, self._total_first, len(self._rounds))

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Displayed standing of every target, with all answers so far.

        Cards without an answer may differ from the rest: somebody may have skipped all of one kind.
        The interval takes them at their worst, or is that of the complete rounds if that is
        narrower.
        """
        self._look_at_complete_rounds()  # before the state, because looking settles its bets
        return self._shown(self.state)

    @property
    def threshold(self) -> "tuple[ThresholdRun, ThresholdLook, State] | None":
        """Threshold run after the complete rounds, if the campaign is for a threshold."""
        self._look_at_complete_rounds()
        found = self._evaluation.threshold(self._complete)
        return None if found is None else (*found, self._complete)

    @property
    def stopped(self) -> str | None:
        """Reason why the evaluation is over, in words; None while it goes on."""
        reason = self.reason
        if reason is Reason.GO_ON:
            return None
        return told(reason, self._at_last_look())

    def state_if(self, answers: Mapping[str, Answer]) -> State:
        """State of the evaluation if waiting cards had these answers."""
        table = self._total.copy()
        for item_id, answer in answers.items():
            for place, _ in enumerate(self._dealt_in[item_id]):
                self._count(self._waiting[item_id], answer, +1, table, once=place == 0)
        return self._state(table, self._total_first, len(self._rounds))

    @property
    def reason(self) -> Reason:
        """Reason why the evaluation is over, if it is, by the complete rounds."""
        self._look_at_complete_rounds()
        return self._reason

    @property
    def history(self) -> Mapping[str, Sequence[HistoryPoint]]:
        """Estimates of each metric after each complete round, from the answers that count now.

        The history ends at the reason to stop.
        """
        self._look_at_complete_rounds()
        past = {} if self._former is None else self._former.history
        return {name: (*past.get(name, ()), *points) for name, points in self._history.items()}

    def unfinished(self, looks: int) -> Mapping[str, Sequence[HistoryPoint]]:
        """Estimates after rounds that wait for answers, from the answers so far.

        They decide nothing. If there are more such rounds than `looks`, evenly spaced ones are
        taken; the last is the current `state`, and is left out.
        """
        waiting = self._rounds[self._looked : -1] if self.reason is Reason.GO_ON else []
        chosen = np.linspace(0, len(waiting) - 1, min(looks, len(waiting))).round()
        table, first = self._seen.copy(), self._seen_first.copy()
        points: dict[str, list[HistoryPoint]] = {}
        for place, each in enumerate(waiting):
            each.add_to(table, first)
            if place in chosen:
                state = self._state(table, first, self._looked + place + 1)
                for standing in self._shown(state):
                    points.setdefault(standing.name, []).append(HistoryPoint.of(standing))
        return points

    @property
    def dealt(self) -> list[Sequence[CardRow]]:
        """Cards of every round, in the order of dealing."""
        return [each.cards for each in self._rounds]

    @property
    def outstanding(self) -> list[CardRow]:
        """Cards that wait for an answer, in the order in which they began to wait."""
        return list(self._waiting.values())

    def waits(self, item_id: str) -> bool:
        """Whether an item waits for an answer."""
        return item_id in self._waiting

    def is_looked_at(self, item_id: str) -> bool:
        """Whether the stopping rule has looked at a round with this item."""
        self._look_at_complete_rounds()
        return item_id in self._dealt_in and self._dealt_in[item_id][0] < self._looked

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._cards

    def card(self, item_id: str) -> CardRow | None:
        """Card of an item, if it was ever dealt."""
        return self._cards.get(item_id)

    def times(self, item_id: str) -> int:
        """Return the number of times that an item was dealt: once, or with weights perhaps more."""
        return len(self._dealt_in.get(item_id, ()))

    def deal(self, cards: Sequence[CardRow]) -> None:
        """Add a round's cards; items with an answer are answered at once."""
        its = _Round(len(self._rounds), list(cards), {}, {})
        self._rounds.append(its)
        tables, first = (its.table, self._total), (its.first, self._total_first)
        # Counted by kind, because adding to arrays card by card is slow.
        now = {card.item_id: card for card in cards}.values()
        new = [card for card in now if card.item_id not in self._dealt_in]
        for column, counted in ((_DEALT, cards), (_ITEMS_DEALT, new)):
            kinds = Counter([(card.stratum, card.predicted) for card in counted])
            for kind, times in kinds.items():
                place = self._evaluation.place(*kind)
                if place not in its.table:
                    its.table[place], its.first[place] = np.zeros((2, self._width))
                for table in (*tables, *first):
                    table[place][column] += times
        for card in cards:
            item_id = card.item_id
            dealt_in = self._dealt_in.setdefault(item_id, [])
            once = not dealt_in
            dealt_in.append(len(self._rounds) - 1)
            self._cards[item_id] = card
            if item_id in self._first_answers:
                self._count(card, self._first_answers[item_id], +1, *first, once=once)
            if item_id in self._answers:
                self._count(card, self._answers[item_id], +1, *tables, once=once)
            else:
                self._waiting.setdefault(item_id, card)
                its.missing += 1

    def record(self, item_id: str, answer: Answer) -> None:
        """Record an answer; it replaces an earlier one to the same item."""
        if item_id in self._answers:
            self.withdraw(item_id)
        if self._former is not None and item_id in self._former:
            self._former.record(item_id, answer)
        new = item_id not in self._first_answers
        if new:
            self._first_answers[item_id] = answer
        for its, once in self._rounds_of(item_id):
            if new:
                self._count(
                    self._cards[item_id], answer, +1, its.first, self._total_first, once=once
                )
            self._count(self._cards[item_id], answer, +1, its.table, self._total, once=once)
            its.missing -= 1
        del self._waiting[item_id]
        self._answers[item_id] = answer

    def record_all(self, answers: Mapping[str, Answer]) -> None:
        """Record the first answers to many items: equivalent to `record` for each, but faster."""
        again = answers.keys() & self._first_answers.keys()
        if self._former is not None:
            before = {id: each for id, each in answers.items() if id in self._former}
            self._former.record_all({id: before[id] for id in before.keys() - again})
        same: Counter[tuple[int, int, bool | None, bool, int, tuple[int, ...]]] = Counter()
        for item_id, answer in answers.items():
            if item_id in again:
                self.record(item_id, answer)
                continue
            card = self._waiting.pop(item_id)
            self._answers[item_id] = self._first_answers[item_id] = answer
            place, outcome, columns = self._counted(card, answer)
            for its, once in self._rounds_of(item_id):
                its.missing -= 1
                same[its.number, place, outcome, once, card.weight or 1, columns] += 1
        for (number, place, outcome, once, weight, columns), times in same.items():
            its = self._rounds[number]
            rows = times * _counts_of(outcome, 1, int(once), once * weight)
            of_round: tuple[_Table, ...] = (its.table, its.first)
            for table in (*of_round, self._total, self._total_first):
                self._add(table[place], rows, columns, times)

    def withdraw(self, item_id: str) -> None:
        """Make an item wait for an answer again.

        Its first answer is kept: rounds that were dealt since depend on it.
        """
        card, answer = self._cards[item_id], self._answers.pop(item_id)
        if self._former is not None and item_id in self._former:
            self._former.withdraw(item_id)
        for its, once in self._rounds_of(item_id):
            self._count(card, answer, -1, its.table, self._total, once=once)
            its.missing += 1
        self._waiting[item_id] = card
        if self._dealt_in[item_id][0] < self._looked:
            self._forget_looks()

    def _rounds_of(self, item_id: str) -> list[tuple[_Round, bool]]:
        """Round of every time that an item was dealt, and whether it was the first."""
        numbers = self._dealt_in[item_id]
        return [(self._rounds[number], place == 0) for place, number in enumerate(numbers)]

    def _look_at_complete_rounds(self) -> None:
        while self._reason is Reason.GO_ON and self._looked < len(self._rounds):
            latest = self._rounds[self._looked]
            if latest.missing:
                break
            self._looked += 1
            latest.add_to(self._seen, self._seen_first)
            known = self._former is not None and self._looked == 1
            if known:
                self._complete = self._with_bets_of_former()
            after = self._evaluation.fold(
                self._complete,
                self._state(self._seen, self._seen_first, self._looked),
                # Bets, and samples with repetitions, count every card.
                *(
                    self._kinds(latest, answers)
                    if self._evaluation.reads_cards and not known
                    else _NO_CARDS
                    for answers in (self._answers, self._first_answers)
                ),
            )
            decision = self._evaluation.decide(after)
            self._complete = replace(after, streak=decision.streak)
            self._reason = Reason.GO_ON if self._goes_on else decision.reason
            self._stood = None
            for standing in decision.standings:
                self._history.setdefault(standing.name, []).append(
                    HistoryPoint.of(standing.shown())
                )

    def _with_bets_of_former(self) -> State:
        """State before the first round, with the bettors' wealth by then."""
        if self._former is None:
            return self._complete
        self._former._look_at_complete_rounds()
        owned = self._former._complete
        return replace(self._complete, bets=owned.bets, worst_bets=owned.worst_bets)

    def _shown(self, state: State) -> tuple[Standing, ...]:
        now = self._evaluation.standings(state)
        if state.open is None or not self._looked:
            return now
        before = self._at_last_look()
        return tuple(each.or_before(then) for each, then in zip(now, before, strict=True))

    def _at_last_look(self) -> tuple[Standing, ...]:
        """Standing of every target after the last complete round that was looked at."""
        if self._stood is None:
            self._stood = self._evaluation.standings(self._complete)
        return self._stood

    def _forget_looks(self) -> None:
        self._looked = 0
        self._seen, self._seen_first = self._empty_table(), self._empty_table()
        self._complete = self._evaluation.begin()
        self._reason, self._stood = Reason.GO_ON, None
        self._history: dict[str, list[HistoryPoint]] = {}

    @property
    def _width(self) -> int:
        """Number of columns of a table: the counts at every place, and the outcomes, if any."""
        return _ITEMS.stop + self._evaluation.outcomes

    def _empty_table(self) -> Floats:
        return np.zeros((len(self._evaluation.sizes), self._width))

    def _state(self, table: Floats, first: Floats, rounds: int) -> State:
        table, first = (np.ascontiguousarray(each.T) for each in (table, first))
        dealt = self._evaluation.by_stratum(table[_DEALT])
        waiting = table[_DEALT] - table[_JUDGED] - table[_UNJUDGED]
        return replace(
            self._complete,
            tallies=self._tallies(table),
            dealt=dealt,
            room=self._complete.room + self._complete.dealt - dealt,
            rounds=rounds,
            first=self._tallies(first),
            once=DistinctItems(*table[_ITEMS].copy()),
            open=waiting if waiting.any() else None,
            elsewhere=0 if self._elsewhere is None else self._elsewhere(),
            outcomes=table[_ITEMS.stop :].T.copy() if self._evaluation.outcomes else None,
        )

    def _tallies(self, table: Floats) -> Tallies:
        return Tallies(self._evaluation.sizes, *table[[_JUDGED, _OUTCOMES, _UNJUDGED]])

    def _kinds(self, complete: _Round, answers: Mapping[str, Answer]) -> Ints:
        """Cards of a round in the form of `fold`, with these answers.

        Their order is the reserve's, by a hash of their ids: it is independent of their answers.
        """
        return np.array(
            [self._kind(card, answers[card.item_id]) for card in complete.cards], dtype=np.int64
        )

    def _kind(self, card: CardRow, answer: Answer) -> int:
        _, outcome, _ = self._counted(card, answer)
        return -2 - card.stratum if outcome is None else 2 * card.stratum + outcome

    def _count(
        self,
        card: CardRow,
        answer: Answer,
        by: int,
        *tables: _Table,
        once: bool = True,
    ) -> None:
        """Count an answer; with `once`, also its item."""
        place, outcome, columns = self._counted(card, answer)
        item = by if once else 0
        rows = _counts_of(outcome, by, item, item * (card.weight or 1))
        for table in tables:
            self._add(table[place], rows, columns, by)

    def _counted(self, card: CardRow, answer: Answer) -> tuple[int, bool | None, tuple[int, ...]]:
        """Place of an answer, its outcome, and its columns of `State.outcomes`."""
        place = self._evaluation.place(card.stratum, card.predicted)
        number = self._evaluation.number(answer)
        if number is None:
            return place, None, ()
        outcome = self._evaluation.is_outcome(card.predicted, number)
        columns = self._evaluation.counted_by(number, lambda: json.loads(card.shown)[RANKED])
        return place, outcome, columns

    @staticmethod
    def _add(at: Floats, rows: Floats, columns: Sequence[int], by: int) -> None:
        """Add to the counts of a place, and to the outcomes that answers have."""
        at[: _ITEMS.stop] += rows
        for column in columns:
            at[_ITEMS.stop + column] += by
