"""Campaign: ask for items, record their labels, estimate, and stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar
from warnings import warn

from assay.campaign.findings import Findings
from assay.core.answers import parse_answer, parse_answers
from assay.core.deck import Id
from assay.core.stopping import Reason
from assay.errors import (
    AssayWarning,
    InputError,
    LabelError,
    PredictionsError,
)
from assay.labelling import (
    LEASE_SECONDS,
    WITHDRAWN,
    ReplacedError,
    ShortReserveError,
    TurnReply,
    TurnRequest,
    check_lease,
    check_sent,
    check_told,
    checked_request,
    comment_of,
    kinds_of,
    reviewer_of,
    told_by_one,
)
from assay.results import (
    Estimate,
    Item,
    Receipt,
    Recorded,
    Turn,
)
from assay.storage import Label, Session

if TYPE_CHECKING:
    pass

T = TypeVar("T")


class Campaign(Findings):
    """An evaluation in progress. Made by `create_campaign` and `load_campaign`.

    Every method first takes in what other processes have added to the storage, so several may work
    on one campaign; every `tell` is on disk when it returns.
    """

    def ask(
        self, n: int = 20, *, reviewer: str | None = None, lease: float = LEASE_SECONDS
    ) -> list[Item]:
        """Return up to `n` items to judge.

        Items that were asked for and have no answer yet come first, so nothing is lost when a
        batch was; new ones are dealt for the rest. A design with rounds of a fixed size (the
        papers'), or one that bets, deals the next round only when the last is answered, and the
        batch may be smaller than `n`. With several metrics it may be so, too, where the goal is
        near; and after a rebase, as items that were judged before it are not asked for again. The
        list is empty when the campaign is done. The order within a batch tells nothing about the
        strata.

        Parameters
        ----------
        n : int
        reviewer : str, optional
            Who will judge them. Nobody else is given these items for `lease` seconds; asking again
            renews that. Without it, items that others have before them are left out, but may be
            given to others.
        lease : float
        """
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
            raise InputError(f"ask for a whole number of items, at least 1; got {n!r}")
        check_lease(lease)
        if reviewer is not None:
            reviewer = reviewer_of(reviewer)
        elif self._settings.reviewing.per_item > 1:
            raise InputError(
                f"campaign {self.name!r} wants several reviewers for some items, and nobody says "
                "who asks",
                hint="ask(..., reviewer='ann') and tell(..., reviewer='ann')",
            )
        self._catch_up()
        if self.recut_is_due and not self._labelling.rounds.outstanding:
            self._recut_or_warn()
        return self._following(
            lambda: self._assignments.ask(int(n), reviewer=reviewer, lease=lease)
        )

    def _recut_or_warn(self) -> None:
        try:
            self.recut()
        except PredictionsError as error:  # the strata as they are do, too
            warn(f"the strata were not cut anew: {error}", AssayWarning, stacklevel=3)

    @property
    def recut_is_due(self) -> bool:
        """Whether there are labels enough to see what the columns of `aux` tell."""
        from assay.core.error_model import scheduled

        if not self._settings.source.aux or self._labelling.rounds.reason is not Reason.GO_ON:
            return False
        model = self._settings.source.model
        done = max(self._recut_tried, 0 if model is None else model.labels)
        return scheduled(self._labelling.answered) > done

    def put_off_recut(self) -> None:
        """Let it not be due again before there are twice as many labels: somebody else does it."""
        from assay.core.error_model import scheduled

        self._recut_tried = scheduled(self._labelling.answered)
        self._labelling.held = False

    def hold_for_recut(self) -> bool:
        """Tell whether to cut the strata anew now; where that must wait, deal no more rounds.

        A campaign that bets must have settled its bets on all that was dealt. Where many label at
        once, the next round would be dealt as the last answer to this one comes.
        """
        due, bets = self.recut_is_due, self._settings.design.bets
        self._labelling.held = due and bets
        return due and not (bets and self._labelling.rounds.outstanding)

    def recut(self) -> bool:
        """Learn from the labels what the columns of `aux` tell, and cut the strata anew by that.

        `ask` does so by itself at numbers of labels that are fixed beforehand: 100, 200, 400 and so
        on. The last of these that was reached counts, and nothing is done before the first. All
        labels are kept, and most of them count at once. A guaranteed campaign can do so between two
        rounds only, and then all labels count.

        Returns
        -------
        bool
            Whether the strata are others now. They stay where the columns tell no more than the
            score.
        """
        from assay.campaign.recut import recut
        from assay.campaign.replacement import OutrunError

        self._catch_up()
        if self._settings.design.bets and self._labelling.rounds.outstanding:
            return False  # bets on a round are settled when all of it is known
        self.put_off_recut()
        try:
            found = recut(self._labelling, self._recut_tried) if self._recut_tried else None
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

    def review(
        self,
        labels: Sequence[Label],
        *,
        reviewer: str,
        want: int = 0,
        lease: float = LEASE_SECONDS,
        blind: bool = False,
    ) -> Turn:
        """Take what one reviewer's page sends, and give it the next items, all at once.

        What is ``saved`` is on disk. Sending something again is harmless, whatever became of the
        first time: its key tells.

        Parameters
        ----------
        labels : sequence of Label
            Each with a `key`. Whose they are is told by `reviewer`.
        reviewer : str
        want : int
            How many items the page wants to have before it. Those that it has are among them, and
            their leases are renewed.
        lease : float
            For how many seconds nobody else is given them.
        blind : bool
            Whether the reviewer must not learn what another answer would have done: answers of a
            round that is complete are then closed to them, as on the web page.

        Examples
        --------
        >>> import assay
        >>> campaign = assay.create_campaign(
        ...     {"p": [0.9, 0.8, 0.7]}, score="p", threshold=0.5, budget=3)
        >>> turn = campaign.review([], reviewer="ann", want=1)
        >>> answer = assay.Label(turn.items[0].id, "yes", key="a4f1")
        >>> campaign.review([answer], reviewer="ann").receipts
        (Receipt(key='a4f1', status='saved', late=False, message=''),)
        >>> campaign.review([answer], reviewer="ann").receipts[0].status
        'again'
        """
        request = checked_request(labels, reviewer, want, lease, self._settings, blind=blind)
        return self._following(lambda: self._assignments.turn(request))

    def widget(self, reviewer: str) -> Any:
        """Return a widget to label in a notebook, for the last line of a cell.

        It shows one item at a time, with the columns of `show` and nothing that the classifier
        said. Every answer is stored at once, under the reviewer's name. It needs the extra
        ``notebook``.

        Parameters
        ----------
        reviewer : str
            Whose labels they are.
        """
        from assay.campaign.widget import widget_of

        return widget_of(self, reviewer)

    def review_together(self, requests: Sequence[TurnRequest]) -> list[TurnReply]:
        """Do what `review` does for several reviewers at once, in one transaction: all or nothing.

        It reads no predictions: a reply says where there are too few cards, and `grow` gets more.
        """
        return self._assignments.turns(requests)

    def grow(self, short: ShortReserveError) -> None:
        """Read the predictions, and put down more cards.

        It may run in another thread while the campaign goes on.
        """
        self._labelling.grow(short)

    @property
    def soon_short(self) -> ShortReserveError | None:
        """The cards that are missing when the next round is like the last one; None: none are."""
        return self._labelling.soon_short

    def grow_early(self) -> None:
        """Put down the cards that will soon be missing, as `grow` does; a failure can wait."""
        self._labelling.grow_early()

    def rule(
        self, item: Id, answer: object, *, reviewer: str, key: str, comment: str = ""
    ) -> Receipt:
        """Decide an item over the heads of its reviewers.

        Parameters
        ----------
        item : int or str
        answer : Answer, or what `tell` takes for one
            Or ``withdrawn``, which takes the ruling back.
        reviewer : str
            Who decides.
        key : str
            As in `Label`.
        comment : str
            What is written beside the ruling.
        """
        said = answer if answer == WITHDRAWN else parse_answer(answer, self._settings.classes)
        who = reviewer_of(reviewer)
        ruling = Label(str(item), str(said), who, ruling=True, key=key, comment=comment)
        checked = check_sent(ruling, self._settings)
        return self._following(lambda: self._assignments.rule(checked))

    def recall(self, sizes: Sequence[int]) -> None:
        """Deal rounds of these sizes, as long as answers from before a rebase complete them."""
        while True:
            try:
                with self._labelling.write() as session:
                    return self._labelling.recall(session, sizes)
            except ShortReserveError as short:
                self._labelling.grow(short)

    def tell(
        self,
        labels: Mapping[Any, object] | Iterable[tuple[Any, object]],
        *,
        reviewer: str = "",
        comments: Mapping[Any, str] | None = None,
        revise: bool = False,
    ) -> Estimate:
        """Record answers and return the new estimate.

        Either all of the answers are recorded or, with an error, none. Telling the same answer
        again changes nothing.

        Parameters
        ----------
        labels : mapping or pairs of id and answer
            True or "yes": the item is positive; False or "no": it is not; "cannot judge".
            The question is always about the item, never about the prediction. In a campaign of
            other classes: a class's name or alias, "none of these", "cannot judge".
        reviewer : str
            Who says so.
        comments : mapping of id and text, optional
            What is written beside the answers, at most 2,000 characters each.
        revise : bool
            Let a different answer, or another comment, take the place of an earlier one, which
            stays in the log. Without it, a different answer is refused.

        Examples
        --------
        >>> import assay
        >>> campaign = assay.create_campaign({"p": [0.9, 0.8]}, score="p", threshold=0.5, budget=2)
        >>> first, second = sorted(item.id for item in campaign.ask(2))
        >>> estimate = campaign.tell({first: True, second: "?"}, comments={second: "in Dutch"})
        >>> [(label.answer, label.comment) for label in campaign.events()]
        [('yes', ''), ('cannot judge', 'in Dutch')]
        """
        given = parse_answers(labels, self._settings.id_kind, self._settings.classes)
        reviewer = reviewer_of(reviewer, empty=True)
        written = {str(item): comment_of(text) for item, text in (comments or {}).items()}
        if lost := [item for item in written if item not in given]:
            raise LabelError(
                f"there is a comment on item {lost[0]!r}, and no answer",
                details=f"{len(lost)} such in all, nothing was recorded",
                ids=lost,
            )

        def tell() -> None:
            with self._labelling.write() as session:
                every = told_by_one(
                    self._labelling, given, reviewer, comments=written, revise=revise
                )
                self._labelling.add(session, every)
                self._free(session, {(item_id, reviewer) for item_id in given})

        self._following(tell)
        return self.estimate()

    def record(self, labels: Sequence[Label], *, revise: bool = False) -> Recorded:
        """Record answers of several reviewers, all of them or, with an error, none.

        An answer that its reviewer has given before changes nothing. Answers of more reviewers than
        an item wants are kept, and do not count (`assay.labelling.review_rule` has the rule).

        Parameters
        ----------
        labels : sequence of Label
            Each with its reviewer; keys are for `review`, and are left out.
        revise : bool
            Let a reviewer's different answer take the place of their earlier one.

        Examples
        --------
        >>> import assay
        >>> campaign = assay.create_campaign({"p": [0.9, 0.8]}, score="p", threshold=0.5, budget=2)
        >>> said = [assay.Label(item.id, "yes", "ann") for item in campaign.ask(2)]
        >>> campaign.record(said)
        Recorded(new=2, revised=0, unchanged=0, spare=0)
        """
        checked = [check_told(label, self._settings) for label in labels]
        return self._following(lambda: self._record(checked, revise=revise))

    def _record(self, labels: Sequence[Label], *, revise: bool) -> Recorded:
        # A file may have a hundred thousand: they are checked while others go on writing, and in
        # the transaction only those are checked again whose items others have spoken of since.
        with self._labelling.read() as session:
            known = self._labelling.last_label
            prepared = session.prepare(labels)
        kinds = kinds_of(self._labelling, labels, revise=revise)
        answered = {(label.item_id, label.reviewer) for label in labels}
        said = [place for place, kind in enumerate(kinds) if kind != "unchanged"]
        waiting = [prepared[place] for place in said]
        with self._labelling.write(waiting) as session:
            spoken_of = {label.item_id for label in session.labels(self._labelling.key, known)}
            if spoken_of:
                places = [place for place, each in enumerate(labels) if each.item_id in spoken_of]
                some = [labels[place] for place in places]
                again = kinds_of(self._labelling, some, revise=revise)
                for place, kind in zip(places, again, strict=True):
                    kinds[place] = kind
            now = [place for place, kind in enumerate(kinds) if kind != "unchanged"]
            if now == said or set(now) < set(said):
                left_out = {at for at, place in enumerate(said) if kinds[place] == "unchanged"}
                session.put_waiting(self._labelling.key, waiting, left_out)
            else:  # somebody has said something else since
                session.put_labels(self._labelling.key, [prepared[place] for place in now])
            self._free(session, answered)
        spare = kinds.count("spare")
        new, revised, unchanged = (kinds.count(kind) for kind in ("new", "revised", "unchanged"))
        return Recorded(new + spare, revised, unchanged, spare)

    def _free(self, session: Session, answered: Set[tuple[str, str]]) -> None:
        """End the claims on items that their holders have answered: items, and who has."""
        live = session.live_claims(self._labelling.key)
        over = [claim for claim in live if (claim.item_id, claim.reviewer) in answered]
        session.give_back(self._labelling.key, over)
