"""Desk: a campaign as one process holds it, for whatever asks and records on a campaign's behalf.

`Campaign` is what a library user calls. The server, Label Studio, the notebook and files of labels
need more: to record what several reviewers said, and to choose when strata are cut anew.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from typing import TypeVar
from warnings import warn

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
    check_told,
    kinds_of,
)
from assay.predictions import Predictions
from assay.results import Recorded
from assay.storage import Label, Session, Store

T = TypeVar("T")


class Desk:
    """The labelling of a campaign, and who has which items.

    Others may cut the strata anew, which puts another campaign in this one's place: the desk then
    goes on with that one.
    """

    def __init__(
        self, store: Store, key: int, settings: Settings, predictions: Predictions | None
    ) -> None:
        self.store = store
        self._recut_tried = 0  # of the numbers of labels to cut strata anew at: the last
        self._take(key, settings, predictions)

    def _take(self, key: int, settings: Settings, predictions: Predictions | None) -> None:
        self.settings = settings
        self.labelling = Labelling(self.store, key, settings, predictions)
        self.assignments = Assignments(self.labelling)

    @property
    def name(self) -> str:
        """The name that the campaign is stored under."""
        return self.settings.name

    @property
    def identity(self) -> str:
        """What tells it from campaigns of the same name elsewhere; a rebase does not change it."""
        return f"{self.store.uid}/{self.name}"

    @property
    def is_current(self) -> bool:
        """Whether it still has its name, and not another campaign that took its place."""
        with self.store.read() as session:
            return session.name_of(self.labelling.key) == self.name

    @property
    def version(self) -> str:
        """A text that changes whenever something is stored that estimates and counts rest on."""
        return self.current().version

    def current(self) -> Labelling:
        """Take in what others have stored, and follow them if they have cut the strata anew."""
        self.labelling.catch_up()
        if self.labelling.name != self.name and self._follow():
            self.labelling.catch_up()
        return self.labelling

    def _follow(self) -> bool:
        """Go on with what has taken this campaign's place, if only its strata were cut anew."""
        from assay.campaign.recut import successor

        found = successor(self.labelling)
        if found is not None:
            self._take(*found)
        return found is not None

    def following(self, work: Callable[[], T]) -> T:
        """Do something; once more where others have cut the strata anew meanwhile."""
        while True:
            try:
                return work()
            except ReplacedError:
                if not self._follow():
                    raise

    # Strata cut anew, while people label.

    @property
    def recut_is_due(self) -> bool:
        """Whether there are labels enough to see what the columns of `aux` tell."""
        from assay.core.error_model import scheduled

        if not self.settings.source.aux or self.labelling.rounds.reason is not Reason.GO_ON:
            return False
        model = self.settings.source.model
        done = max(self._recut_tried, 0 if model is None else model.labels)
        return scheduled(self.labelling.answered) > done

    def put_off_recut(self) -> None:
        """Let it not be due again before there are twice as many labels: somebody else does it."""
        from assay.core.error_model import scheduled

        self._recut_tried = scheduled(self.labelling.answered)
        self.labelling.held = False

    def hold_for_recut(self) -> bool:
        """Tell whether to cut the strata anew now; where that must wait, deal no more rounds.

        A campaign that bets must have settled its bets on all that was dealt. Where many label at
        once, the next round would be dealt as the last answer to this one comes.
        """
        due, bets = self.recut_is_due, self.settings.design.bets
        self.labelling.held = due and bets
        return due and not (bets and self.labelling.rounds.outstanding)

    def recut_or_warn(self) -> None:
        """Cut the strata anew if that is due and no item waits for its answer."""
        if not self.recut_is_due or self.labelling.rounds.outstanding:
            return
        try:
            self.recut()
        except PredictionsError as error:  # the strata as they are do, too
            warn(f"the strata were not cut anew: {error}", AssayWarning, stacklevel=3)

    def recut(self) -> bool:
        """Learn from the labels what the columns of `aux` tell, and cut the strata anew by that.

        `Campaign.ask` does so by itself at numbers of labels that are fixed beforehand: 100, 200,
        400 and so on. The last of these that was reached counts, and nothing is done before the
        first. All labels are kept, and most of them count at once. A guaranteed campaign can do so
        between two rounds only, and then all labels count.

        Whether the strata are others now is returned: they stay where the columns tell no more than
        the score.
        """
        from assay.campaign.recut import recut
        from assay.campaign.replacement import OutrunError

        self.current()
        if self.settings.design.bets and self.labelling.rounds.outstanding:
            return False  # bets on a round are settled when all of it is known
        self.put_off_recut()
        try:
            found = recut(self.labelling, self._recut_tried) if self._recut_tried else None
        except ReplacedError:  # somebody else has done it meanwhile
            if self._follow():
                return True
            raise
        except OutrunError:  # somebody was given more items meanwhile: when these are judged
            self._recut_tried = 0
            return False
        if found is None:
            return False
        key, settings, predictions, sizes = found
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
        """Reviews of some items, by their ids as text; only of those asked for.

        An item of which nothing was said yet has a review that holds nothing.
        """
        labelling = self.current()
        asked = (each for each in item_ids if labelling.was_asked(each))
        return {item_id: labelling.review(item_id).copy() for item_id in asked}

    def record(self, labels: Sequence[Label], *, revise: bool = False) -> Recorded:
        """Record answers of several reviewers, all of them or, with an error, none.

        An answer that its reviewer has given before changes nothing, unless `revise` lets a
        different one take its place. Answers of more reviewers than an item wants are kept, and do
        not count (`assay.labelling.review_rule` has the rule). Keys are left out.

        >>> import assay
        >>> campaign = assay.create_campaign({"p": [0.9, 0.8]}, score="p", threshold=0.5, budget=2)
        >>> said = [assay.Label(item.id, "yes", "ann") for item in campaign.ask(2)]
        >>> campaign.desk.record(said)
        Recorded(new=2, revised=0, unchanged=0, spare=0)
        """
        checked = [check_told(label, self.settings) for label in labels]
        return self.following(lambda: self._record(checked, revise=revise))

    def _record(self, labels: Sequence[Label], *, revise: bool) -> Recorded:
        # A file may have a hundred thousand: they are checked while others go on writing, and in
        # the transaction only those are checked again whose items others have spoken of since.
        with self.labelling.read() as session:
            known = self.labelling.last_label
            prepared = session.prepare(labels)
        kinds = kinds_of(self.labelling, labels, revise=revise)
        answered = {(label.item_id, label.reviewer) for label in labels}
        said = [place for place, kind in enumerate(kinds) if kind != "unchanged"]
        waiting = [prepared[place] for place in said]
        with self.labelling.write(waiting) as session:
            spoken_of = {label.item_id for label in session.labels(self.labelling.key, known)}
            if spoken_of:
                places = [place for place, each in enumerate(labels) if each.item_id in spoken_of]
                some = [labels[place] for place in places]
                again = kinds_of(self.labelling, some, revise=revise)
                for place, kind in zip(places, again, strict=True):
                    kinds[place] = kind
            now = [place for place, kind in enumerate(kinds) if kind != "unchanged"]
            if now == said or set(now) < set(said):
                left_out = {at for at, place in enumerate(said) if kinds[place] == "unchanged"}
                session.put_waiting(self.labelling.key, waiting, left_out)
            else:  # somebody has said something else since
                session.put_labels(self.labelling.key, [prepared[place] for place in now])
            self.free(session, answered)
        spare = kinds.count("spare")
        new, revised, unchanged = (kinds.count(kind) for kind in ("new", "revised", "unchanged"))
        return Recorded(new + spare, revised, unchanged, spare)

    def free(self, session: Session, answered: Set[tuple[str, str]]) -> None:
        """End the claims on items that their holders have answered: items, and who has."""
        live = session.live_claims(self.labelling.key)
        over = [claim for claim in live if (claim.item_id, claim.reviewer) in answered]
        session.give_back(self.labelling.key, over)
