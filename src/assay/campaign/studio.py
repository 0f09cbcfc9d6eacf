"""Label Studio, live: items go to a running server in batches, and answers are taken as they come.

Nothing is stored here. A mark in its description identifies the project, the id in its data a task,
its item and author an answer. Every step looks at the current state and does what is missing, so
that it may end anywhere, on either side, and begin again: no answer is lost, none counts twice, and
no item has two tasks for longer than a step.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from math import inf
from threading import Event
from time import monotonic
from typing import Any

from assay.campaign.campaign import Campaign
from assay.campaign.exchange import read_labels
from assay.errors import AssayError, InputError, ServiceError, counted
from assay.exchange import (
    TASK_ID,
    Batch,
    FileLabel,
    GoneError,
    LabelStudio,
    Task,
    Webhook,
    task_config,
    write_tasks,
)
from assay.labelling import ReplacedError, Review, find_campaign, reviewer_of
from assay.results import Item

HOLDER = "label-studio"  # holder of items until somebody there has answered
_MARK = "[assay-{}]"
_LEASE = 86_400.0  # seconds, as of a batch that is written into a file
_RENEWED = _LEASE / 4
_LONGEST_TITLE = 50
_LONGEST_WAIT = 5.0  # seconds between tries, while the server is away
# All tasks are read at the start, when some are gone, and at this interval when idle: reading a
# thousand takes the server ten seconds.
_WHOLE, _QUIET = 600.0, 30.0
_MAKING = 60.0  # seconds that a server may take to create tasks
_FEW, _SOON, _BUSY = 3, 0.3, 10.0  # answers to go, seconds between looks then, after a change


@dataclass(frozen=True)
class Standing:
    """Progress of the work in Label Studio."""

    project: int
    tasks: int  # of this campaign, in the project
    # open, skipped: tasks that wait for an answer; those skipped, or sent without an answer, by
    # somebody and answered by nobody.
    open: int
    skipped: int
    # taken, revised: first and changed answers recorded since the connection began.
    taken: int
    revised: int
    # Answers changed there after their round was counted; they stay unchanged here.
    kept: int


class _Known:
    """Last known state of a task."""

    def __init__(self, task: Task) -> None:
        data, annotations = task.get("data"), task.get("annotations")
        item_id = data.get(TASK_ID) if isinstance(data, dict) else None
        self.item_id = item_id if isinstance(item_id, str) else None
        self.changed, self.people = task.get("updated_at"), task.get("overlap")
        given = annotations if isinstance(annotations, list) else []
        self.annotations = [each for each in given if isinstance(each, dict)]
        self.drafted = bool(task.get("draft_exists") or task.get("drafts"))

    @property
    def is_bare(self) -> bool:
        """Whether nobody has begun to answer it."""
        return not self.annotations and not self.drafted


class Connection:
    """A campaign, and the Label Studio project in which its items are judged."""

    def __init__(
        self,
        campaign: Campaign,
        studio: LabelStudio,
        *,
        # The project to use: this campaign's, or an empty one. Default: found by its mark, or
        # created.
        project: int | None = None,
        batch: int = 20,  # items that are sent at a time
        # The next batch is sent when so few tasks are open; default: half a batch, so that nobody
        # runs out of tasks.
        ahead: int | None = None,
        # Names of reviewers by their names there, such as ``label-studio:5``.
        rename: Mapping[str, str] | None = None,
        revise: bool = False,  # let changed answers replace counted ones
        tell: Callable[[str], None] | None = None,  # takes sentences about events
    ) -> None:
        self.campaign, self._studio = campaign, studio
        self._requested, self._batch = project, batch
        self._ahead = batch // 2 if ahead is None else ahead
        self._rename = {there: reviewer_of(here) for there, here in (rename or {}).items()}
        self._revise, self._tell = revise, tell or (lambda _: None)
        self._project: int | None = None
        self._tasks: dict[int, _Known] = {}
        self._by_item: dict[str, list[int]] = {}
        self._read_at = 0.0
        # A clock may begin at 0 when the machine starts: "never" is before that.
        self._asked: tuple[str, float] = ("", -inf)
        self._latest: dict[tuple[str, str], tuple[str, str]] = {}  # last, there
        self._items: set[str] = set()  # asked for
        self._pushed: dict[str, float] = {}  # in the last batch, and when
        self._near, self._changed_at = False, -inf
        self._taken = self._revised = 0  # answers since the connection began
        self._kept: set[tuple[str, str]] = set()
        self._reported: set[str] = set()

    @property
    def mark(self) -> str:
        """Mark in the project's description."""
        return _MARK.format(sha256(self.campaign.desk.identity.encode()).hexdigest()[:20])

    def standing(self) -> Standing:
        """Progress as of the last step."""
        reviews = self.campaign.desk.reviews_of(self._by_item)
        waiting = [item_id for item_id, review in reviews.items() if not review.complete]
        skipped = sum(self._is_put_aside(each) and not reviews[each].labels for each in waiting)
        open_, answers = len(waiting) - skipped, (self._taken, self._revised, len(self._kept))
        return Standing(self._project or 0, len(reviews), open_, skipped, *answers)

    def run(
        self, *, every: float = 1.0, webhook: Webhook | None = None, url: str | None = None
    ) -> Iterable[Standing]:
        """Yield after every step, until the campaign stops.

        While the server is away, the step is retried at growing intervals; nothing is lost.
        """
        wait, has_webhook = 0.0, None
        rung = Event() if webhook is None else webhook.rung
        while True:
            try:
                if has_webhook is None:
                    has_webhook = self._set_webhook(webhook, url)
                done, wait = self.step(), 0.0
            except ServiceError as error:
                wait = min(max(2 * wait, 1.0), _LONGEST_WAIT)
                self._tell(f"{error.problem}; trying again in {wait:g} s")
            except ReplacedError:
                self._load_again()
            else:
                yield self.standing()
                if done:
                    break
            busy = not has_webhook and self._near and monotonic() < self._changed_at + _BUSY
            rung.wait(wait or (min(every, _SOON) if busy else every))
            rung.clear()

    def close(self) -> None:
        """Remove the webhook: while nobody listens, every answer there would wait for it."""
        if self._project is not None:
            try:
                self._studio.remove_webhooks(self._project)
            except AssayError as error:
                self._tell(f"the webhook stays in Label Studio: {error.problem}")

    def _set_webhook(self, webhook: Webhook | None, url: str | None) -> bool:
        """Register the webhook, or remove one of a killed program; return whether it is set.

        If the server refuses it, polling every second works as well.
        """
        project = self._find()
        if webhook is None:
            with suppress(InputError):  # without access to webhooks, there is none
                self._studio.remove_webhooks(project)
            return False
        address = url or webhook.url
        try:
            self._studio.set_webhook(project, address, webhook.secret)
        except InputError as error:
            self._tell(
                f"Label Studio does not take the webhook {address}, and is asked instead: "
                f"{error.details or error.problem}; for an address of this machine or network it "
                "must run with SSRF_PROTECTION_ENABLED=false"
            )
            return False
        return True

    def _load_again(self) -> None:
        """Go on with the campaign that has replaced this one."""
        store, name = self.campaign.desk.store, self.campaign.name
        with store.read() as session:
            self.campaign = Campaign(store, *find_campaign(session, name), None)
        self._latest.clear()
        self._read_at = 0.0

    # A step.

    def step(self) -> bool:
        """Take what is new, send what is missing; return whether the campaign has stopped."""
        try:
            self._look()
        except GoneError:
            raise InputError(
                f"project {self._project} was deleted from Label Studio",
                details="every answer collected from it is stored",
                hint="run the same command without --project: Assay makes a new one with "
                "the open items",
            ) from None
        reviews = self.campaign.desk.reviews_of(self._by_item)
        done = self.campaign.done
        self._clear_up(reviews, everything=done)
        if not done:
            self._send(reviews)
        return done

    def _look(self) -> None:
        """Update the known tasks: from the changes, or by reading all."""
        project = self._find()
        now = monotonic()
        due = now > self._read_at + _WHOLE and now > self._changed_at + _QUIET
        if self._read_at and not due:
            known_times = {number: task.changed for number, task in self._tasks.items()}
            total, changed = self._studio.changed(project, known_times)
            self._note(changed)
            if changed:
                self._changed_at = monotonic()
            if total == len(self._tasks):
                return self._take({self._tasks[_number(task)].item_id for task in changed})
        tasks = self._studio.tasks(project)
        self._tasks.clear()
        self._by_item.clear()
        self._note(tasks)
        self._asked = ("", -inf)  # tasks that are still wanted may have been removed
        self._read_at = monotonic()
        return self._take(list(self._by_item))

    def _note(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            number, before = _number(task), self._tasks.get(_number(task))
            now = self._tasks[number] = _Known(task)
            if now.item_id is not None and number not in self._by_item.get(now.item_id, ()):
                self._by_item.setdefault(now.item_id, []).append(number)
            if before is not None and len(now.annotations) < len(before.annotations):
                self._tell_once(
                    f"an answer to {now.item_id!r} was deleted in Label Studio; here it stays, "
                    "until its reviewer gives another there"
                )

    def _take(self, item_ids: Iterable[str | None]) -> None:
        """Record new answers to items."""
        reviews = self.campaign.desk.reviews_of(each for each in item_ids if each is not None)
        new: list[FileLabel] = []
        for item_id, review in reviews.items():
            new += [each for each in self._labels(item_id) if self._is_news(each, review)]
        if new:
            recorded = self.campaign.desk.record(new, revise=True)
            self._taken += recorded.new
            self._revised += recorded.revised

    def _labels(self, item_id: str) -> Iterable[FileLabel]:
        """Latest answer of every reviewer to an item, from any of its tasks."""
        annotations = [
            each for number in self._by_item[item_id] for each in self._tasks[number].annotations
        ]
        if not annotations:
            return ()
        task = {"data": {TASK_ID: item_id}, "annotations": annotations}
        try:
            labels = read_labels(
                json.dumps([task]).encode(),
                campaign=self.campaign,
                format="label-studio",
                reviewer=HOLDER,
            )
        except AssayError as error:
            self._tell_once(f"an answer to {item_id!r} cannot be imported: {error.details}")
            return ()
        names = (self._rename.get(row.reviewer, row.reviewer) for row in labels.rows)
        return {
            name: replace(row, reviewer=name) for row, name in zip(labels.rows, names, strict=True)
        }.values()

    def _is_news(self, label: FileLabel, review: Review) -> bool:
        """Whether an answer is to be recorded: the first one, or one that may be changed."""
        key, now = (label.item_id, label.reviewer), (label.answer, label.comment)
        previous, self._latest[key] = self._latest.get(key), now
        before = review.labels.get(label.reviewer)
        if before is None:
            return True
        if now in (previous, (before.answer, before.comment)):
            return False
        # The author of a counted answer has seen whether more items came.
        rounds = self.campaign.desk.labelling.rounds
        closed = not self._revise and rounds.is_looked_at(label.item_id)
        if closed and before.answer != label.answer:
            self._kept.add(key)
            self._tell_once(
                f"{label.reviewer} changed {label.item_id!r} from {before.answer!r} to "
                f"{label.answer!r} after its round was counted; {before.answer!r} stays "
                "(--revise lets it count)"
            )
            return False
        return True

    def _clear_up(self, reviews: Mapping[str, Review], *, everything: bool) -> None:
        """Remove tasks that nobody has begun and nobody need answer; set how many people should."""
        several = self.campaign.settings.reviewing.per_item > 1
        for item_id, review in reviews.items():
            tasks = self._by_item[item_id]  # the one to keep comes first
            first, *others = sorted(tasks, key=lambda number: (self._tasks[number].is_bare, number))
            over = everything or review.complete
            # A deleted answer may be given again.
            needless = over and not any(map(self._is_from_there, review.labels))
            for number in [first, *others] if needless else others:
                if self._tasks[number].is_bare:
                    self._studio.remove(number)
                    del self._tasks[number]
                    tasks.remove(number)
            if not over and several and self._tasks[first].people != review.wanted:
                self._studio.let_answer(first, review.wanted)
                self._tasks[first].people = review.wanted
        self._by_item = {item_id: tasks for item_id, tasks in self._by_item.items() if tasks}

    def _is_from_there(self, reviewer: str) -> bool:
        return reviewer.startswith(HOLDER) or reviewer in self._rename.values()

    def _is_put_aside(self, item_id: str) -> bool:
        """Whether somebody has looked at an item; if it has no answer, they skipped it."""
        return any(self._tasks[number].annotations for number in self._by_item.get(item_id, ()))

    def _send(self, reviews: Mapping[str, Review]) -> None:
        """Send the next batch when it is time, so that somebody always has something to answer."""
        reviews_by_item = {**self.campaign.desk.reviews_of(self._items), **reviews}
        waiting = {item_id for item_id, review in reviews_by_item.items() if not review.complete}
        present = {item_id for item_id in waiting if self._is_there(item_id)}
        fresh = [
            item_id
            for item_id in present
            if not reviews_by_item[item_id].labels and not self._is_put_aside(item_id)
        ]
        self._near = len(fresh) <= self._ahead + _FEW
        # Asked for, but missing: a batch was lost when the server went away.
        unsent = len(waiting) - len(present)
        version, at = self._asked
        if monotonic() < at + _RENEWED and (
            len(fresh) > self._ahead or (version == self.campaign.desk.version and not unsent)
        ):
            return
        more = max(self._batch - unsent, 0) if len(fresh) <= self._ahead else 0
        items = self.campaign.ask(max(len(waiting) + more, 1), reviewer=HOLDER, lease=_LEASE)
        self._items = present | {str(item.id) for item in items}
        missing = [item for item in items if not self._is_there(str(item.id))]
        if missing:
            self._studio.push(self._find(), write_tasks(self._batch_of(missing)))
            self._pushed = dict.fromkeys((str(item.id) for item in missing), monotonic())
            self._tell(f"sent {counted(len(missing), 'item')}")
        self._asked = (self.campaign.desk.version, monotonic())

    def _is_there(self, item_id: str) -> bool:
        """Whether an item has a task; some servers take a while to make one."""
        return item_id in self._by_item or monotonic() < self._pushed.get(item_id, -inf) + _MAKING

    def _batch_of(self, items: Sequence[Item]) -> Batch:
        shown = tuple(self.campaign.settings.source.seen)
        settings = self.campaign.settings
        return Batch(settings.question, shown, tuple(items), settings.classes)

    def _tell_once(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._tell(text)

    # The project.

    def _find(self) -> int:
        """Find the project's number, and create the project if necessary."""
        if self._project is None:
            self._project = self._own() if self._requested is None else self._named(self._requested)
        return self._project

    def _own(self) -> int:
        ours = [each for each in self._studio.projects() if self.mark in _description(each)]
        if ours:
            return min(_number(each) for each in ours)
        if self.campaign.done:
            raise InputError(
                f"campaign {self.campaign.name!r} is over; nothing to send",
                hint="see its estimate: assay status",
            )
        title = f"Assay: {self.campaign.name}"[:_LONGEST_TITLE]
        made = _number(self._studio.make_project({"title": title, **self._settings("")}))
        self._tell(f"made project {made}, {title!r}")
        return made

    def _named(self, number: int) -> int:
        try:
            project = self._studio.project(number)
        except GoneError:
            raise InputError(
                f"Label Studio has no project {number}, or the token may not see it",
                hint="leave out --project to make a new one",
            ) from None
        description = _description(project)
        if self.mark in description:
            return number
        if _MARK.partition("{}")[0] in description:
            raise InputError(
                f"project {number} of Label Studio belongs to another campaign",
                hint="leave out --project to make a new one",
            )
        total, _ = self._studio.changed(number, {})
        if total:
            raise InputError(
                f"project {number} of Label Studio has {total:,} tasks that are not this "
                "campaign's",
                hint="name an empty one, or leave out --project to make a new one",
            )
        self._studio.change_project(number, self._settings(description))
        return number

    def _settings(self, description: str) -> dict[str, object]:
        mark_text = f"Items of the Assay campaign {self.campaign.name!r}; do not remove this mark:"
        return {
            "description": f"{description} {mark_text} {self.mark}".strip(),
            "label_config": task_config(self._batch_of([])).decode(),
            "maximum_annotations": self.campaign.settings.reviewing.per_item,
        }


def _number(thing: Mapping[str, Any]) -> int:
    return int(thing["id"])


def _description(project: Mapping[str, Any]) -> str:
    return str(project.get("description") or "")
