"""A campaign: ask for items, tell what they are, and be told when to stop."""

import json
import re
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from assay.answers import Answer, parse_answers
from assay.core.deck import Id
from assay.core.intervals import INTERVALS
from assay.core.stop import Reason
from assay.core.unjudged import worst_case
from assay.errors import (
    InputError,
    LabelConflictError,
    LabelError,
    StorageError,
    did_you_mean,
)
from assay.evaluation import Standing, evaluation_of
from assay.ledger import Ledger
from assay.predictions import Predictions
from assay.reserve import Reserve, ShortReserveError
from assay.results import Estimate, Estimates, Item, StratumRow
from assay.settings import Settings
from assay.store import CardRow, Event, Session, Store
from assay.targets import JointGoal

__all__ = ["Campaign"]

_SHOW_AT_MOST = 3  # examples in an error
_ROWS = {Answer.YES: 0, Answer.NO: 1, Answer.CANNOT_JUDGE: 2}


class Campaign:
    """An evaluation in progress. Made by `create_campaign` and `load_campaign`.

    Every method first takes in what other processes have added to the storage, so several may work
    on one campaign; every `tell` is on disk when it returns.
    """

    def __init__(
        self, store: Store, key: int, settings: Settings, predictions: Predictions | None
    ) -> None:
        self._store, self._key, self._settings = store, key, settings
        self._evaluation = evaluation_of(settings)
        self._ledger = Ledger(self._evaluation)
        self._reserve = Reserve(key, settings, predictions)
        self._last_event = 0
        # Answers from before a rebase, to items that have not been dealt since.
        self._remembered: dict[str, list[Answer]] = {}
        self._rounds: list[frozenset[str]] = []  # the items of each

    @property
    def name(self) -> str:
        """The name it is stored under."""
        return self._settings.name

    @property
    def settings(self) -> Settings:
        """All that was fixed when the campaign was made."""
        return self._settings

    @property
    def done(self) -> bool:
        """Whether no more labels are needed."""
        return self._reason() is not Reason.GO_ON

    def ask(self, n: int = 20) -> list[Item]:
        """Return up to `n` items to judge.

        Items that were asked for and have no answer yet come first, so nothing is lost when a
        batch was; new ones are dealt for the rest. A design with rounds of a fixed size (the
        papers'), or one that bets, deals the next round only when the last is answered, and the
        batch may be smaller than `n`. With several metrics it may be so, too, where the goal is
        near; and after a rebase, as items that were judged before it are not asked for again. The
        list is empty when the campaign is done. The order within a batch tells nothing about the
        strata.
        """
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
            raise InputError(f"ask for a whole number of items, at least 1; got {n!r}")
        while self._deal_round(int(n)) and not self._ledger.outstanding:
            pass  # all of it was judged before a rebase
        if self._ledger.reason is not Reason.GO_ON:
            return []
        return [self._item(card) for card in self._ledger.outstanding[: int(n)]]

    def recall(self, sizes: Iterable[int]) -> None:
        """Deal rounds of these sizes, as long as answers from before a rebase complete them.

        The campaign then stands where it would if people had given these answers anew. `ask` does
        the same when its turn comes.
        """
        for size in sizes:
            if self._ledger.outstanding or not self._deal_round(size):
                return

    def tell(
        self,
        labels: Mapping[Any, object] | Iterable[tuple[Any, object]],
        *,
        reviewer: str = "",
        revise: bool = False,
    ) -> Estimate:
        """Record answers and return the new estimate.

        Either all of the answers are recorded or, with an error, none. Telling the same answer
        again changes nothing.

        Parameters
        ----------
        labels : mapping or pairs of id and answer
            True or "yes": the item is positive; False or "no": it is not; "cannot judge".
            The question is always about the item, never about the prediction.
        reviewer : str
            Who says so.
        revise : bool
            Let a different answer take the place of an earlier one, which stays in the log.
            Without it, a different answer is refused.
        """
        given = parse_answers(labels, self._settings.id_kind)
        with self._store.write() as session:
            self._refuse_after_rebase(session)
            self._catch_up(session)
            new = self._check(given, revise=revise)
            session.add_labels(self._key, new, reviewer)
        return self.estimate()

    def estimate(self, metric: str | None = None) -> Estimate:
        """Return what is known now of a metric.

        Of several, and none named, it is the one that is farthest from its goal; `estimates` has
        all of them.
        """
        every = self.estimates()
        if metric is None:
            return max(every.values(), key=self._distance)
        if metric not in every:
            raise InputError(
                f"{metric!r} is not estimated by campaign {self.name!r}",
                details=f"metrics: {', '.join(every)}",
                hint=did_you_mean(metric, list(every)),
            )
        return every[metric]

    def estimates(self) -> Estimates:
        """Return what is known now of every metric that was asked for, by its name."""
        reason = self._reason()
        standings = self._evaluation.standings(self._ledger.state)
        return Estimates({each.name: self._estimate(each, reason) for each in standings})

    def _estimate(self, standing: Standing, reason: Reason) -> Estimate:
        goal, design, tallies = standing.goal, self._settings.design, standing.tallies
        now = standing.look
        defined = bool(now.moments.defined)
        unjudged = int(tallies.u.sum())
        least, most = worst_case(tallies, standing.metric)
        return Estimate(
            metric=standing.name,
            value=float(now.moments.value) if defined else None,
            low=float(now.low),
            high=float(now.high),
            confidence=goal.confidence,
            standard_error=float(np.sqrt(now.moments.variance)) if defined else None,
            labels=int(tallies.n.sum()),
            cannot_judge=unjudged,
            worst_case=(float(least), float(most)) if unjudged else None,
            interval=INTERVALS[design.interval].reference,
            anytime=design.anytime,
            stopped=None if reason is Reason.GO_ON else reason.told(goal.at_least),
            notes=self._notes(standing),
            verdict=reason.verdict,
            within=goal.within,
        )

    def _distance(self, estimate: Estimate) -> float:
        return estimate.half_width / (estimate.within or 1.0)

    def strata(self) -> list[StratumRow]:
        """Return one row a stratum: what it is, its size, and its labels so far."""
        self._reason()
        counts = np.zeros((3, self._settings.strata.n_strata), dtype=np.int64)
        for item_id, answer in self._ledger.answers.items():
            card = self._ledger.card(item_id)
            if card is not None:
                counts[_ROWS[answer], card.stratum] += 1
        return [
            StratumRow(text, size, int(yes + no), int(yes), int(unjudged))
            for text, size, (yes, no, unjudged) in zip(
                self._settings.strata.describe(),
                self._settings.strata.sizes.tolist(),
                counts.T,
                strict=True,
            )
        ]

    def events(self) -> list[Event]:
        """Return every label ever told, oldest first."""
        with self._store.read() as session:
            return session.labels(self._key)

    def answers(self) -> dict[Id, Answer]:
        """Return the answer that counts for every judged item."""
        self._reason()
        return {
            self._settings.item_id(item_id): answer
            for item_id, answer in self._ledger.answers.items()
        }

    def waiting_answers(self) -> dict[Id, Answer]:
        """Return answers from before a rebase to items that have not been drawn since.

        They count as soon as their items are drawn, if these are still among the predictions.
        """
        self._reason()
        return {
            self._settings.item_id(item_id): answers[-1]
            for item_id, answers in self._remembered.items()
        }

    def __repr__(self) -> str:
        return f"<Campaign {self.name!r}: {str(self.estimates()).splitlines()[0]}>"

    def _reason(self) -> Reason:
        with self._store.read() as session:
            self._catch_up(session)
        return self._ledger.reason

    def _catch_up(self, session: Session) -> None:
        """Take in the rounds and labels that were stored since the last time."""
        for counts in session.rounds(self._key, self._ledger.state.rounds):
            cards = self._reserve.take(session, self._ledger.state.dealt, counts)
            self._ledger.deal(cards)
            self._rounds.append(frozenset(card.item_id for card in cards))
            for card in cards:
                for answer in self._remembered.pop(card.item_id, ()):
                    self._ledger.record(card.item_id, answer)
        for event in session.labels(self._key, self._last_event):
            answer = Answer(event.answer)
            if self._ledger.card(event.item_id) is None:
                self._remembered.setdefault(event.item_id, []).append(answer)
            else:
                self._ledger.record(event.item_id, answer)
            self._last_event = event.id

    def _deal_round(self, n: int) -> bool:
        """Deal what is missing to `n` items, if it is time for that; tell whether it was."""
        dealt = None
        while dealt is None:
            try:
                with self._store.write() as session:
                    dealt = self._deal_in(session, n)
            except ShortReserveError as short:
                self._reserve.grow(self._store, short.wanted)
        self._reason()  # takes in the round, now that it is stored
        return dealt

    def _deal_in(self, session: Session, n: int) -> bool:
        self._refuse_after_rebase(session)
        self._catch_up(session)
        if self._ledger.reason is not Reason.GO_ON:
            return False
        waiting = len(self._ledger.outstanding)
        ahead = self._evaluation.deals_ahead(self._ledger.state.rounds)
        return (waiting == 0 or (ahead and waiting < n)) and self._deal(session, n - waiting)

    def _deal(self, session: Session, asked: int) -> bool:
        state = self._ledger.state
        rng = np.random.default_rng([self._settings.seed, state.rounds])
        counts = self._evaluation.plan(state, asked, rng).tolist()
        if not any(counts):
            return False
        self._reserve.take(session, state.dealt, counts)  # raises where there are not so many
        session.add_round(self._key, state.rounds, counts)
        return True

    def _refuse_after_rebase(self, session: Session) -> None:
        """Raise where another campaign has taken this one's place: its labels go there now."""
        self._refuse_if_retired(session)
        now = session.name_of(self._key)
        if now != self.name:
            raise StorageError(
                f"campaign {self.name!r} was rebased or extended meanwhile; nothing was recorded",
                details=f"labels from before are kept; what it was is called {now!r} now",
                hint=f"go on with load_campaign({self.name!r})",
            )

    def _refuse_if_retired(self, session: Session) -> None:
        """Raise where another campaign has long taken this one's place."""
        successor = re.match(r"(.*) until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", self.name)
        if successor and successor[1] in session.names():
            raise StorageError(
                f"campaign {self.name!r} is over: {successor[1]!r} has its labels and goes on",
                hint=f"go on with load_campaign({successor[1]!r})",
            )

    def _check(self, given: dict[str, Answer], *, revise: bool) -> list[tuple[str, str]]:
        """Return the answers that are new; raise where one cannot be taken."""
        unknown = [item_id for item_id in given if self._ledger.card(item_id) is None]
        if unknown:
            raise LabelError(
                f"{_some(unknown)} not asked for in this campaign, so labels for them are refused",
                details="only labels of items that the design drew at random may count",
                hint=f"ids are {self._settings.id_kind}s here; tell the ids that ask() returned",
                ids=unknown,
            )
        before = self._ledger.answers
        new = [(key, answer) for key, answer in given.items() if before.get(key) is not answer]
        changed = [key for key, _ in new if key in before]
        if changed and not revise:
            key = changed[0]
            raise LabelConflictError(
                f"item {key!r} was told {before[key].value!r} before and now "
                f"{given[key].value!r}; {len(changed)} such in all, nothing was recorded",
                hint="with tell(..., revise=True) the new answer counts; the old stays in the log",
                ids=changed,
            )
        return [(key, answer.value) for key, answer in new]

    def _item(self, card: CardRow) -> Item:
        return Item(self._settings.item_id(card.item_id), json.loads(card.shown))

    def _notes(self, standing: Standing) -> tuple[str, ...]:
        moments, goal = standing.look.moments, standing.goal
        bounded = moments.bounded.nonzero()[0].tolist()
        notes: list[str] = []
        if not moments.defined:
            notes.append("there are too few labels to say anything yet")
        elif bounded:
            which = ", ".join(str(h + 1) for h in bounded)
            where = f"strata {which} of {standing.tallies.N.size}"
            if isinstance(self._settings.goal, JointGoal):
                where = "some strata"  # one metric's strata have no numbers that people see
            notes.append(
                f"too few labels in {where} to estimate their variance: "
                "its largest possible value is used"
            )
        if moments.defined and not self._settings.design.anytime:
            if goal.within is not None:
                notes.append(
                    "the interval assumes one look; stopping on its width makes it hold less often "
                    "(docs/certainty.md)"
                )
            elif self._ledger.reason is Reason.GO_ON:
                notes.append(
                    "the interval is made for one look, at the end of the budget; "
                    "do not stop on what it shows before"
                )
        if self._settings.before is not None and (open_ := self._half_answered()):
            notes.append(
                f"{open_:,} drawn items have no answer yet, and what was drawn with them had one "
                "before; until they have, new items count too little"
            )
        return tuple(notes)

    def _half_answered(self) -> int:
        """Return how many items wait for an answer in rounds that have some."""
        waiting = {card.item_id for card in self._ledger.outstanding}
        return sum(len(ids & waiting) for ids in self._rounds if not ids <= waiting)


def _some(ids: list[str]) -> str:
    shown = ", ".join(repr(item) for item in ids[:_SHOW_AT_MOST])
    more = f" and {len(ids) - _SHOW_AT_MOST} more" if len(ids) > _SHOW_AT_MOST else ""
    return f"{shown}{more}: {'was' if len(ids) == 1 else 'were'}"
