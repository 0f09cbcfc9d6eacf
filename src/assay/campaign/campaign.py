"""Campaign: ask for items, record their labels, estimate, and stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from warnings import warn

from assay.campaign.desk import Desk
from assay.campaign.findings import Findings
from assay.core.answers import Agreement, Answer, parse_answer, parse_answers
from assay.core.deck import Id
from assay.errors import InputError, LabelError
from assay.labelling import (
    LEASE_SECONDS,
    WITHDRAWN,
    Frame,
    Settings,
    agreement_in,
    campaign_frame,
    check_lease,
    check_sent,
    checked_request,
    comment_of,
    confirm_source,
    find_campaign,
    history_in,
    reviewer_of,
    reviewers_in,
    told_by_one,
)
from assay.results import Backend, Dispute, Estimate, Item, Receipt, Turn
from assay.storage import Label, Store, StoredLabel, open_storage

if TYPE_CHECKING:
    from assay.predictions import Predictions


class Campaign(Findings):
    """An evaluation in progress. Made by `create_campaign` and `load_campaign`.

    Every method first takes in what other processes have added to the storage, so several may work
    on one campaign; every `tell` is on disk when it returns.

    Attributes
    ----------
    desk : Desk
        What servers and tools need beyond this: to record for several reviewers, and to choose when
        strata are cut anew.
    """

    def __init__(
        self, store: Store, key: int, settings: Settings, predictions: Predictions | None
    ) -> None:
        self.desk = Desk(store, key, settings, predictions)

    if not TYPE_CHECKING:  # for which these names are gone

        def __getattr__(self, name: str) -> Any:
            if name not in _FORMER:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            now, value = _FORMER[name]
            warn(f"Campaign.{name} is now {now}; the old name goes away", DeprecationWarning, 2)
            return value(self)

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
        elif self.settings.reviewing.per_item > 1:
            raise InputError(
                f"campaign {self.name!r} wants several reviewers for some items, and nobody says "
                "who asks",
                hint="ask(..., reviewer='ann') and tell(..., reviewer='ann')",
            )
        self.desk.current()
        self.desk.recut_or_warn()
        return self.desk.following(
            lambda: self.desk.assignments.ask(int(n), reviewer=reviewer, lease=lease)
        )

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
        request = checked_request(labels, reviewer, want, lease, self.settings, blind=blind)
        return self.desk.following(lambda: self.desk.assignments.turn(request))

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

        return widget_of(self.desk, reviewer)

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
        said = answer if answer == WITHDRAWN else parse_answer(answer, self.settings.classes)
        who = reviewer_of(reviewer)
        ruling = Label(str(item), str(said), who, ruling=True, key=key, comment=comment)
        checked = check_sent(ruling, self.settings)
        return self.desk.following(lambda: self.desk.assignments.rule(checked))

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
        given = parse_answers(labels, self.settings.id_kind, self.settings.classes)
        reviewer = reviewer_of(reviewer, empty=True)
        written = {str(item): comment_of(text) for item, text in (comments or {}).items()}
        if lost := [item for item in written if item not in given]:
            raise LabelError(
                f"there is a comment on item {lost[0]!r}, and no answer",
                details=f"{len(lost)} such in all, nothing was recorded",
                ids=lost,
            )

        def tell() -> None:
            with self.desk.labelling.write() as session:
                every = told_by_one(
                    self.desk.labelling, given, reviewer, comments=written, revise=revise
                )
                self.desk.labelling.add(session, every)
                self.desk.free(session, {(item_id, reviewer) for item_id in given})

        self.desk.following(tell)
        return self.estimate()

    def answers(self) -> dict[Id, Answer]:
        """Return the answer that counts for every judged item."""
        rounds = self.desk.current().rounds
        return {self.settings.item_id(each): answer for each, answer in rounds.answers.items()}

    def disputes(self) -> list[Dispute]:
        """Return the items on which reviewers disagree, and which wait for a ruling."""
        return self.desk.assignments.disputes()

    def agreement(self) -> Agreement:
        """Return how often reviewers agree, on the items that were meant for several of them.

        Rulings do not matter here, nor do answers of more reviewers than an item wants.
        """
        return agreement_in(self.desk.current())

    def events(self) -> list[StoredLabel]:
        """Return every label ever told, oldest first."""
        with self.desk.labelling.read() as session:
            return session.labels(self.desk.labelling.key)

    def to_frame(self, what: Frame = "labels", *, backend: Backend = "pandas") -> Any:
        """Return what the campaign knows as a DataFrame.

        Parameters
        ----------
        what : {"labels", "strata", "history"}
            The answers that count, as `answers` has them, with what each classifier said of the
            item, its score, its sampling weight, and what it shows; `strata`; or the
            estimates of all metrics after each complete round.
        backend : {"pandas", "polars", "pyarrow"}

        Examples
        --------
        >>> import assay
        >>> campaign = assay.create_campaign({"p": [0.9, 0.8]}, score="p", threshold=0.5, budget=2)
        >>> estimate = campaign.tell({item.id: item.id > 0 for item in campaign.ask(2)})
        >>> sorted(campaign.to_frame(backend="polars").select("id", "answer").rows())
        [(0, 'no'), (1, 'yes')]
        """
        return campaign_frame(self.desk.current(), what, backend=backend)


# Names of version 0.1.0: as they are called now, and what they stand for.
_FORMER: dict[str, tuple[str, Callable[[Campaign], Any]]] = {
    "mistakes": ("errors", attrgetter("errors")),
    "history": ("to_frame('history')", lambda each: partial(history_in, each.desk.current())),
    "record": ("desk.record", attrgetter("desk.record")),
    "recut": ("desk.recut", attrgetter("desk.recut")),
    "reviews": ("desk.reviews", attrgetter("desk.reviews")),
    "reviewers": ("report", lambda each: partial(reviewers_in, each.desk.current())),
    "store": ("desk.store", attrgetter("desk.store")),
    "trouble": ("desk.labelling.trouble", attrgetter("desk.labelling.trouble")),
}


# Load a campaign: its settings are read, and its predictions only where they are given.


def load_campaign(
    name: str = "campaign",
    *,
    storage: str | None = None,
    predictions: object = None,
    confirm: bool = False,
) -> Campaign:
    """Go on with a campaign exactly where it stands.

    Parameters
    ----------
    name, storage : str
        As they were given to `create_campaign`.
    predictions : optional
        The predictions, needed only when the campaign outruns its reserve of cards and they
        cannot be read again from where they were. Of a campaign that was extended, a list of all
        parts, in the order in which they came.
    confirm : bool
        Agree to what the storage says about where they are: they are read from there with your
        rights, on this machine, until it says something else. Who made the campaign on this machine
        has agreed. It can be seen with ``assay confirm NAME``.
    """
    store = open_storage(storage)
    with store.read() as session:
        key, settings = find_campaign(session, name)
    found: Predictions | None = None
    if predictions is not None:
        from assay.labelling import check_same, read_again, scans_of

        found = read_again(scans_of(predictions, settings.source), settings)
        check_same(settings, found)
    if confirm:
        confirm_source(store, settings)
    return Campaign(store, key, settings, found)
