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
from assay.errors import InputError, LabelError, counted
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
    new_labels_of,
    reviewer_of,
    reviewers_in,
)
from assay.results import Backend, Dispute, Estimate, Item, Receipt, Turn
from assay.storage import Label, Store, StoredLabel, open_storage

if TYPE_CHECKING:
    from assay.predictions import Predictions


class Campaign(Findings):
    """An evaluation in progress, made by `create_campaign` or `load_campaign`.

    Every method first takes in what other processes have added to the storage, so several may work
    on one campaign. Every `tell` is on disk when it returns.

    Attributes
    ----------
    desk : Desk
        Further methods for servers and tools: to record labels of several reviewers, and to choose
        when strata are cut anew.
    """

    def __init__(
        self, store: Store, key: int, settings: Settings, predictions: Predictions | None
    ) -> None:
        self.desk = Desk(store, key, settings, predictions)

    if not TYPE_CHECKING:  # type checkers do not see these names

        def __getattr__(self, name: str) -> Any:
            if name not in _FORMER:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            now, value = _FORMER[name]
            warn(
                f"Campaign.{name} is now {now}; the old name will be removed", DeprecationWarning, 2
            )
            return value(self)

    def ask(
        self, n: int = 20, *, reviewer: str | None = None, lease: float = LEASE_SECONDS
    ) -> list[Item]:
        """Up to `n` items to judge.

        Requested items without an answer come first, so no lost batch is forgotten; new items
        follow. A design with rounds of a fixed size (the papers'), or one that bets, deals the next
        round only after all answers to the last, and the batch may be smaller than `n`. It may also
        be smaller with several metrics near the goal, and after a rebase, because earlier judged
        items are not asked for again. The list is empty when the campaign is done. The order within
        a batch reveals nothing about the strata.

        Parameters
        ----------
        n : int
        reviewer : str, optional
            Reviewer who will judge them. Nobody else is given these items for `lease` seconds;
            asking again renews the lease. Without it, items that others hold are left out, but the
            returned items may be given to others.
        lease : float
        """
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
            raise InputError(f"ask for a whole number of items, at least 1; got {n!r}")
        check_lease(lease)
        if reviewer is not None:
            reviewer = reviewer_of(reviewer)
        elif self.settings.reviewing.per_item > 1:
            raise InputError(
                f"campaign {self.name!r} gives some items to several reviewers, but no "
                "reviewer is named",
                hint="name who answers: reviewer='ann'",
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
        """Record labels of one reviewer's page, and return its next items, in one step.

        Labels with the status ``saved`` are on disk. Sending a label again is harmless, whatever
        happened the first time: its key identifies it.

        Parameters
        ----------
        labels : sequence of Label
            Each with a `key`. They are recorded for `reviewer`.
        reviewer : str
        want : int
            Number of items that the page wants to hold. Those that it already has are among them,
            and their leases are renewed.
        lease : float
            Seconds for which nobody else is given them.
        blind : bool
            Whether the reviewer must not learn the effect of another answer: answers of a complete
            round are then closed to them, as on the web page.

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
        """Widget to label in a notebook, for the last line of a cell.

        Shows one item at a time, with the columns of `show` and no predictions. Every answer is
        stored at once, under the reviewer's name. Requires the extra ``notebook``.

        Parameters
        ----------
        reviewer : str
            Reviewer of the labels.
        """
        from assay.campaign.widget import widget_of

        return widget_of(self.desk, reviewer)

    def rule(
        self, item: Id, answer: object, *, reviewer: str, key: str, comment: str = ""
    ) -> Receipt:
        """Decide an item, overriding its reviewers.

        Parameters
        ----------
        item : int or str
        answer : Answer, or what `tell` takes for one
            Or ``withdrawn``, which withdraws the ruling.
        reviewer : str
            Person who decides.
        key : str
            As in `Label`.
        comment : str
            Comment on the ruling.
        """
        decision = answer if answer == WITHDRAWN else parse_answer(answer, self.settings.classes)
        who = reviewer_of(reviewer)
        ruling = Label(str(item), str(decision), who, ruling=True, key=key, comment=comment)
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

        Either all answers are recorded or, with an error, none. Recording the same answer again
        changes nothing.

        Parameters
        ----------
        labels : mapping or pairs of id and answer
            True or "yes": the item is positive; False or "no": it is not; "cannot judge". The
            question is always about the item, never about the prediction. In a campaign of other
            classes: a class's name or alias, "none of these", "cannot judge".
        reviewer : str
            Person who gives the answers.
        comments : mapping of id and text, optional
            Comments on the answers, at most 2,000 characters each.
        revise : bool
            Let a different answer or comment replace an earlier one, which stays in the log.
            Otherwise, a different answer is refused.

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
                f"item {lost[0]!r} has a comment, and no answer",
                details=f"{counted(len(lost), 'item')} in all; nothing was recorded",
                ids=lost,
            )

        def tell() -> None:
            with self.desk.labelling.write() as session:
                every = new_labels_of(
                    self.desk.labelling, given, reviewer, comments=written, revise=revise
                )
                self.desk.labelling.add(session, every)
                session.end_answered(self.desk.labelling.key, every)

        self.desk.following(tell)
        return self.estimate()

    def answers(self) -> dict[Id, Answer]:
        """Answer that counts for every judged item."""
        rounds = self.desk.current().rounds
        return {self.settings.item_id(each): answer for each, answer in rounds.answers.items()}

    def disputes(self) -> list[Dispute]:
        """Items on which reviewers disagree and that wait for a ruling."""
        return self.desk.assignments.disputes()

    def agreement(self) -> Agreement:
        """Agreement of reviewers, on the items meant for several of them.

        Rulings do not count, nor do answers of more reviewers than an item wants.
        """
        return agreement_in(self.desk.current())

    def events(self) -> list[StoredLabel]:
        """Every recorded label, oldest first."""
        with self.desk.labelling.read() as session:
            return session.labels(self.desk.labelling.key)

    def to_frame(self, what: Frame = "labels", *, backend: Backend = "pandas") -> Any:
        """DataFrame of the labels, the strata, or the history.

        Parameters
        ----------
        what : {"labels", "strata", "history"}
            The answers that count, as in `answers`, with the predictions, scores, sampling weights
            and shown columns of their items; `strata`; or the estimates of all metrics after each
            complete round.
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


# Names of version 0.1.0, with their current names and values.
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


# Loading: reads the settings, and predictions only if they are given.


def load_campaign(
    name: str = "campaign",
    *,
    storage: str | None = None,
    predictions: object = None,
    confirm: bool = False,
) -> Campaign:
    """Load a campaign in its current state.

    Parameters
    ----------
    name, storage : str
        As given to `create_campaign`.
    predictions : optional
        Needed only when the reserve of cards runs out and the predictions cannot be read again from
        their stored location. For a campaign that was extended, a list of all parts in their order.
    confirm : bool
        Allow reading the predictions from their stored location, with your rights, on this machine,
        until the location changes. Whoever created the campaign on this machine has confirmed it.
        ``assay status NAME --confirm`` shows the location.
    """
    store = open_storage(storage)
    with store.read() as session:
        key, settings = find_campaign(session, name)
    new_predictions: Predictions | None = None
    if predictions is not None:
        from assay.labelling import check_same, read_again, scans_of

        new_predictions = read_again(scans_of(predictions, settings.source), settings)
        check_same(settings, new_predictions)
    if confirm:
        confirm_source(store, settings)
    campaign = Campaign(store, key, settings, new_predictions)
    campaign.desk.finish_imports()
    return campaign
