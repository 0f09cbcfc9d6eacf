"""Reviewers as they are: they answer late and out of order, send twice, take back, and wander off.

They keep a book of all that they have sent and of what they were told about it.
"""

import random
import time
from collections import Counter
from dataclasses import dataclass, field, replace

from assay.storage import Label
from tests.torture.campaigns import truth
from tests.torture.pages import UnsureError
from tests.torture.workers import Take

ANSWERS = ("yes", "no", "cannot judge", "broken")


@dataclass
class Sent:
    """What a reviewer has sent: by key, with all that was said of it."""

    submits: dict[str | None, Label] = field(default_factory=dict)
    statuses: dict[str | None, Counter[str]] = field(default_factory=dict)
    takes: list[float] = field(default_factory=list)  # seconds that each exchange took
    unsure: int = 0

    @property
    def times(self) -> int:
        """How many submits were made, all repetitions too."""
        return sum(each.total() for each in self.statuses.values())


class Reviewer:
    """One reviewer.

    Parameters
    ----------
    name : str
        Chooses, with the number of the run, all that happens by chance.
    take : Take
        How they send and get.
    lease : float
        Seconds after which somebody else is given what they have.
    """

    def __init__(self, name: str, take: Take, lease: float) -> None:
        self._name, self._take, self._lease = name, take, lease
        self._random = random.Random(name)
        self._held_back: list[Label] = []
        self._answered: list[str] = []
        self.sent = Sent()

    def work(self, submits: int) -> Sent:
        """Send at least so many submits, and then all that is held back."""
        items: list[str] = []
        state = "go on"
        while self.sent.times < submits and state != "done":
            batch = self._batch(items)
            if self._random.random() < 0.01:
                time.sleep(1.5 * self._lease)  # lunch: what they hold goes to others
            _, items, state = self._exchange(batch, self._random.choice([1, 1, 1, 3]))
            if not batch and not items:
                time.sleep(0.01)
        self._exchange(self._held_back, 0)
        return self.sent

    def _batch(self, items: list[str]) -> list[Label]:
        chance = self._random.random
        batch: list[Label] = []
        for item in items:
            answer = truth(item) if chance() < 0.9 else self._random.choice(ANSWERS)
            submit = self._new(item, "skip" if chance() < 0.03 else answer)
            (self._held_back if chance() < 0.1 else batch).append(submit)
            if submit.answer != "skip":
                self._answered.append(item)
        if self._held_back and chance() < 0.5:
            batch.append(self._held_back.pop(self._random.randrange(len(self._held_back))))
        if self._answered and chance() < 0.03:
            batch.append(self._new(self._random.choice(self._answered[-5:]), "withdrawn"))
        known = [key for key in self.sent.statuses if self.sent.submits[key] not in batch]
        self._random.shuffle(known)
        if known and chance() < 0.08:
            batch.append(self.sent.submits[known.pop()])
        if known and chance() < 0.01:
            before = self.sent.submits[known.pop()]
            other = next(answer for answer in ANSWERS if answer != before.answer)
            batch.append(replace(before, answer=other))  # must be called a conflict
        self._random.shuffle(batch)
        return batch

    def _new(self, item: str, answer: str) -> Label:
        submit = Label(item, answer, key=f"{self._name}-{len(self.sent.submits)}")
        self.sent.submits[submit.key] = submit
        return submit

    def _exchange(
        self, batch: list[Label], want: int
    ) -> tuple[dict[str | None, str], list[str], str]:
        """Send until it is known what became of it; now and then once more than that."""
        again = self._random.random() < 0.05
        while True:
            began = time.perf_counter()
            try:
                seen = self._take(batch, want)
            except UnsureError:
                self.sent.unsure += 1
                time.sleep(0.02)
                continue
            self.sent.takes.append(time.perf_counter() - began)
            for submit in batch:
                self._note(submit, seen.receipts[submit.key])
            if not again:
                return seen.receipts, seen.items, seen.state
            again = False

    def _note(self, submit: Label, status: str) -> None:
        if submit == self.sent.submits[submit.key]:
            self.sent.statuses.setdefault(submit.key, Counter())[status] += 1
        else:
            assert status == "conflict", (submit, status)
