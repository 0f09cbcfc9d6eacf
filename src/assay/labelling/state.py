"""Labelling: the stored cards and answers of a campaign.

Every transaction first takes in what other processes have stored since the last one.
"""

import gc
import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

from assay.core.answers import ANSWERS, Answer
from assay.core.state import State
from assay.core.stopping import Reason
from assay.errors import AssayError, StorageError
from assay.labelling.reserve import Reserve, ShortReserveError
from assay.labelling.review_rule import SKIP, WITHDRAWN, Review, Reviews
from assay.labelling.settings import Settings, find_campaign
from assay.labelling.waiting import WaitingItems
from assay.results import REMEMBERED
from assay.storage import RETIRED, CardRow, Label, News, Session, Store, StoredLabel, reading_stored

if TYPE_CHECKING:
    from assay.predictions import Predictions


_BATCH = 20  # of `Campaign.ask`
_MANY = 5_000  # labels not taken in while others wait for the lock: some 60 ms


@contextmanager
def without_collection() -> Iterator[None]:
    """Suspend garbage collection while a hundred thousand labels are taken in.

    A collection would take as long as much of the other work, and reviewers wait. So would the
    first one afterwards: if there is much by then, it counts as old.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > _MANY:
            gc.freeze()
            gc.unfreeze()
        if was_on:
            gc.enable()


class ReplacedError(StorageError):
    """Another campaign has replaced this one, and has its labels."""


class Labelling:
    """Labelling of a campaign so far, up to date with the store.

    `store`, `key`, `settings`: the campaign, its number in the store, and its fixed part;
    `predictions`: source of more cards.
    """

    def __init__(
        self, store: Store, key: int, settings: Settings, predictions: "Predictions | None"
    ) -> None:
        self.key, self.settings = key, settings
        self.evaluation = settings.evaluation()
        self._store = store
        self._reserve = Reserve(key, settings, predictions)
        self.trouble = ""  # reason why no more cards could be stored
        self.waits_for_recut = False  # whether dealing waits until strata are cut anew
        self.soon_short: ShortReserveError | None = None
        self._may_be_early = True
        self.name = settings.name  # as stored at the last look: a rebase changes it
        self._dealt_before: frozenset[str] | None = None
        self._clear()

    @property
    def store(self) -> Store:
        """Store of the campaign."""
        return self._store

    def _clear(self) -> None:
        # Items that are not drawn again since strata were cut anew were asked for, too.
        recut = self.settings.source.model is not None
        self._first: dict[str, Answer] = {}  # of items that are not dealt: the first settled answer
        elsewhere = self._first.__len__ if recut else None
        self.rounds = self.settings.rounds(self.evaluation, elsewhere)
        self.reviews = Reviews(self.settings.reviewers_wanted)
        self.waiting = WaitingItems()
        self.answers_of: Counter[str] = Counter()  # number of items answered by each reviewer
        self.answered = 0  # number of answered items
        self.moments: deque[str] = deque(maxlen=REMEMBERED)  # of recent first answers
        self.sent: dict[str, StoredLabel] = {}  # by the keys of the pages
        self.last_label_at: dict[str, str] = {}  # time of each reviewer's last label
        self.items_of_rounds: list[frozenset[str]] = []  # the items of each
        self.last_label = 0  # number of the last one taken in
        self._ahead = False  # of the stored labels

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a transaction that reads, up to date."""
        with self._store.read() as session:
            self._catch_up(session, session.news(self.key))
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a transaction that may write, up to date; refused if the campaign is over."""
        try:
            with self._store.write() as session:
                news = session.news(self.key)
                self._refuse_after_rebase(session, news.name)
                if few := news.last_label - self.last_label <= _MANY:
                    self._catch_up(session, news)
                    yield session
            if not few:
                self.catch_up()  # a file was imported: nobody has to wait for this reader
                with self.write() as session:
                    yield session
        except BaseException:
            if self._ahead:
                self._clear()  # labels added here may not be stored: read again
            self.waiting.add(card.item_id for card in self.rounds.outstanding)
            raise
        self._ahead = False

    @property
    def version(self) -> str:
        """State that has been taken in: the campaign, its rounds, its labels."""
        return f"{self.key}-{len(self.items_of_rounds)}-{self.last_label}"

    def catch_up(self) -> None:
        """Take in what was stored since the last time."""
        with self.read():
            pass

    def was_asked(self, item_id: str) -> bool:
        """Whether an item was drawn, possibly before the strata were cut anew."""
        return item_id in self.rounds or item_id in (self._dealt_before or ())

    @property
    def known(self) -> frozenset[str]:
        """Items that were judged before a guaranteed campaign's strata were cut anew."""
        if not self.settings.epochs or not self.items_of_rounds:
            return frozenset()
        return self.items_of_rounds[0]

    def review(self, item_id: str) -> Review:
        """Review of an item."""
        return self.reviews.get(item_id) or Review(self.settings.reviewers_wanted(item_id))

    @property
    def half_reviewed(self) -> int:
        """Number of items that have an answer, and wait for another reviewer's."""
        waiting = [self.review(card.item_id) for card in self.rounds.outstanding]
        return sum(bool(review.answers) and not review.complete for review in waiting)

    def add(self, session: Session, labels: Sequence[Label]) -> None:
        """Append to the log, and take it in."""
        self._ahead = True
        self._take(session.add_labels(self.key, labels))

    def deal(self, session: Session, asked: int) -> bool:
        """Deal a round of up to `asked` cards, if it is time for one; whether it was.

        Raises `ShortReserveError` if there are too few cards; nothing is changed then.
        """
        if self.waits_for_recut or self.rounds.reason is not Reason.GO_ON:
            return False
        state = self.rounds.state
        if self.rounds.outstanding and not self._deals_ahead(state):
            return False
        rng = np.random.default_rng([self.settings.draw_seed, state.rounds])
        counts = self.evaluation.plan(state, asked, rng).tolist()
        if not any(counts):
            return False
        cards = self._reserve.take(session, state.dealt, counts)  # raises if there are too few
        self._ahead = True
        session.add_round(self.key, state.rounds, counts)
        self._take_round(cards)
        if self._may_be_early:
            self.soon_short = self._reserve.soon_short(state.dealt, counts)
        return True

    def recall(self, session: Session, sizes: Sequence[int]) -> None:
        """Deal rounds as long as answers from before a rebase complete them.

        `sizes` are those of the rounds before it, so that the stopping rule looks as often. The
        campaign then stands where it would if people had given these answers anew. `ask` does the
        same when its turn comes.

        Raises `ShortReserveError` if there are too few cards for the next one.
        """
        self._catch_up(session, session.news(self.key))
        for size in chain(sizes[len(self.items_of_rounds) :], repeat(_BATCH)):
            if self.rounds.outstanding or not self.deal(session, size):
                return

    def _deals_ahead(self, state: State) -> bool:
        """Whether to deal while cards wait for their answers.

        Not if the answers so far are sufficient, including the first one of every item that waits
        for another reviewer or for a ruling: such rounds could keep the campaign going for ever.
        Only complete rounds end it.
        """
        if not self.evaluation.procedure.deals_ahead(state.rounds):
            return False
        waiting = [card.item_id for card in self.rounds.outstanding]
        begun = {item_id: self.reviews[item_id] for item_id in waiting if item_id in self.reviews}
        first = {
            item_id: next(iter(review.answers.values()))
            for item_id, review in begun.items()
            if review.answers
        }
        return self.evaluation.decide(self.rounds.state_if(first)).reason is Reason.GO_ON

    @property
    def predictions_at_hand(self) -> "Predictions | None":
        """Predictions, if they were given or have been read."""
        return self._reserve.at_hand

    def predictions(self) -> "Predictions":
        """Read the predictions as they are now; not in a transaction."""
        return self._reserve.source(self._store)

    def grow(self, short: ShortReserveError) -> None:
        """Store more cards; not in a transaction, because the predictions are read."""
        try:
            self._reserve.grow(self._store, short.wanted)
        except AssayError as error:
            self.trouble = str(error)
            raise
        finally:
            self.soon_short = None
        self.trouble = ""

    def grow_early(self) -> None:
        """Store the cards that will soon be missing.

        A failure is retried, and reported, when they are.
        """
        short, self.soon_short = self.soon_short, None
        try:
            if short is not None:
                self._reserve.grow(self._store, short.wanted)
        except AssayError:
            self._may_be_early = False

    def _take(self, labels: Iterable[StoredLabel]) -> None:
        """Take in labels, in their order.

        The items' first answers are taken in together: a file has many, and reviewers wait
        meanwhile.
        """
        first: dict[str, StoredLabel] = {}
        words, aside = self.settings.words, (SKIP, WITHDRAWN)
        for label in labels:
            item_id = label.item_id
            if label.answer not in words:
                raise ValueError(f"label {label.id} has {label.answer!r}, which is not an answer")
            known = item_id in first or item_id in self.reviews
            if known or label.ruling or label.answer in aside:
                self._take_first(first)
                first = {}
                self._take_next(label)
            else:
                first[item_id] = label
        self._take_first(first)

    def _take_first(self, labels: Mapping[str, StoredLabel]) -> None:
        """Take in answers to items without labels: `_take_next`, only faster."""
        if not labels:
            return
        received = list(labels.values())
        self.answers_of.update([label.reviewer for label in received])
        self.answered += len(labels)
        self.moments.extend([label.told_at for label in received])
        self.last_label_at.update([(label.reviewer, label.told_at) for label in received])
        self.sent.update([(label.key, label) for label in received if label.key is not None])
        self.last_label = received[-1].id
        self.reviews.begin(labels)
        drawn: dict[str, Answer] = {}
        for item_id, label in labels.items():
            if self.settings.reviewers_wanted(item_id) == 1:
                counted = drawn if item_id in self.rounds else self._first
                counted[item_id] = ANSWERS[label.answer]
        self.rounds.record_all(drawn)

    def _take_next(self, label: StoredLabel) -> None:
        item_id, reviewer = label.item_id, label.reviewer
        review = self.reviews.open(item_id)
        before, any_before = reviewer in review.labels, bool(review.labels)
        review.take(label)
        self.waiting.add([item_id])
        self.answers_of[reviewer] += (reviewer in review.labels) - before
        self.answered += bool(review.labels) - any_before
        if review.labels and not any_before:
            self.moments.append(label.told_at)
        self.last_label_at[reviewer] = label.told_at
        self.last_label = label.id
        if label.key is not None:
            self.sent[label.key] = label
        settled = review.settled
        if item_id in self.rounds:
            self._record(item_id, settled)
        elif settled is not None:
            self._first.setdefault(item_id, settled)

    def _record(self, item_id: str, now: Answer | None) -> None:
        before = self.rounds.answers.get(item_id)
        if now is not None and now is not before:
            self.rounds.record(item_id, now)
        elif now is None and before is not None:
            self.rounds.withdraw(item_id)

    def _catch_up(self, session: Session, news: News) -> None:
        stored = reading_stored(f"what is stored of campaign {self.settings.name!r}")
        self.name = news.name
        with stored, without_collection():
            if self._dealt_before is None:
                self._dealt_before = _dealt_before(session, self.settings)
            if news.rounds > len(self.items_of_rounds):
                for counts in session.rounds(self.key, len(self.items_of_rounds)):
                    self._take_round(self._reserve.take(session, self.rounds.state.dealt, counts))
            if news.last_label > self.last_label:
                self._take(session.labels(self.key, self.last_label))

    def _take_round(self, cards: Sequence[CardRow]) -> None:
        self.rounds.deal(cards)
        self.items_of_rounds.append(frozenset(card.item_id for card in cards))
        self.waiting.add(card.item_id for card in cards)
        for card in cards:
            # Answers from before a rebase have waited for this.
            if (first := self._first.pop(card.item_id, None)) is not None:
                self.rounds.record(card.item_id, first)
                self._record(card.item_id, self.review(card.item_id).settled)

    def _refuse_after_rebase(self, session: Session, now: str) -> None:
        """Raise if another campaign has replaced this one: its labels go there now."""
        name = self.settings.name
        if RETIRED.fullmatch(name) and (successor := _successor(session, name)):
            raise ReplacedError(
                f"campaign {name!r} has ended: {successor!r} continues with its labels",
                hint=f"continue with campaign {successor!r}",
            )
        if now != name and not RETIRED.fullmatch(now):
            raise ReplacedError(
                f"campaign {name!r} was renamed or deleted meanwhile; nothing was recorded",
                details=f"it is now called {now!r}",
                hint="`assay status` lists the campaigns of the storage",
            )
        if now != name:
            raise ReplacedError(
                f"campaign {name!r} was rebased or extended meanwhile; nothing was recorded",
                details=f"earlier labels are kept; the earlier campaign is now called {now!r}",
                hint=f"load campaign {name!r} again",
            )


def _successor(session: Session, retired: str) -> str | None:
    """Campaign that continues with a replaced campaign's labels, if there still is one."""
    name = retired.rpartition(" until ")[0]
    if name in session.names():
        return name
    heirs = session.names(mentioning=f'"campaign": {json.dumps(retired)}')
    return heirs[0] if heirs else None


def _dealt_before(session: Session, settings: Settings) -> frozenset[str]:
    """Items that were drawn before the strata were cut anew, in any epoch.

    A reviewer who holds one of them may still answer.
    """
    dealt: set[str] = set()
    while settings.source.model is not None and settings.before is not None:
        if settings.before.campaign not in session.names():
            break  # as in a bundle, which has one campaign
        key, settings = find_campaign(session, settings.before.campaign)
        for stratum, counts in enumerate(zip(*session.rounds(key, 0), strict=True)):
            dealt.update(card.item_id for card in session.cards(key, stratum, 0, sum(counts)))
    return frozenset(dealt)
