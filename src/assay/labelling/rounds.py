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

import numpy as np

from assay.core.answers import Answer
from assay.core.evaluation import Evaluation
from assay.core.outcomes import DEALT, OTHER, UNJUDGED, Counted, Outcomes
from assay.core.standing import Standing, reason_in_words
from assay.core.state import State
from assay.core.stopping import Reason
from assay.core.types import Ints
from assay.predictions import RANKED
from assay.results import HistoryPoint
from assay.storage import CardRow

_NO_CARDS: Ints = np.empty(0, dtype=np.int64)


@dataclass(eq=False)
class _Round:
    """Cards of a round in the order of dealing."""

    number: int
    cards: Sequence[CardRow]
    missing: int = 0  # cards without an answer


_Given = tuple[CardRow, Answer | None, bool]  # a card, its answer, whether its item is new


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
        self._total, self._total_first = evaluation.coding.start(), evaluation.coding.start()
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
    def complete(self) -> State:
        """State after the complete rounds."""
        self._look_at_complete_rounds()
        return self._complete

    @property
    def stopped(self) -> str | None:
        """Reason why the evaluation is over, in words; None while it goes on."""
        reason = self.reason
        if reason is Reason.GO_ON:
            return None
        return reason_in_words(reason, self._at_last_look())

    def state_if(self, answers: Mapping[str, Answer]) -> State:
        """State of the evaluation if waiting cards had these answers."""
        outcomes = self._total.copy()
        outcomes.add(self._counted(answers))
        return self._state(outcomes, self._total_first, len(self._rounds))

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
        outcomes, first = self._seen.copy(), self._seen_first.copy()
        points: dict[str, list[HistoryPoint]] = {}
        for place, each in enumerate(waiting):
            self._add_round(each, outcomes, first)
            if place in chosen:
                state = self._state(outcomes, first, self._looked + place + 1)
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
        """Count the times that an item was dealt: once, or with weights perhaps more."""
        return len(self._dealt_in.get(item_id, ()))

    def deal(self, cards: Sequence[CardRow]) -> None:
        """Add a round's cards; items with an answer are answered at once."""
        new = _Round(len(self._rounds), list(cards))
        self._rounds.append(new)
        for card in cards:
            item_id = card.item_id
            self._dealt_in.setdefault(item_id, []).append(new.number)
            self._cards[item_id] = card
            if item_id not in self._answers:
                self._waiting.setdefault(item_id, card)
                new.missing += 1
        self._add_round(new, self._total, self._total_first)

    def record(self, item_id: str, answer: Answer) -> None:
        """Record an answer; it replaces an earlier one to the same item."""
        self.record_all({item_id: answer})

    def record_all(self, answers: Mapping[str, Answer]) -> None:
        """Record answers; they replace earlier ones to the same items."""
        for item_id in filter(self._answers.__contains__, answers):
            self.withdraw(item_id)
        if self._former is not None:
            shared = {id: answer for id, answer in answers.items() if id in self._former}
            self._former.record_all(shared)
        counted = self._counted(answers)
        self._total.add(counted)
        new = {id: answer for id, answer in answers.items() if id not in self._first_answers}
        self._first_answers |= new
        self._total_first.add(counted if len(new) == len(answers) else self._counted(new))
        for item_id, answer in answers.items():
            self._wait(item_id, -1)
            del self._waiting[item_id]
            self._answers[item_id] = answer

    def withdraw(self, item_id: str) -> None:
        """Make an item wait for an answer again.

        Its first answer is kept: rounds that were dealt since depend on it.
        """
        card, answer = self._cards[item_id], self._answers.pop(item_id)
        if self._former is not None and item_id in self._former:
            self._former.withdraw(item_id)
        counted = self._counted({item_id: answer})
        self._total.add({kind: -times for kind, times in counted.items()})
        self._wait(item_id, 1)
        self._waiting[item_id] = card
        if self._dealt_in[item_id][0] < self._looked:
            self._forget_looks()

    def _wait(self, item_id: str, more: int) -> None:
        """Count an item as one that its rounds wait for; with -1, no longer."""
        for number in self._dealt_in[item_id]:
            self._rounds[number].missing += more

    def _look_at_complete_rounds(self) -> None:
        while self._reason is Reason.GO_ON and self._looked < len(self._rounds):
            latest = self._rounds[self._looked]
            if latest.missing:
                break
            self._looked += 1
            self._add_round(latest, self._seen, self._seen_first)
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
        coding = self._evaluation.coding
        self._seen, self._seen_first = coding.start(), coding.start()
        self._complete = self._evaluation.procedure.begin()
        self._reason, self._stood = Reason.GO_ON, None
        self._history: dict[str, list[HistoryPoint]] = {}

    def _state(self, outcomes: Outcomes, first: Outcomes, rounds: int) -> State:
        dealt = self._evaluation.by_stratum(outcomes.dealt)
        return replace(
            self._complete,
            tallies=outcomes.tallies(self._evaluation.sizes),
            dealt=dealt,
            room=self._complete.room + self._complete.dealt - dealt,
            rounds=rounds,
            first=first.tallies(self._evaluation.sizes),
            once=outcomes.once,
            open=outcomes.waiting,
            elsewhere=0 if self._elsewhere is None else self._elsewhere(),
        )

    def _kinds(self, complete: _Round, answers: Mapping[str, Answer]) -> Ints:
        """Cards of a round in the form of `fold`, with these answers.

        Their order is the reserve's, by a hash of their ids: it is independent of their answers.
        """
        kinds = list[int]()
        for card in complete.cards:
            answer, stratum = answers[card.item_id], card.stratum
            outcome, *_ = self._columns(card.predicted, answer, card.shown)
            kinds.append(-2 - stratum if outcome == UNJUDGED else 2 * stratum + outcome - OTHER)
        return np.array(kinds, dtype=np.int64)

    def _add_round(self, dealt: _Round, outcomes: Outcomes, first: Outcomes) -> None:
        """Add a round's cards to outcomes by the answers now, and to those as first given."""
        kinds = self._of_round(dealt, self._answers)
        outcomes.add(kinds)
        ids = [card.item_id for card in dealt.cards]
        if any(self._answers.get(id) != self._first_answers.get(id) for id in ids):
            kinds = self._of_round(dealt, self._first_answers)
        first.add(kinds)

    def _of_round(self, dealt: _Round, answers: Mapping[str, Answer]) -> Counter[Counted]:
        """Outcomes that a round's cards add."""
        given = list[_Given]()
        here = set[str]()
        for card in dealt.cards:
            item_id = card.item_id
            once = self._dealt_in[item_id][0] == dealt.number and item_id not in here
            given.append((card, answers.get(item_id), once))
            here.add(item_id)
        return self._outcomes(given, dealt=True)

    def _counted(self, answers: Mapping[str, Answer]) -> Counter[Counted]:
        """Outcomes that answers add; an answer counts with every card of its item."""
        return self._outcomes(
            [
                (self._cards[item_id], answer, time == 0)
                for item_id, answer in answers.items()
                for time, _ in enumerate(self._dealt_in[item_id])
            ]
        )

    def _outcomes(self, given: Sequence[_Given], *, dealt: bool = False) -> Counter[Counted]:
        """Outcomes of cards with their answers; with `dealt`, also that they were dealt.

        Equal ones are counted before they are looked at: a file may complete a round of a hundred
        thousand cards, and reviewers wait.
        """
        ranked = self._evaluation.coding.reads_ranks
        alike = Counter(
            (card.stratum, card.predicted, card.weight, answer, once, card.shown if ranked else "")
            for card, answer, once in given
        )
        kinds = Counter[Counted]()
        for (stratum, predicted, weight, answer, once, shown), times in alike.items():
            columns = () if answer is None else self._columns(predicted, answer, shown)
            place = self._evaluation.place(stratum, predicted)
            kinds[Counted(place, (DEALT, *columns) if dealt else columns, once, weight)] += times
        return kinds

    def _columns(self, predicted: int, answer: Answer, shown: str) -> tuple[int, ...]:
        """Columns of `Outcomes` in which an answer is counted."""
        coding = self._evaluation.coding
        return coding.columns(predicted, answer, lambda: json.loads(shown)[RANKED])
