"""Desk: a campaign as one process holds it, for callers that ask and record on its behalf.

`Campaign` is what a library user calls. The server, Label Studio, the notebook and label files need
more: to record labels of several reviewers, and to choose when strata are cut anew.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar
from warnings import warn

from assay.campaign.staged_import import finish_imports, in_pieces
from assay.core.deck import Id
from assay.core.stopping import Reason
from assay.errors import AssayWarning, PredictionsError
from assay.labelling import (
    Assignments,
    Labelling,
    ReplacedError,
    Review,
    Settings,
    ShortReserveError,
    kinds_of,
    recorded_label,
)
from assay.results import Recorded
from assay.storage import Label, Store, encoded

if TYPE_CHECKING:
    from assay.predictions import Predictions


T = TypeVar("T")


class Desk:
    """Labelling of a campaign, and the items that each reviewer has.

    If another process cuts the strata anew, a new campaign replaces this one, and the desk goes on
    with that.
    """

    def __init__(
        self, store: Store, key: int, settings: Settings, predictions: "Predictions | None"
    ) -> None:
        self.store = store
        self._recut_tried = 0  # last number of labels at which a recut was tried
        self._take(key, settings, predictions)

    def _take(self, key: int, settings: Settings, predictions: "Predictions | None") -> None:
        self.settings = settings
        self.labelling = Labelling(self.store, key, settings, predictions)
        self.assignments = Assignments(self.labelling)

    @property
    def name(self) -> str:
        """Name under which the campaign is stored."""
        return self.settings.name

    @property
    def identity(self) -> str:
        """Identifier that differs from campaigns of the same name elsewhere; a rebase keeps it."""
        return f"{self.store.uid}/{self.name}"

    @property
    def is_current(self) -> bool:
        """Whether the name still belongs to this campaign, and no other has replaced it."""
        with self.store.read() as session:
            return session.name_of(self.labelling.key) == self.name

    @property
    def version(self) -> str:
        """Text that changes whenever something is stored that affects estimates or counts."""
        return self.current().version

    def current(self) -> Labelling:
        """Take in what others have stored, and follow a recut of the strata by others."""
        self.labelling.catch_up()
        if self.labelling.name != self.name and self._follow():
            self.labelling.catch_up()
        return self.labelling

    def _follow(self) -> bool:
        """Go on with this campaign's replacement, if only its strata were cut anew."""
        from assay.campaign.recut import successor

        replacement = successor(self.labelling)
        if replacement is not None:
            self._take(*replacement)
        return replacement is not None

    def following(self, work: Callable[[], T]) -> T:
        """Call `work`; retry if others have cut the strata anew meanwhile."""
        while True:
            try:
                return work()
            except ReplacedError:
                if not self._follow():
                    raise

    # Strata cut anew, while people label.

    @property
    def recut_is_due(self) -> bool:
        """Whether there are enough labels to learn from the columns of `aux`."""
        from assay.core.learning import scheduled

        if not self.settings.source.aux or self.labelling.rounds.reason is not Reason.GO_ON:
            return False
        model = self.settings.source.model
        done = max(self._recut_tried, 0 if model is None else model.labels)
        return scheduled(self.labelling.answered) > done

    def put_off_recut(self) -> None:
        """Put the recut off until there are twice as many labels: another process does it."""
        from assay.core.learning import scheduled

        self._recut_tried = scheduled(self.labelling.answered)
        self.labelling.waits_for_recut = False

    def hold_for_recut(self) -> bool:
        """Whether to cut the strata anew now; deal no more rounds while a recut has to wait.

        A campaign that bets must first settle its bets on everything dealt. With many reviewers,
        the next round would be dealt as the last answer to this one arrives.
        """
        due, bets = self.recut_is_due, self.settings.design.bets
        self.labelling.waits_for_recut = due and bets
        return due and not (bets and self.labelling.rounds.outstanding)

    def recut_or_warn(self) -> None:
        """Cut the strata anew if that is due and no item waits for its answer."""
        if not self.recut_is_due or self.labelling.rounds.outstanding:
            return
        try:
            self.recut()
        except PredictionsError as error:  # keep the present strata
            warn(f"the strata were not cut anew: {error}", AssayWarning, stacklevel=3)

    def recut(self) -> bool:
        """Learn from the labels how the columns of `aux` predict the outcome, and recut the strata.

        `Campaign.ask` calls this at fixed numbers of labels: 100, 200, 400 and so on. The last
        number reached counts, and nothing happens before the first. All labels are kept, and most
        count at once. A guaranteed campaign can recut only between two rounds, and then all labels
        count.

        Returns whether the strata changed: they stay if the columns tell no more than the score.
        """
        from assay.campaign.recut import recut
        from assay.campaign.stored import OutrunError

        self.current()
        if self.settings.design.bets and self.labelling.rounds.outstanding:
            return False  # bets on a round are settled once it is complete
        self.put_off_recut()
        try:
            result = recut(self.labelling, self._recut_tried) if self._recut_tried else None
        except ReplacedError:  # another process has done it meanwhile
            if self._follow():
                return True
            raise
        except OutrunError:  # items were given out meanwhile: retried when they are judged
            self._recut_tried = 0
            return False
        if result is None:
            return False
        key, settings, predictions, sizes = result
        self._take(key, settings, predictions)
        self.recall(sizes)
        return True

    def recall(self, sizes: Sequence[int]) -> None:
        """Deal rounds of these sizes, as long as answers from before a rebase complete them."""
        while True:
            try:
                with self.labelling.write() as session:
                    return self.labelling.recall(session, sizes)
            except ShortReserveError as short:
                self.labelling.grow(short)

    # Labels of several reviewers.

    def reviews(self) -> dict[Id, Review]:
        """Reviews of every item that was drawn."""
        labelling = self.current()
        return {
            self.settings.item_id(item_id): review.copy()
            for item_id, review in labelling.reviews.items()
            if labelling.rounds.card(item_id) is not None
        }

    def reviews_of(self, item_ids: Iterable[str]) -> dict[str, Review]:
        """Reviews of the given items, by id as text; only of items that were asked for.

        An item without labels has an empty review.
        """
        labelling = self.current()
        asked = (each for each in item_ids if labelling.was_asked(each))
        return {item_id: labelling.review(item_id).copy() for item_id in asked}

    def record(self, labels: Sequence[Label], *, revise: bool = False) -> Recorded:
        """Record answers of several reviewers, all of them or, with an error, none.

        Repeating an answer changes nothing. With `revise`, a different answer replaces the earlier
        one. Answers of more reviewers than an item wants are kept, and do not count
        (`assay.labelling.review_rule` has the rule). Keys are ignored.

        >>> import assay
        >>> campaign = assay.create_campaign({"p": [0.9, 0.8]}, score="p", threshold=0.5, budget=2)
        >>> labels = [assay.Label(item.id, "yes", "ann") for item in campaign.ask(2)]
        >>> campaign.desk.record(labels)
        Recorded(new=2, revised=0, unchanged=0, spare=0)
        """
        checked = [recorded_label(label, self.settings) for label in labels]
        return self.following(lambda: self._record(checked, revise=revise))

    def _record(self, labels: Sequence[Label], *, revise: bool) -> Recorded:
        # A file may have a hundred thousand: they are checked while others go on writing, and the
        # transaction checks only those again whose items got labels since.
        while True:
            self.finish_imports()  # one file after another
            self.labelling.catch_up()
            last_label, key = self.labelling.last_label, self.labelling.key
            kinds = kinds_of(self.labelling, labels, revise=revise)
            recordable = [place for place, kind in enumerate(kinds) if kind != "unchanged"]
            now, later = in_pieces([labels[place] for place in recordable])
            pieces = encoded(later)
            with self.labelling.write() as session:
                since = {label.item_id for label in session.labels(key, last_label)}
                places = [place for place, each in enumerate(labels) if each.item_id in since]
                again = kinds_of(self.labelling, [labels[place] for place in places], revise=revise)
                for place, kind in zip(places, again, strict=True):
                    kinds[place] = kind
                still = [place for place, kind in enumerate(kinds) if kind != "unchanged"]
                if still == recordable and session.next_piece(key) is None:
                    session.stage(key, self.labelling.last_label, pieces)
                    session.add_labels(key, now)
                    session.end_answered(key, now)
                    break
        self.finish_imports()
        spare = kinds.count("spare")
        new, revised, unchanged = (kinds.count(kind) for kind in ("new", "revised", "unchanged"))
        return Recorded(new + spare, revised, unchanged, spare)

    def finish_imports(self) -> None:
        """Append labels that were accepted from a file, possibly by a process that ended."""
        finish_imports(self.store, self.labelling.key)
